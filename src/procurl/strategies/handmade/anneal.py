"""Anneal: a box of contexts that grows from a start to the whole pool."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace, select
from procurl.internals.checks import require_interval, require_number
from procurl.internals.settings import convert_setting
from procurl.strategies.conditions import (
    PHASE_FIELDS,
    Phase,
    add_to_phase,
    new_phase,
    next_phase,
)
from procurl.strategies.handmade.growing_box import entry_sizes
from procurl.strategies.handmade.ranges import check_ranges, read_ranges
from procurl.strategies.strategy import Strategy
from procurl.tasks.pool import TaskPool

ROUNDING = 1e-6  # of a sum of notches; ten of 0.1 are less than 1


class AnnealState(NamedTuple):
    """State of `Anneal`."""

    size: Array  # []  of the box: 0 is the start, 1 the whole pool
    phase: Phase  # since the size was last judged


@dataclass(frozen=True)
class Anneal(Strategy):
    """Play the tasks in a box of contexts, uniformly; the box grows to hold the whole pool.

    Every side of the box moves in proportion to its size g, from the start at g = 0 to the ends of
    the pool's range at g = 1. By schedule, g = min(1, step / `steps`). By success, g changes by
    `notch` whenever `episodes` training episodes in the box have ended: up if their success is at
    least `above`, down if it is below `below`. The first box is never empty: it is as large as it
    must be to hold `share` of the pool.

    Args:
        start: the first box, as ranges or numbers by context or feature column, such as
            `{"width": (0.5, 1.0), "mass": 2.0}`, or their text `width:0.5:1+mass:2`. Other columns
            start with their whole range. None: the middle of all contexts, or the first tasks of a
            pool without contexts.
        share: of the pool that the first box holds at least; 0 for one task.
        steps: training steps until the box holds the whole pool; None to grow by success.
        above: success from which on the box grows.
        below: success below which the box shrinks.
        notch: how far the box grows or shrinks at a time, as a share of the way.
        episodes: training episodes in the box before each decision.
        refresh_every: training steps between updates; None: after every policy update.
    """

    start: Mapping[str, Any] | None = None
    share: float = 0.1
    steps: float | None = None
    above: float = 0.7
    below: float = 0.3
    notch: float = 0.05
    episodes: float = 50.0
    refresh_every: int | None = None
    # Not a setting: `bind` finds it in the pool. [n] the size at which each task enters the box.
    enters: Array | None = field(default=None, repr=False, compare=False)

    ends_evenly = True

    def __post_init__(self) -> None:
        convert_setting(self, "start", str, partial(read_ranges, "start"))

    @property
    def needs(self) -> tuple[str, ...]:
        return ("wins", "losses") if self.steps is None else ()

    @property
    def uses(self) -> tuple[str, ...]:
        return PHASE_FIELDS

    def init(self, n: int) -> AnnealState:
        if self.enters is None:
            raise ValueError(
                "the box holds tasks of a pool: call strategy.bind(pool) first, as Curriculum and "
                "the engines do"
            )
        return AnnealState(np.zeros(()), new_phase())

    def update(self, state: AnnealState, evidence: Evidence) -> AnnealState:
        xp = namespace(state.size, evidence.step, self.notch)
        # Episodes do not fade: they are counted anew after every decision.
        phase = add_to_phase(state.phase, evidence, self._inside(state), np.inf)
        if self.steps is not None:
            size = xp.minimum(phase.step / self.steps, 1.0)
            return AnnealState(size.astype(state.size.dtype), phase)
        judged = phase.episodes >= self.episodes
        up = judged & (phase.success >= self.above)
        down = judged & (phase.success < self.below)
        size = state.size + xp.where(up, self.notch, 0.0) - xp.where(down, self.notch, 0.0)
        size = xp.clip(size, 0.0, 1.0).astype(state.size.dtype)
        return AnnealState(size, select(judged, next_phase(phase), phase))

    def probabilities(self, state: AnnealState) -> Array:
        inside = self._inside(state).astype(state.size.dtype)
        return inside / namespace(inside).sum(inside)

    def metrics(self, state: AnnealState) -> Mapping[str, Array]:
        """`box_size`: 0 for the first box, 1 for the whole pool."""
        return {"box_size": state.size}

    def _inside(self, state: AnnealState) -> Array:
        """[n] bool, the tasks in the box."""
        return self.enters <= state.size + ROUNDING

    def bind(self, pool: TaskPool) -> Self:
        """The same strategy with the size at which each task enters the box."""
        return replace(self, enters=entry_sizes(pool, self.start, float(self.share)))

    def check(self) -> None:
        if self.start is not None:
            if not isinstance(self.start, Mapping):
                raise TypeError(
                    "start must be ranges of columns, such as {'width': (0.5, 1.0)}, or None for "
                    f"the middle of the contexts, got {self.start!r}"
                )
            check_ranges("start", self.start)
        require_number("share", self.share, at_least=0.0, at_most=1.0)
        if self.steps is not None:
            require_number("steps", self.steps, above=0.0)
        require_number("above", self.above, at_least=0.0, at_most=1.0)
        require_number("below", self.below, at_least=0.0, at_most=1.0)
        if self.below > self.above:
            raise ValueError(
                f"below must be at most above={self.above!r}, got below={self.below!r}: the box "
                "would grow and shrink at the same success"
            )
        require_number("notch", self.notch, above=0.0, at_most=1.0)
        require_number("episodes", self.episodes, above=0.0)
        require_interval(self.refresh_every)
