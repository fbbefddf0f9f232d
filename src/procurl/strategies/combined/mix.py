"""Mix: a weighted mix of strategies."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from procurl.evidence import Evidence
from procurl.internals.arrays import Array
from procurl.internals.checks import require_number
from procurl.internals.settings import CLOSED, convert_setting
from procurl.strategies.combined.combination import Combination
from procurl.strategies.iid import IID
from procurl.strategies.procurl import ProCuRL
from procurl.strategies.strategy import Strategy
from procurl.tasks.pool import TaskPool


class MixState(NamedTuple):
    """State of `Mix`."""

    parts: tuple[Any, ...]  # the state of each strategy


@dataclass(frozen=True)
class Mix(Combination):
    """Draw each task by one of several strategies, chosen at random: P = Σ w_i · P_i.

    Args:
        strategies: what to mix. By default ProCuRL-val, and uniform draws against its errors.
        weights: w_i, the share of each; scaled to sum to 1. As text `0.8+0.2`. None: equal shares.
    """

    strategies: tuple[Strategy, ...] = field(
        default_factory=lambda: (ProCuRL(), IID()), metadata=CLOSED
    )
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        convert_setting(self, "strategies", list, tuple)
        convert_setting(self, "weights", list, tuple)
        convert_setting(self, "weights", str, _read_weights)

    @property
    def parts(self) -> tuple[Strategy, ...]:
        return self.strategies

    @property
    def ends_evenly(self) -> bool:  # type: ignore[override]  # the parts decide
        return all(part.ends_evenly for part in self.strategies)

    def part_states(self, state: MixState) -> tuple[Any, ...]:
        return state.parts

    def with_part_states(self, state: MixState, parts: tuple[Any, ...]) -> MixState:
        return MixState(parts)

    def init(self, n: int) -> MixState:
        return MixState(tuple(part.init(n) for part in self.strategies))

    def update(self, state: MixState, evidence: Evidence) -> MixState:
        pairs = zip(self.strategies, state.parts, strict=True)
        return MixState(tuple(part.update(kept, evidence) for part, kept in pairs))

    def probabilities(self, state: MixState) -> Array:
        weights = self.weights or (1.0,) * len(self.strategies)
        total = sum(weights)
        rows = zip(self.strategies, weights, state.parts, strict=True)
        return sum(weight / total * part.probabilities(kept) for part, weight, kept in rows)

    def estimated_success(self, state: MixState) -> Array | None:
        """[n] of the first strategy that estimates it, None if none does."""
        pairs = zip(self.strategies, state.parts, strict=True)
        estimates = (part.estimated_success(kept) for part, kept in pairs)
        return next((estimate for estimate in estimates if estimate is not None), None)

    def bind(self, pool: TaskPool) -> Self:
        return replace(self, strategies=tuple(part.bind(pool) for part in self.strategies))

    def for_training(self, steps: int) -> Self:
        return replace(self, strategies=tuple(part.for_training(steps) for part in self.strategies))

    def check(self) -> None:
        if not isinstance(self.strategies, tuple) or not self.strategies:
            raise TypeError(f"strategies must be a tuple of strategies, got {self.strategies!r}")
        super().check()
        if self.weights is not None:
            self._check_weights(self.weights)

    def _check_weights(self, weights: tuple[float, ...]) -> None:
        if not isinstance(weights, tuple) or len(weights) != len(self.strategies):
            raise ValueError(
                f"weights must hold one number for each of the {len(self.strategies)} strategies, "
                f"got {weights!r}"
            )
        for weight in weights:
            require_number("every weight", weight, at_least=0.0)
        if not sum(weights) > 0:
            raise ValueError(f"at least one weight must be above 0, got {weights!r}")
        if not math.isfinite(sum(weights)):
            raise ValueError(f"the sum of the weights must be finite, got {weights!r}")


def _read_weights(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split("+"))
    except ValueError as error:
        raise ValueError(
            f"weights must be numbers joined with +, such as 0.8+0.2, got {text!r}"
        ) from error
