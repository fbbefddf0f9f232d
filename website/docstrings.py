"""Docstrings of the package as Markdown.

Doctests become code. Arguments that share a description ("wins, losses: …") are listed one by one,
with their types. The comment beside a field becomes its description.
"""

import re
from typing import Any

import griffe

SESSION = re.compile(r"(?:^|(?<=\n))>>> .*?(?=\n\s*\n|\Z)", flags=re.S)
SHARED = re.compile(r"^( +)(\w+(?:, \w+)+): (.*(?:\n\1 +\S.*)*)", flags=re.M)


class Docstrings(griffe.Extension):
    """Prepares docstrings while mkdocstrings reads the package."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            text = SESSION.sub(_as_code, obj.docstring.value)
            obj.docstring.value = SHARED.sub(_one_by_one, text)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        if attr.docstring is None and not attr.name.startswith("_"):
            comment = _comment_beside(attr)
            if comment:
                attr.docstring = griffe.Docstring(comment, lineno=attr.lineno, parent=attr)


def _as_code(session: re.Match[str]) -> str:
    lines = re.sub(r" *# doctest:.*", "", session[0])
    return f"```pycon\n{lines}\n```"


def _one_by_one(entry: re.Match[str]) -> str:
    indent, names, text = entry.groups()
    return "\n".join(f"{indent}{name}: {text}" for name in names.split(", "))


def _comment_beside(attr: griffe.Attribute) -> str:
    """The comment at the end of the field's line, as a sentence; empty if there is none."""
    if not isinstance(attr.filepath, type(None) | list) and attr.lineno is not None:
        line = attr.lines_collection[attr.filepath][(attr.endlineno or attr.lineno) - 1]
        found = re.search(r"\s#\s(?!noqa|type:)(.+)$", line)
        if found:
            text = found[1].strip()
            return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
    return ""
