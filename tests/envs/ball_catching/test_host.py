"""BallCatching in MuJoCo: what ends an episode, what it is paid, and that it can be solved."""

import numpy as np
import pytest

from procurl.envs import GymVectorEnv, make_pool
from procurl.envs.ball_catching.host import POSITIONS, VELOCITIES, HostBallCatching
from procurl.envs.ball_catching.model import ARM, BALL, NET_SITE, ball_catching_model
from procurl.envs.ball_catching.rules import MOVED, SPEED, SUBSTEP, SUBSTEPS
from procurl.envs.mujoco.library import mujoco
from tests.envs.ball_catching.catcher import catching_poses, steering

ENV = HostBallCatching(threads=2)
NO_NOISE = np.zeros((0,))
HOLD = np.zeros((1, 5))
CONTEXT = np.array([[0.8, 0.9, 2.0]])
AHEAD = np.array([0.045, 0.0, 0.0])  # of the net, from where throws come


def with_ball(position, velocity):
    """One episode whose ball is put somewhere else."""
    state = ENV.initial(CONTEXT)
    physics = state.physics.copy()
    physics[0, POSITIONS][BALL], physics[0, VELOCITIES][BALL] = position, velocity
    return state._replace(physics=physics)


def net_at_home():
    model = ball_catching_model()
    data = mujoco.MjData(model)
    data.qpos[ARM] = ENV.initial(CONTEXT).physics[0, POSITIONS][ARM]
    mujoco.mj_forward(model, data)
    return data.site(NET_SITE).xpos.copy()


def played_by_hand(state, action):
    """(physics after the action, names touched, net's rotation), one `mj_step` after the other."""
    model = ball_catching_model()
    data = mujoco.MjData(model)
    data.time = state.physics[0, 0]
    data.qpos, data.qvel = state.physics[0, POSITIONS], state.physics[0, VELOCITIES]
    touched = set()
    for substep in range(1, SUBSTEPS + 1):
        desired = state.desired[0] + SUBSTEP * substep * action
        data.ctrl[list(MOVED)] = desired
        mujoco.mj_step(model, data)
        touched = {model.geom(int(geom)).name for geom in data.contact.geom.ravel()}
        if touched:
            break
    after = np.array([data.time, *data.qpos, *data.qvel])
    return after, touched, data.site(NET_SITE).xmat.reshape(3, 3).copy()


def test_an_episode_is_what_single_steps_of_mujoco_give_bit_for_bit():
    rng = np.random.default_rng(3)
    contexts = make_pool("ballcatching").contexts[:6]
    states = ENV.start(contexts, rng.standard_normal((6, 12)))
    alone = [type(states)(*(part[[i]] for part in states)) for i in range(6)]
    over = np.zeros(6, dtype=bool)
    while not over.all():
        actions = rng.uniform(-1.0, 1.0, (6, 5)) * SPEED
        states, reward, done, caught = ENV.step(states, actions, NO_NOISE)
        for i in np.flatnonzero(~over):
            after, touched, turn = played_by_hand(alone[i], actions[i])
            np.testing.assert_array_equal(states.physics[i], after)
            assert done[i] == bool(touched)
            assert caught[i] == ("net" in touched)
            expected = 0.275 - 0.005 * (actions[i] ** 2).sum()
            if "net" in touched:
                velocity = after[VELOCITIES][BALL]
                expected += 50 + 25 * (turn[:, 2] @ velocity / np.linalg.norm(velocity)) ** 5
            assert reward[i] == pytest.approx(expected, abs=1e-12)
            alone[i] = type(states)(*(part[[i]] for part in states))
        over |= done


def test_a_ball_in_the_net_is_a_catch_and_paid_by_its_direction():
    before = with_ball(net_at_home() + AHEAD, (-4.0, 0.0, 0.0))
    after, reward, done, caught = ENV.step(before, HOLD, NO_NOISE)
    assert done[0]
    assert caught[0]
    assert 0 < after.physics[0, 0] < SUBSTEP * SUBSTEPS  # cut at the first contact
    physics, touched, turn = played_by_hand(before, HOLD[0])
    velocity = physics[VELOCITIES][BALL]
    straight = turn[:, 2] @ velocity / np.linalg.norm(velocity)
    assert touched == {"ball", "net"}
    assert straight > 0.99
    assert reward[0] == pytest.approx(0.275 + 50 + 25 * straight**5)


def test_by_the_row_a_catch_is_paid_as_in_the_papers_program():
    before = with_ball(net_at_home() + AHEAD, (-4.0, 0.0, 1.0))
    by_row = HostBallCatching(threads=1, net_axis="row").step(before, HOLD, NO_NOISE)
    by_column = ENV.step(before, HOLD, NO_NOISE)
    physics, _, turn = played_by_hand(before, HOLD[0])
    velocity = physics[VELOCITIES][BALL]
    along = turn[2] @ velocity / np.linalg.norm(velocity)
    assert by_row.reward[0] == pytest.approx(0.275 + 50 + 25 * along**5)
    assert abs(by_row.reward[0] - by_column.reward[0]) > 0.1
    np.testing.assert_array_equal(by_row.state.physics, by_column.state.physics)


def test_an_unknown_net_axis_is_named():
    with pytest.raises(ValueError, match="net_axis must be one of column, row, got 'z'"):
        HostBallCatching(net_axis="z")


def test_a_ball_from_behind_is_caught_for_less():
    before = with_ball(net_at_home() - AHEAD, (4.0, 0.0, 0.0))
    _, reward, _, caught = ENV.step(before, HOLD, NO_NOISE)
    assert caught[0]
    assert reward[0] == pytest.approx(0.275 + 50 - 25, abs=1.0)


@pytest.mark.parametrize(
    ("position", "velocity"),
    [((2.0, 2.0, 0.05), (0.0, 0.0, -6.0)), ((0.17, 0.0, 0.5), (-6.0, 0.0, 0.0))],
    ids=["floor", "stand"],
)
def test_touching_anything_else_ends_the_episode_without_success(position, velocity):
    _, reward, done, caught = ENV.step(with_ball(position, velocity), HOLD, NO_NOISE)
    assert done[0]
    assert not caught[0]
    assert reward[0] == pytest.approx(0.275)


def test_actions_are_clipped_to_the_box():
    states = ENV.initial(CONTEXT)
    wild, _, _, _ = ENV.step(states, np.full((1, 5), 100.0), NO_NOISE)
    bounded, reward, _, _ = ENV.step(states, np.array([SPEED]), NO_NOISE)
    np.testing.assert_array_equal(wild.physics, bounded.physics)
    assert reward[0] == pytest.approx(0.275 - 0.005 * sum(speed**2 for speed in SPEED))
    np.testing.assert_allclose(bounded.desired, states.desired + 0.01 * np.array([SPEED]))


def test_a_scripted_catcher_catches_most_throws():
    n = 100
    env = GymVectorEnv("ballcatching", n, autoreset_mode="Disabled")
    seen, _ = env.reset(seed=0, options={"task": np.arange(n)})
    poses = catching_poses(env.pool.contexts, seen[:, 18:21])
    over, caught = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    while not over.all():
        seen, _, done, _, info = env.step(steering(poses, seen))
        if done.any():
            caught |= done & ~over & info["is_success"]
            over |= done
            seen, _ = env.reset(options={"reset_mask": done, "task": np.arange(n)})
    assert caught.mean() >= 0.7


def test_an_arm_at_rest_catches_few():
    n = 100
    env = GymVectorEnv("ballcatching", n, autoreset_mode="Disabled")
    env.reset(seed=0, options={"task": np.arange(n)})
    over, caught = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    while not over.all():
        _, _, done, _, info = env.step(np.zeros((n, 5)))
        if done.any():
            caught |= done & ~over & info["is_success"]
            over |= done
            env.reset(options={"reset_mask": done, "task": np.arange(n)})
    assert caught.mean() < 0.2
