"""Classic control with contexts: CartPole, Pendulum, and a heater with nuisance columns."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from procurl import TaskEnv, TaskPool

CARTPOLE_STEPS = 200
PENDULUM_STEPS = 100
HEATER_STEPS = 40


class ShowContext(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Sets the context as attributes of the environment and appends it to observations.

    Args:
        env: an environment with a `Box` as its observation space.
        names: the attributes that the columns of the context set.
        high: [d] the largest context, by which it is scaled.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], names: Sequence[str], high: NDArray[np.float64]
    ) -> None:
        super().__init__(env)
        self.names, self.high = tuple(names), high
        size = int(np.prod(env.observation_space.shape or (1,))) + len(high)
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float32)
        self.shown = np.zeros(len(high))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        context = (options or {})["context"]
        inside: Any = self.unwrapped
        for name, value in zip(self.names, context, strict=True):
            setattr(inside, name, float(value))
        if "length" in self.names:  # CartPole stores a product
            inside.polemass_length = inside.masspole * inside.length
        self.shown = context / self.high
        observation, info = self.env.reset(seed=seed)
        return self._append(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._append(observation), reward, terminated, truncated, info

    def _append(self, observation: Any) -> NDArray[np.float32]:
        return np.concatenate([observation, self.shown]).astype(np.float32)


def uniform_pool(low: Sequence[float], high: Sequence[float], n: int, names: Any) -> TaskPool:
    """`n` contexts drawn uniformly between `low` and `high`, always the same."""
    return TaskPool(np.random.default_rng(7).uniform(low, high, (n, len(low))), names=names)


CARTPOLE_NAMES = ("length", "gravity", "force_mag")
CARTPOLES = uniform_pool((0.1, 5.0, 1.0), (3.0, 40.0, 12.0), 60, CARTPOLE_NAMES)


def make_cartpole() -> TaskEnv:
    """CartPole, +1 per step for at most 200 steps; short, heavy or weak carts are hard."""
    env = gymnasium.make("CartPole-v1", max_episode_steps=CARTPOLE_STEPS)
    return TaskEnv(ShowContext(env, CARTPOLE_NAMES, np.array([3.0, 40.0, 12.0])), CARTPOLES)


PENDULUM_NAMES = ("m", "l", "g")
PENDULUMS = uniform_pool((0.5, 0.5, 4.0), (1.5, 1.5, 12.0), 30, PENDULUM_NAMES)


def make_pendulum() -> TaskEnv:
    """Pendulum swing-up, at most 0 per step for 100 steps; heavy or long ones are hard."""
    env = gymnasium.make("Pendulum-v1", max_episode_steps=PENDULUM_STEPS)
    return TaskEnv(ShowContext(env, PENDULUM_NAMES, np.array([1.5, 1.5, 12.0])), PENDULUMS)


class Heater(gymnasium.Env[Any, Any]):
    """Keep a temperature at its target: exp(−2·|error|) per step, 40 steps.

    The room loses heat, the wind changes it, and the heater may be weak, strong or act in the
    opposite direction.
    """

    gain: float
    loss: float
    wind: float
    target: float
    action_space = Box(-1.0, 1.0, (1,), np.float32)
    observation_space = Box(-np.inf, np.inf, (1,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.temperature, self.steps = float(self.np_random.normal(0.0, 0.2)), 0
        return np.array([self.temperature]), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        push = self.gain * float(np.clip(action[0], -1.0, 1.0))
        noise = float(self.np_random.normal(0.0, self.wind))
        self.temperature += 0.3 * (push - self.loss * self.temperature) + noise
        self.steps += 1
        reward = float(np.exp(-2.0 * abs(self.temperature - self.target)))
        return np.array([self.temperature]), reward, False, self.steps == HEATER_STEPS, {}


HEATER_NAMES = ("gain", "loss", "wind", "target", "paint", "floor", "age", "owner")
HEATER_LOW = (-2.0, 0.0, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0)
HEATER_HIGH = (2.0, 1.0, 0.3, 2.0, 1.0, 1.0, 1.0, 1.0)
HEATERS = uniform_pool(HEATER_LOW, HEATER_HIGH, 500, HEATER_NAMES)


def make_heater() -> TaskEnv:
    """`Heater` with contexts of eight columns, of which four matter."""
    return TaskEnv(ShowContext(Heater(), HEATER_NAMES, np.array(HEATER_HIGH)), HEATERS)
