"""Checks of arguments: each error names the argument, the allowed values and the value received."""

import math
from collections.abc import Collection, Iterable
from numbers import Integral, Real

MOST_TYPOS = 2  # in a name for which another is suggested
SHORT_NAME = 4  # letters of a name for which only one is allowed
TINY_NAME = 2  # letters of a name for which none is: any other one would be close
SHORTEST_BEGINNING = 3  # letters of a name from which it is guessed


def require_number(
    argument: str,
    value: object,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
) -> None:
    """Raise unless `value` is a finite number within the bounds."""
    bounds = [
        *([f"of at least {at_least:g}"] if at_least > -math.inf else []),
        *([f"above {above:g}"] if above > -math.inf else []),
        *([f"at most {at_most:g}"] if at_most < math.inf else []),
    ]
    allowed = "a finite number" + (" " + " and ".join(bounds) if bounds else "")
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{argument} must be {allowed}, got {value!r}")
    try:
        number = float(value)
    except OverflowError:  # an integer of more than 308 digits
        number = math.inf
    if not (math.isfinite(number) and at_least <= number <= at_most and number > above):
        raise ValueError(f"{argument} must be {allowed}, got {value!r}")


def require_integer(argument: str, value: object, *, at_least: int) -> None:
    """Raise unless `value` is an integer of at least `at_least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{argument} must be an integer of at least {at_least}, got {value!r}")
    if value < at_least:
        raise ValueError(f"{argument} must be an integer of at least {at_least}, got {value!r}")


def require_interval(refresh_every: int | None) -> None:
    """Raise unless the refresh interval is None (every policy update) or a number of steps."""
    if refresh_every is not None:
        require_integer("refresh_every", refresh_every, at_least=1)


def require_slice(tasks_per_refresh: int | None) -> None:
    """Raise unless the tasks valued per refresh are None (all of them) or a number of tasks."""
    if tasks_per_refresh is not None:
        require_integer("tasks_per_refresh", tasks_per_refresh, at_least=1)


def require_patience(patience: int | None) -> None:
    """Raise unless the updates without any reward are None (any number) or a number of them."""
    if patience is not None:
        require_integer("patience", patience, at_least=0)


def require_flag(argument: str, value: object) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{argument} must be True or False, got {value!r}")


def require_choice(argument: str, value: object, choices: Collection[str]) -> None:
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{argument} must be one of {', '.join(choices)}, got {value!r}")


def require_bounds(v_min: float | str | None, v_max: float | str | None) -> None:
    """Raise unless v_min and v_max are two ordered numbers, both `auto`, or both None."""
    if (v_min is None and v_max is None) or (v_min == "auto" and v_max == "auto"):
        return
    for name, bound in (("v_min", v_min), ("v_max", v_max)):
        if bound is None or isinstance(bound, str):
            raise ValueError(
                "v_min and v_max must both be numbers, both be 'auto' to find them during "
                "training, or both be None to use the pool's own range; "
                f"got v_min={v_min!r} and v_max={v_max!r}"
            )
        require_number(name, bound)
    if v_max <= v_min:  # type: ignore[operator]  # both are numbers here
        raise ValueError(
            f"v_max must be above v_min={v_min!r}, got v_max={v_max!r}: v_min is the return of a "
            "failure, v_max that of a success"
        )


def require_known(kind: str, name: object, known: Collection[str], plural: str) -> None:
    """Raise unless `name` is known, with the closest known name as a suggestion."""
    if name not in tuple(known):  # a name need not be hashable
        raise ValueError(
            f"{kind} {name!r} is not known.{suggest(name, known)} "
            f"Known {plural}: {', '.join(known)}"
        )


def suggest(name: object, known: Iterable[str]) -> str:
    """' Did you mean …?' for a mistyped or abbreviated name, or nothing if no known name is close.

    Names are close if up to two letters differ, one if they are short. An abbreviation is the
    beginning of a name, or the initials of its words.

    >>> suggest("lr", ["gamma", "learning_rate"])
    " Did you mean 'learning_rate'?"
    >>> suggest("momentum", ["gamma", "learning_rate"])
    ''
    """
    wrong = str(name).lower().strip("[]()'\" ")  # of a list with one name
    by_lower = {each.lower(): each for each in known}
    similar = {each: count_typos(wrong, each) for each in by_lower if _about_as_long(wrong, each)}
    close = [each for each, typos in similar.items() if typos <= _typos_allowed(wrong, each)]
    near = min(close, key=similar.__getitem__, default=None)
    if near is None:
        abbreviated = (each for each in by_lower if _is_abbreviation(wrong, each))
        # The shortest name, and the latest of several versions.
        near = max(abbreviated, key=lambda each: (-len(each), each), default=None)
    return "" if near is None else f" Did you mean {by_lower[near]!r}?"


def count_typos(one: str, other: str) -> int:
    """How many letters to insert, drop, replace or swap with the next, to get from one to other.

    >>> count_typos("taks", "task"), count_typos("bta", "beta"), count_typos("abc", "xbz")
    (1, 1, 2)
    """
    before: list[int] = []  # the row before the previous one
    row = list(range(len(other) + 1))  # distances of the first i letters to every beginning
    for i, letter in enumerate(one, start=1):
        new = [i]
        for j, wanted in enumerate(other, start=1):
            best = min(row[j] + 1, new[-1] + 1, row[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                best = min(best, before[j - 2] + 1)
            new.append(best)
        before, row = row, new
    return row[-1]


def _about_as_long(wrong: str, known: str) -> bool:
    return abs(len(wrong) - len(known)) <= MOST_TYPOS  # which is faster than to compare them


def _typos_allowed(wrong: str, known: str) -> int:
    shorter = min(len(wrong), len(known))
    return 0 if shorter <= TINY_NAME else 1 if shorter <= SHORT_NAME else MOST_TYPOS


def _is_abbreviation(wrong: str, known: str) -> bool:
    if len(wrong) >= SHORTEST_BEGINNING and known.startswith(wrong):
        return True
    words = known.split("_")
    return len(words) > 1 and wrong == "".join(word[:1] for word in words)
