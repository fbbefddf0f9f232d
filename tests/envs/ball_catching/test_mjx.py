"""BallCatching in MJX against MuJoCo's C library, of which the latter is right.

MJX computes in single precision. Over a whole episode, about 100 actions of 5 substeps, what the
agent sees stays within 1e-3 of the C library's; rewards stay within 1e-5, and within 0.01 where 50
to 75 is paid for a catch.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl.envs.ball_catching.host import BallCatchingState, HostBallCatching
from procurl.envs.ball_catching.mjx import MjxBallCatching, MjxBallState, nearest_to_cylinder
from procurl.envs.ball_catching.pool import ball_catching_pool
from procurl.envs.ball_catching.rules import HOME, NET_HALF_HEIGHT, NET_RADIUS, START_NOISE

B = 32
CONTEXTS = ball_catching_pool(size=B, seed=5).contexts
NO_NOISE = np.zeros((B, 0))


@pytest.fixture(scope="module")
def forms():
    """(the C library's form, MJX's form, its compiled step)."""
    env = MjxBallCatching()
    return HostBallCatching(threads=1), env, jax.jit(lambda *given: env.step(*given, NO_NOISE))


def same_start(host, env, seed):
    noise = np.random.default_rng(seed).standard_normal((B, START_NOISE))
    return host.start(CONTEXTS, noise), env.start(jnp.asarray(CONTEXTS), jnp.asarray(noise))


def as_mjx(state):
    """A state of the host form for MJX."""
    physics = jnp.asarray(state.physics, dtype=jnp.float32)
    desired = jnp.asarray(state.desired, dtype=jnp.float32)
    return MjxBallState(physics[:, 1:11], physics[:, 11:21], desired)


def test_starts_agree(forms):
    host, env, _ = forms
    ours, theirs = same_start(host, env, seed=0)
    np.testing.assert_allclose(env.observe(theirs), host.observe(ours), atol=1e-6)
    np.testing.assert_allclose(
        env.observe(env.initial(jnp.asarray(CONTEXTS))),
        host.observe(host.initial(CONTEXTS)),
        atol=1e-6,
    )


@pytest.mark.soak  # compiles MJX's step
def test_whole_episodes_agree(forms):
    """Random actions, half of them far outside the box, to the end of every episode."""
    host, env, step = forms
    ours, theirs = same_start(host, env, seed=1)
    rng = np.random.default_rng(2)
    playing = np.ones(B, dtype=bool)
    for _ in range(env.horizon):
        actions = (rng.choice([1.0, 10.0]) * rng.standard_normal((B, 5))).astype(np.float32)
        right, got = host.step(ours, actions, NO_NOISE), step(theirs, actions)
        ours, theirs = right.state, got.state
        np.testing.assert_array_equal(got.done[playing], right.done[playing])
        np.testing.assert_array_equal(got.success[playing], right.success[playing])
        plain = playing & ~right.success
        np.testing.assert_allclose(got.reward[plain], right.reward[plain], atol=1e-5)
        seen, expected = np.asarray(env.observe(theirs)), host.observe(ours)
        np.testing.assert_allclose(seen[playing], expected[playing], rtol=1e-3, atol=1e-3)
        playing &= ~right.done
    assert not playing.any()


def thrown_at_the_net(host, seed):
    """Balls 6 to 9 cm from the net at 2 to 6 m/s, most towards it, from all sides."""
    from procurl.envs.mujoco.library import mujoco

    rng = np.random.default_rng(seed)
    data = mujoco.MjData(host.model)
    data.qpos[:7] = HOME
    mujoco.mj_forward(host.model, data)
    net = data.geom("net")
    offsets = rng.standard_normal((B, 3))
    offsets *= rng.uniform(0.06, 0.09, (B, 1)) / np.linalg.norm(offsets, axis=1, keepdims=True)
    at = net.xpos + offsets
    aim = net.xpos + rng.uniform(-0.04, 0.04, (B, 3))
    speed = rng.uniform(2.0, 6.0, (B, 1)) * rng.choice([1.0, 1.0, 1.0, -1.0], (B, 1))
    velocity = speed * (aim - at) / np.linalg.norm(aim - at, axis=1, keepdims=True)
    physics = np.zeros((B, 21))
    physics[:, 1:8], physics[:, 8:11], physics[:, 18:] = HOME, at, velocity
    desired = np.tile(np.asarray(HOME)[[1, 3, 4, 5, 6]], (B, 1))
    return BallCatchingState(physics, desired)


@pytest.mark.soak  # compiles MJX's step
def test_catches_agree(forms):
    """Ends, successes and the reward of the catch, which depends on the bounce of one substep."""
    host, _, step = forms
    ours = thrown_at_the_net(host, seed=3)
    theirs = as_mjx(ours)
    playing, caught = np.ones(B, dtype=bool), 0
    for _ in range(6):
        actions = np.zeros((B, 5), dtype=np.float32)
        right, got = host.step(ours, actions, NO_NOISE), step(theirs, actions)
        ours, theirs = right.state, got.state
        np.testing.assert_array_equal(got.done[playing], right.done[playing])
        np.testing.assert_array_equal(got.success[playing], right.success[playing])
        np.testing.assert_allclose(got.reward[playing], right.reward[playing], atol=0.01)
        caught += int((right.success & playing).sum())
        playing &= ~right.done
    assert caught >= 10


@pytest.mark.soak  # compiles MJX's step
def test_catches_by_the_row_agree():
    host, env = HostBallCatching(threads=1, net_axis="row"), MjxBallCatching(net_axis="row")
    step = jax.jit(lambda *given: env.step(*given, NO_NOISE))
    ours = thrown_at_the_net(host, seed=3)
    theirs, caught = as_mjx(ours), 0
    playing = np.ones(B, dtype=bool)
    for _ in range(6):
        actions = np.zeros((B, 5), dtype=np.float32)
        right, got = host.step(ours, actions, NO_NOISE), step(theirs, actions)
        ours, theirs = right.state, got.state
        np.testing.assert_allclose(got.reward[playing], right.reward[playing], atol=0.01)
        caught += int((right.success & playing).sum())
        playing &= ~right.done
    assert caught >= 10


@pytest.mark.soak  # compiles MJX's step
def test_nothing_moves_after_the_first_contact_of_an_action(forms):
    """A ball that touches the net from the beginning: one substep is taken, not five."""
    host, _, step = forms
    ours = thrown_at_the_net(host, seed=4)
    inside = ours.physics.copy()
    inside[:, 8:11] = inside[:, 8:11].mean(axis=0)  # about the net's middle
    ours = ours._replace(physics=inside)
    actions = np.ones((B, 5), dtype=np.float32)
    got = step(as_mjx(ours), actions)
    assert np.asarray(got.done).all()
    moved = np.asarray(got.state.desired) - ours.desired
    np.testing.assert_allclose(moved, 0.002, atol=1e-6)


@pytest.mark.parametrize(
    ("point", "direction", "distance"),
    [
        ((0.0, 0.0, 0.05), (0.0, 0.0, 1.0), 0.05 - NET_HALF_HEIGHT),  # above
        ((0.0, 0.03, -0.05), (0.0, 0.0, -1.0), 0.05 - NET_HALF_HEIGHT),  # below
        ((0.1, 0.0, 0.005), (1.0, 0.0, 0.0), 0.1 - NET_RADIUS),  # at the side
        ((0.0, -0.09, 0.05), (0.0, -0.6, 0.8), 0.05),  # over the edge: a triangle of 3, 4 and 5
        ((0.01, 0.0, 0.008), (0.0, 0.0, 1.0), -0.002),  # inside, nearest to the top
        ((0.0, 0.059, 0.0), (0.0, 1.0, 0.0), -0.001),  # inside, nearest to the side
    ],
)
def test_distance_from_a_flat_cylinder(point, direction, distance):
    found, gap = nearest_to_cylinder(jnp.asarray(point), NET_RADIUS, NET_HALF_HEIGHT)
    np.testing.assert_allclose(found, direction, atol=1e-5)
    assert float(gap) == pytest.approx(distance, abs=1e-6)
