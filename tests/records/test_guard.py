"""A store that lost commits or its file is noticed."""

import os
import random
import shutil
import subprocess

import pytest

from procurl.internals.files import remove_leftovers, temporary_path
from procurl.records.store import FILE, open_experiment, read_store
from tests.experiments.stores import (
    EXPERIMENT,
    IID,
    POOL,
    VAL,
    evaluation,
    everything,
    filled,
    read_or_refused,
)

LOG, COUNT = f"{FILE}-wal", f"{FILE}-commits"


@pytest.fixture
def killed(tmp_path):
    """The files of a store whose process was killed: recent commits are in the log only."""
    folder = tmp_path / "killed"
    with open_experiment(tmp_path / "open", EXPERIMENT, POOL, command="procurl compare") as store:
        for run in (VAL, IID):
            store.begin(run)
            for step in (100, 200, 300):
                store.add(run, evaluation(step))
        folder.mkdir()
        for name in (FILE, LOG, COUNT):
            shutil.copy(tmp_path / "open" / name, folder)
    return folder


def copy(killed, name, content=None):
    """The files with one of them replaced, or removed."""
    folder = killed.parent / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(killed, folder)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    return folder


def test_commits_in_the_log_are_read(killed):
    with read_store(copy(killed, COUNT)) as store:
        results = store.results()
    assert [e.step for run in (VAL, IID) for e in results.detail(run)] == [100, 200, 300] * 2


def test_a_damaged_log_is_noticed_and_never_reads_as_an_older_state(killed):
    """SQLite ends the log at the first frame with a wrong checksum, without an error."""
    rng = random.Random(2)
    content = (killed / LOG).read_bytes()
    before = everything(copy(killed, COUNT, (killed / COUNT).read_bytes()))
    noticed = 0
    for _ in range(100):
        broken = bytearray(content)
        broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
        read = read_or_refused(copy(killed, LOG, broken))
        assert read == before or "is damaged" in read
        noticed += read != before
    assert noticed > 90


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_log_that_was_cut_or_removed_is_noticed_again_and_again(killed, share):
    content = (killed / LOG).read_bytes()
    folder = copy(killed, LOG, content[: int(share * len(content))] if share else None)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"the last \d+ of \d+ commits are missing. Delete"):
            everything(folder)
    with pytest.raises(ValueError, match="commits are missing"):
        open_experiment(folder, EXPERIMENT, POOL)
    for path in folder.glob(f"{FILE}*"):  # the remedy
        path.unlink()
    open_experiment(folder, EXPERIMENT, POOL).close()
    everything(folder)


def test_a_new_store_takes_nothing_from_the_log_of_a_deleted_one(killed):
    folder = copy(killed, FILE)
    with open_experiment(folder, EXPERIMENT, POOL) as store:
        assert list(store.rows()) == []


def test_a_count_that_is_not_a_number_is_noticed(killed):
    with pytest.raises(ValueError, match=f"{COUNT} is not a number: 'x'"):
        everything(copy(killed, COUNT, b"x"))


def test_a_store_that_was_closed_leaves_no_count(tmp_path):
    assert [path.name for path in filled(tmp_path).iterdir()] == [FILE]


@pytest.mark.parametrize("replaced", [False, True])
def test_a_store_that_was_removed_is_noticed_at_the_next_write(tmp_path, replaced):
    folder = tmp_path / "out"
    with open_experiment(folder, EXPERIMENT, POOL) as store:
        store.begin(VAL)
        shutil.rmtree(folder)
        if replaced:
            filled(folder)
        with pytest.raises(OSError, match="was removed or replaced while it was in use"):
            store.add(VAL, evaluation(100))


def test_only_temporary_files_of_processes_that_are_gone_are_removed(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    target = tmp_path / FILE
    names = [FILE, ".hidden", f".{FILE}.{gone.pid}.word", f"{FILE}.{gone.pid}.0123abcd"]
    kept = [*map(tmp_path.joinpath, names), temporary_path(target)]
    dead = temporary_path(target).name.replace(f".{os.getpid()}.", f".{gone.pid}.")
    for path in (*kept, *(tmp_path / f"{dead}{suffix}" for suffix in ("", "-wal", "-shm"))):
        path.touch()
    assert remove_leftovers(tmp_path) == 3
    assert sorted(tmp_path.iterdir()) == sorted(kept)
