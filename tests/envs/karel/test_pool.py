"""Generated pools: different, solvable, apart from each other, the same everywhere."""

import hashlib
import itertools

import numpy as np
import pytest

from procurl import TaskPool
from procurl.envs.karel.dynamics import Karel
from procurl.envs.karel.generator import (
    DIFFICULTIES,
    GENERATOR_VERSION,
    KarelDifficulty,
    generate_karel_tasks,
    is_test_task,
)
from procurl.envs.karel.pool import KINDS, karel_pool, karel_solutions
from procurl.envs.karel.task import CONTEXT_NAMES, karel_context, task_keys

# Of the contexts of each default pool as little-endian int32. They may change only together with
# GENERATOR_VERSION.
GOLDEN = {
    "uniform": "29794134a211fde39b878a39d647fa987be1783335996a6e5b4e57b4468dace5",
    "test": "ae014f1e066aa736dea9b623a930884ddaa89f9acba8697a8b377d47cae7509d",
    "hard": "bf7ea3de654a551bf5dacd6e04b2454c9602f00b9ab70f4346d3135a4aaa3d59",
    "hard-test": "3bcbbf77b4a60f336e4072f645f3287642d9053cdc85beb6833731d1c5d031b4",
}


def contexts_of(pool: TaskPool):
    return Karel().contexts_of(pool).astype("<i4")


def keys_of(pool: TaskPool):
    return set(task_keys(contexts_of(pool)).tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_default_pools_are_the_same_on_every_machine(kind):
    assert GENERATOR_VERSION == 1
    assert hashlib.sha256(contexts_of(karel_pool(kind)).tobytes()).hexdigest() == GOLDEN[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_default_pools_hold_different_tasks(kind):
    pool = karel_pool(kind)
    assert len(keys_of(pool)) == len(pool) == (2400 if "test" in kind else 24000)


def test_no_task_is_in_a_training_and_a_test_pool():
    training = [karel_pool("uniform"), karel_pool("hard"), karel_pool("hard", 5000, seed=9)]
    testing = [karel_pool("test"), karel_pool("hard-test"), karel_pool("test", 5000, seed=9)]
    for one, other in itertools.product(training, testing):
        assert not keys_of(one) & keys_of(other)
    assert not is_test_task(contexts_of(training[2])).any()
    assert is_test_task(contexts_of(testing[2])).all()


@pytest.mark.parametrize("kind", KINDS)
def test_features_match_a_recount(kind):
    pool = karel_pool(kind, size=2000)
    expected = []
    for task, solution in enumerate(karel_solutions(pool)):
        grid = pool[task]
        expected.append(
            (
                len(solution),
                "P" in solution or "U" in solution,
                min(bin(grid["markers"]).count("1"), bin(grid["goal_markers"]).count("1")),
                bin(grid["walls"]).count("1"),
            )
        )
    names = ("solution_length", "marker_action", "distractor_markers", "walls")
    assert tuple(pool.features) == names
    np.testing.assert_array_equal(np.stack([pool.features[n] for n in names], axis=1), expected)
    differs = [pool[task]["markers"] != pool[task]["goal_markers"] for task in range(len(pool))]
    np.testing.assert_array_equal(pool.features["marker_action"], differs)


@pytest.mark.parametrize("kind", ["uniform", "hard"])
def test_pools_keep_to_their_difficulty(kind):
    pool, difficulty = karel_pool(kind), DIFFICULTIES[kind]
    contexts = contexts_of(pool)
    markers = np.bitwise_count(contexts[:, [3, 6]])
    assert set(pool.features["walls"]) == set(range(difficulty.max_walls + 1))
    assert markers.max() == difficulty.max_markers
    assert np.bitwise_count(contexts[:, 3] ^ contexts[:, 6]).max() == len(difficulty.changes) - 1
    lengths = pool.features["solution_length"].astype(int)
    if difficulty.kept is not None:
        kept = [length for length, share in enumerate(difficulty.kept, start=1) if share > 0]
        assert set(lengths) == set(kept)


def test_the_hard_pool_is_as_long_as_first_measured():
    hard = karel_pool("hard").features
    assert hard["solution_length"].mean() == pytest.approx(8.7, abs=0.1)
    assert hard["marker_action"].mean() == pytest.approx(0.5, abs=0.01)


def test_places_and_directions_are_uniform_without_walls():
    open_grids = generate_karel_tasks(KarelDifficulty(max_walls=0, max_markers=2), 20000, seed=4)
    for column, size in ((1, 16), (2, 4), (4, 16), (5, 4)):
        counts = np.bincount(open_grids.contexts[:, column], minlength=size)
        expected = 20000 / size
        assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()
    bits = open_grids.contexts[:, [3, 6], None] >> np.arange(16) & 1
    per_cell = bits.sum(axis=(0, 1))
    assert (np.abs(per_cell - per_cell.mean()) < 5 * np.sqrt(per_cell.mean())).all()


def test_a_share_of_a_length_is_kept():
    everything = KarelDifficulty(max_walls=6, max_markers=3, kept=(1.0,) * 4)
    thinned = KarelDifficulty(max_walls=6, max_markers=3, kept=(0.0, 1.0, 0.25, 1.0))
    counts = [
        np.bincount(generate_karel_tasks(d, 4000, seed=1).solutions.lengths, minlength=5)
        for d in (everything, thinned)
    ]
    assert counts[1][1] == 0
    assert counts[1][3] / counts[1][4] == pytest.approx(
        0.25 * counts[0][3] / counts[0][4], rel=0.15
    )


def test_several_cells_can_differ():
    four = KarelDifficulty(max_walls=2, max_markers=2, changes=(0.0, 0.0, 0.0, 0.5, 0.5))
    contexts = generate_karel_tasks(four, 500, seed=1).contexts
    assert set(np.bitwise_count(contexts[:, 3] ^ contexts[:, 6]).tolist()) == {3, 4}
    assert np.bitwise_count(contexts[:, [3, 6]]).max() == 2


def test_smaller_pools_are_the_beginning_of_larger_ones():
    large, small = karel_pool("uniform", 9000, seed=3), karel_pool("uniform", 70, seed=3)
    assert [small[i] for i in range(70)] == [large[i] for i in range(70)]
    assert karel_pool("uniform", 70, seed=4)[0] != small[0]
    assert karel_pool("uniform", 70)[0] == karel_pool("uniform", 70, seed=0)[0]


def test_tasks_are_opaque_dicts_that_json_can_express():
    pool = karel_pool("uniform", 5)
    assert pool.contexts is None
    assert list(pool[0]) == [*CONTEXT_NAMES, "solution"]
    assert all(type(value) is int for value in list(pool[0].values())[:-1])
    assert pool.fingerprint != karel_pool("uniform", 5, seed=1).fingerprint
    assert pool.subset([3]).features["walls"].tolist() == [pool.features["walls"][3]]
    assert karel_solutions(pool.subset([3])) == [pool[3]["solution"]]
    assert karel_context(pool[0]).tolist() == list(pool[0].values())[:-1]


def test_a_pool_is_generated_once():
    assert karel_pool("hard", 100, seed=2) is karel_pool("hard", size=100, seed=2)
    assert karel_pool() is Karel().default_pool()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"kind": "easy"}, ValueError, "kind must be one of uniform, test, hard, hard-test"),
        ({"size": 0}, ValueError, "size must be an integer of at least 1, got 0"),
        ({"size": 2.5}, TypeError, "size must be an integer"),
        ({"seed": -1}, ValueError, "seed must be an integer of at least 0, got -1"),
    ],
)
def test_bad_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        karel_pool(**arguments)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_walls": -1}, "max_walls must be an integer of at least 0"),
        ({"max_walls": 14}, "max_walls=14 and max_markers=3 .* take 17 cells"),
        ({"max_walls": 16, "max_markers": 0, "changes": (1.0,)}, "can take 17 cells"),
        ({"changes": (0.5, 1.5)}, r"changes\[1\] must be a finite number .* got 1.5"),
        ({"changes": ()}, "changes must hold a share above 0"),
        ({"changes": (0.5,) * 8}, "up to 7 differing cells"),
        ({"kept": (0.0, 0.0)}, "kept must hold a share above 0"),
        ({"kept": (0.0, -0.1)}, r"kept\[1\] must be a finite number .* got -0.1"),
    ],
)
def test_bad_difficulties_are_refused(settings, message):
    difficulty = KarelDifficulty(**{"max_walls": 6, "max_markers": 3, **settings})
    with pytest.raises(ValueError, match=message):
        generate_karel_tasks(difficulty, 10)


def test_more_tasks_than_there_are_give_an_error():
    few = KarelDifficulty(max_walls=0, max_markers=0, changes=(1.0,), kept=(1.0,))
    assert len(generate_karel_tasks(few, 50).contexts) == 50
    with pytest.raises(
        ValueError, match="size=100 is too large.* allow only 5. different training"
    ):
        generate_karel_tasks(few, 100)
