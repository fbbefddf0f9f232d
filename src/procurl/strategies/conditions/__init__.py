"""When one part of a curriculum ends: conditions on steps and success, joined with `&` and `|`.

`phase` counts the steps and the recent success of the current part, `condition` is the interface,
`measured` holds the conditions themselves, and `text` reads their short form, `above:0.7`.
"""

from procurl.strategies.conditions.condition import And, Condition, Or
from procurl.strategies.conditions.measured import NoProgress, Steps, SuccessAbove
from procurl.strategies.conditions.phase import (
    PHASE_FIELDS,
    Phase,
    add_to_phase,
    new_phase,
    next_phase,
)
from procurl.strategies.conditions.text import as_condition, condition_text

__all__ = [
    "PHASE_FIELDS",
    "And",
    "Condition",
    "NoProgress",
    "Or",
    "Phase",
    "Steps",
    "SuccessAbove",
    "add_to_phase",
    "as_condition",
    "condition_text",
    "new_phase",
    "next_phase",
]
