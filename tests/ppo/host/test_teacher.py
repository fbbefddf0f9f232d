"""The teacher of a run that steps on the host: rollouts, counts, scores."""

import numpy as np
import pytest
from gymnasium import spaces

from procurl import load_policy, make_strategy, save_policy
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.host import programs as host_programs
from procurl.ppo.host import run as host
from tests.ppo.host.host_runs import (
    IID,
    LINEAR,
    NUMBERS,
    STILL,
    VAL,
    N,
    after,
    counting,
    host_run,
    native,
    set_params,
    task_env,
    vector_of,
    with_critic,
)
from tests.ppo.toy import (
    COIN,
    EXPERT,
    LENGTHS,
    LONGEST,
    PushCorridor,
    biased,
    same,
)
from tests.strategies.own_rule import AtMultiples


@pytest.mark.parametrize("n_envs", [1, 4, 7])
def test_rollouts_reach_the_teacher_and_are_counted(n_envs):
    """An expert takes as many steps as a corridor is long, twice on each task per refresh."""
    strategy = make_strategy("procurl-env", c_rollouts=2, refresh_every=64)
    run = host_run(strategy=strategy, ppo=STILL, eval_env=native(n_envs))
    set_params(run, biased(run.params, EXPERT))
    after(2, run)
    teaching = run.state.teaching
    assert teaching.strategy.success.estimate.tolist() == [1.0] * N
    assert int(teaching.teacher_steps) == 2 * 2 * int(LENGTHS.sum())
    evaluation = run.evaluate(128)
    assert evaluation.env_steps == 128 + 4 * int(LENGTHS.sum())
    assert evaluation.mean_success == 1.0


def test_rollouts_follow_the_stochastic_policy():
    k = 200
    strategy = make_strategy("procurl-env", c_rollouts=k, refresh_every=64, measure="success")
    run = host_run(strategy=strategy, ppo=STILL, eval_env=native(300))
    set_params(run, biased(run.params, COIN))
    run.advance()
    expected = 2.0**-LENGTHS
    sigma = np.sqrt(expected * (1.0 - expected) / k)
    found = np.asarray(run.state.teaching.strategy.success.estimate)
    assert np.all(np.abs(found - expected) <= 4.0 * sigma)


def test_a_budget_delays_rollouts_until_the_last_ones_are_paid_off():
    """Eight rollouts of 21 steps on the pool are 168 steps, paid off by as many of training.

    The first come with the first 64 steps; the worst case, 8 · 6 · 9 = 432 steps, does not matter.
    """
    strategy = make_strategy("procurl-env-2", c_rollouts=8, refresh_every=64)
    run = host_run(strategy=strategy, ppo=STILL, eval_env=native(6))
    set_params(run, biased(run.params, EXPERT))
    refreshed_at = [int(after(1, run).state.teaching.step) for _ in range(11)]
    paid = [64, 64, 192, 192, 192, 384, 384, 512, 512, 512, 704]
    assert refreshed_at == paid
    assert int(run.state.teaching.teacher_steps) == 5 * 168


@pytest.mark.parametrize("name", ["procurl-out", "plr"])
def test_the_teacher_counts_the_episodes_that_ended(name):
    env = vector_of(task_env)
    run = host_run(env, make_strategy(name, refresh_every=10**6), ppo=STILL)
    after(2, run)
    totals = run.state.teaching.episodes
    ended = env.call("collect")
    tasks = np.concatenate([played.tasks for played in ended])
    returns = np.concatenate([played.returns for played in ended])
    assert len(tasks) > 40
    np.testing.assert_array_equal(totals.played, np.bincount(tasks, minlength=N))
    np.testing.assert_array_equal(totals.wins, np.bincount(tasks, returns, minlength=N))
    np.testing.assert_array_equal(totals.losses, np.bincount(tasks, 1 - returns, minlength=N))
    assert np.all((np.asarray(totals.score) > 0) == (np.bincount(tasks, minlength=N) > 0))


def test_neither_evaluations_nor_rollouts_touch_the_training_episodes():
    env = PushCorridor(slip=1.0)  # with chance of its own
    quiet = after(3, host_run(native(env=env), IID))
    watched = host_run(
        native(env=env), IID, eval_env=native(5, env), evaluation=EvaluationPlan(every=1)
    )
    after(3, watched)
    assert len(watched.evaluations) == 3
    assert same(watched.params, quiet.params)
    np.testing.assert_array_equal(watched.lanes.observations, quiet.lanes.observations)
    # With and without eval_env the pool is looked at elsewhere, but training is the same.
    alone = after(2, host_run(native(env=env)))
    plan = EvaluationPlan(every=1000)
    evaluated = after(2, host_run(native(env=env), eval_env=native(5, env), evaluation=plan))
    assert same(alone.params, evaluated.params)


def test_seeds_decide_everything():
    def records(seed):
        env = PushCorridor(slip=1.0)
        run = host_run(
            native(env=env), seed=seed, eval_env=native(5, env), evaluation=EvaluationPlan(every=64)
        )
        after(2, run)
        return run.params, [e._replace(seconds=0.0) for e in run.evaluations]

    one, again, other = records(1), records(1), records(2)
    assert same(one[0], again[0])
    assert same(one[1], again[1])
    assert not same(one[0], other[0])


@pytest.mark.parametrize("apart", [False, True], ids=["by env", "by eval_env"])
def test_values_are_averaged_over_random_resets(apart):
    """V(s) = number: four observations of each task, whose mean is that of their values."""
    eval_env = counting(noise=0.25, n_envs=5) if apart else None
    run = host_run(
        counting(noise=0.25), VAL, LINEAR, pool=NUMBERS, reset_samples=4, eval_env=eval_env
    )
    seen = np.asarray(run.pool_observations)
    assert seen.shape == (3, 4, 2)
    assert np.all(np.abs(seen[..., 0] - [[1.0], [2.0], [3.0]]) < 1.5)
    assert len(np.unique(seen[..., 0])) == 12
    params = with_critic(run, 1.0, 0.0, 0.0).params
    values = host.value_tasks(
        run.teacher, run.network, params, run.state.teaching, run.pool_observations
    )[1]
    np.testing.assert_allclose(values, seen[..., 0].mean(axis=1), rtol=1e-6)


def test_refreshes_after_whole_updates_once_the_interval_has_passed():
    """100 steps are two updates of 64."""
    run = host_run(strategy=make_strategy("procurl-val", refresh_every=100))
    refreshed_at = [int(after(1, run).state.teaching.step) for _ in range(5)]
    assert refreshed_at == [0, 128, 128, 256, 256]


def test_a_strategys_own_rule_is_obeyed():
    run = host_run(strategy=AtMultiples(every=192.0))
    refreshed_at = [int(after(1, run).state.teaching.step) for _ in range(7)]
    assert refreshed_at == [0, 0, 192, 192, 192, 384, 384]
    assert float(run.state.teaching.strategy.refreshes) == 2.0


def test_scores_are_of_first_observations():
    run = host_run(vector_of(task_env))
    for task, length in enumerate(LENGTHS):
        bits = np.zeros(2 * LONGEST)
        bits[0] = bits[LONGEST + int(length) - 1] = 1.0
        np.testing.assert_array_equal(run.pool_observations[task], [bits])


def test_a_policy_can_be_saved_from_the_run():
    run = host_run(native(env=PushCorridor()))
    policy = run.policy("corridor")
    observations = np.asarray(run.pool_observations[:, 0])
    mode = host_programs.deterministic_actions(run.network, run.params, observations)
    np.testing.assert_allclose(policy.act(observations), np.clip(mode, -1.0, 1.0), atol=1e-6)
    assert policy.description.training == {"strategy": "ProCuRL", "seed": 0, "steps": 0}


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_the_policy_of_a_run_acts_in_the_shape_of_its_box(shape, tmp_path):
    box = spaces.Box(-0.1, 0.1, shape, dtype=np.float32)
    env = counting(actions=box)
    run = host_run(env, IID, LINEAR, pool=NUMBERS)
    run.advance()
    save_policy(tmp_path / "counter", run.policy("counter"))
    policy = load_policy(tmp_path / "counter")
    action = policy.act([1.0, 2.0])
    assert box.contains(action)
    given = [action for counter in env.envs for action in counter.unwrapped.given]
    assert all(box.contains(np.asarray(action)) for action in given)
