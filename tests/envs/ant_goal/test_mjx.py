"""AntGoal in MJX against MuJoCo's C library, of which the latter is right.

MJX computes in single precision, and feet that hit the floor make small differences large: the two
are compared over one action from the same state, all along an episode, and over the first ten
actions without a break.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl.envs.ant_goal.host import AT, SPEED, HostAntGoal
from procurl.envs.ant_goal.mjx import MjxAntGoal, MjxAntState
from procurl.envs.ant_goal.rules import GOAL_RADIUS, HORIZON
from procurl.envs.mujoco.physics import aligned_with_capsules, load_mjx

B = 8
GOALS = np.random.default_rng(7).uniform(-1.5, 1.5, (B, 2))
NO_NOISE = np.zeros((B, 0))


@pytest.fixture(scope="module")
def forms():
    """(the C library's form, MJX's form, its compiled step)."""
    env = MjxAntGoal()
    return HostAntGoal(threads=1), env, jax.jit(lambda *given: env.step(*given, NO_NOISE))


def as_mjx(state, warm_start):
    """A state of the host form for MJX; the solver's start is not compared."""
    physics, goals = (jnp.asarray(part, dtype=jnp.float32) for part in (state.physics, state.goals))
    return MjxAntState(
        physics[:, AT], physics[:, SPEED], warm_start, goals, jnp.asarray(state.steps)
    )


def random_actions(rng):
    return rng.uniform(-1.5, 1.5, (B, 8)).astype(np.float32)


def test_starts_agree(forms):
    host, env, _ = forms
    start = env.initial(jnp.asarray(GOALS))
    np.testing.assert_allclose(env.observe(start), host.observe(host.initial(GOALS)), rtol=1e-6)


@pytest.mark.soak  # compiles MJX's step
def test_single_actions_agree_all_along_an_episode(forms):
    """Positions, rewards with the cost of contact forces, and ends, from 8 × 60 states."""
    host, _, step = forms
    state, rng = host.initial(GOALS), np.random.default_rng(0)
    warm_start = jnp.zeros((B, 14))
    off, unpaid, touching = [], [], 0
    for _ in range(60):
        actions = random_actions(rng)
        right, got = host.step(state, actions, NO_NOISE), step(as_mjx(state, warm_start), actions)
        state, warm_start = right.state, got.state.warm_start
        off.append(np.abs(got.state.positions - state.physics[:, AT]).max(axis=1))
        unpaid.append(np.abs(got.reward - right.reward))
        touching += int((forces_cost(right, state, actions) > 1e-4).sum())
        np.testing.assert_array_equal(got.done, right.done)
        np.testing.assert_array_equal(got.success, right.success)
    assert touching > 100  # or nothing was compared
    for errors, usual, most in ((off, 1e-4, 0.01), (unpaid, 1e-4, 0.02)):
        assert np.median(errors) < usual
        assert np.max(errors) < most


def forces_cost(transition, state, actions):
    """[b] what contact forces cost in a step of the host form."""
    distance = np.linalg.norm(state.physics[:, AT][:, :2] - GOALS, axis=1)
    effort = 0.1 * (np.clip(actions, -1.0, 1.0) ** 2).sum(axis=1)
    return 10.0 * np.exp(-2.0 * distance) - effort - transition.reward


@pytest.mark.soak  # compiles MJX's step
def test_the_first_actions_agree_without_a_break(forms):
    host, env, step = forms
    ours, theirs = host.initial(GOALS), env.initial(jnp.asarray(GOALS))
    rng = np.random.default_rng(1)
    off, unpaid = [], []
    for _ in range(10):
        actions = 0.3 * random_actions(rng)
        right, got = host.step(ours, actions, NO_NOISE), step(theirs, actions)
        ours, theirs = right.state, got.state
        off.append(np.abs(theirs.positions - ours.physics[:, AT]).max(axis=1))
        unpaid.append(np.abs(got.reward - right.reward))
    for errors in (off, unpaid):
        assert np.median(errors) < 1e-3
        assert np.max(errors) < 0.1
    assert step._cache_size() == 1  # states of all origins run the same compiled program


@pytest.mark.soak  # compiles MJX's step
def test_an_episode_ends_at_the_horizon_and_succeeds_near_the_goal(forms):
    _, env, step = forms
    start = env.initial(jnp.asarray(GOALS))
    near = np.arange(B) % 2 == 0
    away = np.where(near, 0.8 * GOAL_RADIUS, 1.2 * GOAL_RADIUS)
    there = start.positions.at[:, 0].set(GOALS[:, 0] + away).at[:, 1].set(GOALS[:, 1])
    still = jnp.zeros((B, 8))
    for steps, ends in ((HORIZON - 2, False), (HORIZON - 1, True)):
        state = start._replace(positions=there, steps=jnp.full(B, steps, dtype=jnp.int32))
        after = step(state, still)
        assert np.asarray(after.done).tolist() == [ends] * B
        np.testing.assert_array_equal(after.success, near & ends)


@pytest.mark.soak  # compiles MJX's step
def test_friction_follows_steep_legs_as_in_the_c_library(forms):
    """The first tangent of every contact of a capsule with the floor; MJX alone has others here."""
    from procurl.envs.mujoco.library import mujoco

    host, _, _ = forms
    data = mujoco.MjData(host.model)
    data.qpos[2] = 0.55
    data.qpos[[8, 10, 12, 14]] = np.array([1.1, -1.1, -1.1, 1.1])
    mujoco.mj_forward(host.model, data)
    assert data.ncon >= 4
    mjx = load_mjx()
    model = mjx.put_model(host.model)

    @jax.jit
    def contacts(qpos):
        start = mjx.make_data(host.model).replace(qpos=qpos)
        found = mjx.collision(model, mjx.kinematics(model, start))
        return found._impl.contact, aligned_with_capsules(model, found)._impl.contact

    plain, contact = contacts(jnp.asarray(data.qpos, dtype=jnp.float32))
    turned = False
    for theirs in data.contact:
        here = np.flatnonzero(
            np.all(np.asarray(contact.geom) == theirs.geom, axis=1)
            & (np.abs(np.asarray(contact.dist) - theirs.dist) < 1e-5)
        )[0]
        expected = theirs.frame.reshape(3, 3)
        np.testing.assert_allclose(contact.frame[here], expected, atol=1e-5)
        turned |= not np.allclose(plain.frame[here], expected, atol=0.1)
    assert turned
