"""PointMass-s for JAX libraries, with the dynamics of procurl: tasks are drawn uniformly.

Episodes start anew on their own, in another task. The functions are those of one environment;
the libraries vectorize them.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from procurl.envs import make_array_env, make_pool

ENV = "pointmass-s"


class Play(NamedTuple):
    """The result of one step of one environment."""

    state: Any
    observation: jax.Array  # [o] of `state`, which is a fresh episode if the last one has ended
    reward: jax.Array
    done: jax.Array


class Tasks:
    """The dynamics and the contexts of all tasks."""

    def __init__(self) -> None:
        self.dynamics = make_array_env(ENV)
        contexts = self.dynamics.contexts_of(make_pool(ENV))
        self.contexts = jnp.asarray(contexts, dtype=jnp.float32)

    def reset(self, key: jax.Array) -> tuple[Any, jax.Array]:
        """(state, observation [o]) of a fresh episode."""
        task = jax.random.randint(key, (1,), 0, self.contexts.shape[0])
        state = self.dynamics.initial(self.contexts[task])
        return state, self.dynamics.observe(state)[0]

    def step(self, key: jax.Array, state: Any, action: jax.Array) -> Play:
        """One action [a]."""
        noise_key, reset_key = jax.random.split(key)
        noise = jax.random.normal(noise_key, (1, *self.dynamics.noise_shape))
        after = self.dynamics.step(state, action[None], noise)
        done = after.done[0]
        fresh, _ = self.reset(reset_key)
        kept = jax.tree.map(lambda new, old: jnp.where(done, new, old), fresh, after.state)
        return Play(kept, self.dynamics.observe(kept)[0], after.reward[0], done)


@struct.dataclass
class GymnaxParams:
    """What libraries read from a Gymnax environment's parameters."""

    max_steps_in_episode: int = 100


class GymnaxPointMass:
    """The interface of Gymnax before 1.0, which rejax calls: `step` returns five values."""

    def __init__(self) -> None:
        self.tasks = Tasks()
        self.default_params = GymnaxParams()

    def reset(self, key: jax.Array, params: Any) -> tuple[jax.Array, Any]:
        state, observation = self.tasks.reset(key)
        return observation, state

    def step(self, key: jax.Array, state: Any, action: jax.Array, params: Any) -> tuple[Any, ...]:
        play = self.tasks.step(key, state, action)
        return play.observation, play.state, play.reward, play.done, {}

    def observation_space(self, params: Any) -> Any:
        return _box(self.tasks.dynamics.observation_low, self.tasks.dynamics.observation_high)

    def action_space(self, params: Any) -> Any:
        return _box(self.tasks.dynamics.action_low, self.tasks.dynamics.action_high)


def _box(low: Any, high: Any) -> Any:
    from gymnax.environments import spaces

    return spaces.Box(np.asarray(low), np.asarray(high), np.shape(low), dtype=jnp.float32)


def brax_point_mass() -> Any:
    """The same as an environment of Brax."""
    from brax.envs.base import Env, State

    class BraxPointMass(Env):  # type: ignore[misc]
        def __init__(self) -> None:
            self.tasks = Tasks()

        def reset(self, rng: jax.Array) -> Any:
            key, reset_key = jax.random.split(rng)
            state, observation = self.tasks.reset(reset_key)
            zero = jnp.zeros(())
            info = {"truncation": zero, "episode_metrics": {}, "episode_done": zero}
            return State((key, state), observation, zero, zero, {}, info)

        def step(self, state: Any, action: jax.Array) -> Any:
            key, step_key = jax.random.split(state.pipeline_state[0])
            play = self.tasks.step(step_key, state.pipeline_state[1], action)
            return state.replace(
                pipeline_state=(key, play.state),
                obs=play.observation,
                reward=play.reward,
                done=play.done.astype(jnp.float32),
            )

        @property
        def observation_size(self) -> int:
            return int(np.size(self.tasks.dynamics.observation_low))

        @property
        def action_size(self) -> int:
            return int(np.asarray(self.tasks.dynamics.action_low).size)

        @property
        def backend(self) -> str:
            return "none"

    return BraxPointMass()
