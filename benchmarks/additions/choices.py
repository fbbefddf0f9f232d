"""Ways to choose the prompts of a batch."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from additions.sums import DIGITS, Numbers, carries_of, lengths_of
from procurl import Curriculum, Strategy, TaskPool, make_strategy
from procurl.internals.arrays import Ids
from procurl.records.experiment import Contender

BASELINES = ("uniform", "dynamic", "easy-to-hard")


class Choice(ABC):
    """Chooses the prompts of one run, and which of their groups it learns from."""

    @abstractmethod
    def next(self, k: int, progress: float) -> Ids:
        """[k] different prompts; `progress` from 0 to 1 is the share of the samples drawn."""

    def record(self, prompts: Ids, rewards: NDArray[np.float64]) -> None:
        """Learn from the rewards [k, g] of the samples just drawn."""

    def wanted(self, rewards: NDArray[np.float64]) -> NDArray[np.bool_]:
        """[k] the groups to learn from, by their rewards [k, g]."""
        return np.ones(len(rewards), dtype=bool)


def contexts_of(numbers: Numbers) -> NDArray[np.float64]:
    """[m, 1 + DIGITS] how many digits each addition has, and which of its places carry."""
    return np.column_stack([lengths_of(numbers), carries_of(numbers)]).astype(float)


class CurriculumChoice(Choice):
    """A strategy of procurl decides before sampling."""

    def __init__(self, numbers: Numbers, strategy: Strategy, seed: int) -> None:
        names = ["digits", *(f"carry {place}" for place in range(1, DIGITS + 1))]
        pool = TaskPool(contexts_of(numbers), names=names)
        self.curriculum = Curriculum(strategy, pool, seed=seed)

    def next(self, k: int, progress: float) -> Ids:
        return self.curriculum.next(k, replace=False)

    def record(self, prompts: Ids, rewards: NDArray[np.float64]) -> None:
        self.curriculum.record(np.repeat(prompts, rewards.shape[1]), rewards.ravel())


class Uniform(Choice):
    """All prompts in random order, again and again, as TRL's sampler yields them."""

    def __init__(self, numbers: Numbers, seed: int) -> None:
        self._n, self._rng = len(numbers), np.random.default_rng(seed)
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

    def __init__(self, numbers: Numbers, seed: int) -> None:
        self._lengths, self._rng = lengths_of(numbers), np.random.default_rng(seed)

    def next(self, k: int, progress: float) -> Ids:
        longest = 1 + min(int(progress * self._lengths.max()), self._lengths.max() - 1)
        return self._rng.choice(np.flatnonzero(self._lengths <= longest), size=k, replace=False)


def make_choice(method: str, numbers: Numbers, seed: int) -> Choice:
    """The choice of prompts called `method`: one of `BASELINES`, or a strategy with settings."""
    if method == "uniform":
        return Uniform(numbers, seed)
    if method == "dynamic":
        return Dynamic(numbers, seed)
    if method == "easy-to-hard":
        return EasyToHard(numbers, seed)
    contender = Contender.parse(method)
    strategy = make_strategy(contender.strategy, **contender.settings())
    return CurriculumChoice(numbers, strategy, seed)
