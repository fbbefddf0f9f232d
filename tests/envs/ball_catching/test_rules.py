"""BallCatching's rules: throws, starts, observations and every term of the reward, by hand."""

import math

import numpy as np
import pytest

from procurl.envs import make_pool
from procurl.envs.ball_catching.host import HostBallCatching
from procurl.envs.ball_catching.rules import (
    CONTEXT_HIGH,
    CONTEXT_LOW,
    CONTEXT_NAMES,
    HOME,
    net_normals,
    noisy_starts,
    observations,
    on_arm,
    rewards,
    starts,
    targets,
    throws,
)


def test_the_target_lies_on_a_circle_in_the_plane_of_the_arm():
    reached = targets(np.array([[math.pi / 2, 1.0, 2.0], [math.pi / 6, 0.8, 2.0]]))
    expected = [[0, 0, 1.75], [0, -0.8 * math.sqrt(3) / 2, 1.15]]
    np.testing.assert_allclose(reached, expected, atol=1e-12)


def test_a_throw_is_the_ballistic_one():
    position, velocity = throws(np.array([[math.pi / 2, 1.0, 2.0]]), np.array([[0.5, 0.25]]))
    np.testing.assert_allclose(position, [[2.0, -0.7, 1.05]])
    time = 0.6
    np.testing.assert_allclose(
        velocity, [[-2.0 / time, 0.7 / time, 0.7 / time + 0.5 * 9.81 * time]]
    )


def test_starts_have_noise_where_it_belongs():
    rng = np.random.default_rng(0)
    contexts = np.tile([1.0, 0.8, 2.0], (4000, 1))
    positions, velocities = noisy_starts(contexts, rng.standard_normal((4000, 12)))
    off = positions[:, :7] - HOME
    np.testing.assert_array_equal(off[:, [0, 2]], 0.0)
    np.testing.assert_array_equal(velocities[:, [0, 2]], 0.0)
    moved = off[:, [1, 3, 4, 5, 6]]
    assert (np.abs(moved) <= 0.05).all()
    np.testing.assert_allclose(moved.std(axis=0), 0.05 / math.sqrt(3), rtol=0.05)
    np.testing.assert_allclose(velocities[:, [1, 3, 4, 5, 6]].std(axis=0), 0.05, rtol=0.05)
    np.testing.assert_array_equal(positions[:, 7], 2.0)
    for column, low, high in ((8, -0.75, -0.65), (9, 0.8, 1.8)):
        shares = np.histogram(positions[:, column], 10, (low, high))[0] / 4000
        np.testing.assert_allclose(shares, 0.1, atol=0.025)


def test_starts_without_noise_are_the_middle():
    positions, velocities = starts(
        np.array([[1.0, 0.8, 2.0]]), np.full((1, 7), 0.5), np.zeros((1, 5))
    )
    np.testing.assert_allclose(positions[0], [*HOME, 2.0, -0.7, 1.3])
    np.testing.assert_array_equal(velocities[0, :7], 0.0)


def test_starts_on_jax_are_those_on_numpy():
    jnp = pytest.importorskip("jax.numpy")
    rng = np.random.default_rng(1)
    contexts, noise = make_pool("ballcatching").contexts, rng.standard_normal((100, 12))
    ours = noisy_starts(contexts, noise)
    theirs = noisy_starts(jnp.asarray(contexts), jnp.asarray(noise))
    for host, compiled in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(compiled, host, atol=1e-5)


def test_controls_leave_two_joints_at_zero():
    np.testing.assert_array_equal(on_arm(np.array([[1.0, 2, 3, 4, 5]])), [[0, 1, 0, 2, 3, 4, 5]])


def test_an_observation_shows_the_moved_joints_and_the_ball_and_is_clipped():
    desired = np.array([[20.0, 1, 2, 3, 4]])
    positions, velocities = np.arange(10.0)[None], -3.0 * np.arange(10.0)[None]
    shown = observations(desired, positions, velocities)
    assert shown.dtype == np.float32
    np.testing.assert_array_equal(shown[0, :5], [10, 1, 2, 3, 4])
    np.testing.assert_array_equal(shown[0, 5:13], [1, 3, 4, 5, 6, 7, 8, 9])
    np.testing.assert_array_equal(shown[0, 13:], [-3, -9, -10, -10, -10, -10, -10, -10])


def test_a_catch_is_measured_along_the_third_column_or_the_third_row():
    """A quarter turn about y maps z to x: the net's axis is x, the third row is −x."""
    quarter = np.array([[[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]])
    np.testing.assert_array_equal(net_normals(quarter, "column"), [[1, 0, 0]])
    np.testing.assert_array_equal(net_normals(quarter, "row"), [[-1, 0, 0]])


def test_every_term_of_the_reward_is_as_worked_by_hand():
    actions = np.array([[1.0, 0, 0, 0, 2]] * 4)
    axes = np.array([[-1.0, 0, 0], [-1.0, 0, 0], [1.0, 0, 0], [0, 0, 1.0]])
    velocities = np.array([[-4.0, 0, 3]] * 4)
    paid = rewards(actions, np.array([False, True, True, True]), axes, velocities)
    step = 0.275 - 0.005 * 5
    np.testing.assert_allclose(
        paid,
        [step, step + 50 + 25 * 0.8**5, step + 50 - 25 * 0.8**5, step + 50 + 25 * 0.6**5],
    )


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ([0.1, 0.8, 2.0], "context: angle must be a finite number of at least 0.392699"),
        ([1.0, 1.2, 2.0], "context: radius must be .* at most 1.1, got 1.2"),
        ([1.0, 0.8, math.nan], "context: distance"),
        ([1.0, 0.8], "must hold 3 numbers"),
    ],
)
def test_bad_contexts_are_refused(context, message):
    with pytest.raises(ValueError, match=message):
        HostBallCatching().check_context(np.array(context))


def test_pools_are_uniform_and_share_no_task():
    pool, test = make_pool("ballcatching"), make_pool("ballcatching", "test")
    assert (len(pool), len(test)) == (100, 100)
    assert pool.names == CONTEXT_NAMES
    assert not set(pool.contexts[:, 0]) & set(test.contexts[:, 0])
    large = make_pool("ballcatching", size=5000, seed=3).contexts
    for column, low, high in zip(large.T, CONTEXT_LOW, CONTEXT_HIGH, strict=True):
        shares = np.histogram(column, 5, (low, high))[0] / 5000
        np.testing.assert_allclose(shares, 0.2, atol=0.03)


@pytest.mark.parametrize("name", ["ballcatching", "antgoal"])
def test_there_is_no_hard_pool(name):
    with pytest.raises(ValueError, match="has no pool of that kind"):
        make_pool(name, "hard")
