"""Spaces in the JAX engine: every run draws, judges, replaces and saves its own candidates."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from procurl import TaskPool, TaskSpace, make_strategy
from procurl.internals.archive import pack_archive, unpack_archive
from procurl.ppo import programs
from procurl.ppo.checkpoints import checkpoint_of, restore
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.runs import Runs
from tests.ppo.toy import EXPERT, LONGEST, POOL, SMALL, StepCorridor, row, same, set_policies

pytestmark = pytest.mark.soak


def corridors(low=1.0, high=LONGEST, size=20, fresh=0.25):
    return TaskSpace([low], [high], ["length"], size=size, fresh=fresh)


SPACE = corridors()
FIVE = 5  # a quarter of the candidates
PROCURL, VAL, IID = map(make_strategy, ("procurl", "procurl-val", "iid"))
ENV = make_strategy("procurl-env", c_rollouts=2, refresh_every=SMALL.n_steps)


def make_runs(strategy, seeds=(0, 1, 2), space=SPACE, **others):
    given = {"n_envs": 4, "evaluation": EvaluationPlan(every=128)} | others
    w, ppo = len(seeds), given.pop("ppo", SMALL)
    return Runs(StepCorridor(), space, [strategy] * w, [ppo] * w, seeds, **given)


def advanced(runs, updates):
    for _ in range(updates):
        runs.advance()
    return runs


def contexts(runs):
    """[w, n] lengths of the candidates."""
    return runs.candidates.contexts[..., 0].copy()


def records(runs):
    """The evaluations without what the clock says; NaN as a word, as it equals nothing."""
    return [str(e._replace(seconds=0.0)) for run in runs.evaluations for e in run]


def saved(runs):
    """A checkpoint of the runs as it comes back from a file."""
    return unpack_archive(pack_archive(*checkpoint_of(runs)), "a checkpoint")


@pytest.mark.parametrize("strategy", [PROCURL, ENV, IID], ids=["procurl", "env", "iid"])
def test_a_quarter_is_replaced_after_a_refresh_and_no_task_in_play(strategy):
    runs = make_runs(strategy)
    drawn = contexts(runs).ravel().tolist()
    for _ in range(3):
        before = contexts(runs)
        runs.advance()
        changed = contexts(runs) != before
        drawn += contexts(runs)[changed].tolist()
        assert changed.sum(axis=1).tolist() == [FIVE] * 3
        playing = np.asarray(runs.state.training.lanes.tasks)
        assert not np.take_along_axis(changed, playing, axis=1).any()
    assert runs.state.alive.all()
    assert len(set(drawn)) == 3 * (20 + 3 * FIVE)  # no run ever gets the task of another


def test_environments_play_the_candidates_of_their_run():
    """An environment's length is that of its task, also of tasks that were replaced since."""
    runs = make_runs(PROCURL)
    for _ in range(4):
        runs.advance()
        lanes = runs.state.training.lanes
        own = np.take_along_axis(contexts(runs), np.asarray(lanes.tasks), axis=1)
        np.testing.assert_array_equal(lanes.env.length, own.astype(np.int32))


def test_the_critic_sees_the_new_candidates():
    """The values that the strategy keeps are the critic's, on each run's candidates at the time."""
    runs = advanced(make_runs(VAL), 2)
    lengths = contexts(runs)
    runs.advance()
    kept = lengths == contexts(runs)
    values = np.asarray(runs.state.teaching.strategy.success.estimate)
    params = runs.state.training.student.params
    for run in range(3):
        start = StepCorridor().initial(jnp.asarray(lengths[run][:, None]))
        critic = runs.agent.student.values(row(params, run), StepCorridor().observe(start))
        expected = np.clip(critic, 0.0, 1.0)
        np.testing.assert_allclose(values[run][kept[run]], expected[kept[run]], atol=1e-5)


def test_rollouts_play_the_candidates_of_each_run():
    """A policy that is right in the first three cells wins corridors of at most that length."""
    runs = make_runs(ENV, ppo=replace(SMALL, learning_rate=1e-30))
    set_policies(runs, *[np.where(np.arange(LONGEST) < 3, EXPERT, -EXPERT)] * 3)
    runs.advance()
    lengths = contexts(runs)
    runs.advance()
    kept = lengths == contexts(runs)
    success = np.asarray(runs.state.teaching.strategy.success.estimate)
    np.testing.assert_array_equal(success[kept], (lengths.astype(int) <= 3)[kept])


def test_new_candidates_are_judged_by_their_neighbors_and_not_by_outcomes_of_the_old():
    runs = make_runs(PROCURL)
    runs.advance()
    before = contexts(runs)
    runs.advance()
    new = contexts(runs) != before
    counts = runs.state.teaching.strategy.success.counts
    played = np.asarray(counts.wins) + np.asarray(counts.losses)
    assert (played[new] == 0.0).all()
    assert (played[~new] > 0.0).any()
    estimate = np.asarray(runs.state.teaching.strategy.success.estimate)
    assert (estimate[new] > 0.0).all()  # 0 before any evidence


def test_the_best_return_of_a_replaced_task_is_forgotten():
    runs = make_runs(make_strategy("plr", score="maxmc"))
    runs.advance()
    before = contexts(runs)
    runs.advance()
    new = contexts(runs) != before
    best = np.asarray(runs.state.teaching.episodes.best)
    assert (best[new] == -np.inf).all()
    assert np.isfinite(best[~new]).any()


def test_the_distribution_is_that_of_the_new_candidates():
    runs = advanced(make_runs(PROCURL), 2)
    probabilities = np.diff(runs.state.teaching.cumulative, prepend=0.0, axis=1)
    for run, strategy in enumerate(runs.strategies):
        expected = strategy.probabilities(row(runs.state.teaching.strategy, run))
        np.testing.assert_allclose(probabilities[run], expected, atol=1e-5)


def test_a_run_does_not_depend_on_its_neighbors():
    one = advanced(make_runs(PROCURL, (0, 1, 2)), 3)
    other = advanced(make_runs(PROCURL, (2, 9, 0)), 3)
    for here, there in ((0, 2), (2, 0)):
        assert same(row(one.state, here), row(other.state, there))
        np.testing.assert_array_equal(contexts(one)[here], contexts(other)[there])


@pytest.mark.parametrize("strategy", [PROCURL, IID], ids=["procurl", "iid"])
def test_resuming_equals_never_having_stopped(strategy):
    whole = advanced(make_runs(strategy), 5)
    checkpoint = saved(advanced(make_runs(strategy), 3))
    sizes = programs.train._cache_size(), programs.teach._cache_size()
    runs = make_runs(strategy)
    restore(runs, *checkpoint)
    advanced(runs, 2)
    np.testing.assert_array_equal(contexts(runs), contexts(whole))
    assert same(runs.state, whole.state)
    assert records(runs) == records(whole)
    assert (programs.train._cache_size(), programs.teach._cache_size()) == sizes


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (corridors(size=21), r"pool\.space\.size = 20, this one has 21"),
        (corridors(low=2.0), r"pool\.space\.low = \[1\.0\], this one has \[2\.0\]"),
        (corridors(high=5.0), r"pool\.space\.high = \[6\.0\], this one has \[5\.0\]"),
        (corridors(fresh=0.5), r"pool\.space\.fresh = 0\.25, this one has 0\.5"),
        (SPACE.pool(), r"pool\.space = \{'low': .*\}, this one has None"),
    ],
    ids=["size", "low", "high", "fresh", "pool"],
)
def test_a_checkpoint_of_another_space_is_refused(other, message):
    checkpoint = saved(make_runs(IID))
    with pytest.raises(ValueError, match=message):
        restore(make_runs(IID, space=other), *checkpoint)


def test_evaluations_play_a_fixed_pool():
    """On corridors of length 1 performance is far above that on corridors of length 6."""
    easy, hard = TaskPool([[1.0]], names=["length"]), TaskPool([[6.0]], names=["length"])
    by_pool = [
        advanced(make_runs(IID, evaluation=EvaluationPlan(every=64, pool=pool)), 1).evaluations
        for pool in (easy, hard)
    ]
    for one, other in zip(*by_pool, strict=True):
        assert one[0].performance > other[0].performance
        assert one[0].snapshot is None
    runs = make_runs(IID)
    np.testing.assert_array_equal(runs.eval_pools[0].contexts, SPACE.pool().contexts)


def test_a_pool_for_evaluations_is_refused_if_training_has_one():
    with pytest.raises(ValueError, match=r"evaluation\.pool is for training on a TaskSpace"):
        make_runs(IID, space=POOL, evaluation=EvaluationPlan(pool=POOL))


def test_a_strategy_whose_state_belongs_to_one_pool_is_refused():
    with pytest.raises(ValueError, match="spdl needs a fixed pool, such as space.pool"):
        make_runs(make_strategy("spdl"))


def test_candidates_that_the_environment_cannot_play_are_refused():
    with pytest.raises(ValueError, match=r"cannot be played: length must be 1 to 6"):
        make_runs(IID, space=TaskSpace([7.0], [8.0], ["length"], size=5))
