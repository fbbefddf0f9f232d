"""Checkpoints: a run that was cut off goes on as if nothing had happened, or says why not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl import make_strategy
from procurl.archive import read_archive
from procurl.ppo import programs
from procurl.ppo.checkpoints import SLOTS, load_checkpoint, save_checkpoint
from tests.ppo.toy import SMALL, make_runs, same

VAL = make_strategy("procurl-val")
ENV = make_strategy("procurl-env", c_rollouts=4, n_pos=SMALL.n_steps)
PLR = make_strategy("plr")
IDENTITY = {"env": "corridor", "seeds": (0, 1, 2)}


def advanced(runs, updates):
    for _ in range(updates):
        runs.advance()
    return runs


def records(runs):
    """The evaluations without what the clock says; NaN as a word, as it equals nothing."""
    return [str(evaluation._replace(seconds=0.0)) for evaluation in runs.evaluations]


def resumed(folder, strategy=VAL, identity=IDENTITY):
    """(fresh runs after `load_checkpoint`, whether it found any, what it said)."""
    runs, said = make_runs(strategy), []
    found = load_checkpoint(folder, runs, identity, said.append)
    return runs, found, said


def updates_in(folder):
    """Updates at which each slot was written."""
    return [read_archive(folder / slot)[0]["updates"] for slot in SLOTS]


def saved_at(folder, *updates, strategy=VAL):
    runs = make_runs(strategy)
    for update in updates:
        advanced(runs, update - runs.updates)
        save_checkpoint(folder, runs, IDENTITY)
    return runs


def newest(folder):
    return max((folder / slot for slot in SLOTS), key=lambda path: read_archive(path)[0]["updates"])


def truncate(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def alter(path):
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("strategy", [VAL, ENV, PLR], ids=["val", "env", "plr"])
def test_resuming_equals_never_having_stopped(tmp_path, strategy):
    """To the bit, in the middle of episodes, and without compiling anything again."""
    whole = advanced(make_runs(strategy), 7)
    cut = saved_at(tmp_path, 3, strategy=strategy)
    sizes = programs.train._cache_size(), programs.teach._cache_size()
    runs, found, said = resumed(tmp_path, strategy)
    assert found
    assert said == []
    assert (runs.updates, runs.seconds) == (3, cut.seconds)
    assert same(runs.state, cut.state)
    assert [str(e) for e in runs.evaluations] == [str(e) for e in cut.evaluations]
    advanced(runs, 4)
    assert same(runs.state, whole.state)
    assert records(runs) == records(whole)
    assert len(runs.evaluations) == 3
    assert (programs.train._cache_size(), programs.teach._cache_size()) == sizes


def test_saving_does_not_disturb_the_runs(tmp_path):
    assert same(saved_at(tmp_path, 1, 2, 3).state, advanced(make_runs(VAL), 3).state)


def test_two_slots_take_turns(tmp_path):
    runs = make_runs(VAL)
    expected = {1: [1], 2: [1, 2], 3: [3, 2], 4: [3, 4], 5: [5, 4]}
    for updates, held in expected.items():
        runs.advance()
        save_checkpoint(tmp_path, runs, IDENTITY)
        there = [slot for slot in SLOTS if (tmp_path / slot).exists()]
        assert [read_archive(tmp_path / slot)[0]["updates"] for slot in there] == held
        assert resumed(tmp_path)[0].updates == updates
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(SLOTS)


@pytest.mark.parametrize("damage", [truncate, alter, empty])
def test_a_damaged_checkpoint_is_reported_and_the_one_before_used(tmp_path, damage):
    saved_at(tmp_path, 2, 4)
    bad = newest(tmp_path)
    damage(bad)
    runs, found, said = resumed(tmp_path)
    assert found
    assert runs.updates == 2
    assert len(said) == 1
    assert str(bad) in said[0]
    assert "it is left out" in said[0]
    whole = advanced(make_runs(VAL), 5)
    advanced(runs, 3)
    assert same(runs.state, whole.state)
    assert records(runs) == records(whole)


def test_after_damage_the_whole_checkpoint_is_kept_and_the_damaged_one_replaced(tmp_path):
    saved_at(tmp_path, 2, 4)
    truncate(newest(tmp_path))
    runs, _, _ = resumed(tmp_path)
    save_checkpoint(tmp_path, advanced(runs, 1), IDENTITY)
    assert sorted(updates_in(tmp_path)) == [2, 3]


def test_with_both_damaged_the_runs_start_anew(tmp_path):
    saved_at(tmp_path, 2, 4)
    truncate(tmp_path / SLOTS[0])
    alter(tmp_path / SLOTS[1])
    runs, found, said = resumed(tmp_path)
    assert not found
    assert sorted(message.split(":")[0] for message in said) == [
        str(tmp_path / slot) for slot in SLOTS
    ]
    assert (runs.updates, runs.evaluations) == (0, [])
    assert same(runs.state, make_runs(VAL).state)


def test_an_empty_folder_is_no_checkpoint_and_no_message(tmp_path):
    runs, found, said = resumed(tmp_path)
    assert (found, said, runs.updates) == (False, [], 0)


def test_what_a_killed_writer_left_is_ignored(tmp_path):
    saved_at(tmp_path, 2)
    (tmp_path / f".{SLOTS[1]}.123.abcd").write_bytes(b"procurl arch")
    runs, found, said = resumed(tmp_path)
    assert (found, said, runs.updates) == (True, [], 2)


def test_other_settings_are_refused_and_leave_the_runs_alone(tmp_path):
    saved_at(tmp_path, 2)
    runs = make_runs(VAL)
    with pytest.raises(ValueError, match="belongs to runs with other settings"):
        load_checkpoint(tmp_path, runs, IDENTITY | {"seeds": (0, 1, 3)}, print)
    assert runs.updates == 0
    assert same(runs.state, make_runs(VAL).state)


def test_arrays_of_another_strategy_are_refused(tmp_path):
    """Even where the identity says nothing of the strategy."""
    saved_at(tmp_path, 2)
    with pytest.raises(ValueError, match="holds other arrays"):
        resumed(tmp_path, PLR)


def test_a_stopped_run_stays_stopped(tmp_path):
    runs = advanced(make_runs(VAL), 1)
    training = runs.state.training
    params = jax.tree.map(lambda leaf: leaf.at[1].set(jnp.nan), training.student.params)
    student = training.student._replace(params=params)
    runs.state = runs.state._replace(training=training._replace(student=student))
    save_checkpoint(tmp_path, advanced(runs, 1), IDENTITY)
    again, _, _ = resumed(tmp_path)
    advanced(again, 1)
    assert again.state.alive.tolist() == [True, False, True]
    assert again.state.stopped_at.tolist() == [-1, 2 * SMALL.n_steps, -1]
    assert np.isnan(again.state.training.student.params["value"]["bias"][1]).all()
