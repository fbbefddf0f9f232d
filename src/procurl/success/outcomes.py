"""Success by the outcomes of the training episodes."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace
from procurl.internals.checks import (
    require_bounds,
    require_integer,
    require_interval,
    require_number,
)
from procurl.success.estimate import Success
from procurl.success.normalize import keep_finite, normalize, outcomes_of, value_range
from procurl.tasks.neighbors import Neighbors, nearest_neighbors
from procurl.tasks.pool import TaskPool


class OutcomeState(NamedTuple):
    """State of `OutcomeSuccess`."""

    step: Array  # []  training steps at the latest evidence
    wins: Array  # [n] decayed number of episodes won
    losses: Array  # [n] decayed number of episodes lost
    prior: Array  # [n] the critic's normalized estimate, 0.5 before there is one
    estimate: Array  # [n]


@dataclass(frozen=True)
class OutcomeSuccess(Success):
    """Wins and losses of the training episodes, shared among near tasks (procurl-out).

    With S and F the decayed wins and losses, K a Gaussian kernel over normalized contexts kept to
    the nearest tasks, and V the critic's estimate as a prior of weight a,

        p = (K·S + a·V) / (K·S + K·F + a).

    Rollouts give better estimates than the critic but cost environment steps; this estimate costs
    none. It is our addition to the paper. Tasks without contexts share nothing (K is the identity),
    and without a critic the prior is 0.5.
    """

    decay: float = 0.9  # of wins and losses, per `decay_steps` training steps
    decay_steps: float = 1024.0
    bandwidth: float = 0.1  # of the kernel, in contexts scaled to [0, 1]
    neighbors: int = 8  # tasks that the kernel reaches, the task itself included
    prior_weight: float = 1.0
    v_min: float | None = 0.0
    v_max: float | None = 1.0
    refresh_every: int | None = None
    # Not a setting: `bind` computes it from the pool. None shares nothing.
    kernel: Neighbors | None = field(default=None, repr=False, compare=False)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("wins", "losses")

    @property
    def uses(self) -> tuple[str, ...]:
        return (*self.needs, "values")

    def init(self, n: int) -> OutcomeState:
        return OutcomeState(
            np.zeros(()), np.zeros(n), np.zeros(n), prior=np.full(n, 0.5), estimate=np.zeros(n)
        )

    def update(self, state: OutcomeState, evidence: Evidence) -> OutcomeState:
        xp = namespace(state.wins, evidence.wins, self.decay)
        prior = state.prior
        if evidence.values is not None:
            with np.errstate(invalid="ignore", over="ignore"):
                new = normalize(evidence.values, self.v_min, self.v_max)
            prior = xp.clip(keep_finite(new, state.prior), 0.0, 1.0)
        step = xp.asarray(evidence.step, dtype=state.step.dtype)
        faded = self.decay ** ((step - state.step) / self.decay_steps)
        wins = (state.wins * faded + keep_finite(evidence.wins, 0 * prior)).astype(prior.dtype)
        losses = (state.losses * faded + keep_finite(evidence.losses, 0 * prior)).astype(
            prior.dtype
        )
        near_wins, near_losses = self._share(wins), self._share(losses)
        weight = self.prior_weight
        estimate = (near_wins + weight * prior) / (near_wins + near_losses + weight)
        return OutcomeState(step, wins, losses, prior, estimate.astype(prior.dtype))

    def estimate(self, state: OutcomeState) -> Array:
        return state.estimate

    def outcomes(self, returns: Array, values: Array | None = None) -> tuple[Array, Array]:
        """As in `Success`, by normalized returns.

        Without `v_min` and `v_max` the range is that of `values` or, without a critic, that of the
        returns.
        """
        low, high = self.v_min, self.v_max
        if low is None or high is None:
            low, high = value_range(returns if values is None else values)
        return outcomes_of(returns, low, high)

    def check(self) -> None:
        require_number("decay", self.decay, above=0.0, at_most=1.0)
        require_number("decay_steps", self.decay_steps, above=0.0)
        require_number("bandwidth", self.bandwidth, above=0.0)
        require_integer("neighbors", self.neighbors, at_least=1)
        require_number("prior_weight", self.prior_weight, above=0.0)
        require_bounds(self.v_min, self.v_max)
        require_interval(self.refresh_every)

    def bind(self, pool: TaskPool) -> Self:
        """The same estimate with the kernel over the pool's contexts."""
        if pool.contexts is None:
            return replace(self, kernel=None)
        kernel = nearest_neighbors(pool.contexts, self.neighbors, self.bandwidth)
        return replace(self, kernel=kernel)

    def _share(self, counts: Array) -> Array:
        if self.kernel is None:
            return counts
        xp = namespace(counts, self.kernel.weights)
        return xp.sum(xp.take(counts, self.kernel.tasks) * self.kernel.weights, axis=1)
