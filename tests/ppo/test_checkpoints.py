"""Checkpoints: an interrupted run continues as if nothing had happened, or says why not."""

from itertools import chain

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl import make_strategy
from procurl.internals.archive import pack_archive, unpack_archive
from procurl.ppo import programs
from procurl.ppo.checkpoints import checkpoint_of, restore
from tests.ppo.toy import SMALL, make_runs, same

VAL = make_strategy("procurl-val")
ENV = make_strategy("procurl-env", c_rollouts=4, refresh_every=SMALL.n_steps)
PLR = make_strategy("plr")
MIX = make_strategy("mix", strategies="procurl-val+plr+stages[until=steps:100]")
ROBUST = make_strategy("plr", score="maxmc", robust=True)
PART = make_strategy("sfl", c_rollouts=2, refresh_every=SMALL.n_steps, rollout_tasks=3)
SLICED = make_strategy("procurl-val", tasks_per_refresh=4)
EARLY = make_strategy(
    "procurl-env-2",
    c_rollouts=4,
    refresh_every=SMALL.n_steps,
    spending="early",
    training_steps=4 * SMALL.n_steps,
)


def advanced(runs, updates):
    for _ in range(updates):
        runs.advance()
    return runs


def records(runs):
    """The evaluations without what the clock says; NaN as a word, as it equals nothing."""
    return [str(e._replace(seconds=0.0)) for run in runs.evaluations for e in run]


def saved(runs):
    """A checkpoint of the runs as it comes back from a file."""
    return unpack_archive(pack_archive(*checkpoint_of(runs)), "a checkpoint")


def resumed(checkpoint, strategy=VAL):
    """Fresh runs that continue from a checkpoint."""
    runs = make_runs(strategy)
    restore(runs, *checkpoint)
    return runs


ALL = {
    "val": VAL,
    "env": ENV,
    "plr": PLR,
    "mix": MIX,
    "robust": ROBUST,
    "part": PART,
    "sliced": SLICED,
}


@pytest.mark.parametrize(
    "strategy",
    [*ALL.values(), pytest.param(EARLY, marks=pytest.mark.soak)],
    ids=[*ALL, "early"],
)
def test_resuming_equals_never_having_stopped(strategy):
    """Bit for bit, in the middle of episodes, and without compiling anything again."""
    whole = advanced(make_runs(strategy), 7)
    cut = advanced(make_runs(strategy), 3)
    checkpoint = saved(cut)
    sizes = programs.train._cache_size(), programs.teach._cache_size()
    runs = resumed(checkpoint, strategy)
    assert (runs.updates, runs.seconds) == (3, cut.seconds)
    assert same(runs.state, cut.state)
    assert records(runs) == records(cut)
    advanced(runs, 4)
    assert same(runs.state, whole.state)
    assert records(runs) == records(whole)
    assert [len(run) for run in runs.evaluations] == [3, 3, 3]
    assert (programs.train._cache_size(), programs.teach._cache_size()) == sizes


def test_picks_and_snapshots_come_back():
    cut = advanced(make_runs(VAL), 5)
    runs = resumed(saved(cut))
    assert [len(run) for run in cut.evaluations] == [2, 2, 2]
    for one, other in zip(chain(*runs.evaluations), chain(*cut.evaluations), strict=True):
        assert one.picks.tolist() == other.picks.tolist()
        for mine, theirs in zip(one.snapshot, other.snapshot, strict=True):
            np.testing.assert_array_equal(mine, theirs, strict=True)
    held = [ids.tolist() for ids in cut.picks.peek()]
    assert [ids.tolist() for ids in runs.picks.peek()] == held
    assert min(map(len, held)) > 0


def test_saving_does_not_disturb_the_runs():
    runs = make_runs(VAL)
    for _ in range(3):
        advanced(runs, 1)
        checkpoint_of(runs)
    whole = advanced(make_runs(VAL), 3)
    assert same(runs.state, whole.state)
    assert [ids.tolist() for ids in runs.picks.peek()] == [
        ids.tolist() for ids in whole.picks.peek()
    ]


def test_arrays_of_another_strategy_are_refused_and_leave_the_runs_alone():
    runs = make_runs(PLR)
    with pytest.raises(ValueError, match="the checkpoint does not match these runs"):
        restore(runs, *saved(advanced(make_runs(VAL), 2)))
    assert runs.updates == 0


def test_a_stopped_run_stays_stopped():
    runs = advanced(make_runs(VAL), 1)
    training = runs.state.training
    params = jax.tree.map(lambda leaf: leaf.at[1].set(jnp.nan), training.student.params)
    student = training.student._replace(params=params)
    runs.state = runs.state._replace(training=training._replace(student=student))
    again = resumed(saved(advanced(runs, 1)))
    advanced(again, 1)
    assert again.state.alive.tolist() == [True, False, True]
    assert again.state.stopped_at.tolist() == [-1, 2 * SMALL.n_steps, -1]
    assert np.isnan(again.state.training.student.params["value"]["bias"][1]).all()
