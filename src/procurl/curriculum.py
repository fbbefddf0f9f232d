"""The one object that an integration holds: a strategy on a pool, with state and randomness."""

import logging
import threading
from collections.abc import Iterable, Mapping
from os import PathLike
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from procurl.evidence import Evidence, draw_without_replacement
from procurl.evidence.checks import LIMIT, check_evidence
from procurl.internals.archive import content_errors, read_archive, write_archive
from procurl.internals.arrays import Ids
from procurl.internals.checks import require_integer, require_number
from procurl.internals.settings import AUTO, describe
from procurl.monitor import CurriculumMonitor, warn_of_shortfall
from procurl.strategies.registry import as_strategy, strategy_name
from procurl.strategies.strategy import Strategy
from procurl.success import Success
from procurl.tasks.pool import TaskPool

SUM_TOLERANCE = 1e-3  # of probabilities in single precision, over large pools
FORMAT = 1
log = logging.getLogger(__name__)


class Metrics(NamedTuple):
    """The state of a curriculum in a few numbers, for logs."""

    entropy: float  # of the distribution, in nats
    effective_tasks: float  # e^entropy: as many equally likely tasks would have this entropy
    estimated_success: float | None  # mean over the pool; None if the strategy has no estimate
    most_likely: Ids  # task ids, the most likely first
    least_likely: Ids  # task ids, the least likely first
    # Mean absolute difference between estimated and achieved success over the recent training
    # episodes; None if there is no estimate, or there are few episodes.
    calibration: float | None = None
    achieved_success: float | None = None  # mean outcome of these episodes
    strategy: Mapping[str, float] = MappingProxyType({})  # the strategy's own, by name


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
    """

    def __init__(self, strategy: Strategy | str, pool: TaskPool, seed: int = 0) -> None:
        strategy = as_strategy(strategy)
        if not isinstance(pool, TaskPool):
            raise TypeError(f"pool must be a TaskPool, got {type(pool).__name__}")
        require_integer("seed", seed, at_least=0)
        self.strategy = strategy.bind(pool)
        self.pool = pool
        self.step = 0.0  # training steps at the latest evidence
        self._rng = np.random.default_rng(seed)
        self._state = self.strategy.init(len(pool))
        self._cumulative: NDArray[np.float64] | None = None
        self._bounds_fit = True  # of all evidence so far
        self._observed = False  # whether there was any
        self._monitor = CurriculumMonitor(strategy_name(strategy), pool)
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def __repr__(self) -> str:
        name = strategy_name(self.strategy)
        return f"Curriculum(strategy={name!r}, pool={self.pool}, step={self.step:.0f})"

    def next(self, k: int = 1) -> Ids:
        """[k] ids of the tasks to play next, drawn independently of each other."""
        require_integer("k", k, at_least=1)
        with self._lock:
            if self._cumulative is None:
                probabilities = self.probabilities()
                cumulative = np.cumsum(probabilities)
                cumulative /= cumulative[-1]
                if self._observed and self.strategy.uses and not self.strategy.ends_evenly:
                    self._monitor.add_refresh(probabilities, self.success(), self.step)
                self._cumulative = cumulative
            return np.searchsorted(self._cumulative, self._rng.random(k), side="right")

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
            self._check_bounds(checked)
            before = self.success() if self._observed else None
            self._state = self.strategy.update(self._state, checked)
            self._compare_outcomes(before, checked)
            self._cumulative = None
            self._observed = True
            self.step = float(checked.step)

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
            p, success = self.probabilities(), self.success()
            calibration, own = self._monitor.calibration, self.strategy.metrics(self._state)
        entropy = -float(np.sum(p * np.log(np.where(p > 0, p, 1.0))))
        return Metrics(
            entropy=entropy,
            effective_tasks=float(np.exp(entropy)),
            estimated_success=None if success is None else float(success.mean()),
            most_likely=_smallest(-p, top),
            least_likely=_smallest(p, top),
            calibration=None if calibration is None else calibration.error,
            achieved_success=None if calibration is None else calibration.achieved,
            strategy={name: float(number) for name, number in own.items()},
        )

    def warn_of_shortfall(self) -> None:
        """Log once, at the end of training, what the strategy never got to do."""
        warn_of_shortfall(self.strategy, self._state, self.pool)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue identically: JSON values, and arrays under `state`."""
        with self._lock:
            step, rng, state = self.step, self._rng.bit_generator.state, self._state
        return {
            "format": FORMAT,
            "strategy": describe(self.strategy),
            "pool": {"tasks": len(self.pool), "fingerprint": self.pool.fingerprint},
            "step": step,
            "rng": rng,
            "state": {name: array.copy() for name, array in _leaves(state).items()},
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
        state = _with_leaves(self._state, dict(saved["state"]))
        rng = np.random.default_rng()
        rng.bit_generator.state = saved["rng"]
        require_number("the saved step", saved["step"], at_least=0, at_most=LIMIT)
        self._probabilities(state)  # raises if nothing can be drawn from this state
        with self._lock:
            self._state, self._rng, self._cumulative = state, rng, None
            self._observed = self._observed or saved["step"] > 0
            self.step = float(saved["step"])

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

    def _check_bounds(self, evidence: Evidence) -> None:
        """Warn once if most of the pool lies far outside the range that counts as success."""
        success: Any = getattr(self.strategy, "success", None)
        if not self._bounds_fit or not isinstance(success, Success):
            return
        by_rollouts = "rollout_success" in success.needs
        low: Any
        high: Any
        measured = evidence.rollout_success if by_rollouts else evidence.values
        if by_rollouts and evidence.rollouts is not None:
            measured = np.asarray(measured)[np.asarray(evidence.rollouts) > 0]
        if success.v_min == AUTO:
            low, high = 0.0, 1.0  # without a scale, rewards are taken to be 0 and 1
            known = evidence.scale is not None
        else:
            low, high = success.v_min, success.v_max
            # The bounds of outcomes are those of returns, not of the critic.
            known = low is None or "wins" in success.needs
        if known or measured is None or not len(measured):
            return
        middle, span = float(np.median(measured)), high - low
        self._bounds_fit = low - span <= middle <= high + span
        if not self._bounds_fit:
            log.warning(
                "%s of the pool are around %.3g, far from v_min=%g to v_max=%g: tasks look alike "
                "and are drawn evenly. Pass evidence.scale with the wins and losses of the "
                "episodes, as procurl's environments and engines do, or pass make_strategy the "
                "returns that count as failure and as success as v_min and v_max (discounted for "
                "procurl-val).",
                "returns" if by_rollouts else "the critic's values",
                middle,
                low,
                high,
            )

    def _check(self, evidence: Evidence) -> Evidence:
        """`evidence` as NumPy arrays, with the noise that the strategy needs; raises if bad."""
        checked = check_evidence(evidence, len(self.pool), self.step)
        for name in self.strategy.needs:
            if getattr(checked, name, None) is None and name != "noise":
                raise ValueError(
                    f"evidence.{name} is missing: {strategy_name(self.strategy)} requires it "
                    f"(it needs {', '.join(self.strategy.needs)})"
                )
        if "noise" in self.strategy.needs and checked.noise is None:
            return checked._replace(noise=self._rng.uniform(-1.0, 1.0, len(self.pool)))
        return checked


def _smallest(values: NDArray[np.float64], count: int) -> Ids:
    """Positions of the `count` smallest values, the smallest first, the earlier among equals."""
    count = min(count, len(values))
    limit = np.partition(values, count - 1)[count - 1]
    below = np.flatnonzero(values < limit)
    equal = np.flatnonzero(values == limit)[: count - len(below)]
    chosen = np.concatenate([below, equal])
    return chosen[np.argsort(values[chosen], kind="stable")]


def _leaves(state: Any, prefix: str = "") -> dict[str, NDArray[Any]]:
    """The arrays of nested tuples by dotted name; None has no leaf."""
    if state is None:
        return {}
    if not isinstance(state, tuple):
        return {prefix: np.asarray(state)}
    leaves: dict[str, NDArray[Any]] = {}
    for name, part in _named_parts(state, prefix):
        leaves |= _leaves(part, name)
    return leaves


def _named_parts(state: tuple[Any, ...], prefix: str) -> list[tuple[str, Any]]:
    """The parts of a tuple by dotted name: its fields, or 0, 1, … if they have no names."""
    names: Iterable[Any] = getattr(state, "_fields", range(len(state)))
    return [
        (f"{prefix}.{name}" if prefix else str(name), part)
        for name, part in zip(names, state, strict=True)
    ]


def _with_leaves(state: Any, leaves: dict[str, NDArray[Any]]) -> Any:
    """`state` with its arrays taken from `leaves`, which must match it name by name."""
    names = _leaves(state)
    if names.keys() != leaves.keys():
        raise ValueError(f"the saved state holds {sorted(leaves)}, expected {sorted(names)}")
    for name, array in names.items():
        saved = np.asarray(leaves[name])
        if saved.shape != array.shape or saved.dtype != array.dtype:
            raise ValueError(
                f"the saved {name} has {saved.dtype}{list(saved.shape)}, "
                f"expected {array.dtype}{list(array.shape)}"
            )

    def rebuilt(part: Any, prefix: str) -> Any:
        if part is None:
            return None
        if not isinstance(part, tuple):
            return np.array(leaves[prefix])
        parts = [rebuilt(inner, name) for name, inner in _named_parts(part, prefix)]
        return type(part)(*parts) if hasattr(part, "_fields") else tuple(parts)

    return rebuilt(state, "")


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
