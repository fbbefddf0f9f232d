"""The files of a user's own that a file imports: a change in one of them changes what it does."""

import ast
from collections.abc import Iterator
from pathlib import Path


def own_files(path: Path, text: str, root: Path, own: Path) -> dict[Path, str]:
    """The text of a file, and of every file below `own` that it imports, directly or not.

    Only import statements count, wherever they stand.

    Args:
        path: of the file.
        text: its content.
        root: the folder that its imports are looked up in.
        own: the folder of the user's files, others are packages.
    """
    texts = {path: text}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        for found in _imports(file, texts[file], root):
            if found in texts or not found.is_relative_to(own):
                continue
            if (content := _read(found)) is not None:
                texts[found] = content
                waiting.append(found)
    return texts


def _imports(file: Path, text: str, root: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # is reported when the file is loaded
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(root, alias.name)
        elif isinstance(node, ast.ImportFrom):
            folder = file.parents[node.level - 1] if node.level else root
            for alias in node.names:
                yield from _files(folder, ".".join(filter(None, (node.module, alias.name))))


def _files(folder: Path, name: str) -> Iterator[Path]:
    """The files that the import of `name` from a folder executes, as far as they are there."""
    place = folder
    for part in name.split("."):
        place = place / part
        for file in (place / "__init__.py", place.with_name(f"{part}.py")):
            if file.is_file():
                yield file


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
