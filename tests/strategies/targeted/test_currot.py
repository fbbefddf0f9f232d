"""`currot`: steps of the particles by hand, and how they start, wait and arrive."""

import numpy as np
import pytest

from procurl import CURROT, CriticSuccess, Curriculum, Evidence, TaskPool, make_strategy

# Eleven tasks at 0, 0.1, …, 1; the last one is the target.
LINE = TaskPool(np.linspace(0.0, 1.0, 11)[:, None], features={"target": [0] * 10 + [1]})
BY_VALUE = CriticSuccess(v_min=0.0, v_max=1.0)


def up_to(last, n=11):
    """[n] success 0.9 on the tasks up to `last`, 0.1 on the others."""
    return np.where(np.arange(n) <= last, 0.9, 0.1)


def steps(values, pool=LINE, **settings):
    """The tasks of the particles at the start and after each of the given values."""
    strategy = CURROT(success=BY_VALUE, **settings).bind(pool)
    state = strategy.init(len(pool))
    tasks = [state.potential.tolist()]
    for i, each in enumerate(values):
        state = strategy.update(state, Evidence(i + 1, values=np.asarray(each)))
        tasks.append(state.potential.tolist())
    return tasks


def test_particles_move_by_hand():
    # Three particles in the middle of each third of 11 tasks: 11 · (1, 3, 5) / 6 = 1, 5 and 9.
    # The agent can do tasks 0 to 6. Particle 9 returns to task 6, the nearest to the target that
    # is solved. Then each moves by up to 0.25, so by two tasks, but not beyond task 6.
    # Next, the agent can do all: 3 → 5, 6 → 8 and 6 → 8. Then 7, 10 and 10, at last all are 10.
    everything = up_to(10)
    values = [up_to(6), everything, everything, everything, everything]
    got = steps(values, particles=3, max_step=0.25)
    assert [sorted(tasks) for tasks in got] == [
        [1, 5, 9],
        [3, 6, 6],
        [5, 8, 8],
        [7, 10, 10],
        [9, 10, 10],
        [10, 10, 10],
    ]


def test_the_share_of_particles_is_the_probability():
    strategy = make_strategy("currot", success=BY_VALUE, particles=4, max_step=1.0, floor=0.11)
    curriculum = Curriculum(strategy, LINE)
    # 11 · (1, 3, 5, 7) / 8 = 1, 4, 6 and 9; the floor gives 0.01 to each of the 11 tasks.
    expected = np.full(11, 0.01)
    expected[[1, 4, 6, 9]] += 0.89 / 4
    np.testing.assert_allclose(curriculum.probabilities(), expected)
    curriculum.observe(Evidence(1, values=up_to(10)))
    np.testing.assert_allclose(curriculum.probabilities(), [0.01] * 10 + [0.9])
    assert curriculum.metrics().strategy == {"at_targets": 1.0}


def test_particles_share_targets_at_the_smallest_squared_distance():
    # Tasks at 0, 1, 2, 3 and 9, on a scale of 9; targets at 2 and 9. The particles start at tasks
    # 5 · (1, 3) / 4 = 1 and 3. To 2 and 9: 1 + 36 = 37; to 9 and 2: 64 + 1 = 65. So task 1 goes to
    # 2, and task 3 to 9, although 2 is nearer.
    pool = TaskPool([[0.0], [1.0], [2.0], [3.0], [9.0]], features={"target": [0, 0, 1, 0, 1]})
    got = steps([np.full(5, 0.9)], pool, particles=2, max_step=1.0)
    assert got == [[1, 3], [2, 4]]


def test_columns_count_by_their_range():
    # Scaled, the target (0, 0) is at a distance of 1 from (0, 1) and from (1000, 0), and within a
    # step of 0.6 lies (500, 0) only from the latter: (0, 1) stays.
    contexts = [[0.0, 0.0], [0.0, 1.0], [500.0, 0.0], [1000.0, 0.0]]
    pool = TaskPool(contexts, features={"target": [1, 0, 0, 0]})
    strategy = CURROT(success=BY_VALUE, particles=2, max_step=0.6).bind(pool)
    state = strategy.init(4)._replace(potential=np.array([1, 3], dtype=np.int32))
    after = strategy.update(state, Evidence(1, values=np.full(4, 0.9)))
    assert after.potential.tolist() == [1, 2]


def test_particles_wait_until_a_task_is_above_the_threshold():
    start, waiting, at_threshold, moved = steps(
        [np.zeros(11), np.full(11, 0.5), np.full(11, 0.51)], particles=3, max_step=0.1
    )
    assert start == waiting == at_threshold == [1, 5, 9]
    assert moved == [2, 6, 10]
    assert steps([np.full(11, 0.5)], particles=3, max_step=0.1, threshold=0.4)[1] == [2, 6, 10]


def test_a_step_spans_two_spacings_of_a_small_pool():
    # 11 tasks in one column: 2 / 11 = 0.18, so one task of 0.1. In two columns: 2 / √121 = 0.18.
    assert steps([up_to(10)], particles=1) == [[5], [6]]
    grid = TaskPool(
        np.stack(np.meshgrid(np.arange(11.0), np.arange(11.0)), axis=-1).reshape(-1, 2),
        features={"target": np.arange(121) == 120},
    )
    assert float(CURROT().bind(grid).terrain.step) == pytest.approx(2 / 11)
    many = TaskPool(np.linspace(0, 1, 500)[:, None], features={"target": np.arange(500) == 0})
    assert float(CURROT().bind(many).terrain.step) == pytest.approx(0.1)


def test_a_large_pool_is_represented_by_candidates():
    # Two of eleven tasks, 11 · (1, 3) / 4 = 2 and 8, and the target. Steps span five tasks.
    # First, 1 → 2 and 5 → 8; for 9 nothing is nearer to the target. Then 8 → 10 and 9 → 10, but
    # from 2 neither 8 nor 10 is in reach.
    got = steps([up_to(9), up_to(10)], particles=3, max_step=0.5, candidates=2)
    assert [sorted(tasks) for tasks in got] == [[1, 5, 9], [2, 8, 9], [2, 10, 10]]


def test_particles_keep_their_place_on_another_pool():
    strategy = make_strategy("currot", success=BY_VALUE, particles=3, max_step=0.25)
    curriculum = Curriculum(strategy, LINE)
    curriculum.observe(Evidence(1, values=up_to(6)))  # particles on 3, 6 and 6
    # The pool loses tasks 0 to 4, so that task 3 is gone and task 6 has id 1: the first particle
    # starts anew at 6 · 1 / 6 = 1, too.
    curriculum.change_pool(TaskPool(LINE.contexts[5:], features={"target": [0] * 5 + [1]}))
    assert curriculum.probabilities().tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]


def test_bad_settings_and_pools_are_refused():
    with pytest.raises(ValueError, match="currot needs a pool with contexts"):
        Curriculum("currot", TaskPool(["a", "b"], features={"target": [0, 1]}))
    with pytest.raises(ValueError, match="targets='target' is not a feature of the pool"):
        Curriculum("currot", TaskPool([[0.0], [1.0]]))
    with pytest.raises(ValueError, match=r"call strategy.bind\(pool\) first"):
        make_strategy("currot").init(2)
    for setting, value in {
        "threshold": 2,
        "max_step": 0,
        "particles": 0,
        "candidates": 0,
        "floor": -1,
    }.items():
        with pytest.raises(ValueError, match=f"{setting} must be"):
            make_strategy("currot", **{setting: value})
