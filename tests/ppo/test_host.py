"""Runs whose environment steps on the host: what they play, learn from, and refuse."""

from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper
from gymnasium.wrappers import TimeLimit
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from procurl import TaskEnv, TaskPool, make_strategy
from procurl.envs import make_array_env
from procurl.envs.gym_env import GymEnv
from procurl.envs.vector_env import GymVectorEnv
from procurl.ppo import host
from procurl.ppo.collect import collect, enter, head_of
from procurl.ppo.host import HostRun
from procurl.ppo.networks import actor_critic, forward
from procurl.ppo.programs import PURPOSE
from procurl.ppo.settings import PPOSettings
from procurl.ppo.student import Student
from tests.ppo.toy import (
    COIN,
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

POOL = TaskPool(CONTEXTS, names=["length"])
N = len(POOL)
VAL: Any = make_strategy("procurl-val")
IID = make_strategy("iid")
SAME_STEP = AutoresetMode.SAME_STEP
STILL = replace(SMALL, learning_rate=1e-30)  # the policy stays as it was set


def native(n_envs=4, env=None, pool=POOL):
    return GymVectorEnv(env or StepCorridor(), n_envs, pool)


def task_env(env=None, pool=POOL):
    return TaskEnv(GymEnv(env or StepCorridor(), pool), pool)


def vector_of(make, n_envs=4, mode=SAME_STEP):
    return SyncVectorEnv([make] * n_envs, autoreset_mode=mode)


def host_run(env=None, strategy=VAL, ppo=SMALL, seed=0, pool=POOL, **others):
    return HostRun(env or native(), pool, strategy, ppo, seed, **others)


def after(updates, run):
    for _ in range(updates):
        run.advance()
    return run


def set_params(run, params):
    run.state = run.state._replace(student=run.state.student._replace(params=params))


def put_all_on(run, task):
    """Let the teacher play one task and no other."""
    cumulative = jnp.asarray(np.arange(N) >= task, dtype=jnp.float32)
    run.state = run.state._replace(teaching=run.state.teaching._replace(cumulative=cumulative))


def collected(run):
    """The rollout of the next update, and where it was cut short."""
    key, _ = jax.random.split(run._key(PURPOSE.train))
    return run._collected(key)


class Counter(gymnasium.Env[Any, Any]):
    """Sees its task's number and how many steps it has taken; each step brings 1.

    Args:
        end: terminates after so many steps.
        noise: standard deviation of what is added to the first number at a reset.
        actions: space of the actions, which change nothing.
    """

    def __init__(self, end=10**9, noise=0.0, actions=None):
        self.observation_space = spaces.Box(-np.inf, np.inf, (1, 2), dtype=np.float64)
        self.action_space = actions or spaces.Discrete(2)
        self.end, self.noise = end, noise
        self.seen = np.zeros((1, 2))
        self.given: list[Any] = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        first = options["context"][0] + self.noise * self.np_random.standard_normal()
        self.seen = np.array([[first, 0.0]])
        return self.seen.copy(), {}

    def step(self, action):
        self.given.append(action)
        self.seen[0, 1] += 1.0
        return self.seen.copy(), 1.0, bool(self.seen[0, 1] >= self.end), False, {}


NUMBERS = TaskPool([[1.0], [2.0], [3.0]])
LINEAR = PPOSettings(n_steps=12, batch_size=4, n_epochs=1, policy_layers=(), value_layers=())


def counting(limit=None, n_envs=2, **settings):
    """A vector of counters, cut short after `limit` steps."""

    def make():
        env: gymnasium.Env[Any, Any] = Counter(**settings)
        return TaskEnv(env if limit is None else TimeLimit(env, limit), NUMBERS)

    return vector_of(make, n_envs)


def with_critic(run, by_number, by_step, bias):
    """Set V(s) = by_number · number + by_step · steps + bias."""
    kernel = jnp.asarray([[by_number], [by_step]], dtype=jnp.float32)
    value = {"kernel": kernel, "bias": jnp.asarray([bias], dtype=jnp.float32)}
    set_params(run, run.params | {"value": value})
    return run


class Replayed(VectorWrapper[Any, Any, Any, Any, Any]):
    """Steps with the noise that the compiled engine draws in an update."""

    def draw(self, key, steps):
        rollout_key, _ = jax.random.split(key)
        _, _, noise_key = jax.random.split(rollout_key, 3)
        shape = (steps, self.num_envs, *self.env.array_env.noise_shape)
        self.rows = iter(np.asarray(jax.random.normal(noise_key, shape)))

    def step(self, actions):
        return self.env.advance(actions, next(self.rows))


@pytest.mark.parametrize(
    ("env", "task", "tolerance"),
    [(make_array_env("pointmass-s"), [0.0, 8.0, 0.5], 2e-4), (StepCorridor(), [3.0], 1e-5)],
    ids=["pointmass-s", "corridor"],
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
    lanes = enter(env, contexts, jnp.zeros(4, dtype=jnp.int32))
    steps = SMALL.n_steps // 4
    program = jax.jit(partial(collect, env, network, steps=steps))
    close = partial(np.testing.assert_allclose, rtol=0.0, atol=tolerance)
    fresh = run.params
    for _ in range(3):
        key = run._key(PURPOSE.train)
        stepped.draw(key, steps)
        run.advance()
        rollout_key, order_key = jax.random.split(key)
        lanes, rollout = program(contexts, student.params, lanes, jnp.ones(1), rollout_key)
        student, _, _ = host._learn(
            run.student, SMALL, student, rollout, lanes.observations, order_key
        )
        jax.tree.map(close, run.params, student.params)
        np.testing.assert_allclose(run._observations, lanes.observations, atol=1e-3)
    moved = jax.tree.map(lambda a, b: float(np.max(np.abs(a - b))), fresh, run.params)
    assert min(jax.tree.leaves(moved)) > 5e-3
    _, values = forward(network, student.params, env.observe(env.initial(contexts)))
    close(run.state.teaching.strategy.success.estimate, values)
    assert abs(float(values[0])) > 10 * tolerance


def test_weights_begin_as_in_the_compiled_engine():
    run = host_run(seed=5)
    student = Student(StepCorridor(), run.network, 4)
    even = jnp.arange(1.0, len(CONTEXTS) + 1.0)
    begun = jax.jit(student.begin)(jnp.asarray(CONTEXTS), even, run._key(PURPOSE.begin))
    jax.tree.map(partial(np.testing.assert_allclose, atol=1e-6), run.params, begun.student.params)


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
    np.testing.assert_array_equal(rollout.success, reached)
    np.testing.assert_array_equal(rollout.rewards, reached)
    np.testing.assert_array_equal(rollout.returns, reached)
    np.testing.assert_array_equal(rollout.dones, reached | ~right)
    next_cells = np.where(rollout.dones, 0, cells + 1)
    np.testing.assert_array_equal(cells[1:], next_cells[:-1])
    np.testing.assert_array_equal(run._observations[:, :LONGEST].argmax(-1), next_cells[-1])


def test_an_episode_goes_on_from_one_update_to_the_next():
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
    learn = host._learn

    def watched(student, ppo, state, rollout, *others):
        learned_from.append(rollout)
        return learn(student, ppo, state, rollout, *others)

    monkeypatch.setattr(host, "_learn", watched)
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
    run = host_run(counting(limit=2), IID, LINEAR, pool=NUMBERS)
    run._host.push(np.array([[2, 0, 1], [1, 1, 0]]))
    tasks = run._host.reset()[1].tolist()
    for _ in range(4):
        tasks += run._host.step(np.zeros(2)).tasks.tolist()
    assert tasks == [2, 1, 2, 1, 0, 1, 0, 1, 1, 0]


@pytest.mark.parametrize("env", [native, partial(vector_of, task_env)], ids=["native", "sync"])
def test_the_teacher_decides_from_the_next_episode_on(env):
    run = host_run(env(), IID)
    put_all_on(run, LONGEST_TASK)
    before = run._tasks.copy()
    rollout, _ = collected(run)
    first = np.cumsum(rollout.dones, axis=0) - rollout.dones == 0
    np.testing.assert_array_equal(rollout.tasks, np.where(first, before, LONGEST_TASK))
    put_all_on(run, 0)  # what was pushed and not played is dropped
    rollout, _ = collected(run)
    first = np.cumsum(rollout.dones, axis=0) - rollout.dones == 0
    np.testing.assert_array_equal(rollout.tasks[~first], 0)


def test_first_tasks_come_from_the_strategy():
    run = host_run(native(600), IID, replace(SMALL, n_steps=600, batch_size=200))
    counts = np.bincount(run._tasks, minlength=N)
    sigma = np.sqrt(600 * (1 / N) * (1 - 1 / N))
    assert np.all(np.abs(counts - 600 / N) <= 4.0 * sigma)


def spawned(n_envs):
    return AsyncVectorEnv([task_env] * n_envs, context="spawn", autoreset_mode=SAME_STEP)


def test_it_does_not_matter_who_steps():
    """The corridor has no chance of its own, so native, one after another, wrapped and in processes
    of their own must agree to the bit.
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
        run = after(3, host_run(env, eval_env=eval_env, eval_every=64))
        env.close()
        runs.append((run.params, [e._replace(seconds=0.0) for e in run.evaluations]))
    for params, evaluations in runs[1:]:
        assert same(params, runs[0][0])
        assert evaluations == runs[0][1]


@pytest.mark.parametrize("kind", [StepCorridor, PushCorridor])
def test_learns_an_environment_of_ones_own_from_easy_tasks_to_hard_ones(kind):
    make = partial(task_env, kind())
    env = vector_of(make)
    run = host_run(
        env,
        make_strategy("procurl-val", beta=20),
        replace(SMALL, learning_rate=0.03),
        eval_env=vector_of(make, 3),
        eval_every=640,
    )
    run.evaluate(0)
    lengths = []  # of the corridors played in each update
    for _ in range(40):
        run.advance()
        tasks = np.concatenate([played.tasks for played in env.call("collect")])
        lengths.append(np.mean(LENGTHS[tasks]))
    performance = [evaluation.performance[0] for evaluation in run.evaluations]
    assert performance[0] < 0.5
    assert performance[-1] == run.state.best == 1.0
    assert np.mean(lengths[15:25]) > np.mean(lengths[3:9]) + 1.0
    assert [evaluation.step for evaluation in run.evaluations] == [0, 640, 1280, 1920, 2560]
    assert run.evaluations[0].entropy == pytest.approx([np.log(N)])  # before any evidence
    assert run.evaluations[1].entropy[0] < 0.95 * np.log(N)
    assert run.evaluations[-1].env_steps == [run.train_steps]


def test_continuous_actions_are_clipped_for_the_environment_alone():
    box = spaces.Box(np.array([-0.5, -0.1]), np.array([0.5, np.inf]), dtype=np.float64)
    env = counting(actions=box)
    run = host_run(env, IID, LINEAR, pool=NUMBERS)
    rollout, _ = collected(run)
    given = np.stack([counter.unwrapped.given for counter in env.envs], axis=1)
    assert given.dtype == np.float64
    np.testing.assert_allclose(given, np.clip(rollout.actions, box.low, box.high))
    assert np.abs(rollout.actions).max() > 0.5
    assert given.max() > 0.5  # where the box has no end


def test_evaluation_plays_every_task_once_with_the_likeliest_action():
    """A policy that errs in cell 3 and nowhere before solves the corridors up to there."""
    for n_envs in (1, 4, 7):
        run = host_run(eval_env=native(n_envs), ppo=STILL)
        errs = np.where(np.arange(LONGEST) == 3, -EXPERT, EXPERT)
        set_params(run, biased(run.params, 1e-3 * errs))
        evaluation = run.evaluate(17)
        assert evaluation.performance == [np.mean(LENGTHS <= 3)]
        assert (evaluation.step, evaluation.train_steps, evaluation.env_steps) == (17, 0, [0])
        assert evaluation.test_performance is None
    run = host_run(eval_env=native(2), eval_tasks=[LONGEST_TASK, 1])
    set_params(run, biased(run.params, errs))
    assert run.evaluate(0).performance == [0.5]


def test_the_best_weights_are_kept():
    run = host_run(eval_env=native(2))
    good, bad = biased(run.params, EXPERT), biased(run.params, -EXPERT)
    for params in (bad, good, bad):
        set_params(run, params)
        run.evaluate(0)
    assert [e.performance[0] for e in run.evaluations] == [0.0, 1.0, 0.0]
    assert same(run.state.best_params, good)


@pytest.mark.parametrize("n_envs", [1, 4, 7])
def test_rollouts_tell_the_teacher_and_are_counted(n_envs):
    """An expert takes as many steps as a corridor is long, twice on each task per refresh."""
    strategy = make_strategy("procurl-env", c_rollouts=2, n_pos=64)
    run = host_run(strategy=strategy, ppo=STILL, eval_env=native(n_envs))
    set_params(run, biased(run.params, EXPERT))
    after(2, run)
    teaching = run.state.teaching
    assert teaching.strategy.success.estimate.tolist() == [1.0] * N
    assert int(teaching.teacher_steps) == 2 * 2 * int(LENGTHS.sum())
    evaluation = run.evaluate(128)
    assert evaluation.env_steps == [128 + 4 * int(LENGTHS.sum())]
    assert evaluation.mean_success == [1.0]


def test_rollouts_follow_the_stochastic_policy():
    k = 200
    strategy = make_strategy("procurl-env", c_rollouts=k, n_pos=64, measure="success")
    run = host_run(strategy=strategy, ppo=STILL, eval_env=native(300))
    set_params(run, biased(run.params, COIN))
    run.advance()
    expected = 2.0**-LENGTHS
    sigma = np.sqrt(expected * (1.0 - expected) / k)
    found = np.asarray(run.state.teaching.strategy.success.estimate)
    assert np.all(np.abs(found - expected) <= 4.0 * sigma)


def test_a_budget_delays_the_first_rollouts_until_the_horizon_fits_in():
    """Six tasks, one episode of at most nine steps: 54 fit into one times the training steps after
    64 of these, and with 90 steps per episode, 540, after 576.
    """
    strategy = make_strategy("procurl-env-2", c_rollouts=1, n_pos=64)
    for horizon, updates in ((9, 1), (90, 9), (None, 1)):
        run = host_run(strategy=strategy, ppo=STILL, eval_env=native(6), horizon=horizon)
        refreshed = []
        for _ in range(updates):
            run.advance()
            refreshed.append(int(run.state.teaching.teacher_steps) > 0)
        assert refreshed == [False] * (updates - 1) + [True]


@pytest.mark.parametrize("name", ["procurl-out", "plr"])
def test_the_teacher_counts_the_episodes_that_ended(name):
    env = vector_of(task_env)
    run = host_run(env, make_strategy(name, n_pos=10**6), ppo=STILL)
    after(2, run)
    gathered = run.state.teaching.gathered
    ended = env.call("collect")
    tasks = np.concatenate([played.tasks for played in ended])
    returns = np.concatenate([played.returns for played in ended])
    assert len(tasks) > 40
    np.testing.assert_array_equal(gathered.played, np.bincount(tasks, minlength=N))
    np.testing.assert_array_equal(gathered.wins, np.bincount(tasks, returns, minlength=N))
    np.testing.assert_array_equal(gathered.losses, np.bincount(tasks, 1 - returns, minlength=N))
    assert np.all((np.asarray(gathered.score) > 0) == (np.bincount(tasks, minlength=N) > 0))


def test_neither_evaluations_nor_rollouts_touch_the_training_episodes():
    env = PushCorridor(slip=1.0)  # with chance of its own
    quiet = after(3, host_run(native(env=env), IID))
    watched = host_run(native(env=env), IID, eval_env=native(5, env), eval_every=1)
    after(3, watched)
    assert len(watched.evaluations) == 3
    assert same(watched.params, quiet.params)
    np.testing.assert_array_equal(watched._observations, quiet._observations)
    # With and without eval_env the pool is looked at elsewhere, but training is the same.
    alone = after(2, host_run(native(env=env)))
    beside = after(2, host_run(native(env=env), eval_env=native(5, env), eval_every=1000))
    assert same(alone.params, beside.params)


def test_seeds_decide_everything():
    def records(seed):
        env = PushCorridor(slip=1.0)
        run = host_run(native(env=env), seed=seed, eval_env=native(5, env), eval_every=64)
        after(2, run)
        return run.params, [e._replace(seconds=0.0) for e in run.evaluations]

    one, again, other = records(1), records(1), records(2)
    assert same(one[0], again[0])
    assert one[1] == again[1]
    assert not same(one[0], other[0])


@pytest.mark.parametrize("apart", [False, True], ids=["by env", "by eval_env"])
def test_values_are_averaged_over_random_resets(apart):
    """V(s) = number: four observations of each task, whose mean is that of their values."""
    eval_env = counting(noise=0.25, n_envs=5) if apart else None
    run = host_run(
        counting(noise=0.25), VAL, LINEAR, pool=NUMBERS, reset_samples=4, eval_env=eval_env
    )
    seen = np.asarray(run._pool_observations)
    assert seen.shape == (3, 4, 2)
    assert np.all(np.abs(seen[..., 0] - [[1.0], [2.0], [3.0]]) < 1.5)
    assert len(np.unique(seen[..., 0])) == 12
    params = with_critic(run, 1.0, 0.0, 0.0).params
    values = host._task_values(run.network, params, run._pool_observations)
    np.testing.assert_allclose(values, seen[..., 0].mean(axis=1), rtol=1e-6)


def test_refreshes_after_whole_updates_once_the_interval_has_passed():
    """100 steps are two updates of 64."""
    run = host_run(strategy=make_strategy("procurl-val", n_pos=100))
    refreshed_at = [int(after(1, run).state.teaching.step) for _ in range(5)]
    assert refreshed_at == [0, 128, 128, 256, 256]


def test_scores_are_of_first_observations():
    run = host_run(vector_of(task_env))
    for task, length in enumerate(LENGTHS):
        bits = np.zeros(2 * LONGEST)
        bits[0] = bits[LONGEST + int(length) - 1] = 1.0
        np.testing.assert_array_equal(run._pool_observations[task], [bits])


def test_a_policy_can_be_taken_along():
    run = host_run(native(env=PushCorridor()))
    policy = run.policy("corridor")
    observations = np.asarray(run._pool_observations[:, 0])
    mode = host.likeliest_actions(run.network, run.params, observations)
    np.testing.assert_allclose(policy.act(observations), np.clip(mode, -1.0, 1.0), atol=1e-6)
    assert policy.description.training == {"strategy": "ProCuRL", "seed": 0, "steps": 0}


class Broken(gymnasium.Wrapper[Any, Any, Any, Any]):
    def step(self, action):
        return (*self.env.step(action)[:1], np.nan, False, False, {})


def test_a_run_stops_where_a_loss_is_not_finite_and_keeps_its_state():
    run = host_run(
        vector_of(lambda: TaskEnv(Broken(Counter()), NUMBERS)), IID, LINEAR, pool=NUMBERS
    )
    before = run.state
    with pytest.raises(RuntimeError, match="seed 0: stopped at step 0, a loss or a gradient"):
        run.advance()
    assert same(run.state, before)
    assert run.train_steps == 0


def test_a_run_stops_where_the_critic_has_no_value_for_a_task_and_keeps_its_weights():
    run = host_run()
    run._pool_observations = run._pool_observations.at[2].set(jnp.nan)
    before = run.state
    with pytest.raises(RuntimeError, match="stopped at step 64, what the teacher was told"):
        run.advance()
    assert same(run.state, before)


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        (AutoresetMode.NEXT_STEP, "env resets in the step after .*SAME_STEP"),
        (AutoresetMode.DISABLED, "env must reset in the step .*DISABLED.*SAME_STEP"),
    ],
)
def test_other_ways_to_reset_are_refused(mode, message):
    with pytest.raises(ValueError, match=message):
        host_run(vector_of(task_env, mode=mode))


def test_an_unknown_way_to_reset_is_refused():
    env = native()
    env.metadata = {}
    with pytest.raises(ValueError, match="autoreset_mode'\\] = None"):
        host_run(env)


def test_one_environment_alone_is_refused():
    with pytest.raises(TypeError, match="env must be a gymnasium.vector.VectorEnv, got TaskEnv"):
        host_run(task_env())


class NoTasks(VectorEnv[Any, Any, Any]):
    metadata = {"autoreset_mode": SAME_STEP}  # noqa: RUF012
    num_envs = 2
    single_observation_space = spaces.Box(0.0, 1.0, (3,))
    single_action_space = spaces.Discrete(2)


@pytest.mark.parametrize(
    "env", [NoTasks(), vector_of(lambda: GymEnv(StepCorridor(), POOL))], ids=["native", "sync"]
)
def test_an_environment_that_takes_no_tasks_is_refused(env):
    with pytest.raises(ValueError, match="env takes no tasks: .* TaskEnv.* push_tasks"):
        host_run(env)


def test_another_pool_is_refused():
    with pytest.raises(ValueError, match="env plays another pool"):
        host_run(pool=TaskPool(CONTEXTS[::-1], names=["length"]))
    with pytest.raises(ValueError, match="eval_env plays another pool"):
        host_run(eval_env=vector_of(partial(task_env, pool=TaskPool([[1.0]], names=["length"]))))


@pytest.mark.parametrize("space", [spaces.MultiDiscrete([2, 2]), spaces.Discrete(2, start=1)])
def test_other_actions_are_refused(space):
    with pytest.raises(ValueError, match="env must have actions in a Box"):
        host_run(counting(actions=space), pool=NUMBERS)


def test_other_observations_are_refused():
    class Named(gymnasium.ObservationWrapper[Any, Any, Any]):
        observation_space = spaces.Dict({"all": spaces.Box(-np.inf, np.inf, (1, 2))})

        def observation(self, observation):
            return {"all": observation}

    env = vector_of(lambda: TaskEnv(Named(Counter()), NUMBERS))
    with pytest.raises(ValueError, match="observations in a Box, got Dict.*FlattenObservation"):
        host_run(env, pool=NUMBERS)


class Quiet(VectorWrapper[Any, Any, Any, Any, Any]):
    """Says nothing of tasks and last observations."""

    def __init__(self, env, *silent):
        super().__init__(env)
        self.silent = silent

    def reset(self, **options):
        observations, info = self.env.reset(**options)
        return observations, {name: info[name] for name in info if name not in self.silent}

    def step(self, actions):
        *rest, info = self.env.step(actions)
        return *rest, {name: info[name] for name in info if name not in self.silent}


def test_what_an_environment_has_to_tell_is_asked_for():
    with pytest.raises(ValueError, match="info\\['task'\\] is missing"):
        host_run(Quiet(native(), "task"))
    run = host_run(Quiet(counting(limit=3), "final_obs"), IID, LINEAR, pool=NUMBERS)
    with pytest.raises(ValueError, match="info\\['final_obs'\\] is missing where .* truncated"):
        run.advance()
    strategy = make_strategy("procurl-env", c_rollouts=1, n_pos=12, measure="success")
    run = host_run(counting(), strategy, LINEAR, pool=NUMBERS, eval_env=counting(end=3))
    with pytest.raises(ValueError, match="info\\['is_success'\\] is missing .* measure='return'"):
        run.advance()


def test_tasks_that_do_not_arrive_are_noticed():
    class Hides(gymnasium.Wrapper[Any, Any, Any, Any]):
        queue = ()

    with pytest.raises(RuntimeError, match="began task .* was pushed.*'queue'"):
        host_run(vector_of(lambda: Hides(task_env()), 8))


def test_what_needs_an_environment_of_its_own_says_so():
    env = native()
    with pytest.raises(ValueError, match="eval_env must be another environment"):
        host_run(env, eval_env=env)
    with pytest.raises(ValueError, match="eval_env must be given: ProCuRL plays rollouts"):
        host_run(strategy=make_strategy("procurl-env"))
    with pytest.raises(ValueError, match="eval_env must be given to evaluate"):
        host_run().evaluate(0)
    with pytest.raises(ValueError, match="eval_env must have the single_action_space of env"):
        host_run(eval_env=native(env=PushCorridor()))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"env": native(5)}, ValueError, "must divide the 64 steps of an update, got 5"),
        ({"seed": -1}, ValueError, "seed must be"),
        ({"reset_samples": 0}, ValueError, "reset_samples must be"),
        ({"eval_every": 0}, ValueError, "eval_every must be"),
        ({"horizon": 0}, ValueError, "horizon must be"),
        ({"eval_tasks": [6]}, ValueError, "eval_tasks must be ids from 0 to 5"),
        ({"strategy": "iid"}, TypeError, "strategy must be a Strategy"),
        ({"strategy": replace(VAL, beta=-1.0)}, ValueError, "beta must be"),
        ({"ppo": replace(SMALL, batch_size=7)}, ValueError, "batch_size must divide"),
        ({"pool": CONTEXTS}, TypeError, "pool must be a TaskPool"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        host_run(**settings)
