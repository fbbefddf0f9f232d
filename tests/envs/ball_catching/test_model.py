"""The physics of BallCatching's model: flight, energy, the PD law, joint limits, what collides."""

import numpy as np
import pytest

from procurl.envs.ball_catching.model import (
    ARM,
    BALL,
    BASE_HEIGHT,
    CHAIN,
    D_GAINS,
    NET_SITE,
    P_GAINS,
    ball_catching_model,
)
from procurl.envs.ball_catching.rules import (
    CONTEXT_HIGH,
    CONTEXT_LOW,
    GRAVITY,
    HOME,
    HORIZON,
    MOVED,
    SPEED,
    SUBSTEP,
    SUBSTEPS,
    flight_times,
    on_arm,
    targets,
    throws,
)
from procurl.envs.mujoco.library import mujoco

FAR = (3.0, 3.0, 3.0)


@pytest.fixture
def model():
    return ball_catching_model()


def simulation(model, arm=HOME, ball=FAR, ball_velocity=(0.0, 0.0, 0.0)):
    data = mujoco.MjData(model)
    data.qpos[ARM], data.qpos[BALL] = arm, ball
    data.qvel[BALL] = ball_velocity
    data.ctrl[:] = arm
    mujoco.mj_forward(model, data)
    return data


def settle(model, data, seconds=3.0):
    """Let the arm come to rest, with the ball held out of the way."""
    for _ in range(round(seconds / SUBSTEP)):
        mujoco.mj_step(model, data)
        data.qpos[BALL], data.qvel[BALL] = FAR, 0.0
    mujoco.mj_forward(model, data)


def corner_throws():
    """Throws from every corner of the ranges of contexts and of starting points."""
    ranges = zip(CONTEXT_LOW, CONTEXT_HIGH, strict=True)
    grid = np.meshgrid(*ranges, (0.0, 1.0), (0.0, 1.0))
    rows = np.stack([axis.ravel() for axis in grid], axis=1)
    return rows[:, :3], rows[:, 3:]


def test_a_straight_arm_reaches_one_meter_above_the_shoulder(model):
    data = simulation(model, arm=np.zeros(7))
    shoulder = BASE_HEIGHT + 0.16 + 0.184
    reach = 0.505 + 0.045 + 0.3 + 0.06 + 0.09
    np.testing.assert_allclose(data.site(NET_SITE).xpos, [0.0, 0.0, shoulder + reach], atol=1e-5)


def test_at_home_the_net_faces_the_throw(model):
    data = simulation(model)
    np.testing.assert_allclose(data.site(NET_SITE).xmat[[2, 5, 8]], [-1.0, 0.0, 0.0], atol=1e-5)


def test_bodies_have_the_masses_of_the_table(model):
    for link in CHAIN:
        body = model.body(link.name)
        assert body.mass[0] == link.mass
        np.testing.assert_allclose(np.sort(body.inertia), np.sort(link.inertia))
    assert model.body("net").mass[0] == 0.11
    assert model.body("ball").mass[0] == 0.1


def test_free_flight_is_the_ballistic_solution(model):
    start, velocity = np.array([4.0, -0.7, 1.2]), np.array([-5.0, 0.3, 4.0])
    data = simulation(model, ball=start, ball_velocity=velocity)
    for k in range(1, 301):
        mujoco.mj_step(model, data)
        t = k * SUBSTEP
        exact = start + velocity * t - [0.0, 0.0, 0.5 * GRAVITY * t**2]
        # Velocities move on before positions, so that the ball is lower by g·dt·t/2.
        exact[2] -= 0.5 * GRAVITY * SUBSTEP * t
        np.testing.assert_allclose(data.qpos[BALL], exact, atol=1e-9)
        np.testing.assert_allclose(data.qvel[BALL], velocity - [0.0, 0.0, GRAVITY * t], atol=1e-9)


def test_a_throw_is_within_two_centimeters_of_its_target_when_nothing_is_in_the_way(model):
    contexts, uniform = corner_throws()
    model.geom_conaffinity[:] = 0  # nothing is in the way of anything
    for context, start, velocity, target, time in zip(
        contexts,
        *throws(contexts, uniform),
        targets(contexts),
        flight_times(contexts),
        strict=True,
    ):
        data = simulation(model, ball=start, ball_velocity=velocity)
        mujoco.mj_step(model, data, round(time / SUBSTEP))
        assert np.linalg.norm(data.qpos[BALL] - target) < 0.02, context


def test_the_longest_throw_ends_on_the_floor_before_the_horizon(model):
    contexts, uniform = corner_throws()
    longest = 0
    for start, velocity in zip(*throws(contexts, uniform), strict=True):
        aside = [5.0, 0.0, 0.0]  # so that only the floor is hit
        data = simulation(model, ball=start + aside, ball_velocity=velocity)
        steps = 0
        while not data.ncon:
            mujoco.mj_step(model, data)
            steps += 1
        longest = max(longest, steps)
    assert HORIZON - 10 < longest / SUBSTEPS < HORIZON


def test_a_flying_ball_keeps_its_energy(model):
    data = simulation(model, ball=(4.0, -0.7, 1.8), ball_velocity=(-5.0, 0.0, 3.0))

    def energy():
        return 0.05 * (data.qvel[BALL] ** 2).sum() + 0.1 * GRAVITY * data.qpos[BALL][2]

    first = energy()
    mujoco.mj_step(model, data, 300)
    # The scheme itself loses m·g·dt/2 times the change of the vertical velocity.
    np.testing.assert_allclose(energy(), first - 0.05 * SUBSTEP * GRAVITY**2 * 0.6, atol=1e-9)


def test_an_arm_without_motors_never_gains_energy(model):
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    model.geom_conaffinity[:] = 0
    data = simulation(model, arm=(0.0, -0.5, 0.0, 1.0, 0.2, 0.3, -0.2))
    energies = []
    for _ in range(1000):
        mujoco.mj_step(model, data)
        data.qpos[BALL], data.qvel[BALL] = FAR, 0.0
        mujoco.mj_forward(model, data)
        energies.append(data.energy.sum())
    lowest_before = np.minimum.accumulate(energies)
    assert (energies - lowest_before).max() < 0.1  # of 30 J that are lost at the joints' limits
    assert energies[-1] < energies[0] - 25.0


@pytest.mark.parametrize(
    "pose", [HOME, (0.0, -0.8, 0.0, 2.0, -1.0, 0.5, 0.7), (0.0, 1.2, 0.0, 0.3, -3.0, -1.0, -1.5)]
)
def test_the_arm_reaches_the_desired_position_except_for_sag(model, pose):
    data = simulation(model, arm=pose)
    settle(model, data)
    off = np.array(pose) - data.qpos[ARM]
    np.testing.assert_allclose(off, data.qfrc_bias[ARM] / P_GAINS, atol=2e-3)
    assert np.abs(off).max() < 0.12


def test_the_arm_follows_desired_positions_that_move(model):
    data = simulation(model)
    settle(model, data)
    before = data.qpos[ARM].copy()
    wanted = np.array(HOME)
    travel = np.array([0.0, -1.0, 0.0, 0.8, -1.0, 0.6, 0.8])
    for _ in range(250):  # half a second, then as long to arrive
        wanted += travel / 250
        data.ctrl[:] = wanted
        mujoco.mj_step(model, data)
    mujoco.mj_step(model, data, 250)
    # Gravity pulls differently in another pose, which is why this is no better than the sag.
    np.testing.assert_allclose(data.qpos[ARM] - before, travel, atol=0.12)


def test_the_torque_is_that_of_the_pd_law(model):
    data = simulation(model)
    data.qvel[ARM] = np.linspace(-0.5, 0.5, 7)
    data.ctrl[:] = np.array(HOME) + 0.02
    mujoco.mj_forward(model, data)
    by_hand = np.array(P_GAINS) * 0.02 - np.array(D_GAINS) * data.qvel[ARM]
    np.testing.assert_allclose(data.actuator_force, by_hand)


def test_motors_have_their_limits(model):
    data = simulation(model)
    data.ctrl[:] = 100.0
    mujoco.mj_forward(model, data)
    np.testing.assert_array_equal(data.actuator_force, [150, 125, 40, 60, 5, 5, 2])


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_joints_stay_within_their_limits(model, side):
    data = simulation(model)
    low, high = model.jnt_range[ARM].T
    for _ in range(1200):  # full speed, and far past the limits
        data.ctrl[:] += SUBSTEP * side * on_arm(np.array(SPEED))
        mujoco.mj_step(model, data)
        data.qpos[BALL], data.qvel[BALL] = FAR, 0.0
        assert (data.qpos[ARM] > low - 0.04).all()
        assert (data.qpos[ARM] < high + 0.04).all()
    moved = list(MOVED)
    np.testing.assert_allclose(data.qpos[moved], (low if side < 0 else high)[moved], atol=0.02)


def test_the_two_held_joints_stay_near_zero(model):
    data = simulation(model)
    rng = np.random.default_rng(0)
    for _ in range(500):
        data.ctrl[[1, 3, 4, 5, 6]] += SUBSTEP * rng.uniform(-4.0, 4.0, 5)
        mujoco.mj_step(model, data)
        data.qpos[BALL], data.qvel[BALL] = FAR, 0.0
        assert np.abs(data.qpos[[0, 2]]).max() < 0.05


def test_only_the_ball_collides(model):
    folded = (0.0, 1.9, 0.0, 3.1, 0.0, 1.5, 0.0)  # forearm through upper arm and stand
    assert simulation(model, arm=folded).ncon == 0
    for name in ("floor", "net"):
        at = (0.5, 0.5, 0.015) if name == "floor" else simulation(model).site(NET_SITE).xpos
        data = simulation(model, ball=at)
        touching = {model.geom(int(geom)).name for geom in data.contact.geom.ravel()}
        assert {"ball", name} <= touching
        assert data.sensordata[1] > 0
        assert (data.sensordata[0] > 0) == (name == "net")
    np.testing.assert_allclose(data.sensordata[2:5], [-1.0, 0.0, 0.0], atol=1e-5)
