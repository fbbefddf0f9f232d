"""Checkpoints on disk: the newest whole one counts, whatever happened to the other."""

import shutil

import pytest

from procurl.experiments.running.slots import NAMES, STEP, Slots
from procurl.internals.archive import pack_archive, unpack_archive


def content(step):
    return pack_archive({STEP: step}, {})


def step_of(found):
    return unpack_archive(found, "found")[0][STEP]


def kept(folder, *steps):
    slots = Slots(folder)
    for step in steps:
        slots.keep(step, content(step))
    return slots


def found(folder):
    """(step of the newest, what was said)."""
    said = []
    newest = Slots(folder).newest(said.append)
    return None if newest is None else step_of(newest), said


def steps_in(folder):
    paths = [folder / name for name in NAMES if (folder / name).exists()]
    return [step_of(path.read_bytes()) for path in paths]


def truncate(path):
    path.write_bytes(path.read_bytes()[:-7])


def alter(path):
    altered = bytearray(path.read_bytes())
    altered[-5] ^= 1
    path.write_bytes(altered)


def empty(path):
    path.write_bytes(b"")


def test_two_files_take_turns(tmp_path):
    expected = {1: [1], 2: [1, 2], 3: [3, 2], 4: [3, 4], 5: [5, 4]}
    slots = Slots(tmp_path)
    for step, held in expected.items():
        slots.keep(step, content(step))
        assert steps_in(tmp_path) == held
        assert found(tmp_path) == (step, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(NAMES)


def test_another_process_continues_with_the_older_one(tmp_path):
    kept(tmp_path, 1, 2, 3)
    kept(tmp_path, 4)
    assert steps_in(tmp_path) == [3, 4]


@pytest.mark.parametrize("damage", [truncate, alter, empty])
def test_a_damaged_one_is_reported_and_the_one_before_counts(tmp_path, damage):
    kept(tmp_path, 2, 4)
    damage(tmp_path / NAMES[1])
    step, said = found(tmp_path)
    assert step == 2
    assert len(said) == 1
    assert str(tmp_path / NAMES[1]) in said[0]
    assert "it is ignored" in said[0]


@pytest.mark.parametrize("step", [None, "7", -1, 1.5, [], True])
def test_a_crafted_one_is_reported_and_the_one_before_counts(tmp_path, step):
    kept(tmp_path, 10, 20)
    (tmp_path / NAMES[1]).write_bytes(pack_archive({} if step is None else {STEP: step}, {}))
    newest, (said,) = found(tmp_path)
    assert newest == 10
    assert said.startswith(f"{tmp_path / NAMES[1]}: ")
    assert said.endswith("; it is ignored")


def test_after_damage_the_whole_one_is_kept_and_the_damaged_one_replaced(tmp_path):
    kept(tmp_path, 2, 4)
    truncate(tmp_path / NAMES[1])
    kept(tmp_path, 3)
    assert steps_in(tmp_path) == [2, 3]


def test_with_both_damaged_there_is_none(tmp_path):
    kept(tmp_path, 2, 4)
    truncate(tmp_path / NAMES[0])
    alter(tmp_path / NAMES[1])
    step, said = found(tmp_path)
    assert (step, len(said)) == (None, 2)


def test_what_a_killed_writer_left_is_removed(tmp_path):
    kept(tmp_path, 2)
    left = tmp_path / f".{NAMES[1]}.123.abcd"
    left.write_bytes(b"procurl arch")
    assert found(tmp_path) == (2, [])
    assert not left.exists()


def test_without_a_folder_there_is_no_checkpoint(tmp_path):
    assert found(tmp_path / "nowhere") == (None, [])


def test_only_the_newest_stays_at_the_end(tmp_path):
    kept(tmp_path, 2, 4).drop_older()
    assert steps_in(tmp_path) == [4]


def test_a_folder_that_was_removed_is_noticed_at_the_next_checkpoint(tmp_path):
    folder = tmp_path / "batch"
    slots = kept(folder, 1)
    shutil.rmtree(folder)
    with pytest.raises(OSError, match="was removed while its runs were trained"):
        slots.keep(2, content(2))
    assert not folder.exists()
