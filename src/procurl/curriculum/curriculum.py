"""The one object that an integration holds: a strategy on a pool, with state and randomness."""

import threading
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from procurl.curriculum.bounds_check import bounds_fit
from procurl.curriculum.drawing import cumulative_of, draw, draw_distinct
from procurl.curriculum.metrics import Metrics, metrics_of
from procurl.curriculum.outcomes import OutcomeBuffer
from procurl.curriculum.records import (
    PROVIDED,
    read_outcomes,
    read_prior,
    require_outcome_strategy,
)
from procurl.evidence import Evidence, draw_without_replacement
from procurl.evidence.checks import LIMIT, check_evidence
from procurl.internals.archive import content_errors, read_archive, write_archive
from procurl.internals.arrays import Floats, Ids
from procurl.internals.checks import require_flag, require_integer, require_number
from procurl.internals.settings import describe
from procurl.internals.state_arrays import restore_arrays, state_arrays
from procurl.monitor import CurriculumMonitor, warn_of_shortfall
from procurl.strategies.registry import as_strategy, strategy_name
from procurl.strategies.strategy import Strategy
from procurl.tasks.matching import match_tasks
from procurl.tasks.pool import TaskPool

SUM_TOLERANCE = 1e-3  # of probabilities in single precision, over large pools
FORMAT = 1
OUTCOMES = "outcomes/"  # in front of the names of arrays that are not of the strategy's state


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
        pool: the tasks to choose from.
        seed: of all random numbers that the curriculum draws; the same seed and evidence give the
            same choices in every process and on every machine.
        prior: [n] the success rate of each task before training, such as a base model's; NaN or
            None where it is not known. It counts as `prior_weight` episodes of the strategy.
    """

    def __init__(
        self, strategy: Strategy | str, pool: TaskPool, seed: int = 0, *, prior: Any = None
    ) -> None:
        strategy = as_strategy(strategy)
        if not isinstance(pool, TaskPool):
            raise TypeError(f"pool must be a TaskPool, got {type(pool).__name__}")
        require_integer("seed", seed, at_least=0)
        self.strategy = strategy.bind(pool)
        self.pool = pool
        self.step = 0.0  # training steps at the latest evidence or record
        self._unbound = strategy
        self._rng = np.random.default_rng(seed)
        self._state = self.strategy.init(len(pool))
        self._outcomes = OutcomeBuffer()
        self._cumulative: Floats | None = None  # of the distribution; None: to be computed
        self._metrics: dict[int, Metrics] = {}  # by `top`, since the state last changed
        self._bounds_fit = True  # of all evidence so far
        self._observed = False  # whether there was any evidence
        self._monitor = CurriculumMonitor(strategy_name(strategy), pool)
        self._lock = threading.RLock()
        if prior is not None:
            known = read_prior(pool, self.strategy, prior)
            self._state = self.strategy.trust_prior(self._state)
            self.observe(self._no_outcomes(self.strategy, len(pool), known))

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def __repr__(self) -> str:
        name = strategy_name(self.strategy)
        return f"Curriculum(strategy={name!r}, pool={self.pool}, step={self.step:.0f})"

    def next(self, k: int = 1, *, replace: bool = True) -> Ids:
        """[k] ids of the tasks to play next.

        Args:
            k: how many.
            replace: whether a task may come more than once. True draws independently; False draws
                different tasks, each in proportion to the probabilities of those that are left.
        """
        require_integer("k", k, at_least=1)
        require_flag("replace", replace)
        if not replace and k > len(self.pool):
            raise ValueError(
                f"k must be at most {len(self.pool)}, the tasks of the pool, to draw without "
                f"replacement, got {k}"
            )
        with self._lock:
            if self._cumulative is None:
                probabilities = self.probabilities()
                self._cumulative = cumulative_of(probabilities)
                if self._observed and self.strategy.uses and not self.strategy.ends_evenly:
                    self._monitor.add_refresh(probabilities, self.success(), self.step)
            if replace:
                return draw(self._cumulative, k, self._rng)
            return draw_distinct(self._cumulative, k, self._rng, self.probabilities)

    def rollout_tasks(self) -> Ids:
        """[m] ids of the tasks that the strategy wants rollouts on, before the next `observe`.

        The whole pool, or a part drawn by `Strategy.rollout_weights` if the plan covers only that;
        none if the strategy needs no rollouts.
        """
        plan, n = self.strategy.rollout_plan(), len(self.pool)
        if plan is None or plan.tasks_of(n) == n:
            return np.arange(0 if plan is None else n)
        with self._lock:
            weights = self._rollout_weights()
            noise = self._rng.gumbel(size=n)
        drawn: Ids = draw_without_replacement(weights, noise, plan.tasks_of(n))
        return drawn

    def learning_mask(self) -> NDArray[np.bool_] | None:
        """[n] the tasks whose episodes the agent should learn from; None: all of them."""
        mask = self.strategy.learning_mask(self._state)
        return None if mask is None else np.asarray(mask, dtype=bool)

    def _rollout_weights(self) -> NDArray[np.float64] | None:
        """[n] the strategy's weights for rollouts, None for equal ones."""
        given = self.strategy.rollout_weights(self._state)
        if given is None:
            return None
        weights, n = np.asarray(given, dtype=np.float64), len(self.pool)
        if weights.shape != (n,) or not np.all(weights >= 0) or not 0 < weights.sum() < np.inf:
            raise ValueError(
                f"{type(self.strategy).__name__}.rollout_weights must return one weight for each "
                f"of the {n} tasks, none of them negative and not all 0, or None, "
                f"got {np.array2string(weights, threshold=8)}"
            )
        return weights

    def observe(self, evidence: Evidence) -> None:
        """Update the strategy with new evidence; bad evidence raises and changes nothing.

        Every field holds one real number per task, finite and at most 1e30 in size. Complex
        numbers, text, dates and masked entries raise.
        """
        with self._lock:
            checked = self._check(evidence)
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
            if self.strategy.uses:
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
                self._update(self._with_noise(self._outcomes.take(self.strategy, n, self.step)))

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
        with self._lock:
            strategy, n = self._unbound.bind(pool), len(pool)
            fresh = strategy.init(n)
            if prior is not None:
                known = read_prior(pool, strategy, prior)
                unplayed = self._no_outcomes(strategy, n, known)
                fresh = strategy.update(strategy.trust_prior(fresh), unplayed)
            shared = match_tasks(self.pool, pool)
            self.refresh()
            state = strategy.carry_over(self._state, fresh, shared)
            if self._observed and set(strategy.needs) <= PROVIDED:
                state = strategy.update(state, self._no_outcomes(strategy, n))
            self.strategy, self.pool, self._state = strategy, pool, state
            self._monitor.pool = pool
            self._forget_distribution()

    def _no_outcomes(self, strategy: Strategy, n: int, values: Any = None) -> Evidence:
        """Evidence of n tasks that were not played since the previous evidence."""
        none = np.zeros(n)
        fields = dict.fromkeys(("wins", "losses", "played", "noise"), none) | {"values": values}
        return Evidence(self.step, **{k: v for k, v in fields.items() if k in strategy.uses})

    def _update(self, evidence: Evidence) -> None:
        """Update the strategy with evidence that was checked."""
        before = self.success() if self._observed else None
        self._state = self.strategy.update(self._state, evidence)
        self._compare_outcomes(before, evidence)
        self._forget_distribution()
        self._observed = True
        self.step = float(evidence.step)

    def _forget_distribution(self) -> None:
        self._cumulative, self._metrics = None, {}

    def _compare_outcomes(self, success: NDArray[np.float64] | None, evidence: Evidence) -> None:
        """Compare the outcomes in `evidence` with the estimate that their tasks were drawn by."""
        if success is not None and evidence.wins is not None and evidence.losses is not None:
            wins, losses = np.asarray(evidence.wins), np.asarray(evidence.losses)
            self._monitor.add_episodes(success, wins, losses)

    def probabilities(self) -> NDArray[np.float64]:
        """[n] how likely each task is to be drawn next."""
        return self._probabilities(self._state)

    def _probabilities(self, state: Any) -> NDArray[np.float64]:
        p = np.asarray(self.strategy.probabilities(state), dtype=np.float64)
        n = len(self.pool)
        if p.shape != (n,) or not np.all(p >= 0) or abs(p.sum() - 1) > SUM_TOLERANCE:
            raise ValueError(
                f"{type(self.strategy).__name__}.probabilities must return one probability for "
                f"each of the {n} tasks, which sum to 1, got {np.array2string(p, threshold=8)}"
            )
        return p

    def success(self) -> NDArray[np.float64] | None:
        """[n] the estimated probability of success of each task, None if the strategy has none."""
        success = self.strategy.estimated_success(self._state)
        return None if success is None else np.asarray(success, dtype=np.float64)

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
        warn_of_shortfall(self.strategy, self._state, self.pool)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue identically: JSON values, and arrays under `state`."""
        with self._lock:
            step, observed = self.step, self._observed
            rng = self._rng.bit_generator.state
            arrays = state_arrays(self._state)
            arrays |= {OUTCOMES + name: array for name, array in self._outcomes.arrays().items()}
        return {
            "format": FORMAT,
            "strategy": describe(self.strategy),
            "pool": {"tasks": len(self.pool), "fingerprint": self.pool.fingerprint},
            "step": step,
            "observed": observed,
            "rng": rng,
            "state": {name: array.copy() for name, array in arrays.items()},
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from `state_dict`; another strategy or pool raises and changes nothing."""
        if saved.get("format") != FORMAT:
            raise ValueError(
                f"the curriculum was saved in format {saved.get('format')!r}, "
                f"this version reads {FORMAT}"
            )
        _require_same("strategy", describe(self.strategy), saved["strategy"])
        here = {"tasks": len(self.pool), "fingerprint": self.pool.fingerprint}
        _require_same("pool", here, saved["pool"])
        arrays = dict(saved["state"])
        recorded = {
            name.removeprefix(OUTCOMES): arrays.pop(name)
            for name in list(arrays)
            if name.startswith(OUTCOMES)
        }
        state = restore_arrays(self._state, arrays)
        outcomes = OutcomeBuffer.from_arrays(recorded, len(self.pool))
        rng = np.random.default_rng()
        rng.bit_generator.state = saved["rng"]
        require_number("the saved step", saved["step"], at_least=0, at_most=LIMIT)
        require_flag("the saved observed", saved["observed"])
        self._probabilities(state)  # raises if nothing can be drawn from this state
        with self._lock:
            self._state, self._rng, self._outcomes = state, rng, outcomes
            self._forget_distribution()
            self.step, self._observed = float(saved["step"]), saved["observed"]

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

    def _check(self, evidence: Evidence) -> Evidence:
        """`evidence` as NumPy arrays, with the noise that the strategy needs; raises if bad."""
        checked = check_evidence(evidence, len(self.pool), self.step)
        for name in self.strategy.needs:
            if getattr(checked, name, None) is None and name != "noise":
                raise ValueError(
                    f"evidence.{name} is missing: {strategy_name(self.strategy)} requires it "
                    f"(it needs {', '.join(self.strategy.needs)})"
                )
        return self._with_noise(checked)

    def _with_noise(self, evidence: Evidence) -> Evidence:
        """`evidence` with the noise that the strategy needs."""
        if "noise" not in self.strategy.needs or evidence.noise is not None:
            return evidence
        return evidence._replace(noise=self._rng.uniform(-1.0, 1.0, len(self.pool)))


def _require_same(what: str, here: dict[str, Any], saved: dict[str, Any]) -> None:
    """Raise with the first setting in which the saved curriculum differs."""
    for name in {**saved, **here}:
        ours, theirs = here.get(name), saved.get(name)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            _require_same(f"{what}.{name}", ours, theirs)
        elif ours != theirs:
            raise ValueError(
                f"the curriculum was saved with {what}.{name} = {theirs!r}, this one has {ours!r}; "
                "create it with the same strategy and pool to continue"
            )
