"""Conventional implementations of the MuJoCo environments: one simulation, one step at a time.

The baselines of `envs.py`. Both follow the same rules as procurl's environments.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from procurl.envs.ant_goal.model import ant_goal_model
from procurl.envs.ball_catching.model import ball_catching_model
from procurl.envs.mujoco.library import mujoco

Step = tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]


class UsualBallCatching(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """BallCatching over contexts [n, 3]."""

    def __init__(self, contexts: NDArray[np.float64]) -> None:
        self.contexts = contexts
        self.model = ball_catching_model()
        self.data = mujoco.MjData(self.model)
        self.net, self.ball = self.model.geom("net").id, self.model.geom("ball").id
        self.joints = np.array([1, 3, 4, 5, 6])
        self.seen = np.array([1, 3, 4, 5, 6, 7, 8, 9])
        high = np.array([3.97, 4.04, 5.8, 3.14, 5.4], dtype=np.float32)
        self.observation_space = spaces.Box(-10.0, 10.0, (21,), np.float32)
        self.action_space = spaces.Box(-high, high)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        angle, radius, distance = self.contexts[self.np_random.integers(len(self.contexts))]
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:7] = [0.0, 0.4, 0.0, 1.5, 0.0, 0.0, 0.0]
        self.data.qpos[self.joints] += self.np_random.uniform(-0.05, 0.05, 5)
        self.data.qvel[self.joints] += 0.05 * self.np_random.standard_normal(5)
        y, z = self.np_random.uniform(-0.75, -0.65), self.np_random.uniform(0.8, 1.8)
        start = np.array([distance, y, z])
        target = np.array([0.0, -radius * np.cos(angle), 0.75 + radius * np.sin(angle)])
        time = 0.5 + 0.05 * distance
        self.data.qpos[7:] = start
        self.data.qvel[7:] = (target - start) / time + [0.0, 0.0, 0.5 * 9.81 * time]
        self.desired = self.data.qpos[self.joints].copy()
        return self.observe(), {}

    def step(self, action: NDArray[np.float32]) -> Step:
        action = np.clip(action, self.action_space.low, self.action_space.high)  # type: ignore[attr-defined]
        reward = 0.275 - 0.005 * np.sum(action**2)
        caught = touched = False
        for _ in range(5):
            self.desired = self.desired + 0.002 * action
            self.data.ctrl[self.joints] = self.desired
            mujoco.mj_step(self.model, self.data)
            for i in range(self.data.ncon):
                contact = self.data.contact[i]
                touched = True
                caught = caught or self.net in (contact.geom1, contact.geom2)
            if touched:
                break
        if caught:
            axis = self.data.geom_xmat[self.net].reshape(3, 3)[:, 2]
            velocity = self.data.qvel[7:]
            reward += 50 + 25 * (axis @ velocity / np.linalg.norm(velocity)) ** 5
        return self.observe(), float(reward), touched, False, {"is_success": caught}

    def observe(self) -> NDArray[np.float32]:
        parts = [self.desired, self.data.qpos[self.seen], self.data.qvel[self.seen]]
        seen: NDArray[np.float32] = np.clip(np.concatenate(parts), -10.0, 10.0).astype(np.float32)
        return seen


class UsualAntGoal(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """AntGoal over contexts [n, 2]."""

    def __init__(self, contexts: NDArray[np.float64]) -> None:
        self.contexts = contexts
        self.model = ant_goal_model()
        self.data = mujoco.MjData(self.model)
        self.observation_space = spaces.Box(-1000.0, 1000.0, (31,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (8,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self.goal = self.contexts[self.np_random.integers(len(self.contexts))]
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)
        self.steps = 0
        return self.observe(), {}

    def step(self, action: NDArray[np.float32]) -> Step:
        action = np.clip(action, -1.0, 1.0)
        self.data.ctrl[:] = action
        mujoco.mj_step(self.model, self.data, nstep=5)
        mujoco.mj_rnePostConstraint(self.model, self.data)
        self.steps += 1
        distance = np.linalg.norm(self.data.body("torso").xpos[:2] - self.goal)
        forces = np.clip(self.data.cfrc_ext, -1.0, 1.0)
        reward = (
            10 * np.exp(-2 * distance)
            - 0.1 * np.sum(np.square(action))
            - 0.0005 * np.sum(np.square(forces))
        )
        done = self.steps >= 200
        return self.observe(), float(reward), done, False, {"is_success": done and distance < 0.5}

    def observe(self) -> NDArray[np.float32]:
        parts = [self.goal, self.data.qpos.ravel(), self.data.qvel.ravel()]
        seen: NDArray[np.float32] = np.clip(np.concatenate(parts), -1e3, 1e3).astype(np.float32)
        return seen
