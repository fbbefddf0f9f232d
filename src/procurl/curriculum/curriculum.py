"""The one object that an integration holds: a strategy on a pool, with state and randomness."""

import threading
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from procurl.curriculum.bounds_check import bounds_fit
from procurl.curriculum.candidates import (
    Candidates,
    describe_pool,
    kept_tasks,
    require_renewable,
    require_same_pool,
)
from procurl.curriculum.checks import (
    checked_probabilities,
    checked_rollout_weights,
    in_double,
    require_evidence,
    require_format,
    require_same,
)
from procurl.curriculum.drawing import Lottery
from procurl.curriculum.metrics import Metrics, metrics_of
from procurl.curriculum.outcomes import OutcomeBuffer
from procurl.curriculum.records import (
    PROVIDED,
    no_outcomes,
    read_outcomes,
    read_prior,
    read_tasks,
    require_outcome_strategy,
    with_noise,
)
from procurl.evidence import Evidence, draw_without_replacement
from procurl.evidence.checks import LIMIT
from procurl.internals.archive import content_errors, read_archive, write_archive
from procurl.internals.arrays import Floats, Ids
from procurl.internals.checks import require_flag, require_integer, require_number
from procurl.internals.settings import describe
from procurl.internals.state_arrays import add_prefix, restore_arrays, state_arrays, take_prefix
from procurl.monitor import CurriculumMonitor, warn_of_shortfall, warn_without_rollouts
from procurl.strategies.registry import as_strategy, strategy_name
from procurl.strategies.strategy import Strategy
from procurl.tasks.matching import SharedTasks, match_tasks
from procurl.tasks.pool import TaskPool
from procurl.tasks.space import STREAM, TaskSpace

FORMAT = 1
# In front of the names of arrays that are not of the strategy's state.
OUTCOMES, CANDIDATES, MONITOR = "outcomes/", "candidates/", "monitor/"


class Curriculum:
    """Chooses the next tasks of a pool and learns from their outcomes.

    >>> from procurl import Evidence, TaskPool
    >>> pool = TaskPool([[0.1], [0.5], [0.9]])
    >>> curriculum = Curriculum("procurl-val", pool, seed=0)
    >>> curriculum.next(5)
    array([1, 0, 0, 0, 2])
    >>> curriculum.observe(Evidence(step=1024, values=[0.0, 0.5, 1.0]))
    >>> curriculum.probabilities().round(3)
    array([0.007, 0.987, 0.007])

    Threads may share a curriculum: each call sees all evidence of the calls that returned before
    it, and no part of a call that is under way. The choices are repeatable if the order of the
    calls is.

    Args:
        strategy: from `make_strategy`, your own, or a name for its default settings.
        pool: the tasks to choose from, or the `TaskSpace` that candidates are drawn from.
        seed: of all random numbers that the curriculum draws; the same seed and evidence give the
            same choices in every process and on every machine.
        prior: [n] the success rate of each task before training, such as a base model's; NaN or
            None where it is not known. It counts as `prior_weight` episodes of the strategy. Not
            for a space.
    """

    def __init__(
        self,
        strategy: Strategy | str,
        pool: TaskPool | TaskSpace,
        seed: int = 0,
        *,
        prior: Any = None,
    ) -> None:
        strategy = as_strategy(strategy)
        if not isinstance(pool, TaskPool | TaskSpace):
            raise TypeError(f"pool must be a TaskPool or a TaskSpace, got {type(pool).__name__}")
        require_integer("seed", seed, at_least=0)
        self._rng = np.random.default_rng((seed, STREAM) if isinstance(pool, TaskSpace) else seed)
        self._candidates: Candidates | None = None  # of a space
        if isinstance(pool, TaskSpace):
            self._candidates = Candidates.draw(pool, self._rng)
            pool = require_renewable(strategy, self._candidates)
        self.strategy, self.pool = strategy.bind(pool), pool
        self.step = 0.0  # training steps at the latest evidence or record
        self._unbound = strategy
        self._state = self.strategy.init(len(pool))
        self._outcomes = OutcomeBuffer()
        self._lottery: Lottery | None = None  # of the distribution; None: to be computed
        self._metrics: dict[int, Metrics] = {}  # by `top`, since the state last changed
        self._bounds_fit = True  # of all evidence so far
        self._observed = False  # whether there was any evidence
        self._renewal_due = False  # whether there was a refresh since the last renewal
        self._monitor = CurriculumMonitor(strategy_name(strategy), pool)
        self._lock = threading.RLock()
        if prior is not None:
            if self.space is not None:
                raise ValueError("prior is for a fixed pool: a space has no list of its tasks")
            n, known = len(pool), read_prior(pool, self.strategy, prior)
            self._state = self.strategy.trust_prior(self._state)
            unplayed = no_outcomes(self.strategy, n, self.step, known)._replace(noise=None)
            self._update(with_noise(self.strategy, unplayed, n, self._rng))

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def __repr__(self) -> str:
        name = strategy_name(self.strategy)
        return f"Curriculum(strategy={name!r}, pool={self.pool}, step={self.step:.0f})"

    @property
    def space(self) -> TaskSpace | None:
        """The space that the tasks of `pool` are drawn from; None if the pool is fixed."""
        return None if self._candidates is None else self._candidates.space

    def next(self, k: int = 1, *, replace: bool = True) -> Ids:
        """[k] ids of the tasks to play next, in `pool` as it is after the call.

        Args:
            k: how many.
            replace: whether a task may come more than once. True draws independently; False draws
                different tasks, each in proportion to the probabilities of those that are left.
        """
        require_integer("k", k, at_least=1)
        require_flag("replace", replace)
        with self._lock:
            if not replace and k > len(self.pool):
                raise ValueError(
                    f"k must be at most {len(self.pool)}, the tasks of the pool, to draw without "
                    f"replacement, got {k}"
                )
            self.renew()
            if self._lottery is None:
                probabilities = checked_probabilities(self.strategy, self._state, len(self.pool))
                self._lottery = Lottery(probabilities)
                if self._observed and self.strategy.uses and not self.strategy.ends_evenly:
                    success = self.strategy.estimated_success(self._state)
                    self._monitor.add_refresh(probabilities, success, self.step)
            draw = self._lottery.draw if replace else self._lottery.draw_distinct
            return draw(k, self._rng)

    def rollout_tasks(self) -> Ids:
        """[m] ids of the tasks that the strategy wants rollouts on, before the next `observe`.

        The whole pool, or a part drawn by `Strategy.rollout_weights` if the plan covers only that;
        none if the strategy plays no rollouts. If they are optional (`RolloutPlan.optional`), ask
        `Strategy.rolls_out` first whether the budget allows them.
        """
        with self._lock:
            plan, n = self.strategy.rollout_plan(), len(self.pool)
            if plan is None or plan.tasks_of(n) == n:
                return np.arange(0 if plan is None else n)
            weights = checked_rollout_weights(self.strategy, self._state, n)
            noise = self._rng.gumbel(size=n)
        drawn: Ids = draw_without_replacement(weights, noise, plan.tasks_of(n))
        return drawn

    def learning_mask(self) -> NDArray[np.bool_] | None:
        """[n] the tasks whose episodes the agent should learn from; None: all of them."""
        with self._lock:
            mask = self.strategy.learning_mask(self._state)
        return None if mask is None else np.array(mask, dtype=bool)

    def observe(self, evidence: Evidence) -> None:
        """Update the strategy with new evidence; bad evidence raises and changes nothing.

        Every field holds one real number per task, finite and at most 1e30 in size. Complex
        numbers, text, dates and masked entries raise.
        """
        with self._lock:
            checked = require_evidence(self.strategy, evidence, len(self.pool), self.step)
            checked = with_noise(self.strategy, checked, len(self.pool), self._rng)
            warn_without_rollouts(self.strategy, checked, self.step, self.pool)
            self.refresh()
            self._bounds_fit = self._bounds_fit and bounds_fit(self.strategy, checked)
            self._update(checked)

    def record(
        self,
        tasks: Any,
        outcomes: Any = None,
        *,
        wins: Any = None,
        losses: Any = None,
        step: float | None = None,
    ) -> None:
        """Add outcomes of single tasks, for strategies that learn from wins and losses.

        Outcomes from 0 to 1 are successes: 1 a win, 0 a loss, anything between a part of a win.
        Once an outcome lies outside, all are measured on the range seen so far, from the lowest to
        the highest without outliers. Entries that are NaN or None are skipped. A wrong argument
        raises and changes nothing.

        On pools of 10,000 tasks and more, several records share one `refresh`.

        Args:
            tasks: [m] task ids, or labels of the pool; repetitions are allowed.
            outcomes: [m] one per entry of `tasks`.
            wins, losses: [m] numbers of episodes, in place of `outcomes`.
            step: training steps so far, in any unit; None: one more than before.
        """
        with self._lock:
            require_outcome_strategy(self.strategy)
            new = read_outcomes(self.pool, self.strategy, tasks, outcomes, wins, losses)
            step = self.step + 1.0 if step is None else step
            require_number("step", step, at_least=self.step, at_most=LIMIT)
            self.step = float(step)
            if not self.strategy.uses:
                self._renewal_due = True
            else:
                self._outcomes.add(new)
                if self._outcomes.is_due(self.strategy, len(self.pool), self.step):
                    self.refresh()

    def refresh(self) -> None:
        """Pass the outcomes recorded since the last refresh to the strategy.

        `record` calls it often enough; call it to see the effect of all records at once.
        """
        with self._lock:
            if self._outcomes:
                n = len(self.pool)
                evidence = self._outcomes.take(self.strategy, n, self.step)
                self._update(with_noise(self.strategy, evidence, n, self._rng))

    def change_pool(self, pool: TaskPool, *, prior: Any = None) -> None:
        """Continue on another pool; what is known of the tasks in both pools is kept.

        Tasks are the same if their labels are equal, or if they are equal where one of the pools
        has no labels. What is known of the tasks that are not in `pool` is lost. A strategy whose
        state is not kept task by task raises.

        Args:
            pool: the tasks to choose from.
            prior: [n] success rates as in the constructor, for the tasks that are new.
        """
        if not isinstance(pool, TaskPool):
            raise TypeError(f"pool must be a TaskPool, got {type(pool).__name__}")
        if self.space is not None:
            raise ValueError(f"pool changes on its own: the curriculum draws it from {self.space}")
        with self._lock:
            strategy = self._unbound.bind(pool)
            known = None if prior is None else read_prior(pool, strategy, prior)
            shared = match_tasks(self.pool, pool)
            self.refresh()
            self._move(strategy, pool, shared, known)
            self._monitor.pool = pool

    def renew(self, playing: Any = ()) -> Ids:
        """Replace the least promising candidates of a space; returns the ids [k] that have changed.

        The new tasks take the places of the old ones. `next` does this after each refresh. Call it
        before that if episodes are still being played, so that their outcomes reach the right task.
        Nothing happens before the next refresh, or if the pool is fixed.

        Args:
            playing: ids of tasks that must stay.
        """
        with self._lock:
            keep = read_tasks(self.pool, playing)
            if self._candidates is None or not self._renewal_due:
                return np.zeros(0, dtype=np.int64)
            self.refresh()  # outcomes must not wait for tasks that are gone
            ids = self._candidates.least_promising(self.probabilities(), keep)
            self._candidates = self._candidates.renew(ids, self._rng)
            self._renewal_due = False
            if ids.size:
                pool, n = self._candidates.pool, len(self.pool)
                self._move(self._unbound.bind(pool), pool, kept_tasks(n, ids))
            return ids

    def _move(
        self, strategy: Strategy, pool: TaskPool, shared: SharedTasks, prior: Floats | None = None
    ) -> None:
        """Continue on `pool` with `strategy` bound to it; `prior` [n] is for tasks not `shared`."""
        if prior is not None and not self._observed:
            shared = SharedTasks(shared.before[:0], shared.after[:0])  # nothing is known of any
        state = strategy.carry_over(self._state, strategy.init(len(pool)), shared)
        if prior is not None:
            prior[shared.after] = np.nan
            state, self._observed = strategy.trust_prior(state), True
        if self._observed and (prior is not None or set(strategy.needs) <= PROVIDED):
            state = strategy.update(state, no_outcomes(strategy, len(pool), self.step, prior))
        self.strategy, self.pool, self._state = strategy, pool, state
        self._forget_distribution()

    def _update(self, evidence: Evidence) -> None:
        """Update the strategy with evidence that was checked."""
        before = self.strategy.estimated_success(self._state) if self._observed else None
        if before is not None and evidence.wins is not None and evidence.losses is not None:
            self._monitor.add_episodes(np.asarray(before), evidence)
        self._forget_distribution()  # first, since pools may be large
        self._state = self.strategy.update(self._state, evidence)
        self._observed = self._renewal_due = True
        self.step = float(evidence.step)

    def _forget_distribution(self) -> None:
        self._lottery, self._metrics = None, {}

    def probabilities(self) -> NDArray[np.float64]:
        """[n] how likely each task is to be drawn next."""
        with self._lock:
            return in_double(checked_probabilities(self.strategy, self._state, len(self.pool)))

    def success(self) -> NDArray[np.float64] | None:
        """[n] the estimated probability of success of each task, None if the strategy has none."""
        with self._lock:
            success = self.strategy.estimated_success(self._state)
        return None if success is None else np.array(success, dtype=np.float64)

    def metrics(self, top: int = 5) -> Metrics:
        """Entropy, effective tasks, estimated and achieved success, extreme tasks, and more."""
        require_integer("top", top, at_least=1)
        with self._lock:
            if top not in self._metrics:
                own, calibration = self.strategy.metrics(self._state), self._monitor.calibration
                parts = self.probabilities(), self.success(), calibration, own
                self._metrics[top] = metrics_of(*parts, top)
            return self._metrics[top]

    def warn_of_shortfall(self) -> None:
        """Log once, at the end of training, what the strategy never got to do."""
        with self._lock:
            warn_of_shortfall(self.strategy, self._state, self.pool)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue identically: JSON values, and arrays under `state`."""
        with self._lock:
            arrays = state_arrays(self._state) | add_prefix(OUTCOMES, self._outcomes.arrays())
            arrays |= add_prefix(MONITOR, self._monitor.arrays())
            if self._candidates is not None:
                arrays |= add_prefix(CANDIDATES, self._candidates.arrays())
            return {
                "format": FORMAT,
                "strategy": describe(self.strategy),
                "pool": describe_pool(self.pool, self.space),
                "step": self.step,
                "observed": self._observed,
                "renewal_due": self._renewal_due,
                "rng": self._rng.bit_generator.state,
                "state": {name: array.copy() for name, array in arrays.items()},
            }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from `state_dict`; another strategy or pool raises and changes nothing."""
        with self._lock:
            require_format(saved.get("format"), FORMAT)
            require_same("strategy", describe(self.strategy), saved["strategy"])
            arrays, n = dict(saved["state"]), len(self.pool)
            candidates, pool, strategy = self._candidates, self.pool, self.strategy
            require_same_pool(pool, self.space, saved["pool"])
            if candidates is not None:
                candidates = candidates.from_arrays(take_prefix(CANDIDATES, arrays))
                pool, strategy = candidates.pool, self._unbound.bind(candidates.pool)
            outcomes = OutcomeBuffer.from_arrays(take_prefix(OUTCOMES, arrays), n)
            monitor = self._monitor.from_arrays(take_prefix(MONITOR, arrays))
            state = restore_arrays(self._state, arrays)
            rng = np.random.default_rng()
            rng.bit_generator.state = saved["rng"]
            require_number("the saved step", saved["step"], at_least=0, at_most=LIMIT)
            for flag in ("observed", "renewal_due"):
                require_flag(f"the saved {flag}", saved[flag])
            checked_probabilities(strategy, state, n)  # raises if nothing can be drawn from it
            self._candidates, self.pool, self.strategy = candidates, pool, strategy
            self._state, self._rng, self._outcomes = state, rng, outcomes
            self._forget_distribution()
            self._monitor, self.step = monitor, float(saved["step"])
            self._observed, self._renewal_due = saved["observed"], saved["renewal_due"]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to one file of arrays and JSON, without pickled code."""
        saved = self.state_dict()
        arrays = saved.pop("state")
        write_archive(path, saved, arrays)

    def load(self, path: str | PathLike[str]) -> Self:
        """Continue from a file written by `save`, with the same strategy and pool."""
        meta, arrays = read_archive(path)
        with content_errors(path):
            self.load_state_dict(meta | {"state": arrays})
        return self
