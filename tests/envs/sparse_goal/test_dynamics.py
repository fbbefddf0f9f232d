"""SparseGoal: hand-worked moves, walls, goals, starts, and the same numbers under JAX."""

import numpy as np
import pytest

from procurl.envs.sparse_goal.dynamics import SparseGoal
from procurl.envs.sparse_goal.rules import CONTEXT_HIGH, CONTEXT_LOW, SparseGoalState

ENV = SparseGoal()
FAR = (9.0, 9.0, 0.05)


def state_of(x, y, context=FAR, steps=0):
    numbers = [np.array([value], dtype=np.float32) for value in (x, y, *context)]
    return SparseGoalState(*numbers, steps=np.array([steps], dtype=np.int32))


def after(state, action=(0.0, 0.0)):
    return ENV.step(state, np.array([action], dtype=np.float32), np.zeros((1, 0)))


def place(transition):
    return [float(transition.state.x[0]), float(transition.state.y[0])]


def test_an_episode_without_noise_starts_in_the_middle_of_the_corner():
    state = ENV.initial(np.array([[1.0, 2.0, 0.5]]))
    np.testing.assert_array_equal(ENV.observe(state), [[-6.0, -6.0, 1.0, 2.0, 0.5]])
    assert ENV.observe(state).dtype == np.float32


def test_starts_are_uniform_in_the_corner():
    rng = np.random.default_rng(0)
    contexts = np.tile(FAR, (20_000, 1))
    state = ENV.start(contexts, rng.standard_normal((20_000, 2, 2)))
    for coordinate in (state.x, state.y):
        counts, _ = np.histogram(coordinate, bins=10, range=(-7.0, -5.0))
        assert counts.sum() == 20_000
        np.testing.assert_allclose(counts, 2000, atol=200)
    assert abs(np.corrcoef(state.x, state.y)[0, 1]) < 0.03


@pytest.mark.parametrize(
    ("action", "moved"),
    [
        ((0.5, 0.0), (0.15, 0.0)),
        ((0.3, -0.4), (0.09, -0.12)),  # length 0.5: taken as it is
        ((-0.6, 0.8), (-0.18, 0.24)),  # length 1
        ((1.0, 1.0), (0.3 / np.sqrt(2), 0.3 / np.sqrt(2))),  # length √2: shrunk to 1
        ((1.0, 0.75), (0.24, 0.18)),  # length 1.25
        ((4.0, -3.0), (0.3 / np.sqrt(2), -0.3 / np.sqrt(2))),  # clipped to (1, −1) first
    ],
)
def test_a_move_is_shrunk_only_if_the_action_is_longer_than_1(action, moved):
    x, y = place(after(state_of(-6.0, -6.0), action))
    assert (x + 6.0, y + 6.0) == pytest.approx(moved, abs=1e-6)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_outer_wall_stops_each_coordinate_alone(sign):
    x, y = place(after(state_of(sign * 6.9, 6.0), (sign * 0.6, 0.8)))
    assert (x, y) == pytest.approx((sign * 7.0, 6.24), abs=1e-6)
    x, y = place(after(state_of(6.0, sign * 6.9), (0.8, sign * 0.6)))
    assert (x, y) == pytest.approx((6.24, sign * 7.0), abs=1e-6)


@pytest.mark.parametrize(
    ("x", "y", "action", "expected"),
    [
        (-5.1, 0.0, (0.6, 0.8), (-5.0, 0.24)),  # slides up along the left edge
        (5.1, 0.0, (-0.6, 0.8), (5.0, 0.24)),
        (1.0, -5.1, (0.8, 0.6), (1.24, -5.0)),
        (1.0, 5.1, (0.8, -0.6), (1.24, 5.0)),
        (-5.1, -5.1, (0.8, 0.6), (-5.0, -5.0)),  # into the corner: both stay
        (-5.0, 2.0, (1.0, 0.0), (-5.0, 2.0)),  # at the edge already
        (-5.0, 2.0, (0.0, 1.0), (-5.0, 2.3)),  # along the edge
        (-5.0, -5.2, (0.0, 1.0), (-5.0, -4.9)),  # along the edge, from beyond its corner
        (-5.1, -5.2, (1.0, 0.0), (-4.8, -5.2)),  # below the wall: nothing stops it
    ],
)
def test_the_inner_wall_stops_a_move_at_its_edge(x, y, action, expected):
    assert place(after(state_of(x, y), action)) == pytest.approx(expected, abs=1e-6)


def test_the_goal_is_reached_within_the_tolerance_which_ends_the_episode():
    for tolerance in (0.05, 1.0, 12.0):
        context = (6.0, -6.0 + tolerance, tolerance)
        inside, outside = (after(state_of(6.0, -6.0 + shift, context)) for shift in (1e-4, -1e-4))
        assert (inside.reward[0], inside.done[0], inside.success[0]) == (1.0, True, True)
        assert (outside.reward[0], outside.done[0], outside.success[0]) == (0.0, False, False)


def test_a_goal_inside_the_wall_needs_a_tolerance_that_reaches_the_edge():
    assert not after(state_of(-5.0, 0.0, (0.0, 0.0, 5.0))).success[0]
    assert after(state_of(-5.0, 0.0, (0.0, 0.0, 5.1))).success[0]


def test_the_horizon_ends_the_episode_after_200_actions():
    assert not after(state_of(-6, -6, steps=198)).done[0]
    last = after(state_of(-6, -6, steps=199))
    assert (last.done[0], last.success[0], last.reward[0]) == (True, False, 0.0)
    assert last.state.steps[0] == 200


def test_200_actions_are_enough_for_the_farthest_goal():
    """From the far end of the start, around the wall, to the opposite corner."""
    state = state_of(-7.0, -7.0, (7.0, 7.0, 0.05))
    actions = [(1.0, 0.0)] * 47 + [(0.0, 1.0)] * 47
    transitions = []
    for action in actions:
        transitions.append(after(state, action))
        state = transitions[-1].state
    assert transitions[-1].success[0]
    assert not any(transition.done[0] for transition in transitions[:-1])


def test_numpy_equals_jax_over_whole_episodes():
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(3)
    contexts = rng.uniform(CONTEXT_LOW, CONTEXT_HIGH, (100, 3)).astype(np.float32)
    contexts[:, 2] *= 0.5  # so that many episodes last
    noise = rng.standard_normal((100, 2, 2)).astype(np.float32)
    drift = rng.uniform(-1.0, 1.0, (100, 2))
    actions = (drift + rng.normal(0.0, 0.8, (200, 100, 2))).astype(np.float32)

    @jax.jit
    def episode(contexts, noise, actions):
        def step(state, action):
            transition = ENV.step(state, action, None)
            return transition.state, (ENV.observe(transition.state), *transition[1:])

        return jax.lax.scan(step, ENV.start(contexts, noise), actions)[1]

    theirs = [np.asarray(out) for out in episode(contexts, noise, actions)]
    state = ENV.start(contexts, noise)
    playing = np.ones(100, dtype=bool)
    endings = touches = 0
    for t in range(200):
        transition = ENV.step(state, actions[t], None)
        state = transition.state
        for mine, other in zip((ENV.observe(state), *transition[1:]), theirs, strict=True):
            assert mine.dtype == other.dtype
            np.testing.assert_allclose(mine[playing], other[t][playing], atol=1e-4)
        touches += np.sum(np.abs(np.stack([state.x, state.y])) == 5.0)
        endings += np.sum(playing & transition.done & (t < 199))
        playing &= ~transition.done
    assert endings > 20
    assert touches > 20


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ([9.5, 0.0, 1.0], "goal_x must be a finite number of at least -9 and at most 9, got 9.5"),
        ([0.0, 0.0, 0.04], "tolerance must be a finite number of at least 0.05 and at most 18"),
        ([0.0, 1.0], "3 numbers"),
    ],
)
def test_a_bad_context_is_refused_by_name(context, message):
    with pytest.raises(ValueError, match=message):
        ENV.check_context(np.array(context))
