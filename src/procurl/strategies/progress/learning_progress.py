"""Learning progress: play the tasks on which success changes most, up or down."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace
from procurl.internals.checks import require_choice, require_interval, require_number
from procurl.strategies.progress.averages import (
    Change,
    FastSlow,
    follow_averages,
    follow_change,
    no_averages,
    no_change,
    reweight,
)
from procurl.strategies.progress.rates import (
    OutcomeRange,
    range_of,
    rates_of,
    rescale_changes,
    rescale_rates,
    unit_range,
)
from procurl.strategies.strategy import Strategy

FORMS = ("bidirectional", "absolute")
LARGEST_EXPONENT = 60.0  # of the sigmoid: its value stays a normal number in single precision
# Progress that differs by less is not stretched to full preferences: the agent has stopped
# learning, and what is left is rounding.
SMALLEST_DEVIATION = 1e-3


class LearningProgressState(NamedTuple):
    """State of `LearningProgress`."""

    averages: FastSlow | Change  # by the form
    visits: Array  # [n] int32, evidence in which the task was played
    range: OutcomeRange  # that rates are measured on


@dataclass(frozen=True)
class LearningProgress(Strategy):
    """P(s) ∝ σ(z(s) − c), with z the standardized learning progress (Kanitscheider et al. 2021).

    Learning progress is the distance between a fast and a slow average of the task's success, both
    stretched near 0 so that the first successes count most:

        LP = |f(fast) − f(slow)|,   f(p) = (1 − θ)·p / (p + θ·(1 − 2p)),
        z = (LP − mean over the pool) / standard deviation over the pool.

    With `form="absolute"` it is the average change between two visits, |r − r'| (ALP, Portelas et
    al. 2019). Averages move only on tasks that were played. The distribution is uniform if progress
    does not differ; a standard deviation below 0.001 counts as 0.001.

    Args:
        form: `bidirectional` or `absolute`.
        alpha: α, weight of an episode in the averages; in the absolute form, weight of a visit.
        theta: θ, how much the bidirectional form stretches rates near 0: the smaller, the more; 0.5
            changes nothing. The absolute form does not use it.
        center: c, in standard deviations; tasks above it are preferred. The default is the 90%
            quantile of a normal distribution.
        refresh_every: training steps between updates; None: after every policy update.
    """

    form: str = "bidirectional"
    alpha: float = 0.1
    theta: float = 0.1
    center: float = 1.28
    refresh_every: int | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        return ("wins", "losses")

    @property
    def uses(self) -> tuple[str, ...]:
        return (*self.needs, "scale")

    def init(self, n: int) -> LearningProgressState:
        averages = no_averages(n) if self.form == "bidirectional" else no_change(n)
        return LearningProgressState(averages, np.zeros(n, dtype=np.int32), unit_range())

    def update(self, state: LearningProgressState, evidence: Evidence) -> LearningProgressState:
        episodes, rate = rates_of(evidence, state.averages[0].dtype)
        new_range = range_of(evidence, state.range)
        given = (state.visits, episodes, rate, self.alpha)
        averages: FastSlow | Change
        if isinstance(state.averages, FastSlow):
            fast, slow = (rescale_rates(p, state.range, new_range) for p in state.averages)
            averages = follow_averages(FastSlow(fast, slow), *given)
        else:
            before = Change(
                rescale_rates(state.averages.latest, state.range, new_range),
                rescale_changes(state.averages.change, state.range, new_range),
            )
            averages = follow_change(before, *given)
        visits = (state.visits + (episodes > 0)).astype(state.visits.dtype)
        return LearningProgressState(averages, visits, new_range)

    def progress(self, state: LearningProgressState) -> Array:
        """[n] the learning progress of every task, at least 0."""
        if isinstance(state.averages, Change):
            return state.averages.change
        xp = namespace(state.averages.fast, self.theta)
        fast, slow = (reweight(rates, self.theta) for rates in state.averages)
        return xp.abs(fast - slow)

    def probabilities(self, state: LearningProgressState) -> Array:
        progress = self.progress(state)
        xp = namespace(progress, self.center)
        distance = progress - xp.mean(progress)
        deviation = xp.sqrt(xp.mean(distance * distance))
        z = distance / xp.maximum(deviation, SMALLEST_DEVIATION)
        weights = 1.0 / (1.0 + xp.exp(xp.minimum(self.center - z, LARGEST_EXPONENT)))
        return weights / xp.sum(weights)

    def check(self) -> None:
        require_choice("form", self.form, FORMS)
        require_number("alpha", self.alpha, above=0.0, at_most=1.0)
        require_number("theta", self.theta, above=0.0, at_most=0.5)
        require_number("center", self.center)
        require_interval(self.refresh_every)
