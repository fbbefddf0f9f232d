"""Switch: one strategy until a condition holds, then another."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace
from procurl.internals.checks import require_number
from procurl.internals.settings import CLOSED, convert_setting
from procurl.strategies.combined.combination import Combination
from procurl.strategies.conditions import (
    PHASE_FIELDS,
    Condition,
    Phase,
    Steps,
    add_to_phase,
    as_condition,
    new_phase,
)
from procurl.strategies.iid import IID
from procurl.strategies.procurl import ProCuRL
from procurl.strategies.strategy import Strategy
from procurl.tasks.pool import TaskPool


class SwitchState(NamedTuple):
    """State of `Switch`."""

    switched: Array  # []  bool, whether the second strategy plays
    phase: Phase  # since training began
    condition: Any  # state of the condition
    first: Any  # state of the first strategy
    second: Any  # state of the second strategy


@dataclass(frozen=True)
class Switch(Combination):
    """Play by the first strategy until a condition holds, then by the second for good.

    Both strategies learn from all evidence, so the second knows the pool when its turn comes.
    Strategies that count steps or success themselves, such as `Stages`, do so from the start of
    training; they belong in the first place. Success is the share of wins among the recent training
    episodes, on all tasks.

    Args:
        first: the strategy to start with.
        second: the strategy to end with.
        when: the condition, or its text.
        window: about how many recent episodes make up the success.
    """

    first: Strategy = field(default_factory=IID, metadata=CLOSED)
    second: Strategy = field(default_factory=ProCuRL, metadata=CLOSED)
    when: Condition = field(default_factory=Steps, metadata=CLOSED)
    window: float = 100.0

    def __post_init__(self) -> None:
        convert_setting(self, "when", str, partial(as_condition, "when"))

    @property
    def parts(self) -> tuple[Strategy, ...]:
        return (self.first, self.second)

    @property
    def ends_evenly(self) -> bool:  # type: ignore[override]  # the last part decides
        return self.second.ends_evenly

    def part_states(self, state: SwitchState) -> tuple[Any, ...]:
        return (state.first, state.second)

    def with_part_states(self, state: SwitchState, parts: tuple[Any, ...]) -> SwitchState:
        first, second = parts
        return state._replace(first=first, second=second)

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*super().needs, *self.when.needs)))

    @property
    def uses(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*super().uses, *PHASE_FIELDS)))

    def init(self, n: int) -> SwitchState:
        return SwitchState(
            switched=np.zeros((), dtype=bool),
            phase=new_phase(),
            condition=self.when.init(),
            first=self.first.init(n),
            second=self.second.init(n),
        )

    def update(self, state: SwitchState, evidence: Evidence) -> SwitchState:
        everywhere = np.asarray(True)
        phase = add_to_phase(state.phase, evidence, everywhere, self.window)
        condition = self.when.update(state.condition, phase)
        return SwitchState(
            switched=state.switched | self.when.holds(condition, phase),
            phase=phase,
            condition=condition,
            first=self.first.update(state.first, evidence),
            second=self.second.update(state.second, evidence),
        )

    def probabilities(self, state: SwitchState) -> Array:
        first = self.first.probabilities(state.first)
        second = self.second.probabilities(state.second)
        return namespace(state.switched, first, second).where(state.switched, second, first)

    def estimated_success(self, state: SwitchState) -> Array | None:
        """[n] of the strategy that plays; of the other one if that estimates none."""
        first = self.first.estimated_success(state.first)
        second = self.second.estimated_success(state.second)
        if first is None or second is None:
            return second if first is None else first
        return namespace(state.switched, first, second).where(state.switched, second, first)

    def metrics(self, state: SwitchState) -> Mapping[str, Array]:
        """The metrics of both strategies, and `switched`: 1 once the second one plays, else 0."""
        return {**super().metrics(state), "switched": state.switched}

    def bind(self, pool: TaskPool) -> Self:
        return replace(self, first=self.first.bind(pool), second=self.second.bind(pool))

    def for_training(self, steps: int) -> Self:
        first, second = (part.for_training(steps) for part in self.parts)
        return replace(self, first=first, second=second)

    def check(self) -> None:
        super().check()
        as_condition("when", self.when).check()
        require_number("window", self.window, at_least=1.0)
