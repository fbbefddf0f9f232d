"""The student of one run as pure functions: initialize, train for one update, act, value tasks."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from procurl.envs.array_env import ArrayEnv
from procurl.internals.arrays import Array
from procurl.ppo.collect import Lanes, Rollout, collect, draw_tasks, enter
from procurl.ppo.episodes import Episodes, play_episodes
from procurl.ppo.learning.advantages import estimate_advantages
from procurl.ppo.learning.networks import ActorCritic, forward, init_params
from procurl.ppo.learning.settings import PPOSettings
from procurl.ppo.learning.update import (
    Batch,
    Diagnostics,
    StudentState,
    draw_permutations,
    init_student,
    update,
)

# Observations per forward pass of the critic: the 24,000 of Karel's pool do not fit the cache and
# would take twice as long.
VALUES_CHUNK = 1000

START_SAMPLES = 16  # starts per task over which its value is averaged, for random resets


class Training(NamedTuple):
    """The part of a run that training changes."""

    student: StudentState
    lanes: Lanes


class Played(NamedTuple):
    """The training steps of one update, as a teacher sees them."""

    dones: Array  # [T, b] bool
    success: Array  # [T, b] bool
    returns: Array  # [T, b]
    tasks: Array  # [T, b] int32
    advantages: Array  # [T, b] GAE


@dataclass(frozen=True)
class Student:
    """The static parts of a run's programs; hashable, so that they compile once.

    Args:
        env: the dynamics.
        network: policy and critic.
        n_envs: number of training environments.
        start_samples: k, for random resets: the value of a task is the mean over k starts, which
            stay the same throughout.
    """

    env: ArrayEnv
    network: ActorCritic
    n_envs: int
    start_samples: int = START_SAMPLES

    def begin(self, contexts: Array, cumulative: Array, key: Array) -> Training:
        """Initial weights, and environments on tasks from the teacher's first distribution."""
        weight_key, task_key = jax.random.split(key)
        params = init_params(self.network, weight_key, len(self.env.observation_low))
        tasks = draw_tasks(task_key, cumulative, (self.n_envs,))
        lanes = enter(self.env, contexts, tasks, jax.random.fold_in(key, 2))
        return Training(init_student(params), lanes)

    def train(
        self,
        ppo: PPOSettings,
        contexts: Array,
        training: Training,
        cumulative: Array,
        key: Array,
    ) -> tuple[Training, Played, Diagnostics]:
        """One update: `n_steps` steps on the teacher's tasks, then PPO's epochs over them."""
        rollout_key, order_key = jax.random.split(key)
        lanes, rollout = collect(
            self.env,
            self.network,
            contexts,
            training.student.params,
            training.lanes,
            cumulative,
            rollout_key,
            ppo.n_steps // self.n_envs,
        )
        student, played, diagnostics = self.learn(
            ppo, training.student, rollout, lanes.observations, order_key
        )
        return Training(student, lanes), played, diagnostics

    def learn(
        self,
        ppo: PPOSettings,
        student: StudentState,
        rollout: Rollout,
        last_observations: Array,
        key: Array,
    ) -> tuple[StudentState, Played, Diagnostics]:
        """PPO's epochs over a rollout, from compiled or host environments.

        Args:
            ppo: settings.
            student: the student that acted in the rollout.
            rollout: T·b = `n_steps` steps.
            last_observations: [b, o] after the last step.
            key: for the order of the minibatches.
        """
        policy, values = forward(self.network, student.params, rollout.observations)
        _, last_values = forward(self.network, student.params, last_observations)
        gae = estimate_advantages(
            rollout.rewards, values, rollout.dones, last_values, ppo.gamma, ppo.gae_lambda
        )
        log_probs = policy.log_prob(rollout.actions)
        batch = _flatten(rollout, log_probs, gae.advantages, gae.returns)
        order = draw_permutations(key, ppo)
        student, diagnostics = update(self.network, ppo, student, batch, order)
        played = Played(
            rollout.dones, rollout.success, rollout.returns, rollout.tasks, gae.advantages
        )
        return student, played, diagnostics

    def values(self, params: dict[str, Array], observations: Array) -> Array:
        """[n] the critic's values of tasks, given their `initial_observations`."""

        def value(observation: Array) -> Array:
            return forward(self.network, params, observation)[1]

        values = jax.lax.map(value, observations, batch_size=VALUES_CHUNK)
        return jnp.mean(values, axis=1) if self._starts_are_random else values

    def initial_observations(self, contexts: Array) -> Array:
        """[n, o] the first observation of each task; [n, k, o] if resets are random."""
        if not self._starts_are_random:
            return self.env.observe(self.env.initial(contexts))
        n, k = len(contexts), self.start_samples
        noise = jax.random.normal(jax.random.key(0), (n * k, *self.env.start_noise_shape))
        seen = self.env.observe(self.env.start(jnp.repeat(contexts, k, axis=0), noise))
        return seen.reshape(n, k, -1)

    @property
    def _starts_are_random(self) -> bool:
        return math.prod(self.env.start_noise_shape) > 0

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
        """[n] mean return of `episodes` episodes on every task, with the deterministic policy
        unless `stochastic`.
        """
        if stochastic:
            played = self.roll_out(params, contexts, key, episodes, width)
        else:

            def act(observations: Array, keys: Array) -> Array:
                return forward(self.network, params, observations)[0].mode()

            played = play_episodes(self.env, contexts, act, key, episodes, width)
        return jnp.mean(played.returns, axis=1)


def _flatten(rollout: Rollout, log_probs: Array, advantages: Array, returns: Array) -> Batch:
    """The steps [T, b] of all environments as one batch [T·b]."""
    parts = (rollout.observations, rollout.actions, log_probs, advantages, returns)
    return Batch(*(part.reshape(-1, *part.shape[2:]) for part in parts))
