"""A host run that is recorded, resumed and reported, as other engines' runs are."""

import logging

import numpy as np
import pytest

pytest.importorskip("jax")

from procurl import TaskEnv, TaskPool, make_strategy
from procurl.ppo import train_run
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.host import env as host_env
from procurl.records.store import read_store
from tests.ppo.host.host_runs import LINEAR, NUMBERS, Counter, host_run, vector_of

STEPS = 60
OUT = make_strategy("procurl-out")


class Stopped(Exception):
    pass


def counters(n_envs=2, pool=NUMBERS, **settings):
    return vector_of(lambda: TaskEnv(Counter(**settings), pool), n_envs)


def fresh(strategy=OUT, seed=0, pool=NUMBERS, ppo=LINEAR, every=24):
    env, eval_env = counters(pool=pool, end=3), counters(pool=pool, end=3)
    plan = EvaluationPlan(every=every)
    return host_run(env, strategy, ppo, seed, pool, eval_env=eval_env, evaluation=plan)


def train(out, run=None, steps=STEPS, **more):
    return train_run(run or fresh(), steps, out, env="counter", **more)


def summary(evaluations):
    return [(e.step, e.train_steps, e.performance, e.entropy) for e in evaluations]


def test_evaluations_are_recorded_from_before_training_to_its_end(tmp_path):
    found = train(tmp_path)
    assert [(e.step, e.train_steps) for e in found] == [(0, 0), (24, 24), (48, 48), (60, 60)]
    with read_store(tmp_path) as store:
        results = store.results()
        (run,) = store.finished_runs()
    assert (run.strategy, run.setting, run.seed) == ("procurl-out", "", 0)
    assert (results.env, results.engine, results.steps) == ("counter", "host", STEPS)
    assert summary(results.evaluations[run]) == summary(found)


def test_integers_may_be_those_of_numpy(tmp_path):
    run = fresh(seed=np.int64(3), every=np.int64(24))
    found = train(tmp_path, run, steps=np.int64(STEPS))
    assert summary(found) == summary(train(tmp_path, fresh(seed=3)))


def test_the_last_evaluation_stands_for_the_steps_of_the_run(tmp_path):
    """The last update, of 12 steps, also passes a multiple of the interval."""
    found = train(tmp_path, steps=47)
    assert [(e.step, e.train_steps) for e in found] == [(0, 0), (24, 24), (47, 48)]
    more = train(tmp_path, fresh(), steps=60)
    assert [(e.step, e.train_steps) for e in more][2:] == [(47, 48), (60, 60)]


def test_a_run_that_was_stopped_resumes_from_its_last_checkpoint(tmp_path, monkeypatch):
    whole = train(tmp_path / "whole")
    killed = fresh()
    advance = killed.advance

    def stop_at_step_36():
        if killed.train_steps == 36:
            raise Stopped
        advance()

    monkeypatch.setattr(killed, "advance", stop_at_step_36)
    with pytest.raises(Stopped):
        train(tmp_path / "cut", killed)
    with read_store(tmp_path / "cut") as store:
        assert not store.finished_runs()
    resumed = fresh()
    found = train(tmp_path / "cut", resumed)
    assert resumed.updates == STEPS // LINEAR.n_steps
    # The counters cannot be saved, so that new episodes start at the checkpoint of step 24.
    assert summary(found)[:2] == summary(whole)[:2]
    assert [e.step for e in found] == [e.step for e in whole]
    with read_store(tmp_path / "cut") as store:
        assert len(store.finished_runs()) == 1


def test_a_finished_run_is_kept(tmp_path, monkeypatch):
    before = train(tmp_path)
    again = fresh()
    monkeypatch.setattr(again, "advance", lambda: pytest.fail("it is trained again"))
    assert summary(train(tmp_path, again)) == summary(before)


def test_it_is_trained_again_on_request(tmp_path):
    train(tmp_path)
    again = fresh()
    train(tmp_path, again, overwrite=True)
    assert again.updates == STEPS // LINEAR.n_steps
    with read_store(tmp_path) as store:
        (run,) = store.results().runs
        assert len(store.detail(run)) == 4


def test_a_folder_holds_several_runs(tmp_path):
    train(tmp_path)
    train(tmp_path, fresh(seed=1))
    train(tmp_path, fresh(make_strategy("iid")), label="uniform")
    with read_store(tmp_path) as store:
        runs = {(run.label, run.seed) for run in store.results().runs}
    assert runs == {("procurl-out", 0), ("procurl-out", 1), ("uniform", 0)}


def test_another_run_of_the_same_name_is_refused(tmp_path):
    train(tmp_path, label="mine")
    with pytest.raises(ValueError, match="belongs to a run with another strategy: use another"):
        train(tmp_path, fresh(make_strategy("iid")), label="mine")
    with pytest.raises(ValueError, match="holds runs of 'mine' with strategy"):
        train(tmp_path, fresh(make_strategy("iid"), seed=1), label="mine")
    with pytest.raises(ValueError, match="steps is 60, not 120"):
        train(tmp_path, fresh(seed=1), steps=120)
    with pytest.raises(ValueError, match="eval_every is 24, not 12"):
        train(tmp_path, fresh(seed=1, every=12))
    with pytest.raises(ValueError, match="its training pool has 3 tasks, not 2"):
        train(tmp_path, fresh(seed=1, pool=TaskPool([[1.0], [5.0]])))


def test_a_run_without_an_environment_for_evaluations_is_refused(tmp_path):
    with pytest.raises(ValueError, match="run must have an eval_env"):
        train(tmp_path, host_run(counters(end=3), OUT, LINEAR, pool=NUMBERS))


class Blind(Counter):
    """Plays and shows the first task, whatever it is told."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed, options={"context": [1.0]})


def test_a_task_that_changes_nothing_is_logged_when_training_starts(tmp_path, caplog):
    def blind():
        return vector_of(lambda: TaskEnv(Blind(end=3), NUMBERS), 2)

    with caplog.at_level(logging.WARNING, logger="procurl"):
        train(tmp_path / "fine")
        assert not caplog.records
        run = host_run(blind(), OUT, LINEAR, pool=NUMBERS, eval_env=blind())
        train(tmp_path / "blind", run, steps=12)
    assert "the task changes nothing" in caplog.records[0].getMessage()


def test_a_stage_that_was_never_left_is_logged_at_the_end(tmp_path, caplog):
    strategy = make_strategy("stages", parts=2, until="steps:1000000")
    with caplog.at_level(logging.WARNING, logger="procurl"):
        train(tmp_path, fresh(strategy, pool=TaskPool(NUMBERS.contexts)), steps=24)
    [message] = caplog.messages
    assert message.startswith(
        "stages, at the end of training: the first of 3 stages was never left"
    )


def test_tasks_that_look_alike_to_the_critic_are_refused():
    env = vector_of(lambda: TaskEnv(Blind(noise=1.0), NUMBERS), 2)
    with pytest.raises(ValueError, match="all 3 tasks look alike to the critic"):
        host_run(env, make_strategy("procurl-val"), LINEAR, pool=NUMBERS)
    host_run(env, make_strategy("procurl-out"), LINEAR, pool=NUMBERS)


def test_an_evaluation_does_not_wait_for_an_endless_episode(monkeypatch):
    monkeypatch.setattr(host_env, "LONGEST_EPISODE", 20)
    env = counters(end=3)
    run = host_run(env, OUT, LINEAR, pool=NUMBERS, eval_env=counters())
    with pytest.raises(ValueError, match=r"not ended after 20 steps, on task 0 \(context_0=1\)"):
        run.evaluate(0)
