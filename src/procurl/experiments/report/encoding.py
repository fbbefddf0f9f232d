"""Encoding of numbers for the page: compact, without NaN, and safe within HTML."""

import base64
import json
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

LEVELS = 65_534  # between the lowest and highest number of a packed array
MISSING = 65_535
DIGITS = 5  # significant, of numbers that are not packed


def pack(values: ArrayLike) -> dict[str, Any]:
    """Numbers [n] as 16-bit integers between their lowest and highest, for the page's `unpack`.

    The error is at most a 131,068th of their range. Non-finite numbers become missing.
    """
    array = np.asarray(values, dtype=np.float64)
    there = np.isfinite(array)
    lo, hi = (float(array[there].min()), float(array[there].max())) if there.any() else (0.0, 0.0)
    scale = LEVELS / (hi - lo) if hi > lo else 0.0
    levels = np.where(there, np.round((np.where(there, array, lo) - lo) * scale), MISSING)
    text = base64.b64encode(levels.astype("<u2").tobytes()).decode("ascii")
    return {"data": text, "lo": lo, "hi": hi}


def round_digits(value: float | None) -> float | int | None:
    """Round to five significant digits; None if not finite. Integers are unchanged."""
    if value is None or not math.isfinite(value):
        return None
    if float(value).is_integer():
        return int(value)
    return float(f"{value:.{DIGITS}g}")


def column(values: ArrayLike) -> list[float | int | None]:
    """Round each of the numbers [n]."""
    return [round_digits(value) for value in np.asarray(values, dtype=np.float64).tolist()]


def script_json(content: Any) -> str:
    """JSON that is safe within a script element: it has no `<`, `>` or `&`.

    >>> script_json({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
