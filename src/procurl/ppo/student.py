"""The student of one run as pure functions: begin, train for one update, act, value tasks."""

from dataclasses import dataclass
from typing import NamedTuple

import jax

from procurl.arrays import Array
from procurl.envs.array_env import ArrayEnv
from procurl.ppo.advantages import estimate_advantages
from procurl.ppo.collect import Lanes, Rollout, collect, draw_tasks, enter
from procurl.ppo.episodes import Episodes, play_episodes
from procurl.ppo.networks import ActorCritic, forward, init_params
from procurl.ppo.settings import PPOSettings
from procurl.ppo.update import (
    Batch,
    Diagnostics,
    StudentState,
    draw_permutations,
    init_student,
    update,
)

# Observations that the critic values at once: the 24,000 of Karel's pool do not fit the cache and
# would take twice as long.
VALUES_CHUNK = 1000


class Training(NamedTuple):
    """What changes while a run trains."""

    student: StudentState
    lanes: Lanes


class Played(NamedTuple):
    """What a teacher may learn from the training steps of one update."""

    dones: Array  # [T, b] bool
    success: Array  # [T, b] bool
    returns: Array  # [T, b]
    tasks: Array  # [T, b] int32
    advantages: Array  # [T, b] GAE


@dataclass(frozen=True)
class Student:
    """What the programs of a run are made of; hashable parts only, so that they compile once."""

    env: ArrayEnv
    network: ActorCritic
    n_envs: int

    def begin(self, contexts: Array, cumulative: Array, key: Array) -> Training:
        """Fresh weights, and environments on tasks of the teacher's first distribution."""
        weight_key, task_key = jax.random.split(key)
        params = init_params(self.network, weight_key, len(self.env.observation_low))
        tasks = draw_tasks(task_key, cumulative, (self.n_envs,))
        return Training(init_student(params), enter(self.env, contexts, tasks))

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
        """PPO's epochs over a rollout, wherever its steps were taken.

        Args:
            ppo: settings.
            student: whose weights acted in the rollout.
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
        batch = _flattened(rollout, log_probs, gae.advantages, gae.returns)
        order = draw_permutations(key, ppo)
        student, diagnostics = update(self.network, ppo, student, batch, order)
        played = Played(
            rollout.dones, rollout.success, rollout.returns, rollout.tasks, gae.advantages
        )
        return student, played, diagnostics

    def values(self, params: dict[str, Array], observations: Array) -> Array:
        """[n] the critic's values of observations [n, o]."""

        def value(observation: Array) -> Array:
            return forward(self.network, params, observation)[1]

        return jax.lax.map(value, observations, batch_size=VALUES_CHUNK)

    def initial_observations(self, contexts: Array) -> Array:
        """[n, o] what the student sees at the start of each task."""
        return self.env.observe(self.env.initial(contexts))

    def roll_out(
        self, params: dict[str, Array], contexts: Array, key: Array, k: int, width: int
    ) -> Episodes:
        """`k` episodes of the stochastic policy on every task."""

        def act(observations: Array, keys: Array) -> Array:
            policy, _ = forward(self.network, params, observations)
            noise = jax.vmap(lambda key: policy.draw_noise(key, (self.network.head.size,)))(keys)
            return policy.sample(noise)

        return play_episodes(self.env, contexts, act, key, k, width)

    def evaluate(self, params: dict[str, Array], contexts: Array, key: Array, width: int) -> Array:
        """[n] return of one episode of the deterministic policy on every task."""

        def act(observations: Array, keys: Array) -> Array:
            return forward(self.network, params, observations)[0].mode()

        return play_episodes(self.env, contexts, act, key, 1, width).returns[:, 0]


def _flattened(rollout: Rollout, log_probs: Array, advantages: Array, returns: Array) -> Batch:
    """The steps [T, b] of all environments as one batch [T·b]."""
    parts = (rollout.observations, rollout.actions, log_probs, advantages, returns)
    return Batch(*(part.reshape(-1, *part.shape[2:]) for part in parts))
