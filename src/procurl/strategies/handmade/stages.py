"""Stages: an ordered list of subsets of the pool, each left when a condition holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace, select
from procurl.internals.checks import require_integer, require_interval, require_number
from procurl.internals.settings import CLOSED, convert_setting
from procurl.strategies.conditions import (
    PHASE_FIELDS,
    Condition,
    Phase,
    SuccessAbove,
    add_to_phase,
    as_condition,
    new_phase,
    next_phase,
)
from procurl.strategies.handmade.splitting import order_of, split
from procurl.strategies.handmade.stage import Stage, read_stages
from procurl.strategies.strategy import Strategy
from procurl.tasks.matching import SharedTasks
from procurl.tasks.pool import TaskPool


class StageTasks(NamedTuple):
    """Which tasks belong to which stage; int32, which a batch of runs keeps as it is."""

    members: Array  # [m, n] 1 for the tasks of each of the m stages, else 0
    first: Array  # [n] the first stage of each task, m for a task of none


class StagesState(NamedTuple):
    """State of `Stages`."""

    stage: Array  # []  int32, the current one
    phase: Phase  # since it was entered
    conditions: tuple[Any, ...]  # their states


@dataclass(frozen=True)
class Stages(Strategy):
    """Play one subset of the pool after another, each until the agent is done with it.

    With stages A_0, A_1, … and the current one k,

        P = (1 − κ)·U(A_k) + κ·U(A_0 ∪ … ∪ A_{k−1} without A_k),

    where U is uniform and κ is `keep`, or 0 if no task of an earlier stage has been left behind.
    After an update in which the condition of stage k holds, k grows by one. Success is the share of
    wins among the recent training episodes on the tasks of the stage, since it was entered.

    Args:
        stages: `Stage`s in order, or as text their ranges, `width:0:1/width:0:2/all`. None: the
            pool is split into `parts`. The whole pool comes after the last stage, unless that one
            has no condition of its own.
        by: the column to split by, a context or a feature; `-name` starts with the largest. None:
            the first context, or the order of the pool if it has no contexts.
        parts: how many stages the split makes, of about equally many tasks.
        until: the condition that ends a stage without one of its own, or its text.
        keep: κ, the share of draws for tasks of earlier stages, against forgetting.
        window: about how many recent episodes make up the success.
        refresh_every: training steps between updates; None: after every policy update.
    """

    stages: tuple[Stage, ...] | None = None
    by: str | None = None
    parts: int = 4
    until: Condition = field(default_factory=SuccessAbove, metadata=CLOSED)
    keep: float = 0.1
    window: float = 100.0
    refresh_every: int | None = None
    # Not a setting: `bind` finds it in the pool. None before that.
    tasks: StageTasks | None = field(default=None, repr=False, compare=False)

    ends_evenly = True

    def __post_init__(self) -> None:
        convert_setting(self, "stages", str, read_stages)
        convert_setting(self, "stages", list, tuple)
        convert_setting(self, "until", str, partial(as_condition, "until"))

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for each in self._conditions for name in each.needs))

    @property
    def uses(self) -> tuple[str, ...]:
        return PHASE_FIELDS

    @property
    def _conditions(self) -> tuple[Condition, ...]:
        """The condition of each stage that can be left; one for all stages of a split."""
        if self.stages is None:
            return (self.until,)
        *before, last = (stage.until for stage in self.stages)
        conditions = [condition or self.until for condition in before]
        return (*conditions, *([] if last is None else [last]))

    def init(self, n: int) -> StagesState:
        if self.tasks is None:
            raise ValueError(
                "stages are subsets of a pool: call strategy.bind(pool) first, as Curriculum and "
                "the engines do"
            )
        states = tuple(condition.init() for condition in self._conditions)
        return StagesState(np.zeros((), dtype=np.int32), new_phase(), states)

    def update(self, state: StagesState, evidence: Evidence) -> StagesState:
        phase = add_to_phase(state.phase, evidence, self._current(state), self.window)
        pairs = list(zip(self._conditions, state.conditions, strict=True))
        states = tuple(condition.update(kept, phase) for condition, kept in pairs)
        over = self._is_over(state.stage, states, phase)
        begun = tuple(condition.init() for condition in self._conditions)
        return StagesState(
            stage=(state.stage + over).astype(state.stage.dtype),
            phase=select(over, next_phase(phase), phase),
            conditions=select(over, begun, states),
        )

    def _is_over(self, stage: Array, states: tuple[Any, ...], phase: Phase) -> Array:
        """[] bool, whether the condition of the current stage holds; never for the last one."""
        xp = namespace(phase.step, stage)
        if not states:
            return xp.asarray(False)
        pairs = zip(self._conditions, states, strict=True)
        holds = xp.stack([xp.asarray(each.holds(state, phase)) for each, state in pairs])
        assert self.tasks is not None
        current = xp.take(holds, xp.minimum(stage, len(states) - 1))
        return current & (stage < self.tasks.members.shape[0] - 1)

    def probabilities(self, state: StagesState) -> Array:
        assert self.tasks is not None
        current = self._current(state)
        xp = namespace(state.phase.step, current, self.keep)
        dtype = state.phase.step.dtype
        earlier = (self.tasks.first < state.stage) & ~current
        left_behind = xp.sum(earlier.astype(dtype))
        keep = xp.where(left_behind > 0.0, self.keep, 0.0)
        now = (1.0 - keep) / xp.sum(current.astype(dtype))
        before = keep / xp.maximum(left_behind, 1.0)
        return current * now + earlier * before

    def metrics(self, state: StagesState) -> Mapping[str, Array]:
        """`stage`, the current one; the first is 0."""
        return {"stage": state.stage}

    def shortfall(self, state: StagesState) -> str | None:
        """Says so if the first stage was never left, though there is a second."""
        assert self.tasks is not None
        stages = len(self.tasks.members)
        if state.stage > 0 or stages == 1:
            return None
        return (
            f"the first of {stages} stages was never left, so only its "
            f"{self.tasks.members[0].sum()} tasks were played. It ends with {self._conditions[0]}, "
            f"and the success of its recent episodes was {float(state.phase.success):.2f}. Train "
            "longer, begin with easier tasks, or end the stage earlier with until"
        )

    def _current(self, state: StagesState) -> Array:
        """[n] bool, the tasks of the current stage."""
        assert self.tasks is not None
        xp = namespace(self.tasks.members, state.stage)
        return xp.take(self.tasks.members, state.stage, axis=0) > 0

    def bind(self, pool: TaskPool) -> Self:
        """The same strategy with the tasks of each stage."""
        if self.stages is None:
            part = split(order_of(pool, self.by), self.parts)
            rows = part == np.arange(part.max() + 1)[:, None]
            whole = len(rows) > 1
        else:
            given = [stage.members(pool, f"stages[{i}]") for i, stage in enumerate(self.stages)]
            rows = np.stack(given)
            whole = self.stages[-1].until is not None
        members = np.concatenate([rows, np.ones((int(whole), len(pool)), dtype=bool)])
        first = np.where(members.any(axis=0), members.argmax(axis=0), len(members))
        return replace(self, tasks=StageTasks(members.astype(np.int32), first.astype(np.int32)))

    def carry_over(
        self, state: StagesState, fresh: StagesState, shared: SharedTasks
    ) -> StagesState:
        """The stage stays; on a pool that is cut into fewer stages, it is at most the last."""
        assert self.tasks is not None
        carried: StagesState = super().carry_over(state, fresh, shared)
        last = np.asarray(len(self.tasks.members) - 1, dtype=np.int32)
        return carried._replace(stage=np.minimum(carried.stage, last))

    def check(self) -> None:
        if self.stages is not None:
            self._check_stages(self.stages)
        if self.by is not None and not isinstance(self.by, str):
            raise TypeError(f"by must be the name of a context or feature column, got {self.by!r}")
        require_integer("parts", self.parts, at_least=1)
        as_condition("until", self.until).check()
        require_number("keep", self.keep, at_least=0.0, at_most=1.0)
        require_number("window", self.window, at_least=1.0)
        require_interval(self.refresh_every)

    def _check_stages(self, stages: tuple[Stage, ...]) -> None:
        if not isinstance(stages, tuple) or not stages:
            raise TypeError(
                f"stages must be a tuple of Stage, or None to split the pool, got {stages!r}"
            )
        for i, stage in enumerate(stages):
            if not isinstance(stage, Stage):
                raise TypeError(
                    f"stages[{i}] must be a Stage, such as Stage(tasks=[0, 1], "
                    f"until=SuccessAbove(0.7)), got {stage!r}"
                )
            stage.check(f"stages[{i}]")
