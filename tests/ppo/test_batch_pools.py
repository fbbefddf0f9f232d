"""Batches in which each run has its own pool."""

import numpy as np
import pytest

from procurl import TaskPool, make_strategy
from procurl.ppo.batch_pools import bind_strategies, contexts_of, require_one_size
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.runs import Runs
from tests.ppo.toy import EXPERT, SMALL, StepCorridor, set_policies

SHORT = TaskPool([[1.0], [2.0], [3.0]], names=["length"])
LONG = TaskPool([[4.0], [5.0], [6.0]], names=["length"])
MIXED = [SHORT, LONG, SHORT]
TOLL = 0.5  # reward of every step of an expert, besides the 1 at the goal
PLAN = EvaluationPlan(every=SMALL.n_steps, tasks=[0, 2])


def make_runs(pool, strategy="procurl-val"):
    strategies = [make_strategy(strategy)] * 3
    return Runs(StepCorridor(toll=TOLL), pool, strategies, [SMALL] * 3, (0, 1, 2), 2, PLAN)


@pytest.mark.soak
def test_every_run_is_trained_and_evaluated_on_its_own_pool():
    runs = make_runs(MIXED)
    set_policies(runs, EXPERT, EXPERT, EXPERT)
    shown = [evaluation.snapshot.returns for evaluation in runs.evaluate(0)]
    # An expert in a corridor of length L gains 1 + L / 2. Evaluations play the first and the last.
    np.testing.assert_allclose(shown, [[1.5, 2.5], [3.0, 4.0], [1.5, 2.5]], rtol=1e-6)
    lengths = np.asarray(runs.state.training.lanes.env.length)
    assert (lengths[[0, 2]] <= 3).all()
    assert (lengths[1] >= 4).all()


@pytest.mark.soak
@pytest.mark.parametrize("strategy", ["procurl", "procurl-val", "procurl-env", "plr", "iid"])
def test_a_run_does_not_depend_on_the_pools_of_its_neighbors(strategy):
    mixed, short, long = (make_runs(pool, strategy) for pool in (MIXED, SHORT, LONG))
    for runs in (mixed, short, long):
        for _ in range(4):
            runs.advance()
    for run, alone in enumerate((short, long, short)):
        for ours, theirs in zip(mixed.evaluations[run], alone.evaluations[run], strict=True):
            assert ours.performance == pytest.approx(theirs.performance, rel=1e-5)
            assert ours.entropy == pytest.approx(theirs.entropy, rel=1e-4)
            np.testing.assert_array_equal(ours.picks, theirs.picks)
            assert ours.env_steps == theirs.env_steps


def test_strategies_are_bound_to_the_pool_of_their_run():
    strategy = make_strategy("stages", by="length", parts=3)
    short, long, again = bind_strategies([strategy] * 3, [LONG, LONG.subset([2, 1, 0]), LONG])
    assert short is again
    assert not np.array_equal(short.tasks.first, long.tasks.first)
    one, other = bind_strategies([strategy] * 2, [SHORT])
    assert one is other


def test_contexts_have_an_axis_of_runs_only_with_several_pools():
    env = StepCorridor()
    assert contexts_of(env, [SHORT]).shape == (3, 1)
    np.testing.assert_array_equal(contexts_of(env, [LONG, SHORT])[:, 0, 0], [4.0, 1.0])


@pytest.mark.parametrize(
    ("pools", "message"),
    [
        ([SHORT, LONG], "one for each of 3 runs, got 2"),
        ([SHORT, LONG, TaskPool([[1.0]], names=["length"])], "same number of tasks, got 1 and 3"),
    ],
)
def test_pools_that_do_not_fit_are_refused(pools, message):
    with pytest.raises(ValueError, match=message):
        require_one_size(pools, 3)
