"""The store: damage is noticed, and reading changes nothing."""

import os
import random
import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from procurl.records.store import FILE, open_experiment
from procurl.records.tables import put
from tests.experiments.stores import EXPERIMENT, POOL, everything, filled, read_or_refused


@pytest.mark.parametrize("size", [0, 1, 100, 4096, 5000, -4096, -1])
def test_a_truncated_store_is_refused_by_name(tmp_path, size):
    path = filled(tmp_path) / FILE
    content = path.read_bytes()
    path.write_bytes(content[:size])
    with pytest.raises(ValueError, match=f"{path} is damaged: .* run the same command again"):
        everything(tmp_path)
    with pytest.raises(ValueError, match="is damaged"), open_experiment(tmp_path, EXPERIMENT, POOL):
        pass


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pool", b"abc"),
        ("pool", "text"),
        ("pool", None),
        ("experiment", "[]"),
        ("experiment", "{}"),
        ("experiment", "[" * 100_000),
        ("experiment", b"\xff"),
    ],
)
def test_crafted_rows_with_a_valid_checksum_are_refused_in_one_sentence(tmp_path, key, value):
    path = filled(tmp_path) / FILE
    with closing(sqlite3.connect(path)) as connection:
        put(connection, "facts", (key, value))
        connection.commit()
    with pytest.raises(ValueError, match=f"^{path}") as raised:
        everything(tmp_path)
    assert "\n" not in str(raised.value)


def test_a_flipped_bit_is_noticed_or_changes_nothing(tmp_path):
    """At 300 random places: either an error that names the file, or all is as it was."""
    rng = random.Random(1)
    path = filled(tmp_path / "whole") / FILE
    content, before = path.read_bytes(), everything(path.parent)
    used = [place for place, byte in enumerate(content) if byte]
    noticed = 0
    for _ in range(300):
        broken = bytearray(content)
        broken[rng.choice(used)] ^= 1 << rng.randrange(8)
        shutil.rmtree(tmp_path / "broken", ignore_errors=True)
        (tmp_path / "broken").mkdir()
        (tmp_path / "broken" / FILE).write_bytes(broken)
        read = read_or_refused(tmp_path / "broken")
        assert read == before or FILE in read
        noticed += read != before
    assert noticed > 200


@pytest.mark.parametrize("table", ["runs", "evaluations", "details", "contenders", "commands"])
def test_a_lost_row_is_noticed(tmp_path, table):
    import sqlite3

    path = filled(tmp_path) / FILE
    key = {"runs": "id", "contenders": "position", "commands": "id"}.get(table, "run")
    with sqlite3.connect(path) as connection:
        connection.execute(f"DELETE FROM {table} WHERE {key} = 0")
    connection.close()
    with pytest.raises(ValueError, match=f"{table} has . rows of ."):
        everything(tmp_path)


def test_rows_that_changed_places_are_noticed(tmp_path):
    import sqlite3

    path = filled(tmp_path) / FILE
    with sqlite3.connect(path) as connection:
        for old, new in ((0, 7), (1, 0), (7, 1)):
            connection.execute("UPDATE evaluations SET run = ? WHERE run = ?", (new, old))
    connection.close()
    with pytest.raises(ValueError, match="a row of evaluations was altered"):
        everything(tmp_path)


@contextmanager
def nobody():
    """This process without the right to write everywhere, where it has it."""
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(mine)


def test_a_store_where_nothing_can_be_written_is_read_and_not_changed():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = everything(filled(folder))
        folder.chmod(0o555)
        with nobody():
            assert everything(folder) == before
            with pytest.raises(OSError, match="cannot be written to"):
                open_experiment(folder, EXPERIMENT, POOL)
        folder.chmod(0o700)
        assert everything(folder) == before


def test_reading_leaves_no_files_behind(tmp_path):
    everything(filled(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
