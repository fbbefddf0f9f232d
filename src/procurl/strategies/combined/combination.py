"""What strategies with other strategies inside have in common: one evidence for all of them."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from procurl.evidence import Scale
from procurl.internals.arrays import Array
from procurl.internals.settings import flat_settings
from procurl.strategies.strategy import Strategy
from procurl.success import RolloutPlan
from procurl.tasks.matching import SharedTasks

OUTCOMES = ("wins", "losses", "scale")  # fields that depend on how episodes are judged
# Settings are compared by what they do to these.
_ADVANTAGES = np.array([-2.0, -0.5, 0.0, 0.25, 3.0])
_VALUES = np.array([0.5, -1.0, 2.0, 0.75, -0.25])
_MEASURED = np.array([-50.0, -0.5, 0.0, 0.25, 0.5, 1.0, 7.0, 300.0])
_SCALES = [
    Scale(np.float64(low), np.float64(high), np.bool_(False))
    for low, high in ((0.0, 1.0), (-3.0, 40.0))
]


class Combination(Strategy):
    """Strategies that learn from the same evidence.

    Every part receives all evidence from the start of training, whichever part chose the tasks. An
    engine measures once, so parts that need rollouts must agree on them, parts that read wins and
    losses on how episodes are judged, and parts that read scores on the score. All parts are
    refreshed together, as often as the part with the longest interval wants.
    """

    @property
    @abstractmethod
    def parts(self) -> tuple[Strategy, ...]:
        """The strategies inside."""

    @abstractmethod
    def part_states(self, state: Any) -> tuple[Any, ...]:
        """The states of the strategies inside."""

    @abstractmethod
    def with_part_states(self, state: Any, parts: tuple[Any, ...]) -> Any:
        """`state` with other states of the strategies inside."""

    @property
    def refresh_every(self) -> int | None:  # type: ignore[override]  # the parts decide
        intervals = [part.refresh_every for part in self._parts_with_evidence]
        return max((each for each in intervals if each is not None), default=None)

    @property
    def tasks_per_refresh(self) -> int | None:  # type: ignore[override]  # the largest of the parts
        sizes = [part.tasks_per_refresh for part in self.parts if "values" in part.uses]
        known = [size for size in sizes if size is not None]
        return max(known) if known and len(known) == len(sizes) else None

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.parts for name in part.needs))

    @property
    def uses(self) -> tuple[str, ...]:
        used = (name for part in self.parts for name in part.uses)
        return tuple(dict.fromkeys((*self.needs, *used)))

    def due(self, step: Array, refreshed_at: Array, teacher_steps: Array) -> Array:
        """Whether all parts are due that learn from evidence."""
        waited = step - refreshed_at >= (self.refresh_every or 0)
        for part in self._parts_with_evidence:
            waited = waited & part.due(step, refreshed_at, teacher_steps)
        return waited

    @property
    def due_by_interval(self) -> bool:
        return all(part.due_by_interval for part in self.parts)

    @property
    def _parts_with_evidence(self) -> list[Strategy]:
        return [part for part in self.parts if part.uses]

    def _readers(self, fields: Collection[str]) -> list[Strategy]:
        """The parts that read one of these fields of evidence."""
        return [part for part in self.parts if set(fields) & set(part.uses)]

    @property
    def outcome_measure(self) -> str:
        readers = self._readers(OUTCOMES)
        return readers[0].outcome_measure if readers else super().outcome_measure

    def outcomes(self, measured: Array, scale: Scale) -> tuple[Array, Array]:
        readers = self._readers(OUTCOMES)
        return (readers[0].outcomes if readers else super().outcomes)(measured, scale)

    def transition_score(self, advantages: Array, values: Array | None = None) -> Array:
        readers = self._readers(("score",))
        score = readers[0].transition_score if readers else super().transition_score
        return score(advantages, values)

    @property
    def patience(self) -> int | None:
        return min(
            (part.patience for part in self.parts if part.patience is not None), default=None
        )

    def metrics(self, state: Any) -> Mapping[str, Array]:
        """The metrics of all parts; of equal names, that of the earliest part."""
        pairs = list(zip(self.parts, self.part_states(state), strict=True))
        return {
            name: number
            for part, kept in reversed(pairs)
            for name, number in part.metrics(kept).items()
        }

    def shortfall(self, state: Any) -> str | None:
        """Of the first part that has one."""
        pairs = zip(self.parts, self.part_states(state), strict=True)
        found = (part.shortfall(kept) for part, kept in pairs)
        return next((each for each in found if each is not None), None)

    def rollout_plan(self) -> RolloutPlan | None:
        plans = (part.rollout_plan() for part in self.parts)
        return next((plan for plan in plans if plan is not None), None)

    def rollout_weights(self, state: Any) -> Array | None:
        """[n] of the first part that needs rollouts, None for equal weights."""
        for part, kept in zip(self.parts, self.part_states(state), strict=True):
            if part.rollout_plan() is not None:
                return part.rollout_weights(kept)
        return None

    def trust_prior(self, state: Any) -> Any:
        pairs = zip(self.parts, self.part_states(state), strict=True)
        return self.with_part_states(state, tuple(part.trust_prior(kept) for part, kept in pairs))

    def carry_over(self, state: Any, fresh: Any, shared: SharedTasks) -> Any:
        rows = zip(self.parts, self.part_states(state), self.part_states(fresh), strict=True)
        carried = tuple(part.carry_over(old, new, shared) for part, old, new in rows)
        return self.with_part_states(state, carried)

    def check(self) -> None:
        for part in self.parts:
            if not isinstance(part, Strategy):
                raise TypeError(
                    f"every part must be a strategy, such as make_strategy('iid'), got {part!r}"
                )
            part.check()
            _require_all_learned(part)
        self._check_agreement()

    def _check_agreement(self) -> None:
        """Raise if one measurement cannot serve all parts."""
        _require_same(
            [(part, plan) for part in self.parts if (plan := part.rollout_plan()) is not None],
            "play the same rollouts",
            ("c_rollouts", "rollout_tasks", "measure", "budget", "spending", "training_steps"),
        )
        readers = self._readers(OUTCOMES)
        _require_same(
            [(part, part.outcome_measure) for part in readers],
            "judge training episodes alike",
            ("measure", "v_min", "v_max"),
        )
        _require_same(
            [(part, _probe(part.outcomes, *_SCALES)) for part in readers],
            "judge training episodes alike",
            ("v_min", "v_max"),
        )
        _require_same(
            [
                (part, part.transition_score(_ADVANTAGES, _VALUES).tolist())
                for part in self._readers(("score",))
            ],
            "score episodes alike",
            ("score",),
        )


def _probe(outcomes: Callable[[Array, Scale], tuple[Array, Array]], *scales: Scale) -> list[Any]:
    return [outcomes(_MEASURED, scale)[0].tolist() for scale in scales]


def _require_all_learned(part: Strategy) -> None:
    """Raise if a part excludes tasks from learning: they may have been chosen by another part."""
    excludes = type(part).learning_mask is not Strategy.learning_mask
    if excludes and part.learning_mask(part.init(1)) is not None:
        raise ValueError(
            "a strategy that excludes tasks from learning cannot be combined with others, which "
            f"may have chosen these tasks: set robust=False, got {type(part).__name__} "
            f"with robust={getattr(part, 'robust', None)!r}"
        )


def _require_same(
    found: list[tuple[Strategy, Any]], demand: str, settings: Collection[str]
) -> None:
    """Raise if values differ between strategies, with the settings to make equal.

    Args:
        found: strategies and their values.
        demand: what the strategies must do.
        settings: names of those that decide about the value.
    """
    for part, value in found[1:]:
        if value != found[0][1]:
            both = found[0][0], part
            one, other = map(_settings_of, both)
            shared = [name for name in settings if name in one and name in other]
            different = [name for name in shared if one[name] != other[name]] or settings
            *names, last = different
            raise ValueError(
                f"strategies that learn from the same evidence must {demand}: set the same "
                f"{', '.join(names)}{' and ' if names else ''}{last}, "
                f"got {_shown(both[0], one, different)} and {_shown(both[1], other, different)}"
            )


def _settings_of(strategy: Strategy) -> dict[str, Any]:
    """By name; a strategy without the setting `measure` has one of its own."""
    measure = {"measure": strategy.outcome_measure}
    return measure | flat_settings(strategy) if is_dataclass(strategy) else measure


def _shown(strategy: Strategy, settings: dict[str, Any], names: Collection[str]) -> str:
    """A strategy with only those of its settings that have these names."""
    some = ", ".join(f"{name}={settings[name]!r}" for name in names if name in settings)
    return f"{type(strategy).__name__}({some})"
