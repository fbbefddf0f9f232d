"""How numbers of steps and names are written, in every table and figure."""

import math
from collections.abc import Iterable

MISSING = "–"
TWO_DECIMALS = "z.2f"  # zero without a sign
SMALLEST_RETURN = 0.005  # that two decimals do not make 0.00
MOST_DECIMALS = 6  # of a return
LONGEST_NAME = 40  # letters that a figure shows of a name, in one line
MOST_LINES = 3  # of a name in a legend
BREAKS = ",:+]; "  # signs after which a name continues on the next line


def step_label(steps: float) -> str:
    """A number of steps with three significant digits, in thousands or, from 100,000, in millions.

    The report's page does the same in `web/read.js`.

    >>> step_label(250_000), step_label(1_500), step_label(17_400_000), step_label(12)
    ('0.25M', '1.5k', '17.4M', '12')
    """
    if not math.isfinite(steps):
        return MISSING
    for least, unit, sign in ((1e9, 1e9, "G"), (1e5, 1e6, "M"), (1e3, 1e3, "k")):
        if abs(steps) >= least:
            return f"{float(f'{steps / unit:.3g}'):g}{sign}"
    return f"{steps:.0f}"


def return_format(returns: Iterable[float]) -> str:
    """How to write returns that are compared: two decimals, unless all of them became 0.00.

    >>> [f"{x:{return_format([x])}}" for x in (0.1234, 0.0, -0.0012, 3.4e-9)]
    ['0.12', '0.00', '-0.0012', '3.4e-09']
    """
    largest = max((abs(x) for x in returns if math.isfinite(x)), default=0.0)
    if largest == 0.0 or largest >= SMALLEST_RETURN:
        return TWO_DECIMALS
    decimals = 1 - math.floor(math.log10(largest))
    return f"z.{decimals}f" if decimals <= MOST_DECIMALS else ".2g"


def one_line(name: str) -> str:
    """A name without line breaks, for the lines of tables."""
    return " ".join(name.splitlines())


def broken_name(name: str) -> str:
    """A name as legends show it: in up to three lines, broken after a sign; cut off if longer.

    >>> broken_name("procurl-out:measure=return,v_min=-1000,v_max=350")
    'procurl-out:measure=return,v_min=-1000,\\nv_max=350'
    """
    lines: list[str] = []
    rest = name
    while len(rest) > LONGEST_NAME and len(lines) < MOST_LINES - 1:
        end = 1 + max(rest.rfind(sign, 0, LONGEST_NAME) for sign in BREAKS)
        end = end if end > LONGEST_NAME // 2 else LONGEST_NAME
        lines.append(rest[:end])
        rest = rest[end:]
    return "\n".join([*lines, short_name(rest)])


def short_name(name: str) -> str:
    """A name as figures show it: as it is, cut off if it would leave no room for the figure."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
