"""BasicKarel's dynamics: every rule, the observation's bits, NumPy against JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl.envs.karel.dynamics import HORIZON, Karel
from procurl.envs.karel.pool import karel_pool
from procurl.envs.karel.state import current_contexts
from procurl.envs.karel.task import (
    ACTIONS,
    CELLS,
    FINISH,
    MOVE,
    PICK_MARKER,
    PUT_MARKER,
    SIZES,
    TURN_LEFT,
    TURN_RIGHT,
    karel_task,
)
from procurl.tasks.pool import TaskPool

ENV = Karel()
NORTH, WEST, SOUTH, EAST = range(4)
AHEAD = {NORTH: (-1, 0), WEST: (0, -1), SOUTH: (1, 0), EAST: (0, 1)}


def context(walls=0, cell=5, direction=NORTH, markers=0, goal=(15, SOUTH, 0)):
    return np.array([walls, cell, direction, markers, *goal])


def play(task, *actions):
    """(reward, done, success, the seven integers then) after `actions` in one episode."""
    state = ENV.initial(np.asarray(task)[None])
    for action in actions:
        transition = ENV.step(state, np.array([action]), np.empty((1, 0)))
        state = transition.state
    return (
        float(transition.reward[0]),
        bool(transition.done[0]),
        bool(transition.success[0]),
        current_contexts(state)[0].tolist(),
    )


@pytest.mark.parametrize("direction", range(4))
@pytest.mark.parametrize("cell", range(CELLS))
def test_move_goes_ahead_or_crashes_at_the_edge(cell, direction):
    row, column = cell // 4 + AHEAD[direction][0], cell % 4 + AHEAD[direction][1]
    start = context(cell=cell, direction=direction)
    reward, done, success, after = play(start, MOVE)
    if 0 <= row < 4 and 0 <= column < 4:
        assert not done
        assert after[1] == 4 * row + column
    else:
        assert done
        assert after == start.tolist()
    assert after[2] == direction
    assert (reward, success) == (0.0, False)


@pytest.mark.parametrize("direction", range(4))
@pytest.mark.parametrize("cell", range(CELLS))
def test_a_wall_ahead_is_a_crash_and_other_walls_are_not(cell, direction):
    row, column = cell // 4 + AHEAD[direction][0], cell % 4 + AHEAD[direction][1]
    if not (0 <= row < 4 and 0 <= column < 4):
        return
    ahead = 1 << 4 * row + column
    blocked = context(walls=ahead, cell=cell, direction=direction)
    assert play(blocked, MOVE) == (0.0, True, False, blocked.tolist())
    elsewhere = 0xFFFF & ~ahead & ~(1 << cell)
    _, done, _, after = play(context(walls=elsewhere, cell=cell, direction=direction), MOVE)
    assert (done, after[1]) == (False, 4 * row + column)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (TURN_LEFT, {NORTH: WEST, WEST: SOUTH, SOUTH: EAST, EAST: NORTH}),
        (TURN_RIGHT, {NORTH: EAST, EAST: SOUTH, SOUTH: WEST, WEST: NORTH}),
    ],
)
def test_turns_from_every_direction_and_cell(action, expected):
    for cell in range(CELLS):
        for before, turned in expected.items():
            start = context(cell=cell, direction=before, markers=0b11)
            _, done, _, after = play(start, action)
            assert not done
            assert after == context(cell=cell, direction=turned, markers=0b11).tolist()


@pytest.mark.parametrize("direction", range(4))
@pytest.mark.parametrize("cell", range(CELLS))
def test_marker_actions_work_once_and_crash_otherwise(cell, direction):
    here, others = 1 << cell, 0xFFFF & ~(1 << cell)
    for around in (0, others):
        bare = context(cell=cell, direction=direction, markers=around)
        marked = context(cell=cell, direction=direction, markers=around | here)
        assert play(marked, PICK_MARKER) == (0.0, False, False, bare.tolist())
        assert play(bare, PUT_MARKER) == (0.0, False, False, marked.tolist())
        assert play(bare, PICK_MARKER) == (0.0, True, False, bare.tolist())
        assert play(marked, PUT_MARKER) == (0.0, True, False, marked.tolist())


def test_finish_succeeds_only_on_an_exact_match():
    goal = (6, WEST, 0b1001)
    matching = context(cell=6, direction=WEST, markers=0b1001, goal=goal)
    assert play(matching, FINISH) == (1.0, True, True, matching.tolist())
    for cell in range(CELLS):
        for direction in range(4):
            for markers in (0, 0b1001, 0b1000, 0b11001, 0xFFFF):
                start = context(cell=cell, direction=direction, markers=markers, goal=goal)
                same = (cell, direction, markers) == goal
                assert play(start, FINISH)[:3] == (float(same), True, same)


def test_an_episode_ends_at_the_horizon_and_finish_counts_there():
    spin = context(cell=0, direction=NORTH, goal=(0, EAST, 0))
    assert not play(spin, *[TURN_LEFT] * (HORIZON - 1))[1]
    assert play(spin, *[TURN_LEFT] * HORIZON)[:3] == (0.0, True, False)
    assert play(spin, *[TURN_LEFT] * (HORIZON - 1), FINISH)[:3] == (1.0, True, True)


def test_observation_bits_of_a_task_worked_by_hand():
    task = [0b1000_0000_0000_0010, 4, WEST, 0b1_0000, 11, EAST, 0b1000_0000_0001]
    shown = ENV.observe(ENV.initial(np.array([task])))
    expected = (
        "0100000000000001"  # walls at cells 1 and 15
        "0000100000000000"  # avatar on cell 4
        "0100"  # faces west
        "0000100000000000"  # marker on cell 4
        "0000000000010000"  # target cell 11
        "0001"  # target direction east
        "1000000000010000"  # target markers on cells 0 and 11
    )
    assert shown.dtype == np.float32
    assert shown.tolist() == [[float(bit) for bit in expected]]


def test_observations_follow_the_episode():
    played = [MOVE, PUT_MARKER, TURN_LEFT, MOVE, TURN_RIGHT, TURN_RIGHT, MOVE, PICK_MARKER]
    state = ENV.initial(np.array([context(cell=9)]))
    for action in played:
        state = ENV.step(state, np.array([action]), np.empty((1, 0))).state
        rebuilt = ENV.initial(current_contexts(state))
        np.testing.assert_array_equal(ENV.observe(state), ENV.observe(rebuilt))
        np.testing.assert_array_equal(state.words, rebuilt.words)


def test_current_contexts_undoes_initial():
    rng = np.random.default_rng(3)
    contexts = np.stack([rng.integers(size, size=5000) for size in SIZES], axis=1)
    np.testing.assert_array_equal(current_contexts(ENV.initial(contexts)), contexts)
    np.testing.assert_array_equal(current_contexts(ENV.initial(contexts.astype(float))), contexts)


def test_numpy_equals_jax_over_random_steps():
    pool = karel_pool("hard", size=512, seed=1)
    contexts = ENV.contexts_of(pool)
    rng = np.random.default_rng(11)
    tasks = rng.integers(len(pool), size=256)
    host, device = ENV.initial(contexts[tasks]), ENV.initial(jnp.asarray(contexts[tasks]))
    step, observe, initial = jax.jit(ENV.step), jax.jit(ENV.observe), jax.jit(ENV.initial)
    successes = 0
    for _ in range(120):  # 30,720 steps
        actions = rng.integers(len(ACTIONS), size=256)
        on_host = ENV.step(host, actions, np.empty((256, 0)))
        on_device = step(device, jnp.asarray(actions), jnp.empty((256, 0)))
        for one, other in zip(jax.tree.leaves(on_host), jax.tree.leaves(on_device), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(ENV.observe(on_host.state), observe(on_device.state))
        successes += int(on_host.success.sum())
        done = on_host.done
        tasks = np.where(done, rng.integers(len(pool), size=256), tasks)
        fresh, fresh_device = ENV.initial(contexts[tasks]), initial(jnp.asarray(contexts[tasks]))
        host = type(host)(
            *(
                np.where(done.reshape(-1, *[1] * (old.ndim - 1)), new, old)
                for old, new in zip(on_host.state, fresh, strict=True)
            )
        )
        device = jax.tree.map(
            lambda old, new, done=done: jnp.where(
                done.reshape(-1, *[1] * (old.ndim - 1)), new, old
            ),
            on_device.state,
            fresh_device,
        )
    assert successes > 10


def test_step_leaves_its_inputs_untouched():
    state = ENV.initial(np.array([context(), context(cell=0)]))
    words, steps, actions = state.words.copy(), state.steps.copy(), np.array([MOVE, MOVE])
    ENV.step(state, actions, np.empty((2, 0)))
    np.testing.assert_array_equal(state.words, words)
    np.testing.assert_array_equal(state.steps, steps)
    assert actions.tolist() == [MOVE, MOVE]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([0] * 6, "7 numbers"),
        ("seven", "7 numbers"),
        ([0, 16, 0, 0, 0, 0, 0], "'cell' must be an integer from 0 to 15, got 16"),
        ([0, 1, 4, 0, 0, 0, 0], "'direction' must be an integer from 0 to 3, got 4"),
        ([65536, 1, 0, 0, 0, 0, 0], "'walls' must be an integer from 0 to 65535, got 65536"),
        ([0, 1.5, 0, 0, 0, 0, 0], "'cell' must be an integer .* got 1.5"),
        ([0, 1, 0, float("nan"), 0, 0, 0], "'markers' must be an integer .* got nan"),
        ([2, 1, 0, 0, 0, 0, 0], r"'cell' is a wall \(cell 1\)"),
        ([2, 0, 0, 0, 1, 0, 0], r"'goal_cell' is a wall \(cell 1\)"),
        ([6, 0, 0, 6, 0, 0, 0], r"'markers' has markers on walls \(cell 1, 2\)"),
        ([6, 0, 0, 0, 0, 0, 4], r"'goal_markers' has markers on walls \(cell 2\)"),
        ([0b10010, 0, 0, 0, 2, 0, 0], r"'goal_cell' is cut off .*\(cell 2\): no solution"),
        ([0b10010, 0, 0, 4, 0, 0, 0], r"'goal_markers' differs where .*\(cell 2\): no solution"),
    ],
)
def test_bad_contexts_are_refused_by_entry(bad, message):
    with pytest.raises(ValueError, match=message):
        ENV.check_context(bad)


def test_markers_behind_walls_may_stay_there():
    ENV.check_context([0b10010, 0, 0, 4, 0, 0, 4])


def test_contexts_of_a_pool_and_of_a_bad_pool():
    rows = [[0, 1, 2, 3, 4, 1, 3], [0, 0, 0, 0, 0, 0, 0]]
    pool = TaskPool([karel_task(row) for row in rows])
    assert pool.contexts is None
    assert ENV.contexts_of(pool).tolist() == rows
    assert ENV.contexts_of(TaskPool(rows)).tolist() == rows
    with pytest.raises(ValueError, match="task 1 of the pool cannot be played: 'cell' is a wall"):
        ENV.contexts_of(TaskPool([karel_task(rows[0]), karel_task([1, 0, 0, 0, 1, 0, 0])]))
    with pytest.raises(ValueError, match="goal_markers is missing"):
        ENV.context_of(dict.fromkeys(ENV.context_names[:-1], 0))
