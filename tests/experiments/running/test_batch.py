"""What a batch reports while it trains: everything once, and again after an interruption."""

import numpy as np
import pytest

from procurl.experiments.running import batch as batch_module
from procurl.experiments.running.batch import train_batch
from procurl.experiments.running.slots import STEP
from procurl.internals.archive import pack_archive, unpack_archive
from tests.experiments.counting import BATCH, CountingTrainer, job


@pytest.fixture(autouse=True)
def counting(monkeypatch):
    monkeypatch.setattr(batch_module, "make_trainer", CountingTrainer)
    monkeypatch.setattr(batch_module, "REPORT_SECONDS", 0.0)


def progress_of(what, checkpoint=None, **options):
    return list(train_batch(what, BATCH, checkpoint, **options))


def steps_evaluated(said, run=0):
    return [m.step for progress in said for m in (progress.evaluations or [[], []])[run]]


def test_every_evaluation_is_reported_once_with_a_checkpoint_of_that_moment():
    said = progress_of(job())
    assert steps_evaluated(said, 0) == steps_evaluated(said, 1) == [30, 60, 90, 100]
    for progress in said[1:]:
        if progress.evaluations:
            meta, _ = unpack_archive(progress.checkpoint, "a test")
            assert meta[STEP] == progress.step >= progress.evaluations[0][-1].train_steps


def test_the_end_is_reported_last_with_the_step_where_a_run_stopped():
    said = progress_of(job())
    assert [progress.finished for progress in said if progress.finished] == [(None, 50)]
    assert said[-1].finished == (None, 50)
    messages = [progress.message for progress in said if progress.message]
    assert messages == [
        "iid, seed 5: stopped at step 50, a loss, a critic value or an observation is not finite; "
        "its last state is kept"
    ]


def test_after_an_interruption_everything_is_reported_again():
    whole = progress_of(job())
    for place, cut in enumerate(whole):
        if cut.checkpoint is None:
            continue
        rest = progress_of(job(), cut.checkpoint)
        assert rest[0].step == cut.step
        assert steps_evaluated(rest) == [30, 60, 90, 100], place
        mine = [m for progress in rest for m in (progress.evaluations or [[], []])[1]]
        theirs = [m for progress in whole for m in (progress.evaluations or [[], []])[1]]
        for one, other in zip(mine, theirs, strict=True):
            assert str(one) == str(other)
            assert np.array_equal(one.picks, other.picks)


def test_a_finished_batch_only_reports_what_it_holds():
    last = [progress.checkpoint for progress in progress_of(job()) if progress.checkpoint][-1]
    said = progress_of(job(), last)
    assert [progress.step for progress in said] == [100, 100]
    assert said[-1].finished == (None, 50)


def test_on_a_stop_request_a_last_checkpoint_is_reported_but_no_end():
    requests = iter([False, True])
    said = progress_of(job(), stopping=lambda: next(requests, True))
    assert said[-1].checkpoint is not None
    assert said[-1].step == 20
    assert all(progress.finished is None for progress in said)


def test_models_of_runs_that_were_not_stopped_are_reported():
    assert progress_of(job(keep_models=True))[-1].models == {"seed-00004.txt": b"4 10"}


@pytest.mark.parametrize(
    "change", [{"steps": 50}, {"n_envs": 2}, {"pool_hash": "x"}, {"eval_every": 5}]
)
def test_a_checkpoint_of_another_experiment_is_refused(change):
    checkpoint = next(progress.checkpoint for progress in progress_of(job()) if progress.checkpoint)
    with pytest.raises(ValueError, match="belongs to runs with other settings"):
        progress_of(job(**change), checkpoint)


@pytest.mark.parametrize("identity", [None, [], {"experiment": 3}])
def test_a_crafted_checkpoint_is_refused_in_one_sentence(identity):
    crafted = pack_archive({STEP: 5} if identity is None else {"identity": identity}, {})
    with pytest.raises(ValueError, match=f"^{BATCH.folder}: "):
        progress_of(job(), crafted)


def test_a_pool_may_have_moved():
    checkpoint = next(progress.checkpoint for progress in progress_of(job()) if progress.checkpoint)
    assert progress_of(job(pool="/elsewhere.csv"), checkpoint)[-1].finished is not None


def test_a_checkpoint_from_before_evaluation_options_continues():
    checkpoint = next(progress.checkpoint for progress in progress_of(job()) if progress.checkpoint)
    meta, arrays = unpack_archive(checkpoint, "a test")
    for name in ("eval_every", "eval_episodes", "eval_tasks", "eval_stochastic", "test_name"):
        del meta["identity"]["experiment"][name]
    old = pack_archive(meta, arrays)
    assert progress_of(job(), old)[-1].finished == (None, 50)
    with pytest.raises(ValueError, match="belongs to runs with other settings"):
        progress_of(job(eval_episodes=5), old)
