"""The actor of one run as pure functions: step array environments, play episodes on the pool."""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from procurl.envs.array_env import ArrayEnv
from procurl.internals.arrays import Array
from procurl.ppo.collect import Lanes, Rollout, collect, draw_tasks, enter
from procurl.ppo.episodes import Episodes, play_episodes
from procurl.ppo.learning.networks import ActorCritic, forward

START_SAMPLES = 16  # initial observations per task over which its value is averaged


@dataclass(frozen=True)
class Actor:
    """A policy in array environments; all fields are hashable, so that programs compile once.

    Args:
        env: the dynamics.
        network: policy and critic.
        n_envs: number of training environments.
        start_samples: k, for random resets: the value of a task is the mean over k initial
            observations, the same ones throughout.
    """

    env: ArrayEnv
    network: ActorCritic
    n_envs: int
    start_samples: int = START_SAMPLES

    @property
    def observation_size(self) -> int:
        """Numbers in an observation."""
        return len(self.env.observation_low)

    def begin(self, contexts: Array, cumulative: Array, task_key: Array, start_key: Array) -> Lanes:
        """Environments at the start of episodes on tasks of the teacher's first distribution."""
        tasks = draw_tasks(task_key, cumulative, (self.n_envs,))
        return enter(self.env, contexts, tasks, start_key)

    def collect(
        self,
        contexts: Array,
        params: dict[str, Array],
        lanes: Lanes,
        cumulative: Array,
        key: Array,
        steps: int,
    ) -> tuple[Lanes, Rollout]:
        """`steps` training steps in each environment; see `procurl.ppo.collect.collect`."""
        return collect(self.env, self.network, contexts, params, lanes, cumulative, key, steps)

    def initial_observations(self, contexts: Array) -> Array:
        """[n, o] the initial observation of each task; [n, k, o] if resets are random."""
        if math.prod(self.env.start_noise_shape) == 0:
            return self.env.observe(self.env.initial(contexts))
        n, k = len(contexts), self.start_samples
        noise = jax.random.normal(jax.random.key(0), (n * k, *self.env.start_noise_shape))
        seen = self.env.observe(self.env.start(jnp.repeat(contexts, k, axis=0), noise))
        return seen.reshape(n, k, -1)

    def roll_out(
        self, params: dict[str, Array], contexts: Array, key: Array, k: int, width: int
    ) -> Episodes:
        """`k` episodes of the stochastic policy on every task."""

        def act(observations: Array, keys: Array) -> Array:
            policy, _ = forward(self.network, params, observations)
            noise = jax.vmap(lambda key: policy.draw_noise(key, (self.network.head.size,)))(keys)
            return policy.sample(noise)

        return play_episodes(self.env, contexts, act, key, k, width)

    def evaluate(
        self,
        params: dict[str, Array],
        contexts: Array,
        key: Array,
        width: int,
        episodes: int = 1,
        stochastic: bool = False,
    ) -> Array:
        """[n] mean return of `episodes` episodes on every task.

        The policy acts deterministically unless `stochastic`.
        """
        if stochastic:
            played = self.roll_out(params, contexts, key, episodes, width)
        else:

            def act(observations: Array, keys: Array) -> Array:
                return forward(self.network, params, observations)[0].mode()

            played = play_episodes(self.env, contexts, act, key, episodes, width)
        return jnp.mean(played.returns, axis=1)
