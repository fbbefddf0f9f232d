"""ALP-GMM: play where in context space success changes most, as mixtures of Gaussians see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, compute_if, namespace, while_loop
from procurl.internals.checks import require_integer, require_interval, require_number
from procurl.strategies.carrying import refuse_another_pool
from procurl.strategies.progress.mixture import Mixture, fit_mixture, invert
from procurl.strategies.progress.rates import OutcomeRange, range_of, rates_of, unit_range
from procurl.strategies.progress.visits import (
    Visits,
    add_visits,
    is_filled,
    no_visits,
    rescale_visits,
)
from procurl.strategies.strategy import Strategy
from procurl.tasks.matching import SharedTasks
from procurl.tasks.pool import TaskPool
from procurl.tasks.scaling import scaled_columns

SUGGESTED_FITS = 5  # in training that was too short for one


class ALPGMMState(NamedTuple):
    """State of `ALPGMM`."""

    visits: Visits
    since_fit: Array  # []  int32, visits since the latest fit
    fits: Array  # []  int32, so far
    shares: Array  # [n] probabilities by the latest fit, uniform before the first
    range: OutcomeRange  # that rates are measured on


@dataclass(frozen=True)
class ALPGMM(Strategy):
    """Absolute learning progress with Gaussian mixtures (Portelas et al. 2019) on a pool.

    The progress of a visit to a task is |r − r'|, with r its success rate and r' that of the
    earlier visit nearest in context. After every `fit_every` visits, mixtures of Gaussians are
    fitted to the latest (context, progress) pairs, and the one with the smallest AIC is kept:

        P(s) = (1 − floor) · Σ_k a_k · N_k(s) / Σ_t N_k(t)  +  floor / n,

    with a_k in proportion to the mean progress of component k, and N_k(s) its density at the
    context of task s. The distribution is uniform before the first fit. Contexts are scaled to
    [0, 1] per column.

    Args:
        fit_every: visits between two fits. A visit is a task played since the previous evidence.
        buffer: latest visits that a mixture is fitted to.
        memory: latest visits among which the nearest is found.
        min_components, max_components: sizes of the mixtures to try.
        floor: share of the mass that is always spread evenly over the pool.
        refresh_every: training steps between updates; None: after every policy update.
    """

    fit_every: int = 250
    buffer: int = 250
    memory: int = 1000
    min_components: int = 2
    max_components: int = 10
    floor: float = 0.2
    refresh_every: int | None = None
    # Not a setting: `bind` takes it from the pool. [n, d], scaled.
    contexts: Array | None = field(default=None, repr=False, compare=False)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("wins", "losses")

    @property
    def uses(self) -> tuple[str, ...]:
        return (*self.needs, "scale")

    def bind(self, pool: TaskPool) -> Self:
        """The same strategy with the pool's contexts; raises if it has none."""
        if pool.contexts is None:
            raise ValueError(
                "alp-gmm needs a pool with contexts, numbers that say how tasks differ; this pool "
                f"of {len(pool)} tasks has none. Pass TaskPool an array with a row per task, or a "
                "CSV file with a column per number, or use learning-progress, which needs none"
            )
        return replace(self, contexts=scaled_columns(pool.contexts))

    def init(self, n: int) -> ALPGMMState:
        return ALPGMMState(
            visits=no_visits(self.memory),
            since_fit=np.zeros((), dtype=np.int32),
            fits=np.zeros((), dtype=np.int32),
            shares=np.full(n, 1.0 / n),
            range=unit_range(),
        )

    def update(self, state: ALPGMMState, evidence: Evidence) -> ALPGMMState:
        if self.contexts is None:
            raise ValueError("alp-gmm does not know the pool: call bind(pool) first")
        xp = namespace(state.shares, evidence.wins, self.contexts)
        episodes, rate = rates_of(evidence, state.shares.dtype)
        new_range = range_of(evidence, state.range)
        most = min(self.buffer, len(state.shares))
        visits = add_visits(
            rescale_visits(state.visits, state.range, new_range),
            self.contexts,
            episodes > 0,
            rate,
            most,
        )
        new = xp.minimum(xp.sum((episodes > 0).astype("int32")), most)
        since_fit = state.since_fit + new
        due = since_fit >= self.fit_every
        shares = compute_if(xp, due, lambda: self._shares(visits, state.shares), state.shares)
        return ALPGMMState(
            visits=visits,
            since_fit=xp.where(due, 0, since_fit).astype(state.since_fit.dtype),
            fits=(state.fits + due).astype(state.fits.dtype),
            shares=shares,
            range=new_range,
        )

    def probabilities(self, state: ALPGMMState) -> Array:
        return (1.0 - self.floor) * state.shares + self.floor / state.shares.shape[0]

    def metrics(self, state: ALPGMMState) -> Mapping[str, Array]:
        """`fits`, the number of mixtures fitted so far."""
        return {"fits": state.fits}

    def shortfall(self, state: ALPGMMState) -> str | None:
        """Says so if there was no fit."""
        if state.fits > 0:
            return None
        visits = int(state.since_fit)
        smaller = max(self.max_components, visits // SUGGESTED_FITS)
        remedy = f", or set fit_every={smaller}" if smaller <= visits else ""
        return (
            f"no mixture was fitted, so all tasks were drawn evenly. A fit needs {self.fit_every} "
            f"episodes, of which those on one task between two refreshes count once; there were "
            f"{visits}. Train longer{remedy}"
        )

    def carry_over(self, state: Any, fresh: Any, shared: SharedTasks) -> NoReturn:
        raise refuse_another_pool("alp-gmm", "it remembers visits by task id")

    def check(self) -> None:
        require_integer("fit_every", self.fit_every, at_least=1)
        require_integer("min_components", self.min_components, at_least=1)
        require_integer("max_components", self.max_components, at_least=self.min_components)
        require_integer("buffer", self.buffer, at_least=self.max_components)
        require_integer("memory", self.memory, at_least=self.buffer)
        require_number("floor", self.floor, at_least=0.0, at_most=1.0)
        require_interval(self.refresh_every)

    def _shares(self, visits: Visits, like: Array) -> Array:
        """[n] the probabilities by a mixture that is fitted to the latest visits."""
        contexts: Array = self.contexts
        xp = namespace(visits.change, contexts)
        latest = slice(self.memory - self.buffer, None)
        change = visits.change[latest].astype(contexts.dtype)
        points = xp.concat([contexts[visits.task[latest]], change[:, None]], axis=1)
        sizes = range(self.min_components, self.max_components + 1)
        mixture = fit_mixture(points, is_filled(visits)[latest], sizes)
        return spread_over_pool(mixture, contexts).astype(like.dtype)


def spread_over_pool(mixture: Mixture, contexts: Array) -> Array:
    """[n] probabilities: of components by their mean progress, of tasks by a component's density.

    Without any progress, all components are equally likely.

    Args:
        mixture: over (context, progress), in d + 1 dimensions.
        contexts: [n, d].
    """
    xp = namespace(mixture.means, contexts)
    d = contexts.shape[1]
    some = mixture.weights > 0
    progress = xp.where(some, xp.maximum(mixture.means[:, d], 0.0), 0.0)
    chances = xp.where(xp.sum(progress) > 0, progress, some.astype(progress.dtype))
    chances = chances / xp.sum(chances)
    precisions, _ = invert(mixture.covariances[:, :d, :d])

    def add_component(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        k, total = carry
        apart = contexts - mixture.means[k, :d]
        distance = xp.vecdot(apart @ precisions[k], apart)
        density = xp.exp(-0.5 * (distance - xp.min(distance)))
        return k + 1, total + density * (chances[k] / xp.sum(density))

    start = (xp.zeros((), dtype="int32"), xp.zeros(contexts.shape[0], dtype=contexts.dtype))
    size = xp.sum(some)
    return while_loop(xp, lambda carry: carry[0] < size, add_component, start)[1]
