"""What a condition is, and how conditions join."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from procurl.internals.arrays import Array
from procurl.strategies.conditions.phase import Phase


class Condition(ABC):
    """Whether a phase of training is over, judged after every refresh.

    Subclass it as a frozen dataclass whose fields are the settings. A condition that looks back
    keeps a state, a NamedTuple of arrays; `init`, `update` and `holds` are pure, as for strategies.
    """

    @property
    def needs(self) -> tuple[str, ...]:
        """The fields of `Evidence` that the condition requires."""
        return ("wins", "losses")

    def init(self) -> Any:
        """The state at the start of a phase, None if there is none."""
        return None

    def update(self, state: Any, phase: Phase) -> Any:
        """The state after `phase` has grown."""
        return state

    @abstractmethod
    def holds(self, state: Any, phase: Phase) -> Array:
        """[] bool, whether the phase is over."""

    def check(self) -> None:
        """Raise on a bad setting."""

    def __and__(self, other: "Condition") -> "And":
        return And(self, other)

    def __or__(self, other: "Condition") -> "Or":
        return Or(self, other)


class PairState(NamedTuple):
    """States of two joined conditions."""

    left: Any
    right: Any


class _Pair(Condition):
    """Two conditions that are updated together."""

    left: Condition
    right: Condition

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.left.needs, *self.right.needs)))

    def init(self) -> PairState:
        return PairState(self.left.init(), self.right.init())

    def update(self, state: PairState, phase: Phase) -> PairState:
        return PairState(self.left.update(state.left, phase), self.right.update(state.right, phase))

    def check(self) -> None:
        for side in (self.left, self.right):
            if not isinstance(side, Condition):
                raise TypeError(f"& and | join conditions, such as Steps(1000), got {side!r}")
            side.check()


@dataclass(frozen=True)
class And(_Pair):
    """Both conditions hold: `left & right`."""

    left: Condition
    right: Condition

    def holds(self, state: PairState, phase: Phase) -> Array:
        return self.left.holds(state.left, phase) & self.right.holds(state.right, phase)


@dataclass(frozen=True)
class Or(_Pair):
    """At least one of the conditions holds: `left | right`."""

    left: Condition
    right: Condition

    def holds(self, state: PairState, phase: Phase) -> Array:
        return self.left.holds(state.left, phase) | self.right.holds(state.right, phase)
