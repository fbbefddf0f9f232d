"""Success by the outcomes of the training episodes."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, by_blocks, namespace, pool_array
from procurl.internals.checks import (
    require_bounds,
    require_choice,
    require_integer,
    require_interval,
    require_number,
    require_slice,
)
from procurl.internals.settings import ADDED, AUTO
from procurl.success.bounds import Bound, are_given, complete_bounds
from procurl.success.calibration import calibrate_unless, calibrated_values
from procurl.success.counts import (
    DECAY,
    Fading,
    OutcomeCounts,
    add_outcomes,
    fading,
    fast_fading,
    no_counts,
)
from procurl.success.drift import Drift, next_drift, no_drift, shifted
from procurl.success.estimate import MEASURES, Success
from procurl.success.normalize import keep_finite, normalize
from procurl.success.played import Played, played_tasks
from procurl.tasks.neighbors import Neighbors, nearest_neighbors
from procurl.tasks.pool import TaskPool


class OutcomeState(NamedTuple):
    """State of `OutcomeSuccess`."""

    step: Array  # []  training steps at the latest evidence
    counts: OutcomeCounts
    recent: OutcomeCounts  # that fade faster, to calibrate the critic
    drift: Drift
    started: Array  # []  bool, whether there was evidence
    prior: Array  # [n] the critic's estimate, 0.5 before there is one
    estimate: Array  # [n]


@dataclass(frozen=True)
class OutcomeSuccess(Success):
    """Wins and losses of the training episodes, shared among near tasks (procurl-out).

    With S and F the faded wins and losses, K a Gaussian kernel over normalized contexts kept to
    the nearest tasks, and V the critic's estimate as a prior of weight a,

        p = (K·S + a·V) / (K·S + K·F + a).

    Tasks are seen rarely in a large pool, and the agent improves in between: p is then shifted by
    what the latest episodes on any task show, see `follow_drift`.

    An episode is won if the environment reports a success; without such reports it counts by its
    return, on the bounds or on the range of what was seen. The critic has a scale of its own: with
    rewards of 0 and 1 its values are the prior, all others are calibrated, see `calibrate`.

    Rollouts give better estimates than the critic but cost environment steps; this estimate costs
    none. It is our addition to the paper. Tasks without contexts share nothing (K is the identity),
    and without a critic the prior is 0.5.
    """

    decay: float = DECAY  # of wins and losses, per `decay_steps`
    decay_steps: float | None = None  # training steps; None: a pass over the pool, see `fading`
    bandwidth: float | None = None  # of the kernel, in contexts scaled to [0, 1]; None suits it
    neighbors: int = 8  # tasks that the kernel reaches, the task itself included
    prior_weight: float = 1.0
    measure: str = "auto"  # of an episode: `return`, `success`, or success where it is reported
    v_min: Bound = AUTO
    v_max: Bound = AUTO
    refresh_every: int | None = None
    # That the critic values at a refresh, in rotation; None: all, or 100,000 of more.
    tasks_per_refresh: int | None = field(default=None, metadata=ADDED)
    # Not a setting: `bind` computes it from the pool. None shares nothing.
    kernel: Neighbors | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        complete_bounds(self)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("wins", "losses")

    @property
    def uses(self) -> tuple[str, ...]:
        return (*self.needs, "values") if are_given(self) else (*self.needs, "values", "scale")

    def init(self, n: int) -> OutcomeState:
        return OutcomeState(
            np.zeros(()),
            no_counts(n),
            no_counts(n),
            no_drift(),
            started=np.zeros((), dtype=bool),
            prior=pool_array(n, 0.5),
            estimate=pool_array(n),
        )

    def update(self, state: OutcomeState, evidence: Evidence) -> OutcomeState:
        xp = namespace(state.prior, evidence.wins, evidence.step)
        step = xp.asarray(evidence.step, dtype=state.step.dtype)
        played = played_tasks(evidence, state.prior)
        if self.decay_steps is None:
            faded = fading(state.prior.shape[0], played, self.decay)
        else:
            faded = Fading(self.decay ** ((step - state.step) / self.decay_steps))
        # With bounds, wins and losses are measured on them, not on what was seen.
        scale = None if are_given(self) else evidence.scale
        counts = add_outcomes(state.counts, played, faded, scale)
        recent = add_outcomes(state.recent, played, fast_fading(played), scale)
        prior = self._prior(state, recent, evidence)
        drift = self._drift(state, played)
        started = xp.asarray(True)
        estimate = shifted(self._rate(counts, prior), drift).astype(prior.dtype, copy=False)
        return OutcomeState(step, counts, recent, drift, started, prior, estimate)

    def estimate(self, state: OutcomeState) -> Array:
        return state.estimate

    def check(self) -> None:
        require_number("decay", self.decay, above=0.0, at_most=1.0)
        if self.decay_steps is not None:
            require_number("decay_steps", self.decay_steps, above=0.0)
        if self.bandwidth is not None:
            require_number("bandwidth", self.bandwidth, above=0.0)
        require_choice("measure", self.measure, MEASURES)
        require_integer("neighbors", self.neighbors, at_least=1)
        require_number("prior_weight", self.prior_weight, above=0.0)
        require_bounds(self.v_min, self.v_max)
        require_interval(self.refresh_every)
        require_slice(self.tasks_per_refresh)

    def bind(self, pool: TaskPool) -> Self:
        """The same estimate with the kernel over the pool's contexts."""
        if pool.contexts is None:
            return replace(self, kernel=None)
        kernel = nearest_neighbors(pool.contexts, self.neighbors, self.bandwidth)
        return replace(self, kernel=kernel)

    def _drift(self, state: OutcomeState, played: Played) -> Drift:
        """The drift after the latest episodes; none if outcomes fade by training steps."""
        if self.decay_steps is not None:
            return state.drift
        return next_drift(state.drift, state.started, state.estimate, played)

    def _prior(self, state: OutcomeState, counts: OutcomeCounts, evidence: Evidence) -> Array:
        """[n] what the critic says, in [0, 1]."""
        values = evidence.values
        if values is None:
            return state.prior
        xp = namespace(values, counts.wins)
        with np.errstate(invalid="ignore", over="ignore"):
            if are_given(self):
                unit = (self.v_min == 0.0) & (self.v_max == 1.0)  # may be traced
                new = calibrate_unless(unit, values, counts)
            elif evidence.scale is None and self.v_min is None:
                new = normalize(values, None, None)
            else:
                new = calibrated_values(evidence, counts)
            return by_blocks(
                lambda new, old: xp.clip(keep_finite(new, old), 0.0, 1.0), new, state.prior
            )

    def _rate(self, counts: OutcomeCounts, prior: Array) -> Array:
        """[n] the rate of wins on each task and its neighbors, by their weights, and the prior."""
        wins, losses, a = counts.wins, counts.losses, self.prior_weight

        def rate(wins: Array, losses: Array, prior: Array) -> Array:
            return (wins + a * prior) / (wins + losses + a)

        if self.kernel is None:
            return by_blocks(rate, wins, losses, prior)
        xp = namespace(wins, self.kernel.weights)
        if xp is not np:
            near_wins, near_losses = (
                xp.sum(xp.take(count, self.kernel.tasks) * self.kernel.weights, axis=1)
                for count in (wins, losses)
            )
            return rate(near_wins, near_losses, prior)
        both = np.stack([wins, losses], axis=1)  # a large pool is read in random order, so once

        def rate_near(tasks: Array, weights: Array, prior: Array) -> Array:
            near = np.matmul(weights[:, None], np.take(both, tasks, axis=0))[:, 0]
            return rate(near[:, 0], near[:, 1], prior)

        return by_blocks(rate_near, *self.kernel, prior)
