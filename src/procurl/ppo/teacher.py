"""The teacher of one run as pure functions: gather episodes, refresh the distribution."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from procurl.evidence import Evidence
from procurl.internals.arrays import Array
from procurl.ppo.episodes import Episodes
from procurl.ppo.student import Played
from procurl.strategies.strategy import Strategy
from procurl.success import RolloutPlan


class Gathered(NamedTuple):
    """Evidence from the training episodes since the last refresh."""

    wins: Array  # [n]
    losses: Array  # [n]
    played: Array  # [n] episodes that ended
    score: Array  # [n] of the latest episode
    open_score: Array  # [b] sum over the current episode of each environment
    open_length: Array  # [b] its steps so far


class Teaching(NamedTuple):
    """The part of a run that teaching changes."""

    strategy: Any  # state of the strategy
    gathered: Gathered
    cumulative: Array  # [n] cumulative probabilities of the tasks
    step: Array  # []  int32, training steps at the last refresh
    teacher_steps: Array  # []  int32, environment steps used by rollouts
    sound: Array  # []  bool, False once evidence or the distribution was not finite


@dataclass(frozen=True)
class Teacher:
    """The static parts of the teacher's programs; the strategy is an argument of each.

    Args:
        n: tasks in the pool.
        n_envs: b, number of training environments.
        uses: the fields of evidence that the strategy uses.
        plan: the rollouts that it needs, if any.
    """

    n: int
    n_envs: int
    uses: frozenset[str]
    plan: RolloutPlan | None

    @property
    def gathers(self) -> bool:
        """Whether training episodes have to be counted."""
        return bool(self.uses & {"wins", "losses", "played", "score"})

    def begin(self, strategy: Strategy) -> Teaching:
        """The state before any evidence."""
        zeros = jnp.zeros(self.n)
        open_ = jnp.zeros(self.n_envs)
        state = jax.tree.map(_as_jax, strategy.init(self.n))
        nothing = jnp.zeros((), dtype=jnp.int32)
        cumulative = _cumulative(strategy.probabilities(state))
        return Teaching(
            strategy=state,
            gathered=Gathered(zeros, zeros, zeros, zeros, open_, open_),
            cumulative=cumulative,
            step=nothing,
            teacher_steps=nothing,
            sound=cumulative[-1] > 0.0,
        )

    def gather(
        self, strategy: Strategy, teaching: Teaching, played: Played, values: Array
    ) -> Teaching:
        """Add the episodes of one update to the gathered evidence."""
        before = teaching.gathered
        ended, tasks = played.dones.reshape(-1), played.tasks.reshape(-1)
        wins, losses = strategy.outcomes(played.returns.reshape(-1), values)
        score, open_score, open_length = _episode_scores(strategy, before, played)
        order = jnp.where(ended, jnp.arange(1, ended.size + 1), 0)
        latest = jnp.zeros(self.n, dtype=order.dtype).at[tasks].max(order)

        def total(weights: Array) -> Array:
            return jnp.zeros(self.n).at[tasks].add(jnp.where(ended, weights, 0.0))

        new_score = score.reshape(-1)[jnp.maximum(latest - 1, 0)]
        gathered = Gathered(
            wins=before.wins + total(wins),
            losses=before.losses + total(losses),
            played=before.played + total(jnp.ones_like(wins)),
            score=jnp.where(latest > 0, new_score, before.score),
            open_score=open_score,
            open_length=open_length,
        )
        return teaching._replace(gathered=gathered)

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
        gathered = teaching.gathered
        fields: dict[str, Array] = {
            "values": values,
            "wins": gathered.wins,
            "losses": gathered.losses,
            "score": gathered.score,
            "played": gathered.played,
            "noise": jax.random.uniform(key, (self.n,), minval=-1.0, maxval=1.0),
        }
        if episodes is not None and self.plan is not None:
            fields |= _rollout_evidence(self.plan, episodes)
        used = {name: field for name, field in fields.items() if name in self.uses}
        state = strategy.update(teaching.strategy, Evidence(step=step, **used))
        finite = [jnp.all(jnp.isfinite(field)) for field in used.values()]
        steps = 0 if episodes is None else episodes.steps
        nothing = jnp.zeros_like(gathered.wins)
        cumulative = _cumulative(strategy.probabilities(state))
        return Teaching(
            strategy=state,
            gathered=gathered._replace(wins=nothing, losses=nothing, played=nothing),
            cumulative=cumulative,
            step=jnp.asarray(step, dtype=jnp.int32),
            teacher_steps=teaching.teacher_steps + steps,
            sound=teaching.sound & jnp.all(jnp.asarray([cumulative[-1] > 0.0, *finite])),
        )


def _cumulative(p: Array) -> Array:
    """[n] cumulative probabilities, constant at tasks of probability 0 despite rounding."""
    return lax.cummax(jnp.where(p > 0.0, jnp.cumsum(p), 0.0))


def _as_jax(leaf: Any) -> Array:
    """A JAX array; floating-point numbers become single precision."""
    array = jnp.asarray(leaf)
    return array.astype(jnp.float32) if jnp.issubdtype(array.dtype, jnp.floating) else array


def _rollout_evidence(plan: RolloutPlan, episodes: Episodes) -> dict[str, Array]:
    """Mean and best rollouts of every task, from k episodes on each."""
    measured = episodes.returns if plan.measure == "return" else episodes.success
    measured = measured.astype(jnp.float32)
    top = max(1, round(plan.top_fraction * plan.episodes))
    best = jnp.sort(measured, axis=1)[:, -top:]
    return {
        "rollout_success": jnp.mean(measured, axis=1),
        "rollout_top": jnp.mean(best, axis=1),
    }


def _episode_scores(
    strategy: Strategy, before: Gathered, played: Played
) -> tuple[Array, Array, Array]:
    """(mean score [T, b] of the episode up to each step, sum and length of open episodes)."""

    def step(
        open_: tuple[Array, Array], now: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array], Array]:
        score, done = now
        total, length = open_[0] + score, open_[1] + 1.0
        return (jnp.where(done, 0.0, total), jnp.where(done, 0.0, length)), total / length

    now = (strategy.transition_score(played.advantages), played.dones)
    start = (before.open_score, before.open_length)
    (open_score, open_length), means = lax.scan(step, start, now)
    return means, open_score, open_length
