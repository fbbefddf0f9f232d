"""Additions as prompts: two numbers of 1 to 5 digits, and their sum with the last digit first."""

import numpy as np
from numpy.typing import NDArray

DIGITS = 5  # of the longest numbers
PLUS, EQUALS = 10, 11  # tokens; 0 to 9 are the digits
VOCABULARY = 12
PROMPT = 2 * DIGITS + 2  # tokens
ANSWER = DIGITS + 1  # tokens

Tokens = NDArray[np.int64]
Numbers = NDArray[np.int64]  # [m, 2] the two numbers of each addition


def draw_numbers(rng: np.random.Generator, lengths: NDArray[np.integer]) -> Numbers:
    """[m, 2] two random numbers with as many digits as `lengths` [m] says."""
    low = np.where(lengths > 1, 10 ** (lengths - 1), 0)[:, None]
    return rng.integers(low, (10**lengths)[:, None], size=(len(lengths), 2))


def distinct_numbers(rng: np.random.Generator, per_length: int) -> Numbers:
    """[m, 2] different additions, `per_length` of each length if there are as many."""
    rows = []
    for length in range(1, DIGITS + 1):
        drawn = draw_numbers(rng, np.full(8 * per_length + 2_000, length))
        _, first = np.unique(drawn, axis=0, return_index=True)
        rows.append(drawn[np.sort(first)[:per_length]])
    return np.concatenate(rows)


def lengths_of(numbers: Numbers) -> NDArray[np.int64]:
    """[m] digits of the longer number."""
    return np.char.str_len(numbers.max(axis=1).astype(str)).astype(np.int64)


def carries_of(numbers: Numbers) -> NDArray[np.bool_]:
    """[m, DIGITS] whether each place carries into the next, the last digit first."""
    places = 10 ** np.arange(1, DIGITS + 1)
    carried: NDArray[np.bool_] = numbers[:, :1] % places + numbers[:, 1:] % places >= places
    return carried


def prompts_of(numbers: Numbers) -> Tokens:
    """[m, PROMPT] tokens such as those of `00012+00345=`."""
    first, second = (_digits(column, DIGITS)[:, ::-1] for column in numbers.T)
    sign = np.ones((len(numbers), 1), dtype=np.int64)
    return np.concatenate([first, PLUS * sign, second, EQUALS * sign], axis=1)


def answers_of(numbers: Numbers) -> Tokens:
    """[m, ANSWER] digits of the sums, the last digit first."""
    return _digits(numbers.sum(axis=1), ANSWER)


def _digits(values: NDArray[np.int64], count: int) -> Tokens:
    """[m, count] the last digit first, zeros at the end."""
    return values[:, None] // 10 ** np.arange(count) % 10
