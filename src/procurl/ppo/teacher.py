"""The teacher of one run as pure functions: count the episodes, refresh the distribution."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from procurl.evidence import (
    EpisodeTotals,
    RolloutMeans,
    TrainingSteps,
    add_episodes,
    add_scores,
    average_rollouts,
    build_evidence,
    draw_without_replacement,
    measured_outcomes,
    no_episodes,
    note_returns,
    without_counts,
)
from procurl.internals.arrays import Array
from procurl.ppo.episodes import Episodes
from procurl.ppo.pool_values import KeptValues, next_values, no_values
from procurl.ppo.student import RolloutSummary
from procurl.strategies.refreshing import slice_size
from procurl.strategies.strategy import Strategy
from procurl.success import RolloutPlan

LIMIT = 2**30  # of one part of a number of steps


class Teaching(NamedTuple):
    """The part of a run that teaching changes."""

    strategy: Any  # state of the strategy
    episodes: EpisodeTotals  # of training, since the last refresh
    cumulative: Array  # [n] cumulative probabilities of the tasks
    step: Array  # []  int32, training steps at the last refresh
    rollout_steps: Array  # [2] int32, see `add_steps`; environment steps used by rollouts
    sound: Array  # []  bool, False once evidence or the distribution was not finite
    kept: KeptValues | None = None  # of the critic, if a refresh values a slice of the pool

    @property
    def teacher_steps(self) -> Array:
        """[] environment steps used by rollouts, rounded to single precision."""
        high, low = self.rollout_steps[..., 0], self.rollout_steps[..., 1]
        return high * jnp.float32(LIMIT) + low


@dataclass(frozen=True)
class Teacher:
    """The static parts of the teacher's programs; the strategy is an argument of each.

    Args:
        n: tasks in the pool.
        n_envs: b, number of training environments.
        uses: the fields of evidence that the strategy uses.
        plan: the rollouts that it needs, if any.
        measure: what it judges training episodes by.
        slice_size: tasks that the critic values at a refresh; None: all of them.
    """

    n: int
    n_envs: int
    uses: frozenset[str]
    plan: RolloutPlan | None
    measure: str
    slice_size: int | None = None

    @classmethod
    def of(cls, strategy: Strategy, n: int, n_envs: int, renewed: bool = False) -> Self:
        """The teacher for `strategy`, with the same programs whatever its rollout budget.

        Args:
            strategy: bound to the pool.
            n: tasks of the pool.
            n_envs: environments of a run.
            renewed: whether new tasks take the place of others, and need a value at once.
        """
        plan = strategy.rollout_plan()
        if plan is not None:  # the budget decides when to roll out, not how
            part = plan.tasks_of(n) < n
            plan = plan._replace(
                budget=None, training_steps=None, tasks=plan.tasks if part else None
            )
        size = None if renewed else slice_size(strategy, n)
        return cls(n, n_envs, frozenset(strategy.uses), plan, strategy.outcome_measure, size)

    @property
    def counts_episodes(self) -> bool:
        """Whether training episodes have to be counted."""
        return bool(self.uses & {"wins", "losses", "played", "score", "scale", "best_return"})

    def begin(self, strategy: Strategy) -> Teaching:
        """The state before any evidence."""
        state = jax.tree.map(_as_jax, strategy.init(self.n))
        cumulative = cumulative_of(strategy.probabilities(state))
        return Teaching(
            strategy=state,
            episodes=no_episodes(self.n, self.n_envs, jnp, self.uses),
            cumulative=cumulative,
            step=jnp.zeros((), dtype=jnp.int32),
            rollout_steps=jnp.zeros(2, dtype=jnp.int32),
            sound=cumulative[-1] > 0.0,
            kept=None if self.slice_size is None else no_values(self.n),
        )

    def count_episodes(
        self, strategy: Strategy, teaching: Teaching, summary: RolloutSummary
    ) -> Teaching:
        """Add the episodes of one update to the totals."""
        ended, tasks = summary.dones.reshape(-1), summary.tasks.reshape(-1)
        returns, success = summary.returns.reshape(-1), summary.success.reshape(-1)
        totals = add_episodes(teaching.episodes, strategy, tasks, returns, success, ended)
        scores = strategy.transition_score(summary.advantages, summary.values)
        totals = add_scores(totals, TrainingSteps(summary.dones, summary.tasks, scores))
        return teaching._replace(episodes=totals)

    def rollout_tasks(self, strategy: Strategy, teaching: Teaching, key: Array) -> Array | None:
        """[m] int32, the tasks that get rollouts at this refresh; None: all of the pool."""
        if self.plan is None or self.plan.tasks is None:
            return None
        weights = strategy.rollout_weights(teaching.strategy)
        gumbel = jax.random.gumbel(key, (self.n,))
        return draw_without_replacement(weights, gumbel, self.plan.tasks).astype(jnp.int32)

    def value_tasks(
        self, teaching: Teaching, value: Callable[[Array], Array], observations: Array
    ) -> tuple[Teaching, Array]:
        """(teaching, [n] the critic's values), those of a slice of the pool new, or all of them.

        Args:
            teaching: the current state.
            value: [m] the critic's values of m tasks, from their observations [m, …].
            observations: [n, …] of all tasks.
        """
        if self.slice_size is None or teaching.kept is None:
            return teaching, value(observations)
        kept = next_values(teaching.kept, self.slice_size, value, observations)
        return teaching._replace(kept=kept), kept.values

    def refresh(
        self,
        strategy: Strategy,
        teaching: Teaching,
        step: Array,
        values: Array,
        key: Array,
        episodes: Episodes | None,
    ) -> Teaching:
        """The distribution after new evidence.

        Args:
            strategy: its numeric settings may be traced.
            teaching: the current state.
            step: [] training steps so far.
            values: [n] the critic's values.
            key: for noise.
            episodes: the teacher's rollouts, if any.
        """
        totals = teaching.episodes
        if episodes is not None:
            both = episodes.returns.reshape(-1), episodes.success.reshape(-1)
            totals = note_returns(totals, strategy, *both)
        evidence = build_evidence(
            self.uses,
            step,
            values=values,
            episodes=totals,
            rollouts=self._average(episodes, totals),
            measure=self.measure,
            noise=jax.random.uniform(key, (self.n,), minval=-1.0, maxval=1.0),
        )
        state = strategy.update(teaching.strategy, evidence)
        finite = [jnp.all(jnp.isfinite(field)) for field in jax.tree.leaves(evidence[1:])]
        taken = teaching.rollout_steps
        cumulative = cumulative_of(strategy.probabilities(state))
        return Teaching(
            strategy=state,
            episodes=without_counts(totals),
            cumulative=cumulative,
            step=jnp.asarray(step, dtype=jnp.int32),
            rollout_steps=taken if episodes is None else add_steps(taken, episodes.steps),
            sound=teaching.sound & jnp.all(jnp.asarray([cumulative[-1] > 0.0, *finite])),
            kept=teaching.kept,
        )

    def _average(self, episodes: Episodes | None, totals: EpisodeTotals) -> RolloutMeans | None:
        """What the teacher's rollouts say about every task, None without rollouts."""
        if episodes is None or self.plan is None:
            return None
        measured = measured_outcomes(
            totals.returns, self.plan.measure, episodes.returns, episodes.success
        )
        return average_rollouts(
            measured.astype(jnp.float32), self.plan.top_fraction, episodes.tasks, self.n
        )


def add_steps(total: Array, steps: Array) -> Array:
    """[2] int32: how often `LIMIT` steps were taken, and how many more.

    JAX has no longer integers by default, and rollouts on a large pool take billions of steps.
    """
    low = total[1] + steps % LIMIT
    return jnp.stack([total[0] + steps // LIMIT + low // LIMIT, low % LIMIT])


def count_steps(total: Array) -> NDArray[np.int64]:
    """[…] the exact number of steps in `total` […, 2], see `add_steps`."""
    high, low = np.moveaxis(np.asarray(total, dtype=np.int64), -1, 0)
    counted: NDArray[np.int64] = high * LIMIT + low
    return counted


def cumulative_of(p: Array) -> Array:
    """[n] cumulative probabilities, constant at tasks of probability 0 despite rounding."""
    return lax.cummax(jnp.where(p > 0.0, jnp.cumsum(p), 0.0))


def _as_jax(leaf: Any) -> Array:
    """A JAX array; floating-point numbers become single precision."""
    array = jnp.asarray(leaf)
    return array.astype(jnp.float32) if jnp.issubdtype(array.dtype, jnp.floating) else array
