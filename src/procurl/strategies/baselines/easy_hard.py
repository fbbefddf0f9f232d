"""Easy and Hard: each half of ProCuRL's potential alone, the paper's prototypical baselines."""

from dataclasses import dataclass, field

from procurl.strategies.potentials import Ease, Hardness
from procurl.strategies.samplers import Softmax
from procurl.strategies.schedules import Scheduled
from procurl.strategies.success_strategy import SuccessStrategy
from procurl.success import RolloutSuccess, Success


@dataclass(frozen=True)
class Easy(SuccessStrategy):
    """Prefer what the agent can do already: P(s) ∝ exp(β · PoS(s))."""

    success: Success = field(default_factory=RolloutSuccess)
    beta: Scheduled = 20.0
    floor: float = 0.0
    epsilon: float | None = None

    @property
    def potential(self) -> Ease:
        return Ease()

    @property
    def sampler(self) -> Softmax:
        return Softmax(self.beta, self.floor)


@dataclass(frozen=True)
class Hard(SuccessStrategy):
    """Prefer what the agent cannot do yet: P(s) ∝ exp(β · (1 − PoS(s)))."""

    success: Success = field(default_factory=RolloutSuccess)
    beta: Scheduled = 20.0
    floor: float = 0.0
    epsilon: float | None = None

    @property
    def potential(self) -> Hardness:
        return Hardness()

    @property
    def sampler(self) -> Softmax:
        return Softmax(self.beta, self.floor)
