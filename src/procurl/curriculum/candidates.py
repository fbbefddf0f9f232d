"""The tasks of a space that a curriculum currently chooses from, and which of them to replace."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from procurl.curriculum.checks import require_same
from procurl.internals.arrays import Floats, Ids, NamedArrays
from procurl.strategies.registry import strategy_name
from procurl.strategies.strategy import Strategy
from procurl.tasks.matching import SharedTasks
from procurl.tasks.pool import TaskPool
from procurl.tasks.space import TaskSpace, replace_tasks

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True)
class Candidates:
    """The candidates of a space, which never change; `renew` returns others.

    Args:
        space: that they were drawn from.
        pool: [n] the candidates.
        ages: [n] the number of refreshes that each has seen.
    """

    space: TaskSpace
    pool: TaskPool
    ages: Ids

    @classmethod
    def draw(cls, space: TaskSpace, rng: "Generator") -> Self:
        """The first candidates."""
        return cls(space, space.draw(space.size, rng), np.zeros(space.size, dtype=np.int64))

    def least_promising(self, probabilities: Floats, playing: Ids) -> Ids:
        """[k] ids of the share `fresh` that is least likely to be played, the oldest among equals.

        Args:
            probabilities: [n] of the strategy.
            playing: ids of tasks to keep in any case.
        """
        count = round(self.space.fresh * len(self.pool))
        if self.space.fresh > 0.0:
            count = max(1, count)
        free = np.ones(len(self.pool), dtype=bool)
        free[playing] = False
        ids = np.flatnonzero(free)
        count = min(count, len(ids))
        if not count:
            return ids[:0]
        p = probabilities[ids]
        last = np.partition(p, count - 1)[count - 1]  # the highest that is replaced
        below, equal = ids[p < last], ids[p == last]
        oldest = equal[np.argsort(-self.ages[equal], kind="stable")]
        return np.sort(np.concatenate([below, oldest[: count - len(below)]]))

    def renew(self, ids: Ids, rng: "Generator") -> Self:
        """The candidates after a refresh, with newly drawn tasks in place of `ids` [k]."""
        ages = self.ages + 1
        if not ids.size:
            return type(self)(self.space, self.pool, ages)
        ages[ids] = 0
        new = self.space.draw(len(ids), rng, self.pool)
        return type(self)(self.space, replace_tasks(self.pool, ids, new), ages)

    def arrays(self) -> NamedArrays:
        """Everything needed to continue identically; raises if tasks cannot be written as JSON."""
        arrays: NamedArrays = {"ages": self.ages}
        if self.pool.contexts is not None:
            return arrays | {"contexts": self.pool.contexts}
        if self.pool.seeds is not None:
            return arrays | {"seeds": self.pool.seeds}
        tasks = [self.pool[task] for task in range(len(self.pool))]
        for task in tasks:
            _require_json(task)
        text = json.dumps(tasks)
        return arrays | {"tasks": np.frombuffer(text.encode(), dtype=np.uint8)}

    def from_arrays(self, saved: NamedArrays) -> Self:
        """The candidates of `arrays` in the same space; raises if they cannot be some."""
        ages = np.asarray(saved.get("ages"))
        if ages.shape != self.ages.shape or ages.dtype != np.int64:
            raise ValueError(f"the saved candidates do not fit {self.space}")
        pool = _pool_from(saved, self.pool)
        if len(pool) != len(ages) or pool.names != self.pool.names:
            raise ValueError(f"the saved candidates do not fit {self.space}")
        return type(self)(self.space, pool, ages)


def _require_json(part: object) -> None:
    """Raise unless JSON can express `part` of a task, so that it is the same when it is loaded."""
    if isinstance(part, dict) and all(isinstance(key, str) for key in part):
        inside: Iterable[object] = part.values()
    elif isinstance(part, list):
        inside = part
    elif isinstance(part, str | int | float | None):
        inside = ()
    else:
        raise ValueError(
            f"the candidates cannot be saved: JSON cannot express {part!r:.80}, of type "
            f"{type(part).__name__}. Let sample return contexts, or objects made of text, numbers, "
            "lists, and dictionaries whose keys are text"
        )
    for each in inside:
        _require_json(each)


def _pool_from(saved: NamedArrays, like: TaskPool) -> TaskPool:
    if "contexts" in saved:
        return TaskPool(saved["contexts"], names=like.names or None)
    if "seeds" in saved:
        return TaskPool.from_seeds(saved["seeds"].tolist())
    tasks: Any = json.loads(saved["tasks"].tobytes().decode())
    return TaskPool.from_objects(tasks)


def kept_tasks(n: int, replaced: Ids) -> SharedTasks:
    """The tasks that are the same before and after `replaced` [k] of n changed."""
    same = np.ones(n, dtype=bool)
    same[replaced] = False
    kept = np.flatnonzero(same)
    return SharedTasks(kept, kept)


def require_renewable(strategy: Strategy, candidates: Candidates) -> TaskPool:
    """The pool of `candidates`; raises unless the strategy can continue on others."""
    if strategy.tasks_per_refresh is not None:
        raise ValueError(
            "tasks_per_refresh is for a fixed pool, because new candidates need a value at once: "
            "leave it out, and set the size of the TaskSpace"
        )
    bound, n = strategy.bind(candidates.pool), len(candidates.pool)
    state = bound.init(n)
    try:
        bound.carry_over(state, state, kept_tasks(n, np.arange(1)))
    except ValueError as error:
        raise ValueError(
            f"{strategy_name(strategy)} needs a fixed pool, such as space.pool(), "
            f"got {candidates.space}: {error}"
        ) from error
    return candidates.pool


def describe_pool(pool: TaskPool, space: TaskSpace | None) -> dict[str, Any]:
    """What distinguishes the tasks of a curriculum from those of others, as JSON values."""
    of = None if space is None else space.describe()
    return {"tasks": len(pool), "fingerprint": pool.fingerprint, "space": of}


def require_same_pool(pool: TaskPool, space: TaskSpace | None, saved: dict[str, Any]) -> None:
    """Raise unless `saved`, from `describe_pool`, is of the same pool, or of the same space."""
    here = describe_pool(pool, space)
    if space is not None:  # whose candidates are saved
        here["fingerprint"] = saved.get("fingerprint")
    if here != saved and here | {"fingerprint": saved.get("fingerprint")} == saved:
        raise ValueError(
            f"the curriculum was saved with another pool of {len(pool)} tasks: their contents, "
            f"order or column names differ from {pool}; create it with the same pool to continue"
        )
    require_same("pool", here, saved)
