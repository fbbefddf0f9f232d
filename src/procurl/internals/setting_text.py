"""Settings as text, for the command line and for labels: `beta=10,v_max=none`."""

from typing import Any

NAMED = {"none": None, "true": True, "false": False}  # values of settings that are words


def read_settings(text: str, owner: str) -> dict[str, Any]:
    """Parse settings `NAME=VALUE,NAME=VALUE`, with numbers, true, false and none converted.

    >>> read_settings("beta=10,v_max=none", "procurl-val")
    {'beta': 10, 'v_max': None}

    Args:
        text: of the settings; a comma in brackets belongs to a value.
        owner: whose settings they are, for errors.
    """
    given: dict[str, Any] = {}
    for part in filter(None, split_outside_brackets(text, ",")):
        name, equals, value = part.partition("=")
        if not equals or not name or not value:
            raise ValueError(f"{owner}: {part!r} is not a setting; write NAME=VALUE")
        if name in given:
            raise ValueError(
                f"{owner}: {name} is given twice, as {setting_text(given[name])} and {value}; "
                "keep one"
            )
        given[name] = _value(value)
    return given


def setting_text(value: Any) -> str:
    """A value as `read_settings` reads it."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return next((text for text, named in NAMED.items() if value is named), str(value))


def split_outside_brackets(text: str, sign: str) -> list[str]:
    """`text` split at every `sign` that is not in square brackets.

    >>> split_outside_brackets("plr[rho=0.3,beta=1],iid", ",")
    ['plr[rho=0.3,beta=1]', 'iid']
    """
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == sign and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _value(text: str) -> Any:
    if text.lower() in NAMED:
        return NAMED[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
