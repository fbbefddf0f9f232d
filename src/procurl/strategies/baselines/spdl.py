"""SPDL: as close to uniform as the agent's performance allows."""

from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, softmax
from procurl.internals.checks import require_flag, require_interval, require_number
from procurl.strategies.baselines.self_paced_step import self_paced_step
from procurl.strategies.carrying import refuse_another_pool
from procurl.strategies.strategy import Strategy
from procurl.success import keep_finite
from procurl.tasks.matching import SharedTasks


class SPDLState(NamedTuple):
    """State of `SPDL`."""

    log_probabilities: Array  # [n] without the floor
    values: Array  # [n] the critic's latest values


@dataclass(frozen=True)
class SPDL(Strategy):
    """Self-paced deep RL (Klink et al. 2021) on a pool; the problem is in `self_paced_step`.

    The distribution starts uniform. While its expected value is below the threshold, it moves to
    tasks of higher value; after that it moves as close to uniform as the threshold allows. Each
    step has a KL divergence of at most `max_kl`.

    Args:
        threshold: V_LB, the expected value to hold, on the scale of the critic's values.
        max_kl: the step size; the paper's code has 0.5 on pointmass-s and 0.2 elsewhere.
        full_step: move by the whole `max_kl` whenever the expected value is below the threshold,
            as the solver of the paper's code mostly does.
        early_stop: while the expected value is below the threshold, stop moving once it gains
            little, as the solver of the paper's code does; see `early_climb`. Includes `full_step`.
        floor: share of the mass that is always spread evenly over the pool; the next step starts
            from the distribution without it.
        refresh_every: training steps between updates; None: after every policy update.
    """

    threshold: float = 0.5
    max_kl: float = 0.2
    full_step: bool = False
    early_stop: bool = False
    floor: float = 0.0
    refresh_every: int | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        return ("values",)

    def init(self, n: int) -> SPDLState:
        return SPDLState(log_probabilities=np.full(n, -np.log(n)), values=np.zeros(n))

    def update(self, state: SPDLState, evidence: Evidence) -> SPDLState:
        values = keep_finite(evidence.values, state.values)
        log_p = self_paced_step(
            state.log_probabilities,
            values,
            self.threshold,
            self.max_kl,
            full_step=self.full_step,
            early_stop=self.early_stop,
        )
        return SPDLState(log_p.astype(state.log_probabilities.dtype), values)

    def probabilities(self, state: SPDLState) -> Array:
        return softmax(state.log_probabilities, self.floor)

    def carry_over(self, state: Any, fresh: Any, shared: SharedTasks) -> NoReturn:
        raise refuse_another_pool("spdl", "each distribution starts from the one before")

    def check(self) -> None:
        require_number("threshold", self.threshold)
        require_number("max_kl", self.max_kl, above=0.0)
        require_flag("full_step", self.full_step)
        require_flag("early_stop", self.early_stop)
        require_number("floor", self.floor, at_least=0.0, at_most=1.0)
        require_interval(self.refresh_every)
