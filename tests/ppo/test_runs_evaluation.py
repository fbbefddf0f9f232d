"""What evaluations of a batch of runs play, measure and keep."""

import numpy as np
import pytest

from procurl import TaskPool, make_strategy
from procurl.ppo.evaluation.plan import EvaluationPlan
from tests.ppo.toy import (
    CONTEXTS,
    EXPERT,
    LENGTHS,
    LONGEST,
    after,
    kept,
    make_runs,
    row,
    same,
    set_policies,
)

N = len(CONTEXTS)
VAL = make_strategy("procurl-val")


def test_evaluations_stand_for_multiples_of_the_interval():
    """Every 100 steps, with updates of 64: at the first update that reaches each."""
    runs = after(8, VAL, evaluation=EvaluationPlan(every=100))
    assert len(runs.evaluations) == 3
    for evaluations in runs.evaluations:
        got = [(evaluation.step, evaluation.train_steps) for evaluation in evaluations]
        assert got == [(100, 128), (200, 256), (300, 320), (400, 448), (500, 512)]
        assert [e.env_steps for e in evaluations] == [e.train_steps for e in evaluations]


@pytest.mark.parametrize(
    ("steps", "due"),
    [
        (None, [None, 100, None, 200, 300]),
        (310, [None, 100, None, 200, 310]),  # the last update passes 300 and 310
        (290, [None, 100, None, 200, 290]),  # 300 is beyond
        (250, [None, 100, None, 250, 300]),  # a run that goes on nevertheless
    ],
)
def test_the_last_evaluation_stands_for_the_steps_of_the_run(steps, due):
    plan = EvaluationPlan(every=100, steps=steps)
    assert [plan.due_step(64 * i, 64 * (i + 1)) for i in range(5)] == due


def test_best_weights_are_those_of_the_best_evaluation():
    """By hand: good, better, worse and as good as the best; the first of equals is kept."""
    runs = make_runs(VAL)
    knows = [np.where(np.arange(LONGEST) == reach, -EXPERT, EXPERT) for reach in range(LONGEST + 1)]
    heads = []
    for plan in ((2, 3, 0), (4, 1, 0), (3, 6, 0), (4, 6, 1)):
        set_policies(runs, *(2.0 * len(heads) * knows[reach] + knows[reach] for reach in plan))
        heads.append(kept(runs.state.training.student.params["head"]))
        performance = [evaluation.performance for evaluation in runs.evaluate(len(heads))]
        assert performance == [pytest.approx(reach / N) for reach in plan]
    assert runs.state.best.tolist() == [pytest.approx(reach / N) for reach in (4, 6, 1)]
    for run, best in enumerate((1, 2, 3)):
        assert same(row(runs.state.best_params["head"], run), row(heads[best], run))
    runs.advance()
    assert same(row(runs.state.best_params["head"], 0), row(heads[1], 0))


def test_evaluation_on_some_tasks_and_on_a_test_pool():
    few = np.array([0, 1, 2])  # lengths 3, 1, 6
    plan = EvaluationPlan(tasks=few, test_pool=TaskPool([[6.0], [2.0], [4.0]]))
    runs = make_runs(VAL, evaluation=plan)
    knows_three = np.where(np.arange(LONGEST) == 3, -EXPERT, EXPERT)
    set_policies(runs, knows_three, EXPERT, -EXPERT)
    evaluations = runs.evaluate(0)
    assert [e.performance for e in evaluations] == [pytest.approx(2 / 3), 1.0, 0.0]
    assert [e.test_performance for e in evaluations] == [pytest.approx(1 / 3), 1.0, 0.0]


def test_at_some_steps_the_whole_pool_counts():
    few = np.array([0, 1, 2])  # lengths 3, 1, 6
    plan = EvaluationPlan(every=128, tasks=few, snapshot_tasks=[1, 2], whole_at=[64])
    runs = make_runs(VAL, evaluation=plan)
    knows_three = np.where(np.arange(LONGEST) == 3, -EXPERT, EXPERT)
    set_policies(runs, knows_three, EXPERT, -EXPERT)
    solved = np.mean([length <= 3 for length in LENGTHS])
    assert runs.evaluate(0)[0].performance == pytest.approx(2 / 3)
    whole = runs.evaluate(64)
    assert [e.performance for e in whole] == [pytest.approx(solved), 1.0, 0.0]
    assert whole[0].snapshot.tasks.tolist() == [1, 2]
    assert whole[0].snapshot.returns.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("argument", ["tasks", "snapshot_tasks"])
@pytest.mark.parametrize("given", [[True] * N, [0.5], 3, [[0, 1]], ["0"]])
def test_what_is_not_a_list_of_ids_is_refused(argument, given):
    plan = EvaluationPlan(**{argument: given})
    message = f"evaluation.{argument} must be a list of task ids, integers from 0 to {N - 1}, got"
    with pytest.raises(TypeError, match=message):
        plan.tasks_of(TaskPool(CONTEXTS))


def test_an_evaluation_needs_tasks_but_may_show_none():
    pool = TaskPool(CONTEXTS)
    with pytest.raises(ValueError, match=r"evaluation\.tasks is empty: leave it out"):
        EvaluationPlan(tasks=[]).tasks_of(pool)
    with pytest.raises(ValueError, match="evaluation.snapshot_tasks must be ids from 0 to 5, got"):
        EvaluationPlan(snapshot_tasks=[-1]).tasks_of(pool)
    assert EvaluationPlan(snapshot_tasks=[]).tasks_of(pool)[1].size == 0
