"""Spaces of tasks: a box of contexts, seeds of a generator, or any function that draws tasks."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from procurl.internals.arrays import Floats, Ids
from procurl.internals.checks import require_integer, require_number
from procurl.tasks.pool import LARGEST_SEED, TaskPool

if TYPE_CHECKING:
    from numpy.random import Generator

SIZE = 1_000  # candidates, by default
FRESH = 0.1  # share of them that is replaced after a refresh, by default
SEEDS = 2**31 - 1  # the largest seed that every environment accepts
HOW = "TaskSpace(low, high, names), TaskSpace(sample=function) or TaskSpace.from_seeds()"

Sample = Callable[["Generator", int], Any]


STREAM = 1  # of a seed, for candidates: the pools of `TaskSpace.pool` have the seed itself


class TaskSpace:
    """More tasks than a pool can list. A curriculum chooses from candidates that it draws.

    The candidates are a `TaskPool` of `size` tasks. After each refresh of the strategy, those that
    it is least likely to play give their ids to newly drawn ones.

    >>> space = TaskSpace([0.1, 5.0], [2.0, 15.0], names=["length", "gravity"])
    >>> space
    TaskSpace(length from 0.1 to 2, gravity from 5 to 15, 1000 candidates)
    >>> space.pool(3, seed=0).contexts.round(1).tolist()
    [[1.3, 7.7], [0.2, 5.2], [1.6, 14.1]]

    Args:
        low, high: [d] the bounds of each context column; tasks are drawn evenly in between.
        names: [d] one name per context column.
        sample: in place of bounds: called as `sample(rng, count)` with a NumPy generator, returns
            `count` tasks as `TaskPool` takes them: contexts `[count, d]` or a list of objects. It
            must take all its random numbers from `rng`.
        size: the number of candidates.
        fresh: the share of the candidates that is replaced after each refresh, from 0 to 1.
    """

    names: tuple[str, ...] | None
    low: Floats | None  # [d], None without bounds
    high: Floats | None  # [d], likewise
    seeds: tuple[int, int] | None  # the first and last, None unless `from_seeds`

    def __init__(
        self,
        low: Any = None,
        high: Any = None,
        names: Sequence[str] | None = None,
        *,
        sample: Sample | None = None,
        size: int = SIZE,
        fresh: float = FRESH,
    ) -> None:
        if (sample is None) == (low is None and high is None):
            raise TypeError(f"pass either low and high, or sample, as in {HOW}")
        if sample is not None and not callable(sample):
            raise TypeError(f"sample must be a function of (rng, count), got {sample!r}")
        if isinstance(names, str):
            raise TypeError(f"names must be a list of one name per context column, got {names!r}")
        self._fill(size, fresh, sample)
        self.names = None if names is None else tuple(names)
        if sample is None:
            self.low, self.high = _checked_bounds(low, high)
            self.names = TaskPool([self.low], names=self.names).names  # checks them

    def _fill(self, size: int, fresh: float, sample: Sample | None = None) -> None:
        require_integer("size", size, at_least=1)
        require_number("fresh", fresh, at_least=0.0, at_most=1.0)
        self.size, self.fresh = int(size), float(fresh)
        self.sample = sample
        self.names = self.low = self.high = self.seeds = None

    @classmethod
    def from_seeds(
        cls, first: int = 0, last: int = SEEDS, *, size: int = SIZE, fresh: float = FRESH
    ) -> Self:
        """Seeds from `first` to `last`, for environments that generate a task in `reset(seed=…)`.

        Candidates are known seeds, and each refresh adds fresh ones. Keep seeds for tests outside
        of the range.
        """
        require_integer("first", first, at_least=0)
        require_integer("last", last, at_least=0)
        space = cls.__new__(cls)
        space._fill(size, fresh)
        if last > LARGEST_SEED or last - first + 1 < 2 * size:
            raise ValueError(
                f"last must be at most {LARGEST_SEED} and leave at least {2 * size} seeds, twice "
                f"the candidates, got the {max(0, last - first + 1)} from {first} to {last}"
            )
        space.seeds = (int(first), int(last))
        return space

    def pool(self, size: int | None = None, seed: int = 0) -> TaskPool:
        """A fixed pool of `size` tasks of the space, for evaluations; None: as many as candidates.

        They are drawn independently of the candidates of a curriculum, also of one with the same
        `seed`. If the space has few tasks, some may be in both.
        """
        require_integer("seed", seed, at_least=0)
        if size is not None:
            require_integer("size", size, at_least=1)
        return self.draw(self.size if size is None else size, np.random.default_rng(seed))

    def draw(self, count: int, rng: "Generator", beside: TaskPool | None = None) -> TaskPool:
        """`count` new tasks.

        Args:
            count: how many.
            rng: source of all random numbers.
            beside: tasks of the space that are known already; seeds are not drawn again.
        """
        if self.seeds is not None:
            known = () if beside is None or beside.seeds is None else beside.seeds.tolist()
            return TaskPool.from_seeds(_draw_seeds(self.seeds, count, rng, set(known)))
        if self.sample is None:
            assert self.low is not None
            assert self.high is not None
            contexts = rng.uniform(self.low, self.high, (count, len(self.low)))
            return TaskPool(contexts, names=self.names)
        drawn = TaskPool(self.sample(rng, count), names=self.names)
        if len(drawn) != count:
            raise ValueError(f"sample must return {count} tasks, as requested, got {len(drawn)}")
        if beside is not None and drawn.names != beside.names:
            raise ValueError(
                "sample must always return the same context columns, got "
                f"{', '.join(drawn.names) or 'none'} after {', '.join(beside.names) or 'none'}"
            )
        return drawn

    def describe(self) -> dict[str, Any]:
        """What distinguishes this space from others, as JSON values."""
        function = self.sample
        name = getattr(function, "__qualname__", type(function).__qualname__)
        return {
            "low": None if self.low is None else self.low.tolist(),
            "high": None if self.high is None else self.high.tolist(),
            "names": None if self.names is None else list(self.names),
            "sample": None if function is None else name,
            "seeds": None if self.seeds is None else list(self.seeds),
            "size": self.size,
            "fresh": self.fresh,
        }

    def __repr__(self) -> str:
        if self.seeds is not None:
            what = f"seeds from {self.seeds[0]} to {self.seeds[1]}"
        elif self.low is None or self.high is None or self.names is None:
            what = f"sample={self.describe()['sample']}"
        else:
            columns = zip(self.names, self.low, self.high, strict=True)
            what = ", ".join(f"{name} from {low:g} to {high:g}" for name, low, high in columns)
        return f"TaskSpace({what}, {self.size} candidates)"


def require_fixed_pool(what: str, given: Any) -> None:
    """Raise a TypeError unless `given` is a pool, with a remedy if it is a space.

    Args:
        what: the beginning of the message, such as "pool must be".
        given: by the user.
    """
    if isinstance(given, TaskPool):
        return
    remedy = ""
    if isinstance(given, TaskSpace):
        remedy = (
            ". The tasks must be fixed here: use space.pool(), or train on the space in Python "
            "with CurriculumCallback, CurriculumVectorEnv or Runs"
        )
    raise TypeError(f"{what} a TaskPool, got {type(given).__name__}{remedy}")


def replace_tasks(pool: TaskPool, ids: Ids, new: TaskPool) -> TaskPool:
    """`pool` with the tasks `ids` [k] replaced by the k tasks of `new`; all others keep their id.

    >>> replace_tasks(TaskPool(["a", "b", "c"]), np.array([1]), TaskPool(["d"]))[1]
    'd'
    """
    if pool.contexts is not None and new.contexts is not None:
        contexts = pool.contexts.copy()
        contexts[ids] = new.contexts
        return TaskPool(contexts, names=pool.names)
    tasks = [pool[task] for task in range(len(pool))]
    for i, task in enumerate(ids.tolist()):
        tasks[task] = new[i]
    return TaskPool.from_seeds(tasks) if pool.seeds is not None else TaskPool.from_objects(tasks)


def different_tasks(before: TaskPool, after: TaskPool) -> Ids:
    """[k] the ids under which two pools of equal size hold different tasks."""
    if before.contexts is not None and after.contexts is not None:
        return np.flatnonzero((before.contexts != after.contexts).any(axis=1))
    pairs = ((before[task], after[task]) for task in range(len(after)))
    changed = [old is not new and not np.array_equal(old, new) for old, new in pairs]
    return np.flatnonzero(changed)


def _draw_seeds(
    bounds: tuple[int, int], count: int, rng: "Generator", known: set[int]
) -> list[int]:
    """`count` different seeds within `bounds` that are not `known`."""
    first, last = bounds
    new: dict[int, None] = {}  # a set in order
    if count > last - first + 1 - len(known):
        raise ValueError(f"size must be at most the {last - first + 1} seeds of the space")
    while len(new) < count:
        drawn = rng.integers(first, last, count - len(new), endpoint=True).tolist()
        new |= dict.fromkeys(seed for seed in drawn if seed not in known)
    return list(new)


def _checked_bounds(low: Any, high: Any) -> tuple[Floats, Floats]:
    bounds = []
    for argument, given in (("low", low), ("high", high)):
        try:
            array = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{argument} must hold one number per column, got {given!r}: pass a function that "
                "draws tasks as sample=, and the bounds of a Box as box.low and box.high"
            ) from error
        if array.ndim != 1 or not array.size or not np.isfinite(array).all():
            raise ValueError(
                f"{argument} must hold one finite number per context column, got {given!r}"
            )
        bounds.append(array)
    if len(bounds[0]) != len(bounds[1]):
        raise ValueError(
            f"low and high must have equally many columns, got {len(bounds[0])} and "
            f"{len(bounds[1])}"
        )
    if (bounds[0] > bounds[1]).any():
        raise ValueError(
            f"high must be at least low in each column, got low={low!r} and high={high!r}"
        )
    with np.errstate(over="ignore"):
        distances = bounds[1] - bounds[0]
    if not np.isfinite(distances).all():
        raise ValueError(
            f"high − low must be finite in each column, got low={low!r} and high={high!r}: "
            "narrow the range"
        )
    return bounds[0], bounds[1]
