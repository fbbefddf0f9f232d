"""Easy and Hard: each half of ProCuRL's potential alone, the paper's prototypical baselines."""

from dataclasses import dataclass, field

from procurl.internals.arrays import Array
from procurl.strategies.schedules import Scheduled
from procurl.strategies.softmax import SuccessSoftmax, SuccessState
from procurl.success import RolloutSuccess, Success


@dataclass(frozen=True)
class Easy(SuccessSoftmax):
    """Prefer what the agent can do already: P(s) ∝ exp(β · PoS(s))."""

    success: Success = field(default_factory=RolloutSuccess)
    beta: Scheduled = 20.0
    floor: float = 0.0

    def potential(self, state: SuccessState) -> Array:
        return self.estimated_success(state)


@dataclass(frozen=True)
class Hard(SuccessSoftmax):
    """Prefer what the agent cannot do yet: P(s) ∝ exp(β · (1 − PoS(s)))."""

    success: Success = field(default_factory=RolloutSuccess)
    beta: Scheduled = 20.0
    floor: float = 0.0

    def potential(self, state: SuccessState) -> Array:
        return 1.0 - self.estimated_success(state)
