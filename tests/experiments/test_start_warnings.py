"""A sweep starts with warnings about an environment in which tasks make no difference."""

import logging

import pytest

pytest.importorskip("stable_baselines3")

from procurl import TaskPool
from procurl.cli import main
from procurl.envs import resolve_environment
from procurl.experiments import comparison
from tests.experiments.corridor import Corridor, lengths

ENV = "tests.experiments.test_start_warnings:Forgetful"


class Forgetful(Corridor):
    """A corridor of one length, whatever the task."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed, options={"context": [3.0]})


class Endless(Corridor):
    """A corridor whose episodes have no end."""

    def step(self, action):
        observation, reward, _, _, info = super().step(action)
        return observation, reward, False, False, info


class Reached(Exception):
    pass


def test_a_task_that_changes_nothing_is_logged(caplog):
    with caplog.at_level(logging.WARNING, logger="procurl"):
        comparison.warn_at_start(resolve_environment(ENV), lengths())
        comparison.warn_at_start(
            resolve_environment("tests.experiments.corridor:Corridor"), lengths()
        )
    (record,) = caplog.records
    assert record.getMessage().startswith(f"{ENV}: the task changes nothing")


def test_an_episode_without_end_is_logged_with_the_remedy(caplog):
    endless = "tests.experiments.test_start_warnings:Endless"
    with caplog.at_level(logging.WARNING, logger="procurl"):
        comparison.warn_at_start(resolve_environment(endless), lengths())
    messages = [record.getMessage() for record in caplog.records]
    (message,) = [each for each in messages if "did not end within 10,000 steps" in each]
    assert "return gymnasium.wrappers.TimeLimit(env, max_episode_steps=…) from the func" in message


def test_equal_tasks_are_logged_as_the_fault_of_the_pool(caplog):
    with caplog.at_level(logging.WARNING, logger="procurl"):
        comparison.warn_at_start(
            resolve_environment("tests.experiments.corridor:Corridor"), TaskPool([[3.0], [3.0]])
        )
    (record,) = caplog.records
    assert ": all 2 tasks of the pool are equal. A curriculum chooses" in record.getMessage()


def test_a_pool_of_one_task_is_logged(caplog):
    with caplog.at_level(logging.WARNING, logger="procurl"):
        comparison.warn_at_start(
            resolve_environment("tests.experiments.corridor:Corridor"), TaskPool([[3.0]])
        )
    (record,) = caplog.records
    assert "the pool has a single task" in record.getMessage()


def test_the_command_line_begins_warnings_with_their_level(tmp_path, monkeypatch, capsys):
    def stop(source, pool):
        comparison.log.info("what is done")
        comparison.log.warning("what is wrong")
        raise ValueError("stopped here")

    monkeypatch.setattr(comparison, "warn_at_start", stop)
    pool = tmp_path / "pool.csv"
    pool.write_text("length\n1\n2\n")
    assert main(["compare", ENV, "--pool", str(pool), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "\nwhat is done\nwarning: what is wrong\n" in error


def test_a_sweep_checks_an_environment_of_a_user_before_it_trains(tmp_path, monkeypatch):
    checked = []

    def check(source, pool):
        checked.append((source.name, len(pool)))
        raise Reached

    monkeypatch.setattr(comparison, "warn_at_start", check)
    pool = tmp_path / "tasks.csv"
    pool.write_text("length\n1\n3\n")
    arguments = ["--pool", str(pool), "--engine", "sb3", "--seeds", "1", "--steps", "64"]
    with pytest.raises(Reached):
        main(["compare", ENV, *arguments, "--out", str(tmp_path / "out")])
    assert checked == [(ENV, 2)]
