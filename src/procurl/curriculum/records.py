"""What `Curriculum.record` accepts: tasks by id or label, outcomes or wins and losses."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.curriculum.outcomes import Outcomes
from procurl.evidence import Evidence, Scale
from procurl.evidence.checks import LIMIT
from procurl.internals.arrays import Floats, Ids, is_numeric, on_host
from procurl.internals.checks import suggest
from procurl.strategies.registry import strategy_name
from procurl.strategies.strategy import Strategy
from procurl.tasks.pool import TaskPool

PROVIDED = {"wins", "losses", "played", "noise"}  # fields of evidence that records give


def require_outcome_strategy(strategy: Strategy) -> None:
    """Raise unless outcomes alone are enough for the strategy and it expects no rollouts."""
    missing = [name for name in strategy.needs if name not in PROVIDED]
    if missing:
        raise ValueError(
            f"record gives wins and losses, but {strategy_name(strategy)} requires "
            f"{', '.join(missing)}: use observe, or a strategy that learns from outcomes, such as "
            "procurl, or procurl-group for language models"
        )
    plan = strategy.rollout_plan()
    if plan is not None and plan.budget is not None:
        raise ValueError(
            f"budget={plan.budget:g} of {strategy_name(strategy)} would have no effect, because no "
            "rollouts are played between updates: leave budget out, and record the outcomes of "
            "your own rollouts, if any, like those of other episodes"
        )


def read_outcomes(
    pool: TaskPool, strategy: Strategy, tasks: Any, outcomes: Any, wins: Any, losses: Any
) -> Outcomes:
    """The arguments of `Curriculum.record` as arrays; raises if they are wrong."""
    ids = read_tasks(pool, tasks)
    if outcomes is not None:
        if wins is not None or losses is not None:
            raise TypeError("pass either outcomes, or wins and losses, got both")
        given = _numbers("outcomes", outcomes, len(ids))
        known = ~np.isnan(given)
        _require_measurable(strategy, given[known])
        return Outcomes(ids[known], given[known], np.ones(int(known.sum())))
    if wins is None or losses is None:
        raise TypeError("pass outcomes, or both wins and losses")
    won, lost = (
        _numbers(name, given, len(ids)) for name, given in (("wins", wins), ("losses", losses))
    )
    known = ~np.isnan(won) & ~np.isnan(lost)
    ids, won, lost = ids[known], won[known], lost[known]
    for name, counts in (("wins", won), ("losses", lost)):
        if (counts < 0).any():
            raise ValueError(f"{name} count episodes and must not be negative, got {counts.min()}")
    both = np.concatenate([np.ones(len(ids)), np.zeros(len(ids))])
    episodes = np.concatenate([won, lost])
    some = episodes > 0.0  # outcomes that no episode had were not seen
    return Outcomes(np.concatenate([ids, ids])[some], both[some], episodes[some])


def read_tasks(pool: TaskPool, tasks: Any) -> Ids:
    """[m] task ids from ids or labels; raises on one that is not in the pool."""
    try:
        given = np.atleast_1d(np.asarray(on_host(tasks)))
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"tasks must be one list of task ids or labels: {error}") from error
    if np.ma.is_masked(tasks):
        raise TypeError("tasks must be task ids or labels, got an array with masked entries")
    if given.ndim != 1:
        raise ValueError(f"tasks must be one list of task ids or labels, got shape {given.shape}")
    if given.size == 0:
        return np.zeros(0, dtype=np.int64)
    if given.dtype.kind in "UO" and all(isinstance(task, str) for task in given.tolist()):
        return _by_label(pool, given.tolist())
    if given.dtype.kind not in "iu" and not all(isinstance(task, Integral) for task in given.flat):
        raise TypeError(
            f"tasks must be task ids from 0 to {len(pool) - 1}, or labels of the pool, "
            f"got {given[0]!r}"
        )
    if given.min() < 0 or given.max() >= len(pool):
        wrong = int(given[(given < 0) | (given >= len(pool))][0])
        raise ValueError(f"tasks must be from 0 to {len(pool) - 1}, got {wrong}")
    return given.astype(np.int64)


def _by_label(pool: TaskPool, labels: list[str]) -> Ids:
    if pool.labels is None:
        raise ValueError(
            f"tasks must be task ids from 0 to {len(pool) - 1}, got {labels[0]!r}: the pool has no "
            "labels; pass TaskPool(..., labels=...) to use them"
        )
    ids = [pool.ids_by_label.get(label, -1) for label in labels]
    if -1 in ids:
        unknown = labels[ids.index(-1)]
        near = suggest(unknown, pool.labels[:1000])
        raise ValueError(f"task {unknown!r} is not a label of the pool.{near}")
    return np.asarray(ids, dtype=np.int64)


def _numbers(argument: str, given: Any, m: int, tasks: str = "tasks passed") -> Floats:
    """[m] `given` in double precision; None becomes NaN."""
    try:
        if np.ma.is_masked(given):
            raise TypeError("got masked entries")
        array: NDArray[Any] = np.atleast_1d(np.asarray(on_host(given)))
        if not is_numeric(array.dtype) and not _are_objects(array):
            raise TypeError(f"got {given!r:.80}")
        numbers = array.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as error:  # the last by a list of tensors
        raise TypeError(f"{argument} must be numbers, or None to skip an entry: {error}") from error
    except OverflowError as error:  # an integer of more than 308 digits
        raise ValueError(f"{argument} must be at most {LIMIT:g} in size: {error}") from error
    if numbers.shape != (m,):
        raise ValueError(
            f"{argument} must hold one number for each of the {m} {tasks}, "
            f"got shape {numbers.shape}"
        )
    if (np.abs(numbers) > LIMIT).any():
        wrong = float(numbers[np.abs(numbers) > LIMIT][0])
        raise ValueError(f"{argument} must be at most {LIMIT:g} in size, got {wrong}")
    return numbers


def _are_objects(array: NDArray[Any]) -> bool:
    """Whether `array` holds objects, such as None, of which none is text that NumPy would read."""
    return array.dtype.kind == "O" and not any(isinstance(x, str | bytes) for x in array.flat)


def _require_measurable(strategy: Strategy, outcomes: Floats) -> None:
    outside = outcomes[(outcomes < 0.0) | (outcomes > 1.0)]
    if strategy.outcome_measure == "success" and len(outside):
        raise ValueError(
            f"outcomes must be from 0 to 1 for measure='success', got {outside[0]}: use "
            "measure='auto' to measure them on the range seen so far"
        )


def require_prior_strategy(strategy: Strategy, argument: str = "prior") -> None:
    """Raise unless the strategy can start from known success rates, passed as `argument`."""
    missing = [name for name in strategy.needs if name not in {*PROVIDED, "values"}]
    if "values" not in strategy.uses or missing:
        raise ValueError(
            f"{argument} is for strategies that start from a success estimate, such as procurl, "
            f"not for {strategy_name(strategy)}: leave it out"
        )
    unit = Scale(np.zeros(()), np.ones(()), np.asarray(True))
    if strategy.outcomes(np.array([0.0, 1.0]), unit)[0].tolist() != [0.0, 1.0]:
        raise ValueError(
            f"{argument} holds success rates, but {strategy_name(strategy)} has v_min and v_max "
            "other than 0 and 1: leave them out"
        )


def read_prior(pool: TaskPool, strategy: Strategy, prior: Any) -> Floats:
    """[n] prior success of each task, NaN where it is not known; raises if it cannot be used."""
    require_prior_strategy(strategy)
    numbers = _numbers("prior", prior, len(pool), "tasks of the pool")
    wrong = (numbers < 0.0) | (numbers > 1.0)
    if wrong.any():
        task = int(np.argmax(wrong))
        raise ValueError(
            f"prior must hold success rates from 0 to 1, got {numbers[task]} for task {task}"
        )
    return numbers


def no_outcomes(strategy: Strategy, n: int, step: float, values: Any = None) -> Evidence:
    """Evidence of n tasks that were not played since the previous evidence.

    Its noise is NaN: each task keeps the noise that it has.
    """
    none = np.zeros(n)
    fields: dict[str, Any] = dict.fromkeys(("wins", "losses", "played"), none)
    fields |= {"values": values, "noise": np.full(n, np.nan)}
    return Evidence(step, **{k: v for k, v in fields.items() if k in strategy.uses})


def with_noise(
    strategy: Strategy, evidence: Evidence, n: int, rng: "np.random.Generator"
) -> Evidence:
    """`evidence` on n tasks with the noise that the strategy needs, if any."""
    if "noise" not in strategy.needs or evidence.noise is not None:
        return evidence
    return evidence._replace(noise=rng.uniform(-1.0, 1.0, n))
