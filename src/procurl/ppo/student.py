"""The student of one run as pure functions: learn from training steps, value tasks."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from procurl.internals.arrays import Array
from procurl.ppo.collect import Rollout
from procurl.ppo.episodes import choose
from procurl.ppo.gpu.update import update
from procurl.ppo.learning.advantages import estimate_advantages
from procurl.ppo.learning.networks import ActorCritic, forward
from procurl.ppo.learning.settings import PPOSettings
from procurl.ppo.learning.update import (
    Batch,
    Diagnostics,
    StudentState,
    draw_permutations,
)
from procurl.strategies.kept_steps import kept_steps

# Observations per forward pass: the 24,000 of Karel's pool do not fit the cache and would take
# twice as long.
VALUES_CHUNK = 1000


class RolloutSummary(NamedTuple):
    """The training steps of one update as the teacher sees them."""

    dones: Array  # [T, b] bool
    success: Array  # [T, b] bool, or 1, 0 and NaN from a host
    returns: Array  # [T, b]
    tasks: Array  # [T, b] int32
    advantages: Array  # [T, b] GAE
    values: Array  # [T, b] the critic's


@dataclass(frozen=True)
class Student:
    """A policy and critic that learn; where the steps were taken does not matter.

    Args:
        network: policy and critic.
    """

    network: ActorCritic

    def learn(
        self,
        ppo: PPOSettings,
        student: StudentState,
        rollout: Rollout,
        last_observations: Array,
        key: Array,
        learning_mask: Array | None = None,
    ) -> tuple[StudentState, RolloutSummary, Diagnostics]:
        """PPO's epochs over a rollout.

        Args:
            ppo: settings.
            student: the state whose weights acted in the rollout.
            rollout: T·b = `n_steps` steps.
            last_observations: [b, o] after the last step.
            key: for the order of the minibatches.
            learning_mask: [n] bool, the tasks to learn from; None: all. Without a step on any of
                them the student stays as it was.
        """
        policy, values = forward(self.network, student.params, rollout.observations)
        _, last_values = forward(self.network, student.params, last_observations)
        gae = estimate_advantages(
            rollout.rewards, values, rollout.dones, last_values, ppo.gamma, ppo.gae_lambda
        )
        log_probs = policy.log_prob(rollout.actions)
        batch = _flatten(rollout, log_probs, gae.advantages, gae.returns)
        order = draw_permutations(key, ppo)
        seen = rollout.dones, rollout.success, rollout.returns, rollout.tasks
        summary = RolloutSummary(*seen, gae.advantages, values)
        if learning_mask is not None:
            kept, some = kept_steps(learning_mask, rollout.tasks.reshape(-1))
            batch = Batch(*(part[kept] for part in batch))
        after, diagnostics = update(self.network, ppo, student, batch, order)
        if learning_mask is not None:
            after = choose(some, after, student)
        return after, summary, diagnostics

    def values(self, params: dict[str, Array], observations: Array) -> Array:
        """[n] the critic's values of tasks.

        Args:
            params: weights.
            observations: [n, o] initial observations, or [n, k, o] to average over k of each task.
        """

        def value(observation: Array) -> Array:
            return forward(self.network, params, observation)[1]

        values = jax.lax.map(value, observations, batch_size=VALUES_CHUNK)
        return jnp.mean(values, axis=1) if values.ndim > 1 else values


def _flatten(rollout: Rollout, log_probs: Array, advantages: Array, returns: Array) -> Batch:
    """The steps [T, b] of all environments as one batch [T·b]."""
    parts = (rollout.observations, rollout.actions, log_probs, advantages, returns)
    return Batch(*(part.reshape(-1, *part.shape[2:]) for part in parts))
