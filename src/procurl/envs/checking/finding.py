"""One line of the table of the check."""

from typing import Literal, NamedTuple

from procurl.envs.checking.measurements import Misfit


class Finding(NamedTuple):
    """One line of the table."""

    level: Literal["ok", "note", "problem"]  # a problem makes training pointless
    subject: str
    text: str  # what was seen
    remedy: str = ""  # what follows and what to do


def misfit_finding(misfit: Misfit) -> Finding:
    """What an environment returns against its own declaration."""
    level: Literal["note", "problem"] = "problem" if misfit.stops_training else "note"
    return Finding(level, misfit.subject, misfit.text, misfit.remedy)
