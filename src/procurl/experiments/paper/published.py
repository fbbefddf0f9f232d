"""The numbers that the paper prints, shown beside ours in every table.

`published_numbers.csv` holds its results, `published_settings.csv` the settings of its appendix.
"""

import csv
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from procurl.experiments.analysis.statistics import Interval

NUMBERS = "published_numbers.csv"
SETTINGS = "published_settings.csv"
COLUMNS = ("table", "env", "row", "quantity", "step", "mean", "ci95", "seeds")
ENVIRONMENTS = ("pointmass-s", "pointmass-d", "basickarel", "ballcatching", "antgoal")
TABLES = ("metrics", "beta", "noise", "gamma", "test", "hard")
QUANTITIES = ("performance", "env_steps", "minutes", "best", "best_test")


class Key(NamedTuple):
    """Identifies one of the paper's numbers."""

    table: str  # of TABLES
    env: str
    row: str  # a strategy, or the value of the setting that an ablation varies
    quantity: str  # of QUANTITIES
    step: int  # of training


def published_number(
    table: str, env: str, row: str, step: int, quantity: str = "performance"
) -> Interval:
    """The number that the paper prints; NaN, shown as a dash, if it prints none.

    >>> str(published_number("metrics", "pointmass-s", "procurl-val", 1_000_000))
    '0.71 ± 0.18'
    """
    nothing = Interval(math.nan, math.nan, 0)
    return published_numbers().get(Key(table, env, row, quantity, step), nothing)


@cache
def published_numbers() -> Mapping[Key, Interval]:
    """All results that the paper prints, with their number of seeds."""
    text = files(__package__).joinpath(NUMBERS).read_text(encoding="utf-8")
    return read_numbers(text)


def read_numbers(text: str) -> dict[Key, Interval]:
    """Read the numbers of a CSV text; raises ValueError with line and reason on invalid ones."""
    lines = list(csv.reader(text.splitlines()))
    if not lines or tuple(lines[0]) != COLUMNS:
        raise ValueError(f"{NUMBERS}, line 1: the columns must be {', '.join(COLUMNS)}")
    found: dict[Key, Interval] = {}
    for number, cells in enumerate(lines[1:], start=2):
        try:
            key, interval = _row(cells)
            if key in found:
                raise ValueError(f"{key} appears twice")
        except ValueError as error:
            raise ValueError(f"{NUMBERS}, line {number}: {error}") from error
        found[key] = interval
    return found


def _row(cells: list[str]) -> tuple[Key, Interval]:
    if len(cells) != len(COLUMNS):
        raise ValueError(f"a row must have {len(COLUMNS)} cells, got {len(cells)}")
    table, env, row, quantity, step, mean, ci95, seeds = cells
    for name, value, known in (
        ("table", table, TABLES),
        ("env", env, ENVIRONMENTS),
        ("quantity", quantity, QUANTITIES),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    interval = Interval(float(mean), float(ci95) if ci95 else math.nan, int(seeds))
    if not (interval.mean >= 0 and math.isfinite(interval.mean)) or interval.half_width < 0:
        raise ValueError(f"mean and ci95 must not be negative, got {mean} and {ci95}")
    if int(step) <= 0 or interval.runs <= 0:
        raise ValueError(f"step and seeds must be positive, got {step} and {seeds}")
    return Key(table, env, row, quantity, int(step)), interval


class SettingKey(NamedTuple):
    """Identifies one of the settings that the paper lists."""

    env: str
    owner: str  # `ppo`, or a strategy
    setting: str


@cache
def published_settings() -> Mapping[SettingKey, str]:
    """The settings of the paper's appendix as written there, by environment and owner.

    `pool` means the lowest and highest value over the current pool. Layers are widths separated by
    spaces.
    """
    text = files(__package__).joinpath(SETTINGS).read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {SettingKey(row["env"], row["owner"], row["setting"]): row["value"] for row in rows}
