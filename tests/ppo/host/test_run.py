"""Runs whose environment steps on the host: what they play and learn from."""

from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, VectorWrapper
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from procurl import TaskEnv, TaskPool, make_strategy
from procurl.envs import make_array_env
from procurl.envs.adapters.vector_env import GymVectorEnv
from procurl.ppo.collect import collect, enter, head_of
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.host import run as host
from procurl.ppo.host.env import HostEnv
from procurl.ppo.host.run import HostRun
from procurl.ppo.learning.networks import actor_critic, forward
from procurl.ppo.programs import PURPOSE
from procurl.ppo.runs import Runs
from tests.ppo.host.host_runs import (
    IID,
    LINEAR,
    NUMBERS,
    SAME_STEP,
    STILL,
    VAL,
    Counter,
    N,
    after,
    collected,
    counting,
    host_run,
    native,
    put_all_on,
    set_params,
    task_env,
    vector_of,
    with_critic,
)
from tests.ppo.toy import (
    CONTEXTS,
    EXPERT,
    LENGTHS,
    LONGEST,
    LONGEST_TASK,
    SMALL,
    PushCorridor,
    StepCorridor,
    biased,
    same,
)


class Replayed(VectorWrapper):
    """Steps with the noise that the compiled engine draws in an update."""

    def draw(self, key, steps):
        rollout_key, _ = jax.random.split(key)
        _, _, noise_key = jax.random.split(rollout_key, 3)
        shape = (steps, self.num_envs, *self.env.array_env.noise_shape)
        self.rows = iter(np.asarray(jax.random.normal(noise_key, shape)))

    def step(self, actions):
        return self.env.step_with_noise(actions, next(self.rows))


@pytest.mark.parametrize(
    ("env", "task", "tolerance"),
    [
        pytest.param(
            make_array_env("pointmass-s"),
            [0.0, 8.0, 0.5],
            2e-4,
            id="pointmass-s",
            marks=pytest.mark.soak,
        ),
        pytest.param(StepCorridor(), [3.0], 1e-5, id="corridor"),
    ],
)
def test_equals_the_compiled_engine_where_both_are_given_the_same_chance(env, task, tolerance):
    """One task, so that both play the same, and the same noise. The environments step in NumPy here
    and in XLA there, where PointMass differs by 1e-5. The update is `Student.learn` in both.
    """
    pool = TaskPool([task], names=env.context_names)
    stepped = Replayed(GymVectorEnv(env, 4, pool))
    run = HostRun(stepped, pool, VAL, SMALL, seed=3)
    network = actor_critic(SMALL, head_of(env))
    contexts, student = jnp.asarray(pool.contexts), run.state.student
    lanes = enter(env, contexts, jnp.zeros(4, dtype=jnp.int32), jax.random.key(0))
    steps = SMALL.n_steps // 4
    program = jax.jit(partial(collect, env, network, steps=steps))
    close = partial(np.testing.assert_allclose, rtol=0.0, atol=tolerance)
    fresh = run.params
    for _ in range(3):
        key = run.random_key(PURPOSE.train)
        stepped.draw(key, steps)
        run.advance()
        rollout_key, order_key = jax.random.split(key)
        lanes, rollout = program(contexts, student.params, lanes, jnp.ones(1), rollout_key)
        student, _, _ = host.learn(
            run.student, SMALL, student, rollout, lanes.observations, order_key
        )
        jax.tree.map(close, run.params, student.params)
        np.testing.assert_allclose(run.lanes.observations, lanes.observations, atol=1e-3)
    moved = jax.tree.map(lambda a, b: float(np.max(np.abs(a - b))), fresh, run.params)
    assert min(jax.tree.leaves(moved)) > 5e-3
    _, values = forward(network, student.params, env.observe(env.initial(contexts)))
    close(run.state.teaching.strategy.success.estimate, values)
    assert abs(float(values[0])) > 10 * tolerance


def test_weights_begin_as_in_the_compiled_engine():
    run = host_run(seed=5)
    pool = TaskPool(CONTEXTS)
    compiled = Runs(StepCorridor(), pool, strategies=[IID] * 2, ppo=[SMALL] * 2, seeds=[4, 5])
    second = jax.tree.map(lambda leaf: leaf[1], compiled.state.training.student.params)
    jax.tree.map(np.testing.assert_array_equal, run.params, second)


def test_the_rollout_is_what_was_played():
    """By the rules of the corridor: the observation shows cell and length, and the rest follows."""
    run = host_run()
    rollout, _ = collected(run)
    assert rollout.tasks.shape == (SMALL.n_steps // 4, 4)
    assert rollout.dones.any()
    cells = rollout.observations[..., :LONGEST].argmax(-1)
    lengths = 1 + rollout.observations[..., LONGEST:].argmax(-1)
    np.testing.assert_array_equal(lengths, LENGTHS[rollout.tasks])
    right = rollout.actions == cells % 2
    reached = right & (cells + 1 == lengths)
    ends = rollout.dones
    np.testing.assert_array_equal(rollout.success[ends], reached[ends])
    assert np.isnan(rollout.success[~ends]).all()
    np.testing.assert_array_equal(rollout.rewards, reached)
    np.testing.assert_array_equal(rollout.returns, reached)
    np.testing.assert_array_equal(rollout.dones, reached | ~right)
    next_cells = np.where(rollout.dones, 0, cells + 1)
    np.testing.assert_array_equal(cells[1:], next_cells[:-1])
    np.testing.assert_array_equal(run.lanes.observations[:, :LONGEST].argmax(-1), next_cells[-1])


def test_an_episode_continues_from_one_update_to_the_next():
    run = host_run(counting(), IID, LINEAR, pool=NUMBERS)
    first, _ = collected(run)
    second, _ = collected(run)
    assert first.returns[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
    assert second.returns[:, 0].tolist() == [7, 8, 9, 10, 11, 12]
    assert second.observations[0, 0, 1] == 6.0
    assert not (first.dones | second.dones).any()


def test_where_a_limit_cuts_an_episode_short_the_critic_says_what_follows(monkeypatch):
    """V(s) = 10·number + steps and γ = 1/2: the third step of an episode on task number m is
    rewarded by 1 + (10·m + 3) / 2, the return stays 3.
    """
    learned_from = []
    learn = host.learn

    def watched(student, ppo, state, rollout, *others):
        learned_from.append(rollout)
        return learn(student, ppo, state, rollout, *others)

    monkeypatch.setattr(host, "learn", watched)
    ppo = replace(LINEAR, gamma=0.5)
    run = with_critic(host_run(counting(limit=3), IID, ppo, pool=NUMBERS), 10.0, 1.0, 0.0)
    run.advance()
    (rollout,) = learned_from
    numbers = rollout.tasks + 1.0
    third = np.arange(6)[:, None] % 3 == 2
    expected = np.where(third, 1.0 + 0.5 * (10.0 * numbers + 3.0), 1.0)
    np.testing.assert_allclose(rollout.rewards, expected)
    np.testing.assert_array_equal(rollout.dones, np.broadcast_to(third, (6, 2)))
    assert np.asarray(rollout.returns)[:, 0].tolist() == [1, 2, 3, 1, 2, 3]


@pytest.mark.parametrize("limit", [None, 3], ids=["terminated", "terminated and truncated"])
def test_nothing_follows_where_an_episode_ends_by_itself(limit):
    run = host_run(counting(limit=limit, end=3), IID, LINEAR, pool=NUMBERS)
    rollout, cut_short = collected(run)
    assert rollout.dones.any()
    assert not cut_short.where.any()
    assert not cut_short.final.any()


def test_each_sub_environment_plays_its_own_tasks_in_the_order_pushed():
    env = HostEnv(counting(limit=2), NUMBERS)
    env.push(np.array([[2, 0, 1], [1, 1, 0]]))
    tasks = env.reset()[1].tolist()
    for _ in range(4):
        tasks += env.step(np.zeros(2)).tasks.tolist()
    assert tasks == [2, 1, 2, 1, 0, 1, 0, 1, 1, 0]


@pytest.mark.parametrize("env", [native, partial(vector_of, task_env)], ids=["native", "sync"])
def test_the_teacher_decides_starting_with_the_next_episode(env):
    run = host_run(env(), IID)
    put_all_on(run, LONGEST_TASK)
    before = run.lanes.tasks.copy()
    rollout, _ = collected(run)
    first = np.cumsum(rollout.dones, axis=0) - rollout.dones == 0
    np.testing.assert_array_equal(rollout.tasks, np.where(first, before, LONGEST_TASK))
    put_all_on(run, 0)  # what was pushed and not played is dropped
    rollout, _ = collected(run)
    first = np.cumsum(rollout.dones, axis=0) - rollout.dones == 0
    np.testing.assert_array_equal(rollout.tasks[~first], 0)


def test_first_tasks_come_from_the_strategy():
    run = host_run(native(600), IID, replace(SMALL, n_steps=600, batch_size=200))
    counts = np.bincount(run.lanes.tasks, minlength=N)
    sigma = np.sqrt(600 * (1 / N) * (1 - 1 / N))
    assert np.all(np.abs(counts - 600 / N) <= 4.0 * sigma)


def spawned(n_envs):
    return AsyncVectorEnv([task_env] * n_envs, context="spawn", autoreset_mode=SAME_STEP)


@pytest.mark.soak
def test_every_vector_environment_gives_the_same_run():
    """The corridor has no chance of its own, so native, one after another, wrapped and in processes
    of their own must agree bit for bit.
    """
    kinds = {
        "native": native,
        "wrapped": lambda n: RecordEpisodeStatistics(native(n)),
        "sync": partial(vector_of, task_env),
        "async": spawned,
    }
    runs = []
    for make in kinds.values():
        env, eval_env = make(2), native(3)
        run = after(3, host_run(env, eval_env=eval_env, evaluation=EvaluationPlan(every=64)))
        env.close()
        runs.append((run.params, [e._replace(seconds=0.0) for e in run.evaluations]))
    for params, evaluations in runs[1:]:
        assert same(params, runs[0][0])
        assert same(evaluations, runs[0][1])


@pytest.mark.parametrize("kind", [StepCorridor, PushCorridor])
def test_learns_a_custom_environment_from_easy_tasks_to_hard_ones(kind):
    make = partial(task_env, kind())
    env = vector_of(make)
    run = host_run(
        env,
        make_strategy("procurl-val", beta=20),
        replace(SMALL, learning_rate=0.03),
        eval_env=vector_of(make, 3),
        evaluation=EvaluationPlan(every=640),
    )
    run.evaluate(0)
    lengths = []  # of the corridors played in each update
    for _ in range(40):
        run.advance()
        tasks = np.concatenate([played.tasks for played in env.call("collect")])
        lengths.append(np.mean(LENGTHS[tasks]))
    performance = [evaluation.performance for evaluation in run.evaluations]
    assert performance[0] < 0.5
    assert performance[-1] == run.state.best == 1.0
    assert np.mean(lengths[15:25]) > np.mean(lengths[3:9]) + 1.0
    assert [evaluation.step for evaluation in run.evaluations] == [0, 640, 1280, 1920, 2560]
    assert run.evaluations[0].entropy == pytest.approx(np.log(N))  # before any evidence
    assert run.evaluations[1].entropy < 0.95 * np.log(N)
    assert run.evaluations[-1].env_steps == run.train_steps


def test_continuous_actions_are_clipped_for_the_environment_alone():
    box = spaces.Box(np.array([-0.5, -0.1]), np.array([0.5, np.inf]), dtype=np.float64)
    env = counting(actions=box)
    run = host_run(env, IID, LINEAR, pool=NUMBERS)
    rollout, _ = collected(run)
    given = np.stack([counter.unwrapped.given for counter in env.envs], axis=1)
    assert given.dtype == np.float64
    np.testing.assert_allclose(given, np.clip(rollout.actions, box.low, box.high))
    assert all(box.contains(action) for action in given.reshape(-1, 2))  # −0.1 is not a float32
    assert np.abs(rollout.actions).max() > 0.5
    assert given.max() > 0.5  # where the box has no end


def test_evaluation_plays_every_task_once_deterministically():
    """A policy that errs in cell 3 and nowhere before solves the corridors up to there."""
    for n_envs in (1, 4, 7):
        run = host_run(eval_env=native(n_envs), ppo=STILL)
        errs = np.where(np.arange(LONGEST) == 3, -EXPERT, EXPERT)
        set_params(run, biased(run.params, 1e-3 * errs))
        evaluation = run.evaluate(17)
        assert evaluation.performance == np.mean(LENGTHS <= 3)
        assert (evaluation.step, evaluation.train_steps, evaluation.env_steps) == (17, 0, 0)
        assert evaluation.test_performance is None
    run = host_run(eval_env=native(2), evaluation=EvaluationPlan(tasks=[LONGEST_TASK, 1]))
    set_params(run, biased(run.params, errs))
    assert run.evaluate(0).performance == 0.5


def test_the_best_weights_are_kept():
    run = host_run(eval_env=native(2))
    good, bad = biased(run.params, EXPERT), biased(run.params, -EXPERT)
    for params in (bad, good, bad):
        set_params(run, params)
        run.evaluate(0)
    assert [e.performance for e in run.evaluations] == [0.0, 1.0, 0.0]
    assert same(run.state.best_params, good)


class Broken(gymnasium.Wrapper[Any, Any, Any, Any]):
    def step(self, action):
        observation, _, _, _, info = self.env.step(action)
        return observation, np.nan, False, False, info


def test_a_run_stops_where_a_loss_is_not_finite_and_keeps_its_state():
    run = host_run(
        vector_of(lambda: Broken(TaskEnv(Counter(), NUMBERS))), IID, LINEAR, pool=NUMBERS
    )
    before = run.state
    with pytest.raises(RuntimeError, match="seed 0: stopped at step 12: a loss or a gradient"):
        run.advance()
    run.advance()  # stands still from now on
    assert same(run.state, before)
    assert (run.stopped_at, run.train_steps) == (12, 24)


class Blind(gymnasium.Wrapper[Any, Any, Any, Any]):
    def step(self, action):
        observation, *rest = self.env.step(action)
        return np.full_like(observation, np.nan), *rest


def test_a_run_that_stops_because_of_an_observation_says_so():
    blind = vector_of(lambda: Blind(TaskEnv(Counter(), NUMBERS)))
    run = host_run(blind, IID, LINEAR, pool=NUMBERS)
    with pytest.raises(RuntimeError, match="stopped at step 12: an observation is not finite"):
        run.advance()


def test_a_run_stops_where_the_critic_has_no_value_for_a_task_and_keeps_its_weights():
    run = host_run(eval_env=native())
    run.pool_observations = run.pool_observations.at[2].set(jnp.nan)
    before = run.state
    with pytest.raises(
        RuntimeError, match="stopped at step 64: the evidence of a task is not finite"
    ):
        run.advance()
    assert same(run.state, before)
    run.advance()
    assert run.evaluate(128).env_steps == 64  # none were taken since
