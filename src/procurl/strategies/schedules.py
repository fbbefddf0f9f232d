"""Settings that change while the agent trains."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from procurl.internals.arrays import Array, namespace
from procurl.internals.checks import require_number


class Schedule(Protocol):
    """A setting as a function of the training steps so far; write it as a frozen dataclass."""

    def __call__(self, step: Array, /) -> Array: ...


Scheduled: TypeAlias = float | Schedule


@dataclass(frozen=True)
class LinearSchedule:
    """From `start` to `end` in a straight line over `steps` training steps, then constant.

    >>> float(LinearSchedule(start=10.0, end=30.0, steps=1000.0)(500))
    20.0
    """

    start: float
    end: float
    steps: float

    def __call__(self, step: Array) -> Array:
        xp = namespace(step, self.start, self.end, self.steps)
        share = xp.clip(step / self.steps, 0.0, 1.0)
        return self.start + (self.end - self.start) * share

    def check(self) -> None:
        for name in ("start", "end"):
            require_number(name, getattr(self, name), at_least=0.0)
        require_number("steps", self.steps, above=0.0)


def check_scheduled(argument: str, setting: Scheduled, low: float) -> None:
    """Raise unless a constant setting is at least `low`; a schedule checks itself."""
    if not callable(setting):
        require_number(argument, setting, at_least=low)
    elif isinstance(setting, type) or not hasattr(setting, "__dataclass_fields__"):
        raise TypeError(
            f"{argument} must be a number or a schedule (an instance of a frozen dataclass with "
            f"__call__(step), such as LinearSchedule), got {setting!r}: it cannot be saved"
        )
    elif (check := getattr(setting, "check", None)) is not None:
        check()


def value_at(setting: Scheduled, step: Array) -> Array:
    """The value of a constant or scheduled setting after `step` training steps."""
    return setting(step) if callable(setting) else setting
