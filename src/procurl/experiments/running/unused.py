"""Directories in which a command has failed before anything was worth keeping.

A command claims its directory before it trains. If it fails early, the user changes the
environment, the pool or the strategies and tries again, with the same directory.
"""

from pathlib import Path

from procurl.records.store import FILE, read_store


def holds_runs(folder: Path) -> bool:
    """Whether the directory has a store, and a run with an evaluation or a checkpoint."""
    if not (folder / FILE).exists():
        return False
    with read_store(folder) as store:
        return bool(store.runs) or any(folder.glob("runs/*/*/checkpoint-*"))


def remove_unused_store(folder: Path) -> None:
    """Delete the store of a directory without runs; hold the directory's lock meanwhile.

    Its experiment and its plan are those of a command that failed or was stopped early.
    """
    if not holds_runs(folder):
        (folder / FILE).unlink(missing_ok=True)
