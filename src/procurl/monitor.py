"""Whether a curriculum has an effect, and how good its estimate of success is.

Each warning is logged once per pool and process. Its record has the attribute `about`; a program
with several processes shows only one of the warnings that are about the same.
"""

import logging
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, Floats, NamedArrays, entropy_of
from procurl.internals.state_arrays import restore_arrays, state_arrays
from procurl.strategies.registry import (
    DEFAULT_GROUP_STRATEGY,
    DEFAULT_STRATEGY,
    strategy_name,
)
from procurl.strategies.strategy import Strategy
from procurl.success.played import played_tasks
from procurl.tasks.pool import TaskPool

BINS = 5  # of estimates, within which outcomes are averaged
MEMORY = 300.0  # episodes that calibration is measured on, about
FEWEST_EPISODES = 20  # for calibration to be known
REFRESHES = 20  # without an effect, after which a user is warned
EVEN = 0.99  # share of the largest entropy from which tasks count as drawn evenly
TYPICAL = 0.95  # share of their mass if the tasks looked at stand for all
LOOKED_AT = 100_000  # tasks that tell whether a large pool is drawn from evenly
EDGE = 0.02  # estimates this close to 0 or 1 do not tell tasks apart
NEAR_EDGE = 0.1  # likewise for the mean, if tasks are drawn evenly
WELL_CALIBRATED = 0.15  # the largest error of an estimate to trust
POORLY_CALIBRATED = 0.25  # the largest error that is not worth a warning
ESTIMATES = {
    "failure": "every task is estimated to fail",
    "success": "every task is estimated to be solved",
    "alike": "no task seems much more useful than another",
}
IF_TRUE = {
    "failure": "add easier tasks, or wait until the agent wins some",
    "success": "add harder tasks, or stop training",
    "alike": "nothing, unless you know that tasks differ; then give the pool contexts, and show "
    "the task in the observation",
}
# Estimate success from the training episodes.
BY_EPISODES = (DEFAULT_STRATEGY, DEFAULT_GROUP_STRATEGY, "procurl-out")
log = logging.getLogger(__name__)
# What warnings were about, by pool: many runs of one process may share it.
_logged: WeakKeyDictionary[TaskPool, set[str]] = WeakKeyDictionary()


class Calibration(NamedTuple):
    """Estimated against achieved success, over the recent training episodes."""

    error: float  # mean absolute difference
    estimated: float  # mean over the episodes, of the estimate when they were drawn
    achieved: float  # mean outcome of the episodes


class EpisodeSums(NamedTuple):
    """Sums over the recent training episodes, by bins of the estimate that they were drawn by."""

    estimated: Floats  # [BINS] success
    achieved: Floats  # [BINS] success
    episodes: Floats  # [BINS]


class CurriculumMonitor:
    """Watches the distribution and the estimate of a curriculum over its n tasks.

    Args:
        strategy: its name, for warnings.
        pool: the tasks.
    """

    def __init__(self, strategy: str, pool: TaskPool) -> None:
        self._strategy = strategy
        self.pool = pool
        self._sums = EpisodeSums(np.zeros(BINS), np.zeros(BINS), np.zeros(BINS))
        self._idle_refreshes = 0  # in a row
        self._idle_visits: int | None = None  # tasks played between two of them; None if unknown
        self._poor_refreshes = 0  # in a row, with an effect and a poor estimate

    @property
    def calibration(self) -> Calibration | None:
        """How far the estimate is off; None before enough episodes have ended.

        Tasks with similar estimates are taken together, because the outcome of a single episode
        says little: Σ_bins |Σ estimated − Σ achieved| / episodes.
        """
        estimated, achieved, episodes = self._sums
        total = float(episodes.sum())
        if total < FEWEST_EPISODES:
            return None
        error = np.abs(estimated - achieved).sum() / total
        means = (float(sums.sum() / total) for sums in (estimated, achieved))
        return Calibration(float(error), *means)

    def add_episodes(self, success: NDArray[np.floating], evidence: Evidence) -> None:
        """Compare the outcomes of training episodes with the estimate that they were drawn by.

        Args:
            success: [n] the estimate; that of a task may be missing.
            evidence: that has come since then, with wins and losses.
        """
        tasks, wins, losses, _ = played_tasks(evidence, success)
        success = success[tasks].astype(np.float64)
        known = np.isfinite(success)
        success, wins, losses = success[known], wins[known], losses[known]
        episodes = wins + losses
        kept = (1.0 - 1.0 / MEMORY) ** float(episodes.sum())
        bins = np.minimum((success * BINS).astype(np.int64), BINS - 1)
        new = EpisodeSums(success * episodes, wins, episodes)
        self._sums = EpisodeSums(
            *(
                kept * sums + np.bincount(bins, weights, BINS)
                for sums, weights in zip(self._sums, new, strict=True)
            )
        )
        if self._idle_refreshes:
            self._idle_visits = (self._idle_visits or 0) + len(wins)

    def add_refresh(
        self, probabilities: NDArray[np.floating], success: Array | None, step: float
    ) -> None:
        """Warn once if the distribution stays uniform, or the estimate stays extreme or poor.

        Args:
            probabilities: [n] of being drawn next.
            success: [n] the estimate, None if the strategy has none.
            step: training steps so far.
        """
        success = None if success is None else np.asarray(success)
        kind = _kind_of_idleness(probabilities, success)
        if kind is None:
            self._idle_refreshes, self._idle_visits = 0, None
            self._watch_calibration(step)
            return
        self._idle_refreshes += 1
        self._poor_refreshes = 0
        # With little evidence per refresh, an even distribution is no surprise.
        few = self._idle_visits is not None and self._idle_visits < len(probabilities)
        if self._idle_refreshes >= REFRESHES and not few:
            self._warn(kind, self._idle_refreshes, step, self._explanation(kind, success))

    def arrays(self) -> NamedArrays:
        """What calibration is measured on; nothing before the first episode."""
        return state_arrays(self._sums) if self._sums.episodes.any() else {}

    def from_arrays(self, saved: NamedArrays) -> Self:
        """A monitor of the same curriculum with the calibration of `arrays`; raises if wrong."""
        monitor = type(self)(self._strategy, self.pool)
        if saved:
            monitor._sums = restore_arrays(monitor._sums, saved)
        if not all(((sums >= 0.0) & (sums < np.inf)).all() for sums in monitor._sums):
            raise ValueError(f"the saved calibration must be sums of at least 0, got {saved}")
        return monitor

    def _watch_calibration(self, step: float) -> None:
        """Warn once if the estimate stays poor."""
        found = self.calibration
        poor = found is not None and found.error > POORLY_CALIBRATED
        self._poor_refreshes = self._poor_refreshes + 1 if poor else 0
        if found is None or self._poor_refreshes < REFRESHES:
            return
        explanation = (
            f"the estimate of success is off by {found.error:.2f} on average (in recent training "
            f"episodes {found.estimated:.2f} was estimated and {found.achieved:.2f} achieved), so",
            "tasks that are too easy or too hard are preferred.",
            f"To do: {_other_estimate(self._strategy)}.",
        )
        self._warn("calibration", self._poor_refreshes, step, explanation)

    def _warn(self, kind: str, refreshes: int, step: float, explanation: Iterable[str]) -> None:
        about = f"{self._strategy}: {kind}"
        if _is_new(self.pool, about):
            log.warning(
                "%s, %d refreshes up to step %s: %s",
                self._strategy,
                refreshes,
                f"{step:,.0f}",
                " ".join(explanation),
                extra={"about": about},
            )

    def _explanation(self, kind: str, success: NDArray[np.floating] | None) -> Iterator[str]:
        """What the curriculum does, what was achieved, and what to do."""
        if success is None:
            yield "tasks are drawn almost evenly, so the curriculum has no more effect than iid."
            return
        span = f"(success {success.min():.2f} to {success.max():.2f})"
        yield f"{ESTIMATES[kind]} {span}, so the curriculum has little to choose by."
        found = self.calibration
        if found is None:
            yield f"If this is true: {IF_TRUE[kind]}. If not: {_better_estimate(self._strategy)}."
            return
        yield (
            f"In recent training episodes, success was estimated at {found.estimated:.2f} and "
            f"{found.achieved:.2f} was achieved (calibration error {found.error:.2f})."
        )
        true = found.error <= WELL_CALIBRATED
        yield f"To do: {IF_TRUE[kind] if true else _better_estimate(self._strategy)}."


def warn_of_shortfall(strategy: Strategy, state: Any, pool: TaskPool) -> None:
    """Log once, at the end of training, what a strategy never got to do.

    Args:
        strategy: bound to the pool.
        state: of the strategy, as NumPy arrays.
        pool: the tasks.
    """
    name, found = strategy_name(strategy), strategy.shortfall(state)
    about = f"{name}: shortfall"
    if found is not None and _is_new(pool, about):
        log.warning("%s, at the end of training: %s.", name, found, extra={"about": about})


def warn_without_rollouts(
    strategy: Strategy, evidence: Evidence, before: float, pool: TaskPool
) -> None:
    """Log once, at the first evidence, that a budget for rollouts has no effect without them.

    Args:
        strategy: that the evidence is for.
        evidence: on n tasks.
        before: training steps at the evidence before; 0: there was none.
        pool: the tasks.
    """
    plan, first = strategy.rollout_plan(), before == 0.0 < evidence.step
    if plan is None or plan.budget is None or not first or evidence.rollout_success is not None:
        return
    name = strategy_name(strategy)
    about = f"{name}: budget"
    if _is_new(pool, about):
        log.warning(
            "%s: budget=%g has no effect, because the evidence has no rollouts. To do: leave "
            "budget out, or play the tasks of curriculum.rollout_tasks() and pass "
            "evidence._replace(rollout_success=…, rollouts=…) to observe.",
            name,
            plan.budget,
            extra={"about": about},
        )


def _is_new(pool: TaskPool, about: str) -> bool:
    """Whether no warning about this was logged for this pool; from now on there was."""
    logged = _logged.setdefault(pool, set())
    new = about not in logged
    logged.add(about)
    return new


def _other_estimate(strategy: str) -> str:
    if strategy in BY_EPISODES:
        return _better_estimate(strategy)
    return f"use {DEFAULT_STRATEGY}, which estimates success from the training episodes"


def _better_estimate(strategy: str) -> str:
    other = "" if strategy in BY_EPISODES else f", or compare with {DEFAULT_STRATEGY}"
    return (
        "leave out v_min and v_max if you passed them. An estimate that follows the training "
        f"episodes lags if few of them end: train longer{other}"
    )


def _some(each: NDArray[np.floating]) -> Floats:
    """Random tasks of a large pool, always the same ones; all tasks of a small one."""
    n = len(each)
    if n > LOOKED_AT:
        each = each[np.random.default_rng(0).integers(n, size=LOOKED_AT)]
    return each.astype(np.float64)


def _is_even(probabilities: NDArray[np.floating]) -> bool:
    """Whether tasks are drawn about evenly."""
    n, some = len(probabilities), _some(probabilities)
    total = float(some.sum())
    if abs(total * n / len(some) - 1.0) > 1.0 - TYPICAL:  # others are likelier, or less likely
        return False
    missing = math.log(len(some)) - entropy_of(some / total)  # about as much as in the whole pool
    return missing <= (1.0 - EVEN) * math.log(n)


def _extreme(success: NDArray[np.floating]) -> str | None:
    """`failure` or `success` if all tasks are estimated to end so, None otherwise."""
    for each in (_some(success), success):  # few tasks tell in most cases
        if each.max() >= EDGE and each.min() <= 1.0 - EDGE:
            return None
    if success.max() < EDGE:
        return "failure"
    return "success" if success.min() > 1.0 - EDGE else None  # None: some have no estimate


def _kind_of_idleness(
    probabilities: NDArray[np.floating], success: NDArray[np.floating] | None
) -> str | None:
    """Why a curriculum has no effect: `failure`, `success`, `alike` or `even`; None if it has."""
    if len(probabilities) < 2:
        return None
    if success is not None and (extreme := _extreme(success)) is not None:
        return extreme
    if not _is_even(probabilities):
        return None
    if success is None:
        return "even"
    mean = float(success.mean(dtype=np.float64))
    return "failure" if mean < NEAR_EDGE else "success" if mean > 1.0 - NEAR_EDGE else "alike"
