"""The tables of a store, with a checksum in every row."""

import json
import math
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from sqlite3 import Connection, DatabaseError, OperationalError, ProgrammingError
from typing import Any

import numpy as np

from procurl.internals.files import temporary_path
from procurl.records.evaluation import SCALARS, column_names
from procurl.records.packing import ARRAYS

APPLICATION = 0x70726F63  # "proc", which marks the file as ours
FORMAT = f"2 ({', '.join(column_names())})"
COMMITS = "-commits"  # ends the name of the file that counts commits
PAGE = 4096  # bytes; the size of a complete file is a multiple
PATIENCE = 60.0  # seconds that a writer waits for another one
SQL_TYPES = {int: "INTEGER", float: "REAL"}
SCALAR_COLUMNS = ", ".join(f"{field.name} {SQL_TYPES[field.type]}" for field in SCALARS)
ARRAY_COLUMNS = ", ".join(f"{name} BLOB" for name in ARRAYS)

# Every row ends with a checksum of its table and all its other columns, keys included.
SCHEMA = (
    "CREATE TABLE facts (key TEXT PRIMARY KEY, value, checksum BLOB) WITHOUT ROWID",
    "CREATE TABLE commands (id INTEGER PRIMARY KEY, time TEXT, command TEXT, versions TEXT, "
    "machine TEXT, checksum BLOB)",
    "CREATE TABLE contenders (position INTEGER PRIMARY KEY, strategy TEXT, setting TEXT, "
    "seeds INTEGER, checksum BLOB)",
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, strategy TEXT, setting TEXT, seed INTEGER, "
    "evaluations INTEGER, finished INTEGER, stopped_at INTEGER, checksum BLOB)",
    f"CREATE TABLE evaluations (run INTEGER, {SCALAR_COLUMNS}, checksum BLOB, "
    "PRIMARY KEY (run, step)) WITHOUT ROWID",
    f"CREATE TABLE details (run INTEGER, step INTEGER, {ARRAY_COLUMNS}, checksum BLOB, "
    "PRIMARY KEY (run, step))",
)
COUNTED = ("commands", "contenders", "runs")  # tables whose row counts are stored


class DamagedError(ValueError):
    """The file of a store is truncated or altered."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{path} is damaged: {what}. Delete all files {path.name}* and run the same command "
            "again: results are recovered from the checkpoints, and the rest is trained again"
        )


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into errors that tell the user what to do."""
    try:
        yield
    except OperationalError as error:
        reasons = {
            "full": "the disk is full. Free some space and run the same command again",
            "readonly": "the file or its directory cannot be written to",
            "unable to open": "the file cannot be opened: it or its directory may be read-only",
            "locked": "another process is writing to it",
            "disk I/O error": "reading or writing failed; the disk may be full or broken",
        }
        for sign, reason in reasons.items():
            if sign in str(error):
                raise OSError(f"{path}: {reason} ({error})") from error
        raise DamagedError(path, str(error)) from error
    except ProgrammingError as error:
        raise RuntimeError(
            f"{path}: {error} Use a store between opening and closing it, and in one thread"
        ) from error
    except (DatabaseError, UnicodeDecodeError) as error:  # the latter from SQLite's own message
        raise DamagedError(path, str(error)) from error


def create_file(path: Path, facts: Mapping[str, Any]) -> None:
    """Create the file of a store atomically."""
    temporary = temporary_path(path)
    try:
        with clear_errors(path):
            connection = sqlite3.connect(temporary, isolation_level=None)
            try:
                connection.execute(f"PRAGMA page_size = {PAGE}")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute("BEGIN")
                for table in SCHEMA:
                    connection.execute(table)
                counts = json.dumps(dict.fromkeys(COUNTED, 0))
                for key, value in {"format": FORMAT, "counts": counts, **facts}.items():
                    put(connection, "facts", (key, value))
                connection.execute("COMMIT")
            finally:
                connection.close()
        for suffix in ("-wal", "-shm", COMMITS):  # of an earlier store, which was deleted
            path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
        os.replace(temporary, path)
    finally:
        for left_over in path.parent.glob(f"{temporary.name}*"):
            left_over.unlink()


def connect_to_write(path: Path) -> Connection:
    """Connect to an existing file for writing."""
    with clear_errors(path):
        return _connect(path, "mode=rw")


def connect_to_read(path: Path) -> Connection:
    """Connect to an existing file for reading; its directory may be read-only.

    SQLite's readers share state through files next to the store. A reader that may write them also
    removes them afterwards, so that mode is tried first.
    """
    forms = ["mode=rw", "mode=ro"]
    if not _size(path.with_name(f"{path.name}-wal")):
        forms.append("mode=ro&immutable=1")
    with clear_errors(path):
        for form in forms[:-1]:
            with suppress(OperationalError):
                return _connect(path, form, query_only=True)
        return _connect(path, forms[-1], query_only=True)


def _size(path: Path) -> int:
    """The size of a file in bytes, 0 if it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _connect(path: Path, form: str, query_only: bool = False) -> Connection:
    size = path.stat().st_size
    if size == 0 or size % PAGE:
        raise DamagedError(path, f"it is cut off after {size} bytes")
    uri = f"{path.absolute().as_uri()}?{form}"
    connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
    try:
        connection.execute(f"PRAGMA query_only = {query_only}")
        connection.execute("PRAGMA synchronous = FULL")  # a commit is on the disk when it returns
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def check_tables(connection: Connection, path: Path) -> None:
    """Raise unless the file has the tables of this version."""
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        raise DamagedError(path, "it is not marked as a store of procurl")
    written = fact(connection, path, "format")
    if written != FORMAT:
        raise ValueError(f"{path} has the format {written}; this version of procurl reads {FORMAT}")
    tables = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table'")
    if {text for (text,) in tables} != set(SCHEMA):
        raise DamagedError(path, "its tables are not those of a store")


def put(connection: Connection, table: str, values: Sequence[Any]) -> None:
    """Write a row; it replaces one with the same key."""
    stored = [_as_stored(value) for value in values]
    marks = ", ".join("?" * (len(stored) + 1))
    connection.execute(
        f"INSERT OR REPLACE INTO {table} VALUES ({marks})", (*stored, checksum(table, stored))
    )


def rows(
    connection: Connection, path: Path, table: str, where: str = "", values: Sequence[Any] = ()
) -> Iterator[tuple[Any, ...]]:
    """The rows of a table without their checksums; raises if one was altered."""
    for *row, written in connection.execute(f"SELECT * FROM {table} {where}", values):
        if checksum(table, row) != written:
            raise DamagedError(path, f"a row of {table} was altered, {_key(row)}")
        yield tuple(row)


def fact(connection: Connection, path: Path, key: str) -> Any:
    """The value of a fact."""
    for _, value in rows(connection, path, "facts", "WHERE key = ?", (key,)):
        return value
    raise DamagedError(path, f"the row {key!r} of facts is missing")


def counted_rows(connection: Connection, path: Path, table: str) -> list[tuple[Any, ...]]:
    """All rows of a table whose row count is stored; raises if one is missing."""
    found = list(rows(connection, path, table))
    expected = json.loads(fact(connection, path, "counts"))[table]
    if len(found) != expected:
        raise DamagedError(path, f"{table} has {len(found)} rows of {expected}")
    return found


def append_row(connection: Connection, path: Path, table: str, values: Sequence[Any]) -> int:
    """Append a row under the next key, and return the key."""
    counts = json.loads(fact(connection, path, "counts"))
    put(connection, table, (counts[table], *values))
    put(connection, "facts", ("counts", json.dumps(counts | {table: counts[table] + 1})))
    return int(counts[table])


def checksum(table: str, values: Sequence[Any]) -> bytes:
    """8 bytes that depend on every value of a row."""
    digest = blake2b(table.encode(), digest_size=8)
    for value in values:
        content = value if isinstance(value, bytes) else repr(value).encode()
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.digest()


def _as_stored(value: Any) -> Any:
    """A value as SQLite returns it, also if it is a number of NumPy.

    SQLite turns NaN into NULL, so NaN is stored as text, and it has no −0.0, which is the entropy
    of a single task.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def _key(row: Sequence[Any]) -> str:
    return f"its key starts with {str(row[0])[:40]!r}"
