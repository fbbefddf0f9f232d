"""The tables of a store, with a checksum in every row."""

import json
import math
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from sqlite3 import Connection, DatabaseError, OperationalError
from typing import Any

from procurl.records.evaluation import SCALARS, column_names
from procurl.records.packing import ARRAYS

APPLICATION = 0x70726F63  # "proc", which marks the file as ours
FORMAT = f"2 ({', '.join(column_names())})"
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
COUNTED = ("commands", "contenders", "runs")  # how many rows each has is a fact of its own


class Damaged(ValueError):
    """A store that does not hold what was written to it."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{path} is damaged: {what}. Delete it together with {path.name}-wal and "
            f"{path.name}-shm and run the same command again: what the checkpoints hold is "
            "recorded anew, and the rest is trained again"
        )


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """SQLite's errors as what they mean for the user."""
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
        raise Damaged(path, str(error)) from error
    except (DatabaseError, UnicodeDecodeError) as error:  # the latter from SQLite's own message
        raise Damaged(path, str(error)) from error


def create_file(path: Path, facts: Mapping[str, Any]) -> None:
    """A new store, there as a whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
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
        os.replace(temporary, path)
    finally:
        for left_over in path.parent.glob(f"{temporary.name}*"):
            left_over.unlink()


def connect_to_write(path: Path) -> Connection:
    """A connection to a file that exists."""
    with clear_errors(path):
        return _connected(path, "mode=rw")


def connect_to_read(path: Path) -> Connection:
    """A connection to a file that exists, which may lie where nothing can be written.

    SQLite wants to write even to read, for what readers share; such a reader tidies up behind
    itself, so that is tried first.
    """
    forms = ["mode=rw", "mode=ro"]
    log = path.with_name(f"{path.name}-wal")
    if not log.exists() or log.stat().st_size == 0:
        forms.append("mode=ro&immutable=1")
    with clear_errors(path):
        for form in forms[:-1]:
            with suppress(OperationalError):
                return _connected(path, form, query_only=True)
        return _connected(path, forms[-1], query_only=True)


def _connected(path: Path, form: str, query_only: bool = False) -> Connection:
    size = path.stat().st_size
    if size == 0 or size % PAGE:
        raise Damaged(path, f"it is cut off after {size} bytes")
    uri = f"{path.absolute().as_uri()}?{form}"
    connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
    try:
        connection.execute(f"PRAGMA query_only = {query_only}")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def check_tables(connection: Connection, path: Path) -> None:
    """Raise unless the file holds our tables as we make them."""
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        raise Damaged(path, "its mark as a store of procurl is missing")
    written = fact(connection, path, "format")
    if written != FORMAT:
        raise ValueError(f"{path} has the format {written}; this version of procurl reads {FORMAT}")
    tables = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table'")
    if {text for (text,) in tables} != set(SCHEMA):
        raise Damaged(path, "its tables are not those of a store")


def put(connection: Connection, table: str, values: Sequence[Any]) -> None:
    """Write a row in place of the one with the same key."""
    stored = [_stored(value) for value in values]
    marks = ", ".join("?" * (len(stored) + 1))
    connection.execute(
        f"INSERT OR REPLACE INTO {table} VALUES ({marks})", (*stored, checksum(table, stored))
    )


def rows(
    connection: Connection, path: Path, table: str, where: str = "", values: Sequence[Any] = ()
) -> Iterator[tuple[Any, ...]]:
    """The rows of a table by key, without their checksums; raises at one that was altered."""
    for *row, written in connection.execute(f"SELECT * FROM {table} {where}", values):
        if checksum(table, row) != written:
            raise Damaged(path, f"a row of {table} was altered, {_key(row)}")
        yield tuple(row)


def fact(connection: Connection, path: Path, key: str) -> Any:
    """One of the facts."""
    for _, value in rows(connection, path, "facts", "WHERE key = ?", (key,)):
        return value
    raise Damaged(path, f"the row {key!r} of facts is missing")


def counted_rows(connection: Connection, path: Path, table: str) -> list[tuple[Any, ...]]:
    """All rows of a table whose number is kept; raises where one is missing."""
    found = list(rows(connection, path, table))
    expected = json.loads(fact(connection, path, "counts"))[table]
    if len(found) != expected:
        raise Damaged(path, f"{table} has {len(found)} rows of {expected}")
    return found


def add_counted(connection: Connection, path: Path, table: str, values: Sequence[Any]) -> int:
    """A new row with the next key in front, which is returned."""
    counts = json.loads(fact(connection, path, "counts"))
    put(connection, table, (counts[table], *values))
    put(connection, "facts", ("counts", json.dumps(counts | {table: counts[table] + 1})))
    return int(counts[table])


def checksum(table: str, values: Sequence[Any]) -> bytes:
    """8 bytes that change with any value of a row."""
    digest = blake2b(table.encode(), digest_size=8)
    for value in values:
        content = value if isinstance(value, bytes) else repr(value).encode()
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.digest()


def _stored(value: Any) -> Any:
    """A value as SQLite will give it back.

    It would lose NaN, which is kept as a word, and has no −0.0, the entropy of a single task.
    """
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def _key(row: Sequence[Any]) -> str:
    return f"its key begins with {str(row[0])[:40]!r}"
