"""Ways to choose the prompts of a batch."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from additions.sums import Additions
from procurl import Curriculum, Strategy, TaskPool, make_strategy
from procurl.internals.arrays import Ids
from procurl.records.experiment import Contender
from procurl.strategies.potentials import Gain
from procurl.strategies.procurl import GroupProCuRL
from procurl.strategies.samplers import Proportional

BASELINES = ("uniform", "dynamic", "easy-to-hard")
KNOWN = "known"
CANDIDATES = 4_000  # prompts whose true pass rates `KnownRates` looks up
LOOK_UP_EVERY = 50  # batches
FLOOR = GroupProCuRL().floor
NO_PROMPTS: Ids = np.zeros(0, dtype=np.int64)


class Choice(ABC):
    """Chooses the prompts of one run, and which of their groups it learns from."""

    @abstractmethod
    def next(self, k: int, progress: float) -> Ids:
        """[k] different prompts; `progress` from 0 to 1 is the share of the samples drawn."""

    def record(self, prompts: Ids, rewards: NDArray[np.float64]) -> None:
        """Learn from the rewards [k, g] of the samples just drawn."""

    def to_look_up(self) -> Ids:
        """[m] the prompts whose true pass rates it wants before the next batch; most want none."""
        return NO_PROMPTS

    def look_up(self, prompts: Ids, rates: NDArray[np.float64]) -> None:
        """Take the true pass rates [m] of the prompts [m] that it wanted."""

    def wanted(self, rewards: NDArray[np.float64]) -> NDArray[np.bool_]:
        """[k] the groups to learn from, by their rewards [k, g]."""
        return np.ones(len(rewards), dtype=bool)


def contexts_of(additions: Additions) -> NDArray[np.float64]:
    """[m, 1 + places] how many digits each addition has, and which of its places carry."""
    return np.column_stack([additions.lengths, additions.carries]).astype(float)


class CurriculumChoice(Choice):
    """A strategy of procurl decides before sampling."""

    def __init__(self, additions: Additions, strategy: Strategy, seed: int) -> None:
        names = ["digits", *(f"carry {place}" for place in range(1, additions.digits + 1))]
        pool = TaskPool(contexts_of(additions), names=names)
        self.curriculum = Curriculum(strategy, pool, seed=seed)

    def next(self, k: int, progress: float) -> Ids:
        return self.curriculum.next(k, replace=False)

    def record(self, prompts: Ids, rewards: NDArray[np.float64]) -> None:
        self.curriculum.record(np.repeat(prompts, rewards.shape[1]), rewards.ravel())


class KnownRates(Choice):
    """By the true pass rates, which no curriculum has: how far a better estimate could get.

    From time to time it looks up those of some prompts, drawn evenly, and draws from these by the
    potential of `procurl-group`. Looking up costs no samples.
    """

    def __init__(self, additions: Additions, seed: int) -> None:
        self._n, self._rng = len(additions), np.random.default_rng(seed)
        self._batches, self._prompts, self._worth = 0, NO_PROMPTS, np.zeros(0)

    def to_look_up(self) -> Ids:
        if self._batches % LOOK_UP_EVERY:
            return NO_PROMPTS
        return self._rng.choice(self._n, size=min(CANDIDATES, self._n), replace=False)

    def look_up(self, prompts: Ids, rates: NDArray[np.float64]) -> None:
        self._prompts, self._worth = prompts, Gain()(rates, None)

    def next(self, k: int, progress: float) -> Ids:
        self._batches += 1
        share = Proportional(FLOOR)(self._worth, np.zeros(()))
        return self._rng.choice(self._prompts, size=k, replace=False, p=share)


class Uniform(Choice):
    """All prompts in random order, again and again, as TRL's sampler yields them."""

    def __init__(self, additions: Additions, seed: int) -> None:
        self._n, self._rng = len(additions), np.random.default_rng(seed)
        self._left = self._rng.permutation(self._n)

    def next(self, k: int, progress: float) -> Ids:
        if len(self._left) < k:
            self._left = self._rng.permutation(self._n)
        chosen, self._left = self._left[:k], self._left[k:]
        return chosen


class Dynamic(Uniform):
    """Uniform, and groups of equal rewards are dropped and replaced (DAPO's dynamic sampling)."""

    def wanted(self, rewards: NDArray[np.float64]) -> NDArray[np.bool_]:
        varied: NDArray[np.bool_] = rewards.std(axis=1) > 0.0
        return varied


class EasyToHard(Choice):
    """Uniform over the prompts up to a length, which grows in equal parts of the run."""

    def __init__(self, additions: Additions, seed: int) -> None:
        self._lengths, self._rng = additions.lengths, np.random.default_rng(seed)

    def next(self, k: int, progress: float) -> Ids:
        longest = 1 + min(int(progress * self._lengths.max()), self._lengths.max() - 1)
        return self._rng.choice(np.flatnonzero(self._lengths <= longest), size=k, replace=False)


def make_choice(method: str, additions: Additions, seed: int) -> Choice:
    """The choice of prompts called `method`: a baseline, `known`, or a strategy with settings."""
    if method == KNOWN:
        return KnownRates(additions, seed)
    if method == "uniform":
        return Uniform(additions, seed)
    if method == "dynamic":
        return Dynamic(additions, seed)
    if method == "easy-to-hard":
        return EasyToHard(additions, seed)
    contender = Contender.parse(method)
    strategy = make_strategy(contender.strategy, **contender.settings())
    return CurriculumChoice(additions, strategy, seed)
