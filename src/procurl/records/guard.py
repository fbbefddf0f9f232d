"""Noticing a store that lost commits or was removed while it is open.

SQLite keeps recent commits in a log, `results.sqlite-wal`, and silently ends it at the first frame
whose checksum is wrong: a damaged log reads as an older state. Commits are therefore numbered. The
number is part of each commit and is written to `results.sqlite-commits` after it, so a store whose
own number is smaller has lost commits.
"""

from contextlib import suppress
from pathlib import Path
from sqlite3 import Connection

from procurl.internals.files import write_text
from procurl.records.tables import COMMITS, DamagedError


class Guard:
    """Watches over the file of an open store.

    Args:
        path: file of the store, which exists.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._count_file = path.with_name(f"{path.name}{COMMITS}")
        self._identity = _identity(path)
        self._wrote = False

    def check_commits(self, connection: Connection) -> None:
        """Raise DamagedError if the store has fewer commits than were made."""
        # Read before the store: a commit in between makes the store's number larger, not smaller.
        made = self._read_count()
        found = _number(connection)
        if found < made:
            raise DamagedError(self._path, f"the last {made - found} of {made} commits are missing")

    def check_file(self) -> None:
        """Raise OSError if the file has been removed: SQLite would keep writing to it unseen."""
        if _identity(self._path) != self._identity:
            raise OSError(
                f"{self._path} was removed or replaced while it was in use, and nothing more can "
                "be recorded in it. Run the same command again"
            )

    def number(self, connection: Connection) -> int:
        """Number the commit of the open transaction."""
        number = _number(connection) + 1
        connection.execute(f"PRAGMA user_version = {number}")
        return number

    def confirm_commit(self, number: int) -> None:
        """Record that this commit was made."""
        self._wrote = True
        write_text(self._count_file, f"{number}\n")

    def close(self) -> None:
        """Remove the count of a store that was closed and has no log left that could be cut."""
        log = self._path.with_name(f"{self._path.name}-wal")
        if self._wrote and not log.exists():
            with suppress(OSError):
                self._count_file.unlink()

    def _read_count(self) -> int:
        try:
            text = self._count_file.read_text(encoding="ascii", errors="replace")
        except FileNotFoundError:
            return 0
        try:
            return int(text)
        except ValueError:
            raise DamagedError(
                self._path, f"{self._count_file.name} is not a number: {text[:40]!r}"
            ) from None


def _identity(path: Path) -> tuple[int, int] | None:
    """What distinguishes a file from another of the same name; None if there is no file."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _number(connection: Connection) -> int:
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    return int(number)
