"""Batches of runs: reproducible bit for bit, different by seed, and independent of each other."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl import make_strategy
from procurl.ppo import programs
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.runs import Runs
from procurl.strategies import ProCuRL, strategy_names
from tests.ppo.toy import (
    COIN,
    CONTEXTS,
    EXPERT,
    LENGTHS,
    POOL,
    SMALL,
    StepCorridor,
    after,
    kept,
    make_runs,
    row,
    same,
    set_policies,
)

N = len(CONTEXTS)
FIRST_OBSERVATIONS = StepCorridor().observe(StepCorridor().initial(jnp.asarray(CONTEXTS)))
VAL = make_strategy("procurl-val")
ROLLOUTS = 4  # per task, in what follows
STILL = replace(SMALL, learning_rate=1e-30)  # the policy stays as it was set


def rolling(name="procurl-env", **settings):
    """A strategy that makes few rollouts often."""
    return make_strategy(
        name, **({"c_rollouts": ROLLOUTS, "refresh_every": SMALL.n_steps} | settings)
    )


def records(runs):
    """The evaluations without what the clock says; NaN as a word, as it equals nothing."""
    return [str(e._replace(seconds=0.0)) for run in runs.evaluations for e in run]


def probabilities(runs):
    """[w, n]"""
    return np.diff(runs.state.teaching.cumulative, prepend=0.0, axis=1)


@pytest.fixture
def played(monkeypatch):
    """The tasks [w, T, b] and ends of episodes of every update from here on."""
    seen = []

    def train(*args):
        result = compiled(*args)
        seen.append((np.asarray(result[1].tasks), np.asarray(result[1].dones)))
        return result

    compiled = programs.train
    monkeypatch.setattr(programs, "train", train)
    return seen


@pytest.mark.parametrize(
    "strategy", [VAL, rolling(), make_strategy("plr")], ids=["val", "env", "plr"]
)
def test_the_same_batch_twice_is_identical_to_the_bit(strategy):
    one, other = after(4, strategy), after(4, strategy)
    assert same(one.state, other.state)
    assert records(one) == records(other)
    assert [len(run) for run in one.evaluations] == [2, 2, 2]


def test_a_seed_alone_plays_and_learns_as_within_a_batch(played):
    """The same tasks; weights within 1e-5 after the first update, beyond which floats may part."""
    batch = after(1, VAL)
    alone = after(1, [VAL], seeds=(1,))
    (batch_tasks, _), (alone_tasks, _) = played
    np.testing.assert_array_equal(alone_tasks[0], batch_tasks[1])
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5),
        row(alone.state.training.student.params, 0),
        row(batch.state.training.student.params, 1),
    )
    np.testing.assert_array_equal(
        alone.state.training.lanes.tasks[0], batch.state.training.lanes.tasks[1]
    )
    np.testing.assert_allclose(probabilities(alone)[0], probabilities(batch)[1], atol=1e-4)


def test_the_place_in_a_batch_does_not_matter():
    """Runs of one width are the same bit for bit at any position and next to any other runs."""
    one = after(3, VAL, seeds=(0, 1, 2))
    other = after(3, VAL, seeds=(2, 9, 0))
    for here, there in ((0, 2), (2, 0)):
        assert same(row(one.state, here), row(other.state, there))


def test_seeds_differ(played):
    runs = after(1, VAL)
    tasks, _ = played[0]
    params = runs.state.training.student.params
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert not np.array_equal(tasks[a], tasks[b])
        assert not same(row(params, a), row(params, b))


@pytest.mark.parametrize("name", strategy_names())
def test_every_strategy_trains(name):
    plays_rollouts = make_strategy(name).rollout_plan() is not None
    strategy = rolling(name) if plays_rollouts else make_strategy(name)
    runs = after(4, strategy.bind(POOL))
    assert runs.train_steps == 4 * SMALL.n_steps
    assert runs.state.alive.tolist() == [True] * 3
    assert runs.state.stopped_at.tolist() == [-1] * 3
    for leaf in jax.tree.leaves((runs.state.training, runs.state.teaching)):
        assert np.isfinite(leaf).all()
    p = probabilities(runs)
    assert (p >= 0.0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-5)
    for evaluations in runs.evaluations:
        assert [evaluation.step for evaluation in evaluations] == [128, 256]
        assert all(0.0 <= evaluation.performance <= 1.0 for evaluation in evaluations)
    spent = [evaluations[-1].env_steps for evaluations in runs.evaluations]
    assert min(spent) >= 256
    assert [steps > 256 for steps in spent] == [plays_rollouts] * 3


def test_strategies_share_the_students_programs():
    after(2, VAL)
    students = (programs.begin_agents, programs.train, programs.evaluate)
    sizes = [program._cache_size() for program in students]
    for name in ("iid", "plr", "space"):
        after(2, make_strategy(name))
    after(2, rolling())
    assert [program._cache_size() for program in students] == sizes


def test_state_keeps_its_types():
    """A type that changed would compile everything a second time after the first update."""
    for strategy in (VAL, rolling(), make_strategy("plr")):
        runs = make_runs(strategy)
        types = jax.tree.map(jax.typeof, (runs.state.training, runs.state.teaching))
        for _ in range(2):
            runs.advance()
        assert jax.tree.map(jax.typeof, (runs.state.training, runs.state.teaching)) == types


def test_a_batch_over_beta_compiles_nothing_new():
    after(2, VAL)
    sizes = programs.train._cache_size(), programs.teach._cache_size()
    runs = after(
        2, [make_strategy("procurl-val", beta=beta) for beta in (1.0, 20.0, 100.0)], seeds=(5, 5, 5)
    )
    assert (programs.train._cache_size(), programs.teach._cache_size()) == sizes
    entropy = [evaluations[0].entropy for evaluations in runs.evaluations]
    assert entropy[0] > entropy[1] > entropy[2]


def test_a_batch_over_learning_rates_compiles_nothing_new():
    after(2, VAL)
    sizes = programs.train._cache_size(), programs.teach._cache_size()
    ppo = [replace(SMALL, learning_rate=rate) for rate in (1e-30, 0.001, 0.01)]
    runs = make_runs(VAL, ppo=ppo, seeds=(5, 5, 5))
    before = kept(runs.state.training.student.params)
    runs.advance()
    assert (programs.train._cache_size(), programs.teach._cache_size()) == sizes
    now = runs.state.training.student.params
    moved = [
        max(
            jax.tree.leaves(
                jax.tree.map(lambda a, b: np.abs(a - b).max(), row(before, run), row(now, run))
            )
        )
        for run in range(3)
    ]
    assert moved[0] < 1e-20
    assert 1e-5 < moved[1] < moved[2]


def test_noise_differs_by_run_and_refresh_and_grows_with_epsilon():
    strategies = [make_strategy("procurl-val", epsilon=epsilon) for epsilon in (0.0, 0.1, 0.4)]
    runs = make_runs(strategies, seeds=(0, 1, 2))
    draws = []
    for _ in range(2):
        runs.advance()
        state = runs.state.teaching.strategy
        draws += np.asarray(state.noise).tolist()
        params = runs.state.training.student.params
        for run, strategy in enumerate(strategies):
            values = runs.agent.student.values(row(params, run), FIRST_OBSERVATIONS)
            got = strategy.estimated_success(row(state, run))
            noise = strategy.epsilon * np.asarray(state.noise[run])
            np.testing.assert_allclose(got, np.clip(values + noise, 0.0, 1.0), atol=1e-5)
    assert len({tuple(draw) for draw in draws}) == 6
    assert np.abs(draws).max() <= 1.0


def test_the_refresh_sees_the_critic_after_the_update():
    runs = make_runs(VAL)
    for _ in range(2):
        old = kept(runs.state.training.student.params)
        runs.advance()
        estimate = runs.state.teaching.strategy.success.estimate
        new = runs.state.training.student.params
        for run in range(3):
            now, before = (
                runs.agent.student.values(row(params, run), FIRST_OBSERVATIONS)
                for params in (new, old)
            )
            np.testing.assert_allclose(estimate[run], now, atol=1e-5)
            assert np.abs(estimate[run] - before).max() > 1e-3


def test_rollouts_are_the_students_own_and_counted_exactly():
    """Always right: 1 + … + 6 steps for each round over the pool; always wrong: one step a task."""
    runs = make_runs(rolling(), ppo=STILL)
    set_policies(runs, EXPERT, COIN, -EXPERT)
    for update in (1, 2, 3):
        runs.advance()
        estimate = np.asarray(runs.state.teaching.strategy.success.estimate)
        spent = runs.state.teaching.teacher_steps.tolist()
        assert estimate[0].tolist() == [1.0] * N
        assert estimate[2].tolist() == [0.0] * N
        assert set(estimate[1] * ROLLOUTS) <= set(range(ROLLOUTS + 1))
        assert spent[0] == update * ROLLOUTS * LENGTHS.sum()
        assert spent[2] == update * ROLLOUTS * N
        assert spent[2] < spent[1] < spent[0]
    train_steps = 2 * SMALL.n_steps
    at_two = [evaluations[0] for evaluations in runs.evaluations]
    assert [evaluation.train_steps for evaluation in at_two] == [train_steps] * 3
    assert at_two[0].env_steps == train_steps + 2 * ROLLOUTS * LENGTHS.sum()
    assert at_two[2].env_steps == train_steps + 2 * ROLLOUTS * N
    assert (at_two[0].performance, at_two[2].performance) == (1.0, 0.0)


def test_each_run_keeps_to_its_own_budget():
    """A run that has to pay off its rollouts keeps all that it has while its neighbors refresh."""
    budgets = (1e9, 1.01, 1.5)
    strategies = [
        rolling("procurl-env-2", budget=budget, v_min=0.0, v_max=1.0) for budget in budgets
    ]
    runs = make_runs(strategies, ppo=STILL)
    set_policies(runs, EXPERT, EXPERT, EXPERT)
    price = int(ROLLOUTS * LENGTHS.sum())
    spent, at = [0] * 3, [0] * 3
    for update in range(1, 13):
        runs.advance()
        step = update * SMALL.n_steps
        for run, budget in enumerate(budgets):
            if step - at[run] >= SMALL.n_steps and spent[run] <= (budget - 1.0) * step:
                spent[run], at[run] = spent[run] + price, step
        assert runs.state.teaching.teacher_steps.tolist() == spent
        assert runs.state.teaching.step.tolist() == at
        if update == 1:
            first = kept(runs.state.teaching)
        assert same(row(runs.state.teaching, 1), row(first, 1))
    assert spent[0] == 12 * price
    assert price < spent[2] <= 0.5 * 12 * SMALL.n_steps + price
    assert spent[1] == price  # more than it has, and still a curriculum
    assert runs.state.teaching.strategy.success.estimate[1].tolist() == [1.0] * N


@pytest.mark.parametrize(
    "strategy",
    [make_strategy("procurl-val", refresh_every=100), rolling(refresh_every=100)],
    ids=["val", "env"],
)
def test_refreshes_wait_for_the_interval(strategy):
    """At least 100 steps after the last refresh; updates come every 64."""
    runs = make_runs(strategy)
    at = []
    for _ in range(8):
        runs.advance()
        at.append(int(runs.state.teaching.step[0]))
    assert at == [0, 128, 128, 256, 256, 384, 384, 512]


def test_counted_episodes_wait_for_the_refresh():
    """PLR that refreshes every second update still counts the episodes of both."""
    runs = make_runs(make_strategy("plr", refresh_every=2 * SMALL.n_steps))
    runs.advance()
    played = np.asarray(runs.state.teaching.episodes.played)
    assert played.sum() > 0
    assert not runs.state.teaching.strategy.seen.any()
    runs.advance()
    assert not np.any(runs.state.teaching.episodes.played)
    assert np.all(np.asarray(runs.state.teaching.strategy.seen) >= (played > 0))


def poisoned(training, run, part="head"):
    """`training` with NaN in the weights of one run."""
    params = dict(training.student.params)
    params[part] = jax.tree.map(lambda leaf: leaf.at[run].set(jnp.nan), params[part])
    return training._replace(student=training.student._replace(params=params))


@pytest.mark.parametrize("strategy", [VAL, rolling()], ids=["val", "env"])
@pytest.mark.parametrize("part", ["head", "value"])
def test_nan_stops_its_run_and_touches_no_other(strategy, part):
    well, ill = after(2, strategy), after(2, strategy)
    ill.state = ill.state._replace(training=poisoned(ill.state.training, 1, part))
    broken = kept(ill.state)
    for _ in range(4):
        well.advance()
        ill.advance()
    assert ill.state.alive.tolist() == [True, False, True]
    assert ill.state.stopped_at.tolist() == [-1, 3 * SMALL.n_steps, -1]
    assert same(row(ill.state.training, 1), row(broken.training, 1))
    assert same(row(ill.state.teaching, 1), row(broken.teaching, 1))
    for run in (0, 2):
        assert same(row(well.state, run), row(ill.state, run))
        for one, other in zip(well.evaluations[run], ill.evaluations[run], strict=True):
            assert one.performance == other.performance
            assert one.env_steps == other.env_steps


def test_a_stopped_run_keeps_its_best_weights():
    """Whatever its broken weights may score afterwards."""
    runs = make_runs(VAL)
    set_policies(runs, -EXPERT, -EXPERT, -EXPERT)  # scores 0; NaN takes action 0 and scores more
    runs.evaluate(0)
    best = kept((runs.state.best, runs.state.best_params))
    runs.state = runs.state._replace(training=poisoned(runs.state.training, 1))
    for _ in range(2):
        runs.advance()
    assert same(row((runs.state.best, runs.state.best_params), 1), row(best, 1))
    last, update = [found[-1] for found in runs.evaluations], SMALL.n_steps
    assert [found.train_steps for found in last] == [2 * update, update, 2 * update]
    assert [found.teacher_steps for found in last] == [0, 0, 0]


def test_nan_in_the_critic_alone_stops_the_run(monkeypatch):
    """Where the update itself went well and only the values of the pool are not finite."""
    compiled = programs.train

    def train(*args):
        training, *rest = compiled(*args)
        return poisoned(training, 1, "value"), *rest

    monkeypatch.setattr(programs, "train", train)
    runs = make_runs(VAL)
    begun = kept(runs.state.teaching)
    runs.advance()
    assert runs.state.alive.tolist() == [True, False, True]
    assert runs.state.stopped_at.tolist() == [-1, SMALL.n_steps, -1]
    assert same(row(runs.state.teaching, 1), row(begun, 1))
    assert not same(row(runs.state.teaching, 0), row(begun, 0))


def test_environments_must_divide_the_steps_of_an_update():
    with pytest.raises(ValueError, match="n_envs must divide the 64 steps of an update, got 3"):
        make_runs(VAL, n_envs=3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategies": ProCuRL(beta=-1.0)}, "beta must be"),
        ({"strategies": VAL, "ppo": replace(SMALL, gamma=1.5)}, "gamma must be"),
        ({"strategies": [VAL, VAL, make_strategy("iid")]}, "strategies of one batch may differ"),
        ({"strategies": [VAL, VAL, ProCuRL(p_star=[0.5] * N)]}, "strategies of one batch may"),
    ],
    ids=["strategy", "ppo", "kinds", "shapes"],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        make_runs(**settings)


def test_students_learn_and_the_curriculum_moves_from_easy_to_hard(played):
    runs = make_runs(VAL, evaluation=EvaluationPlan(every=16 * SMALL.n_steps))
    at_first = [evaluation.performance for evaluation in runs.evaluate(0)]
    for _ in range(80):
        runs.advance()
    assert max(at_first) <= 0.5
    assert [evaluations[-1].performance for evaluations in runs.evaluations] == [1.0] * 3
    early, late = (
        np.array([mean_length(part, run) for run in range(3)])
        for part in (played[4:16], played[40:])
    )
    assert np.all(early + 1.0 < late)
    assert early.mean() < 3.2  # uniform would be 3.5
    assert late.mean() > 4.5


def mean_length(played, run):
    """Of the corridors whose episodes ended."""
    return np.concatenate([LENGTHS[tasks[run][dones[run]]] for tasks, dones in played]).mean()


def test_tasks_without_a_pool_are_refused():
    with pytest.raises(TypeError, match="pool must be a TaskPool or a TaskSpace, got ndarray"):
        Runs(StepCorridor(), CONTEXTS, [], [], [])
