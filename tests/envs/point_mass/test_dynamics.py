"""PointMass: hand-worked steps, and a replay through an independent scalar implementation."""

import math

import numpy as np
import pytest

from procurl.envs.point_mass.dynamics import DensePointMass, SparsePointMass
from procurl.envs.point_mass.rules import CONTEXT_HIGH, CONTEXT_LOW, PointMassState

SPARSE, DENSE = SparsePointMass(), DensePointMass()
STILL = np.zeros((1, 10, 2), dtype=np.float32)
GATE = (3.0, 1.0, 0.0)  # open from 2.5 to 3.5, no friction


def state_of(x, y, vx=0.0, vy=0.0, context=GATE, steps=0):
    numbers = [np.array([value], dtype=np.float32) for value in (x, y, vx, vy, *context)]
    return PointMassState(*numbers, steps=np.array([steps], dtype=np.int32))


def after(state, action=(0.0, 0.0), env=SPARSE, noise=STILL):
    return env.step(state, np.array([action], dtype=np.float32), noise)


def place(transition):
    state = transition.state
    return [float(value[0]) for value in (state.x, state.y, state.vx, state.vy)]


def test_an_episode_starts_at_rest_above_the_wall():
    state = SPARSE.initial(np.array([[1.0, 2.0, 0.5]]))
    np.testing.assert_array_equal(SPARSE.observe(state), [[0.0, 0.0, 3.0, 0.0, 1.0, 2.0, 0.5]])
    assert SPARSE.observe(state).dtype == np.float32


def test_one_push_without_friction_by_hand():
    # vy after k substeps is −0.15·k; y moves by the velocity before each substep: 45·0.0015.
    transition = after(state_of(0, 3), action=(0.0, -10.0))
    assert place(transition) == pytest.approx([0.0, 3 - 0.0675, 0.0, -1.5], abs=1e-6)
    assert not transition.done[0]
    assert transition.state.steps[0] == 1


def test_friction_slows_geometrically_by_hand():
    transition = after(state_of(0, 3, vx=2.0, context=(0.0, 1.0, 4.0)))
    moved = 0.01 * sum(2.0 * 0.96**k for k in range(10))
    assert place(transition) == pytest.approx([moved, 3.0, 2.0 * 0.96**10, 0.0], abs=1e-6)


def test_noise_adds_its_twentieth_to_the_acceleration():
    noise = STILL.copy()
    noise[0, 3] = [1.0, -2.0]  # from the fourth substep on, six substeps move with it
    transition = after(state_of(0, 3), noise=noise)
    expected = [6 * 0.01 * 0.0005, 3 - 6 * 0.01 * 0.001, 0.0005, -0.001]
    assert place(transition) == pytest.approx(expected, abs=1e-6)


def test_actions_are_clipped_to_the_box():
    beyond = after(state_of(0, 3), action=(25.0, -1e6))
    assert place(beyond) == place(after(state_of(0, 3), action=(10.0, -10.0)))


@pytest.mark.parametrize(
    ("x", "vx", "crossing"),
    [(2.4, 10.0, 2.45), (3.6, -10.0, 3.55), (-1.0, 0.0, -1.0)],
    ids=["left of the gate", "right of the gate", "far away"],
)
@pytest.mark.parametrize("upwards", [False, True])
def test_a_crash_stops_the_mass_in_the_wall_and_ends_the_episode(x, vx, crossing, upwards):
    y, vy = (-0.05, 10.0) if upwards else (0.05, -10.0)
    transition = after(state_of(x, y, vx, vy), action=(10.0, 10.0))
    assert place(transition) == pytest.approx([crossing, 0.0, 0.0, 0.0], abs=1e-6)
    assert transition.done[0]
    assert not transition.success[0]
    assert transition.reward[0] == 0.0


@pytest.mark.parametrize(("x", "vx"), [(2.46, 10.0), (3.54, -10.0), (3.0, 0.0)])
@pytest.mark.parametrize("upwards", [False, True])
def test_the_gate_lets_the_mass_through(x, vx, upwards):
    y, vy = (-0.05, 5.0) if upwards else (0.05, -5.0)
    transition = after(state_of(x, y, vx, vy))
    clipped = min(x + 0.1 * vx, 4.0)
    assert place(transition) == pytest.approx([clipped, y + 0.1 * vy, vx, vy], abs=1e-5)
    assert not transition.done[0]


def test_leaving_the_wall_itself_counts_as_crossing():
    for vy in (-5.0, 5.0):
        assert after(state_of(0.0, 0.0, vy=vy)).done[0]
        assert not after(state_of(3.0, 0.0, vy=vy)).done[0]


def test_of_two_crossings_in_one_action_the_first_crash_counts():
    # Down at x = 0.1 in the first substep, then pushed back up at x = 0.4 to 0.6.
    there_and_back = {"x": 0.0, "y": 0.0005, "vx": 20.0, "vy": -0.1}
    both_blocked = after(state_of(**there_and_back, context=(-3.0, 1.0, 0.0)), action=(0.0, 10.0))
    assert place(both_blocked) == pytest.approx([0.1, 0.0, 0.0, 0.0], abs=1e-6)
    second_blocked = after(state_of(**there_and_back, context=(0.0, 0.5, 0.0)), action=(0.0, 10.0))
    x, *rest = place(second_blocked)
    assert second_blocked.done[0]
    assert 0.39 < x < 0.61
    assert rest == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_both_axes_stop_at_4_and_keep_their_velocity(sign):
    x, _, vx, _ = place(after(state_of(sign * 3.95, 3.0, vx=sign * 10.0)))
    assert (x, vx) == (sign * 4.0, sign * 10.0)
    _, y, _, vy = place(after(state_of(0.0, sign * 3.95, vy=sign * 10.0)))
    assert (y, vy) == (sign * 4.0, sign * 10.0)


@pytest.mark.parametrize("angle", [0.0, 1.0, 2.5, 4.0])
def test_the_goal_ends_where_its_rim_is(angle):
    def at(distance):
        return state_of(distance * math.cos(angle), -3.0 + distance * math.sin(angle))

    inside, outside = after(at(0.3 - 1e-5)), after(at(0.3 + 1e-5))
    assert (inside.reward[0], inside.done[0], inside.success[0]) == (1.0, True, True)
    assert (outside.reward[0], outside.done[0], outside.success[0]) == (0.0, False, False)


def test_flying_over_the_goal_within_an_action_is_not_success():
    transition = after(state_of(0.0, -2.6, vy=-10.0))
    assert place(transition)[1] == pytest.approx(-3.6, abs=1e-5)
    assert not transition.done[0]


@pytest.mark.parametrize("env", [SPARSE, DENSE])
def test_the_horizon_ends_the_episode_after_100_actions(env):
    assert not after(state_of(0, 3, steps=98), env=env).done[0]
    last = after(state_of(0, 3, steps=99), env=env)
    assert last.done[0]
    assert not last.success[0]


def test_the_dense_reward_is_paid_every_step_and_the_goal_does_not_end_the_episode():
    near = after(state_of(0.0, -2.9), env=DENSE)
    assert near.reward[0] == pytest.approx(math.exp(-0.06))
    assert (near.done[0], near.success[0]) == (False, False)
    last = after(state_of(0.0, -2.9, steps=99), env=DENSE)
    assert (last.done[0], last.success[0]) == (True, True)
    crash = after(state_of(-1.0, 0.05, vy=-10.0), env=DENSE)
    assert crash.reward[0] == pytest.approx(math.exp(-0.6 * math.hypot(1.0, 3.0)))
    assert (crash.done[0], crash.success[0]) == (True, False)


def scalar_step(x, y, vx, vy, context, action, noise):
    """One action of one mass in plain floats: (x, y, vx, vy, crashed)."""
    gate, width, friction = context
    ax, ay = (min(max(a, -10.0), 10.0) for a in action)
    for wx, wy in noise:
        new_x = min(max(x + 0.01 * vx, -4.0), 4.0)
        new_y = min(max(y + 0.01 * vy, -4.0), 4.0)
        vx, vy = (
            vx + 0.01 * (1.5 * ax - friction * vx + 0.05 * wx),
            vy + 0.01 * (1.5 * ay - friction * vy + 0.05 * wy),
        )
        if y >= 0 > new_y or y <= 0 < new_y:
            along = (0.0 - y) / (new_y - y)
            cross = (1 - along) * x + along * new_x
            if abs(cross - gate) > width / 2:
                return cross, 0.0, 0.0, 0.0, True
        x, y = new_x, new_y
    return x, y, vx, vy, False


def test_recorded_actions_and_noise_replay_in_plain_floats():
    rng = np.random.default_rng(7)
    contexts = rng.uniform(CONTEXT_LOW, CONTEXT_HIGH, (60, 3))
    state = SPARSE.initial(contexts)
    masses = [(0.0, 3.0, 0.0, 0.0)] * 60
    done = np.zeros(60, dtype=bool)
    crashes = passages = 0
    for step in range(100):
        actions = rng.uniform(-12.0, 12.0, (60, 2))
        actions[:, 1] += -4.0 if step < 50 else 4.0
        noise = rng.standard_normal((60, 10, 2))
        transition = SPARSE.step(state, actions, noise)
        state = transition.state
        for i in np.flatnonzero(~done):
            was_above = masses[i][1] > 0
            *mass, crashed = scalar_step(*masses[i], contexts[i], actions[i], noise[i])
            masses[i] = tuple(mass)
            ours = [state.x[i], state.y[i], state.vx[i], state.vy[i]]
            np.testing.assert_allclose(ours, mass, atol=2e-4)
            success = math.hypot(mass[0], mass[1] + 3.0) < 0.3
            assert transition.done[i] == (crashed or success or step == 99)
            assert transition.reward[i] == transition.success[i] == success
            crashes += crashed
            passages += not crashed and was_above != (mass[1] > 0)
        done |= transition.done
    assert crashes > 10  # the recording has what it is to test
    assert passages > 10


def test_step_leaves_its_inputs_untouched():
    state = state_of(2.4, 0.05, 10.0, -10.0)
    before = [array.copy() for array in state]
    after(state, action=(20.0, 20.0))
    for array, copy in zip(state, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_states_stay_float32_whatever_comes_in():
    state = SPARSE.initial(np.array([[0.0, 1.0, 1.0]], dtype=np.float64))
    transition = DENSE.step(state, np.zeros((1, 2)), np.zeros((1, 10, 2)))
    dtypes = {array.dtype for array in transition.state[:-1]}
    assert dtypes == {np.dtype(np.float32)}
    assert transition.state.steps.dtype == np.int32
    assert transition.reward.dtype == np.float32


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (
            [0.0, 0.0, 1.0],
            "gate_width must be a finite number of at least 0.5 and at most 8, got 0.0",
        ),
        ([4.5, 1.0, 1.0], "gate_position must be a finite number of at least -4 and at most 4"),
        ([0.0, 1.0, -0.1], "friction must be a finite number of at least 0 and at most 4"),
        ([0.0, np.nan, 1.0], "gate_width must be a finite number .* got .*nan"),
        ([0.0, 1.0], "3 numbers"),
        ([[0.0, 1.0, 1.0]], "3 numbers"),
    ],
)
def test_a_bad_context_is_refused_by_name(context, message):
    with pytest.raises(ValueError, match=message):
        SPARSE.check_context(np.array(context))
