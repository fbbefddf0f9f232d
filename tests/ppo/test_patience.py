"""Agents without any reward: compiled runs and runs on the host."""

import numpy as np
import pytest

from procurl import IID, AutoProCuRL
from procurl.ppo.checkpoints import checkpoint_of, restore
from tests.ppo.host.host_runs import after as after_updates
from tests.ppo.host.host_runs import host_run, set_params
from tests.ppo.toy import COIN, EXPERT, biased, kept, make_runs, row, same, set_policies

WAITING, EAGER = AutoProCuRL(patience=0), AutoProCuRL(patience=None)
LOSER = -EXPERT  # always wrong, so that no episode has a reward


def students_of_runs(patience, policies, updates):
    """The students of all runs before the first update and after each."""
    runs = make_runs(AutoProCuRL(patience=patience))
    set_policies(runs, *policies)
    seen = [kept(runs.state.training.student)]
    for _ in range(updates):
        runs.advance()
        seen.append(kept(runs.state.training.student))
    return seen


def test_runs_without_patience_stay_one_by_one_until_there_is_a_reward():
    runs = make_runs(WAITING)
    set_policies(runs, LOSER, COIN, LOSER)
    before = kept(runs.state.training.student)
    runs.advance()
    after = kept(runs.state.training.student)
    assert [same(row(after, run), row(before, run)) for run in range(3)] == [True, False, True]

    set_policies(runs, EXPERT, COIN, LOSER)
    before = kept(runs.state.training.student)
    runs.advance()
    after = kept(runs.state.training.student)
    assert [same(row(after, run), row(before, run)) for run in range(3)] == [False, False, True]


def test_runs_wander_for_as_long_as_they_have_patience_and_return():
    # Updates 1 and 2 are taken, 3 is one too many, 4 and 5 are taken again.
    seen = students_of_runs(2, (LOSER, LOSER, LOSER), 6)
    at_start = [same(row(student, 0), row(seen[0], 0)) for student in seen]
    assert at_start == [True, False, False, True, False, False, True]
    assert not same(row(seen[1], 0), row(seen[2], 0))


def test_runs_with_uniform_draws_wander_and_return_as_well():
    runs = make_runs(IID(patience=1))
    set_policies(runs, LOSER, LOSER, LOSER)
    seen = [kept(runs.state.training.student)]
    for _ in range(2):
        runs.advance()
        seen.append(kept(runs.state.training.student))
    at_start = [same(row(student, 0), row(seen[0], 0)) for student in seen]
    assert at_start == [True, False, True]


def test_runs_return_to_where_the_latest_reward_left_them():
    runs = make_runs(AutoProCuRL(patience=1))
    set_policies(runs, COIN, COIN, COIN)
    runs.advance()  # with a reward
    won = kept(runs.state.training.student)
    assert same(won, kept(runs.state.training.anchor.student))
    training = runs.state.training
    set_policies(runs, LOSER, LOSER, LOSER)  # moves the anchor, which is put back
    runs.state = runs.state._replace(
        training=runs.state.training._replace(anchor=training.anchor._replace(student=won))
    )
    runs.advance()
    assert not same(kept(runs.state.training.student), won)
    runs.advance()
    assert same(kept(runs.state.training.student), won)


def test_a_reward_on_the_way_is_where_runs_go_on():
    runs = make_runs(AutoProCuRL(patience=5))
    set_policies(runs, LOSER, LOSER, COIN)
    runs.advance()
    anchor = kept(runs.state.training.anchor)
    assert anchor.idle.tolist() == [1, 1, 0]
    student = kept(runs.state.training.student)
    assert [same(row(anchor.student, run), row(student, run)) for run in range(3)] == [
        False,
        False,
        True,
    ]


def test_runs_resume_while_they_wander():
    runs = make_runs(AutoProCuRL(patience=2))
    set_policies(runs, LOSER, COIN, LOSER)
    runs.advance()
    meta, arrays = checkpoint_of(runs)
    again = make_runs(AutoProCuRL(patience=2))
    restore(again, meta, {name: np.array(part) for name, part in arrays.items()})
    for _ in range(3):
        runs.advance()
        again.advance()
    assert same(kept(again.state.training), kept(runs.state.training))


def test_runs_with_any_patience_learn_at_once():
    seen = students_of_runs(None, (LOSER, LOSER, LOSER), 1)
    assert not any(same(row(seen[1], run), row(seen[0], run)) for run in range(3))


def test_runs_that_stay_still_count_episodes():
    runs = make_runs(WAITING)
    set_policies(runs, LOSER, LOSER, LOSER)
    runs.advance()
    counts = runs.state.teaching.strategy.success.counts
    assert (np.asarray(counts.losses).sum(axis=1) > 0).all()
    assert not np.asarray(counts.wins).any()


def test_the_host_stays_until_there_is_a_reward():
    run = host_run(strategy=WAITING)
    set_params(run, biased(run.params, LOSER))
    before = kept(run.state.student)
    after_updates(2, run)
    assert same(run.state.student, before)
    set_params(run, biased(run.params, COIN))
    before = kept(run.state.student)
    after_updates(1, run)
    assert not same(run.state.student, before)


def test_the_host_wanders_and_returns():
    run = host_run(strategy=AutoProCuRL(patience=1))
    set_params(run, biased(run.params, LOSER))
    before = kept(run.state.student)
    after_updates(1, run)
    assert not same(run.state.student, before)
    after_updates(1, run)
    assert same(run.state.student, before)


def test_the_host_learns_at_once_with_any_patience():
    run = host_run(strategy=EAGER)
    set_params(run, biased(run.params, LOSER))
    before = kept(run.state.student)
    after_updates(1, run)
    assert not same(run.state.student, before)


@pytest.mark.parametrize("patience", [-1, 2.5, "ten"])
def test_patience_is_a_count(patience):
    with pytest.raises((TypeError, ValueError), match="patience"):
        AutoProCuRL(patience=patience).check()
