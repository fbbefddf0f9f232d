"""AntGoal: Gymnasium's ant, its reward worked by hand, and episodes of 200 steps."""

import gymnasium
import numpy as np
import pytest

from procurl.envs import make_pool
from procurl.envs.ant_goal.host import AT, SPEED, HostAntGoal
from procurl.envs.ant_goal.model import ant_file, ant_goal_model
from procurl.envs.ant_goal.rules import GOALS_WITHIN, HORIZON, distances, observations, rewards
from procurl.envs.mujoco.library import mujoco

ENV = HostAntGoal(threads=2)
NO_NOISE = np.zeros((0,))


def test_the_model_is_gymnasiums():
    theirs = gymnasium.make("Ant-v5").unwrapped
    ours = ant_goal_model()
    assert ant_file().name == "ant.xml"
    np.testing.assert_array_equal(ours.qpos0, theirs.model.qpos0)
    np.testing.assert_array_equal(ours.body_mass, theirs.model.body_mass)
    assert ours.opt.timestep == theirs.model.opt.timestep


def gymnasiums_ant():
    return gymnasium.make(
        "Ant-v5", reset_noise_scale=0.0, terminate_when_unhealthy=False, max_episode_steps=1000
    ).unwrapped


def test_an_episode_is_gymnasiums_ant_bit_for_bit_given_its_settings_of_the_solver():
    theirs = gymnasiums_ant()
    theirs.model.opt.disableflags = ENV.model.opt.disableflags
    theirs.reset(seed=0)
    rng = np.random.default_rng(0)
    states = ENV.initial(np.array([[1.0, 2.0], [0.0, -1.0], [2.0, 0.0]]))
    np.testing.assert_array_equal(states.physics[0, AT], theirs.data.qpos)
    contacts = 0.0
    for _ in range(60):
        actions = rng.uniform(-1.0, 1.0, (3, 8))
        states, reward, _, _ = ENV.step(states, actions, NO_NOISE)
        theirs.step(actions[0])
        np.testing.assert_array_equal(states.physics[0, AT], theirs.data.qpos)
        np.testing.assert_array_equal(states.physics[0, SPEED], theirs.data.qvel)
        distance = np.hypot(*(theirs.data.qpos[:2] - [1.0, 2.0]))
        contact = 0.0005 * (np.clip(theirs.data.cfrc_ext, -1.0, 1.0) ** 2).sum()
        expected = 10 * np.exp(-2 * distance) - 0.1 * (actions[0] ** 2).sum() - contact
        assert reward[0] == pytest.approx(expected, abs=1e-12)
        contacts += contact
    assert contacts > 0


def test_the_solvers_settings_do_not_change_the_physics():
    theirs = gymnasiums_ant()
    theirs.reset(seed=0)
    rng = np.random.default_rng(0)
    states = ENV.initial(np.array([[1.0, 2.0]]))
    for _ in range(20):
        actions = rng.uniform(-1.0, 1.0, (1, 8))
        states, *_ = ENV.step(states, actions, NO_NOISE)
        theirs.step(actions[0])
        np.testing.assert_allclose(states.physics[0, AT], theirs.data.qpos, atol=1e-8)


def test_every_term_of_the_reward_is_as_worked_by_hand():
    forces = np.zeros((3, 2, 6))
    forces[1, 0, :2] = [0.5, -7.0]
    actions = np.array([[0.0] * 8, [0.0] * 8, [1.0] * 4 + [0.0] * 4])
    paid = rewards(np.array([0.0, 0.0, np.log(2.0)]), actions, forces)
    np.testing.assert_allclose(paid, [10.0, 10 - 0.0005 * 1.25, 2.5 - 0.4])


def test_the_distance_is_on_the_plane():
    positions = np.array([[3.0, 4.0, 0.7, *[0.0] * 12]])
    np.testing.assert_allclose(distances(np.zeros((1, 2)), positions), [5.0])


def test_an_observation_is_goal_positions_and_velocities():
    shown = observations(np.array([[1.0, 2.0]]), np.arange(15.0)[None], np.full((1, 14), 5000.0))
    assert shown.shape == (1, 31)
    np.testing.assert_array_equal(shown[0, :4], [1, 2, 0, 1])
    np.testing.assert_array_equal(shown[0, 17:], 1000.0)


def test_contact_forces_cost_reward():
    goals, still = np.array([[1.0, 0.0]]), np.zeros((1, 8))
    states = ENV.initial(goals)
    for _ in range(20):  # the ant falls onto its feet
        states, reward, *_ = ENV.step(states, still, NO_NOISE)
    free = rewards(distances(goals, states.physics[:, AT]), still, np.zeros((1, 1, 6)))
    assert (free - reward).item() > 0.0005  # more than a force of 1


def test_no_episode_ends_before_the_horizon_and_success_is_nearness():
    states = ENV.initial(np.array([[0.0, 0.0], [3.0, 0.0]]))
    for step in range(1, HORIZON + 1):
        states, _, done, success = ENV.step(states, np.zeros((2, 8)), NO_NOISE)
        assert (done == (step == HORIZON)).all()
        assert not success.any() or step == HORIZON
    np.testing.assert_array_equal(success, [True, False])


def test_resets_have_no_noise():
    env = gymnasium.make("procurl/AntGoal-v0")
    first = [env.reset(seed=seed, options={"task": 3})[0] for seed in (1, 2)]
    np.testing.assert_array_equal(*first)
    np.testing.assert_allclose(first[0][:2], make_pool("antgoal").contexts[3], rtol=1e-6)


def test_goals_are_uniform_in_the_disc_and_share_no_task():
    pool, test = make_pool("antgoal"), make_pool("antgoal", "test")
    assert (len(pool), len(test)) == (50, 50)
    assert not set(pool.contexts[:, 0]) & set(test.contexts[:, 0])
    large = make_pool("antgoal", size=8000, seed=1)
    distance = np.hypot(*large.contexts.T)
    np.testing.assert_allclose(large.features["goal_distance"], distance)
    np.testing.assert_allclose((distance < GOALS_WITHIN / 2).mean(), 0.25, atol=0.02)
    assert distance.max() <= GOALS_WITHIN + 1e-9
    np.testing.assert_allclose((large.contexts > 0).mean(axis=0), 0.5, atol=0.02)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ([2.5, 2.5], "the goal must lie within 3 of the start"),
        ([np.nan, 0.0], "context: goal_x must be a finite number"),
        ([1.0], "must hold 2 numbers"),
    ],
)
def test_bad_contexts_are_refused(context, message):
    with pytest.raises(ValueError, match=message):
        ENV.check_context(np.array(context))


def test_the_full_state_has_positions_and_velocities_where_they_are_read():
    model = ant_goal_model()
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = np.arange(15.0), np.arange(14.0) + 100.0
    whole = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.empty(mujoco.mj_stateSize(model, whole))
    mujoco.mj_getState(model, data, state, whole)
    np.testing.assert_array_equal(state[AT], data.qpos)
    np.testing.assert_array_equal(state[SPEED], data.qvel)
