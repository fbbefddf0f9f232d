"""What a curriculum accepts as evidence: plain finite numbers of a sensible size."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.evidence.evidence import Evidence
from procurl.evidence.returns import Scale
from procurl.internals.arrays import BLOCK, is_numeric, on_host
from procurl.internals.checks import require_number

COUNTS = ("wins", "losses", "partial", "played", "rollouts")
BY_EPISODE = ("score", "best_return")  # of tasks that were played
# Strategies square, sum and subtract what they receive. From here, a square over a pool of any size
# stays within double precision and the number itself within single precision. No return or count
# of an environment comes near it.
LIMIT = 1e30


def check_evidence(evidence: Evidence, n: int, since: float) -> Evidence:
    """`evidence` as NumPy arrays in double precision; raises if a strategy could not use it.

    Args:
        evidence: on n tasks.
        n: tasks of the pool.
        since: step of the previous evidence.
    """
    if not isinstance(evidence, Evidence):
        raise TypeError(f"evidence must be procurl.Evidence, got {type(evidence).__name__}")
    step = _scalar("evidence.step", evidence.step)
    require_number("evidence.step", step, at_least=since)
    if step > LIMIT:
        raise ValueError(f"evidence.step must be at most {LIMIT:g}, got {step!r}")
    arrays: dict[str, Any] = {}
    for name, given in evidence._asdict().items():
        if name not in ("step", "scale") and given is not None:
            arrays[name] = _numbers(f"evidence.{name}", given, n)
    ranges = {name: _range(array) for name, array in arrays.items()}
    for name, (lowest, _) in ranges.items():
        if name in COUNTS and lowest < 0:
            raise ValueError(f"evidence.{name} must not be negative: it counts episodes")
    for name, (lowest, highest) in ranges.items():
        if not (lowest >= -LIMIT and highest <= LIMIT):
            # A task that was not played has no score, and may have no best return.
            _refuse(name, arrays[name], arrays.get("played") if name in BY_EPISODE else None)
    return Evidence(step=np.float64(step), scale=_scale(evidence.scale), **arrays)


def _scale(given: Any) -> Scale | None:
    """`given` in double precision."""
    if given is None:
        return None
    if not isinstance(given, Scale):
        raise TypeError(f"evidence.scale must be procurl.Scale, got {type(given).__name__}")
    low, high = (
        _scalar(f"evidence.scale.{name}", getattr(given, name)) for name in ("low", "high")
    )
    for name, bound in (("low", low), ("high", high)):
        require_number(f"evidence.scale.{name}", bound, at_least=-LIMIT, at_most=LIMIT)
    if high < low:
        raise ValueError(f"evidence.scale.high must be at least low={low}, got {high}")
    unit = _scalar("evidence.scale.unit", given.unit)
    if unit not in (False, True):
        raise ValueError(f"evidence.scale.unit must be True or False, got {unit!r}")
    return Scale(np.float64(low), np.float64(high), np.bool_(unit))


def _scalar(argument: str, given: Any) -> Any:
    array = _plain(argument, given, "one number")
    if array.ndim:
        raise ValueError(f"{argument} must be one number, got {given!r:.80}")
    return array.item()


def _numbers(argument: str, given: Any, n: int) -> NDArray[np.float64]:
    """[n] `given` in double precision."""
    try:
        array = _plain(argument, given, f"{n} numbers").astype(np.float64, copy=False)
    except OverflowError as error:  # an integer of more than 308 digits
        raise ValueError(f"{argument} must be at most {LIMIT:g} in size: {error}") from error
    if array.shape != (n,):
        raise ValueError(
            f"{argument} must hold one number for each of the {n} tasks, got shape {array.shape}"
        )
    return array


def _plain(argument: str, given: Any, expected: str) -> NDArray[Any]:
    """`given` as an array of real numbers.

    NumPy would convert strings and dates, drop imaginary parts and fill in masked entries.
    """
    if np.ma.is_masked(given):
        raise TypeError(
            f"{argument} must be {expected}, got an array with masked entries: fill them, "
            "or leave the field out"
        )
    try:
        array = np.asarray(on_host(given))
    except (TypeError, ValueError, RuntimeError) as error:  # the last by a list of tensors
        raise TypeError(f"{argument} must be {expected}: {error}") from error
    if is_numeric(array.dtype):
        return array
    for task, value in enumerate(array.flat):
        if array.dtype.kind != "O" or not isinstance(value, Real):
            where = f" for task {task}" if array.ndim else ""
            raise TypeError(f"{argument} must be {expected}, got {value!r:.80}{where}")
    return array


def _range(array: NDArray[np.float64]) -> tuple[float, float]:
    """The lowest and the highest number [n], NaN if there is one; reads a large pool once."""
    blocks = [array[i : i + BLOCK] for i in range(0, len(array), BLOCK)]
    lowest = np.min([block.min() for block in blocks])
    return float(lowest), float(np.max([block.max() for block in blocks]))


def _refuse(name: str, array: NDArray[np.float64], played: NDArray[np.float64] | None) -> None:
    """Raise if a number, of tasks `played` if given, is not finite or larger than `LIMIT`."""
    bad = ~(np.abs(array) <= LIMIT)
    if played is not None:
        bad &= played > 0
    if not bad.any():
        return
    task = int(np.argmax(bad))
    allowed = "finite" if not np.isfinite(array[task]) else f"at most {LIMIT:g} in size"
    raise ValueError(
        f"evidence.{name} must be {allowed}, got {array[task]} for task {task}; "
        "the curriculum is unchanged"
    )
