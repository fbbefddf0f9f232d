"""A scripted catcher: it moves the net to the known target point and holds it across the flight."""

import numpy as np

from procurl.envs.ball_catching.model import NET_SITE, P_GAINS, ball_catching_model
from procurl.envs.ball_catching.rules import GRAVITY, HOME, MOVED, flight_times, targets
from procurl.envs.mujoco.library import mujoco

ROUNDS = 60
DAMPING = 0.03  # of the least-squares steps
TILT = 0.15  # what a misaligned net counts against a misplaced one
STEP_TIME = 0.01


def catching_pose(model, data, point, along):
    """[5] desired positions of the moved joints that hold the net at `point`, its axis `along`.

    Damped least squares on the net's place and axis, within the joints' limits; what the arm
    sags under gravity is added.
    """
    site = data.site(NET_SITE)
    low, high = model.jnt_range[: len(HOME)].T
    data.qpos[: len(HOME)], data.qvel[:] = HOME, 0.0
    place, turn = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    for _ in range(ROUNDS):
        mujoco.mj_forward(model, data)
        axis = site.xmat.reshape(3, 3)[:, 2]
        mujoco.mj_jacSite(model, data, place, turn, site.id)
        off = np.concatenate([point - site.xpos, TILT * np.cross(axis, along)])
        jacobian = np.concatenate([place, TILT * turn])[:, MOVED]
        squares = jacobian.T @ jacobian + DAMPING**2 * np.eye(len(MOVED))
        pose = data.qpos[list(MOVED)] + np.linalg.solve(squares, jacobian.T @ off)
        data.qpos[list(MOVED)] = np.clip(pose, low[list(MOVED)], high[list(MOVED)])
    mujoco.mj_forward(model, data)
    return (data.qpos[: len(HOME)] + data.qfrc_bias[: len(HOME)] / P_GAINS)[list(MOVED)]


def catching_poses(contexts, velocities):
    """[b, 5] where the moved joints should go, for throws with these velocities [b, 3] at first."""
    model = ball_catching_model()
    data = mujoco.MjData(model)
    data.qpos[7:] = 10.0  # the ball is out of the way
    arriving = velocities - [0.0, 0.0, GRAVITY] * flight_times(contexts)[:, None]
    arriving /= np.linalg.norm(arriving, axis=1, keepdims=True)
    throws = zip(targets(contexts), arriving, strict=True)
    return np.stack([catching_pose(model, data, *throw) for throw in throws])


def steering(poses, observations):
    """[b, 5] actions that bring the desired positions, which are seen first, to `poses`."""
    return (poses - observations[:, : len(MOVED)]) / STEP_TIME
