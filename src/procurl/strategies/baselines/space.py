"""SPaCE and SPaCE-alt: the tasks whose critic values rose most since the last update."""

from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, largest, namespace, pool_array
from procurl.internals.checks import (
    require_bounds,
    require_integer,
    require_interval,
    require_number,
)
from procurl.internals.settings import AUTO
from procurl.strategies.carrying import refuse_another_pool
from procurl.strategies.samplers import Softmax
from procurl.strategies.schedules import Scheduled
from procurl.strategies.strategy import Strategy
from procurl.success import keep_finite, normalize
from procurl.success.bounds import Bound, are_found, are_given, complete_bounds
from procurl.tasks.matching import SharedTasks


class SPaCEState(NamedTuple):
    """State of `SPaCE`."""

    values: Array  # [n] V of the previous update
    chosen: Array  # [n] bool, the current set
    size: Array  # []  int32, m
    mean: Array  # []  q, mean value over the set at the previous update
    started: Array  # []  bool, whether there was a previous update


@dataclass(frozen=True)
class SPaCE(Strategy):
    """Uniform over a set that grows when its mean value stagnates (Eimer et al. 2021).

    At every update, q = mean of V over the current set. If ||q| − |q'|| < η·|q'|, with q' the
    previous mean, the set's size m grows by κ, up to n. The set then becomes the m tasks with the
    largest V − V'. It starts as task 0 alone, and does not grow at the first update.

    Args:
        eta: η, the relative change below which the mean counts as stagnant.
        kappa: κ, how many tasks are added at a time.
        max_size: largest size of the set; None: the whole pool. The paper's code has 1000.
        refresh_every: training steps between updates; None: after every policy update.
    """

    eta: float = 0.1
    kappa: int = 1
    max_size: int | None = None
    refresh_every: int | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        return ("values",)

    def init(self, n: int) -> SPaCEState:
        return SPaCEState(
            values=np.zeros(n),
            chosen=np.arange(n) == 0,
            size=np.ones((), dtype=np.int32),
            mean=np.zeros(()),
            started=np.zeros((), dtype=bool),
        )

    def update(self, state: SPaCEState, evidence: Evidence) -> SPaCEState:
        xp = namespace(evidence.values, state.values, self.eta)
        values = keep_finite(evidence.values, state.values)
        mean = xp.sum(xp.where(state.chosen, values, 0.0)) / state.size
        change = xp.abs(xp.abs(mean) - xp.abs(state.mean))
        still = state.started & (change < self.eta * xp.abs(state.mean))
        n = values.shape[0]
        limit = n if self.max_size is None else min(n, self.max_size)
        grown = state.size + min(n, self.kappa)  # at most 2n, which fits the integer type
        size = xp.where(still, xp.minimum(grown, limit), state.size)
        return SPaCEState(
            values=values,
            chosen=largest(values - state.values, size),
            size=size.astype(state.size.dtype),
            mean=mean.astype(state.mean.dtype),
            started=xp.ones_like(state.started),
        )

    def probabilities(self, state: SPaCEState) -> Array:
        return state.chosen / state.size.astype(state.values.dtype)

    def carry_over(self, state: Any, fresh: Any, shared: SharedTasks) -> NoReturn:
        raise refuse_another_pool("space", "its set of tasks has a fixed size")

    def check(self) -> None:
        require_number("eta", self.eta, at_least=0.0)
        require_integer("kappa", self.kappa, at_least=1)
        if self.max_size is not None:
            require_integer("max_size", self.max_size, at_least=1)
        require_interval(self.refresh_every)


class SPaCEAltState(NamedTuple):
    """State of `SPaCEAlt`."""

    step: Array  # []  training steps at the latest evidence
    values: Array  # [n] V of the latest update
    progress: Array  # [n] V − V' of the latest update, scaled


@dataclass(frozen=True)
class SPaCEAlt(Strategy):
    """P(s) ∝ exp(β · (V(s) − V'(s))), with V' the values of the previous update, 0 at first.

    Args:
        beta: how strongly the largest rises are preferred, a constant or a schedule over steps.
        v_min, v_max: range of the values; V/v_max is used. With None for both, the difference
            itself is scaled to [0, 1] over the pool. `auto` does so unless rewards are 0 and 1.
        floor: share of the mass that is always spread evenly over the pool.
        refresh_every: training steps between updates; None: after every policy update.
    """

    beta: Scheduled = 20.0
    v_min: Bound = AUTO
    v_max: Bound = AUTO
    floor: float = 0.0
    refresh_every: int | None = None

    def __post_init__(self) -> None:
        complete_bounds(self)

    @property
    def sampler(self) -> Softmax:
        """The distribution, given the rise of the values."""
        return Softmax(self.beta, self.floor)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("values",)

    @property
    def uses(self) -> tuple[str, ...]:
        return (*self.needs, "scale") if are_found(self) else self.needs

    def init(self, n: int) -> SPaCEAltState:
        return SPaCEAltState(np.zeros(()), pool_array(n), pool_array(n))

    def update(self, state: SPaCEAltState, evidence: Evidence) -> SPaCEAltState:
        xp = namespace(evidence.values, state.values)
        values = keep_finite(evidence.values, state.values)
        rise = values - state.values
        if are_given(self):
            progress = rise / self.v_max
        elif self.v_max is None:
            progress = normalize(rise, None, None)
        elif evidence.scale is None:  # nothing is known of rewards: taken to be 0 and 1
            progress = rise
        else:
            progress = xp.where(evidence.scale.unit, rise, normalize(rise, None, None))
        return SPaCEAltState(
            step=xp.asarray(evidence.step, dtype=state.step.dtype),
            values=values,
            progress=progress.astype(state.progress.dtype),
        )

    def probabilities(self, state: SPaCEAltState) -> Array:
        return self.sampler(state.progress, state.step)

    def check(self) -> None:
        self.sampler.check()
        require_bounds(self.v_min, self.v_max)
        if are_given(self):
            require_number("v_max", self.v_max, above=0.0)
        require_interval(self.refresh_every)
