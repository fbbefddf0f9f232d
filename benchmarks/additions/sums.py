"""Additions as prompts: two numbers, and as the answer their sum with the last digit first."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Ids

PLUS, EQUALS = 10, 11  # tokens; 0 to 9 are the digits
VOCABULARY = 12

Tokens = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Additions:
    """Additions of two numbers, written with `digits` places each."""

    numbers: NDArray[np.int64]  # [m, 2]
    digits: int

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, ids: Ids | slice) -> "Additions":
        return Additions(self.numbers[ids], self.digits)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """[m] digits of the longer number."""
        return np.char.str_len(self.numbers.max(axis=1).astype(str)).astype(np.int64)

    @property
    def carries(self) -> NDArray[np.bool_]:
        """[m, digits] whether each place carries into the next, the last digit first."""
        places = 10 ** np.arange(1, self.digits + 1)
        first, second = self.numbers[:, :1], self.numbers[:, 1:]
        carried: NDArray[np.bool_] = first % places + second % places >= places
        return carried

    @property
    def prompts(self) -> Tokens:
        """[m, 2 · digits + 2] tokens, with 5 digits such as those of `00012+00345=`."""
        first, second = (_digits(column, self.digits)[:, ::-1] for column in self.numbers.T)
        sign = np.ones((len(self), 1), dtype=np.int64)
        return np.concatenate([first, PLUS * sign, second, EQUALS * sign], axis=1)

    @property
    def answers(self) -> Tokens:
        """[m, digits + 1] digits of the sums, the last digit first."""
        return _digits(self.numbers.sum(axis=1), self.digits + 1)


def token_count(digits: int) -> int:
    """Tokens of a prompt and its answer."""
    return (2 * digits + 2) + (digits + 1)


def random_additions(
    rng: np.random.Generator, digits: int, lengths: NDArray[np.integer]
) -> Additions:
    """[m] additions of two numbers that both have as many digits as `lengths` [m] says."""
    low = np.where(lengths > 1, 10 ** (lengths - 1), 0)[:, None]
    numbers = rng.integers(low, (10**lengths)[:, None], size=(len(lengths), 2))
    return Additions(numbers, digits)


def distinct_additions(rng: np.random.Generator, digits: int, per_length: int) -> Additions:
    """Different additions, `per_length` of each length up to `digits` if there are as many."""
    rows = []
    for length in range(1, digits + 1):
        drawn = random_additions(rng, digits, np.full(8 * per_length + 2_000, length)).numbers
        _, first = np.unique(drawn, axis=0, return_index=True)
        rows.append(drawn[np.sort(first)[:per_length]])
    return Additions(np.concatenate(rows), digits)


def _digits(values: NDArray[np.int64], count: int) -> Tokens:
    """[m, count] the last digit first, zeros at the end."""
    return values[:, None] // 10 ** np.arange(count) % 10
