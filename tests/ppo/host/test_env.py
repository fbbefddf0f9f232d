"""What a run that steps on the host asks of its environments, and refuses."""

from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper

from procurl import TaskEnv, TaskPool, TaskSpace, make_strategy
from procurl.envs.adapters.gym_env import GymEnv
from procurl.ppo.evaluation.plan import EvaluationPlan
from tests.ppo.host.host_runs import (
    IID,
    LINEAR,
    NUMBERS,
    POOL,
    SAME_STEP,
    VAL,
    Counter,
    collected,
    counting,
    host_run,
    native,
    task_env,
    vector_of,
)
from tests.ppo.toy import (
    CONTEXTS,
    SMALL,
    PushCorridor,
    StepCorridor,
)


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
    with pytest.raises(ValueError, match="the pool it plays has the same tasks in another"):
        host_run(pool=TaskPool(CONTEXTS[::-1], names=["length"]))
    with pytest.raises(ValueError, match="eval_env must play the pool of the run"):
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


class Quiet(VectorWrapper):
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


def test_missing_info_is_named():
    with pytest.raises(ValueError, match="info\\['task'\\] is missing"):
        host_run(Quiet(native(), "task"))
    run = host_run(Quiet(counting(limit=3), "final_obs"), IID, LINEAR, pool=NUMBERS)
    with pytest.raises(
        ValueError, match="info\\['final_obs'\\] is missing for a truncated episode"
    ):
        run.advance()
    strategy = make_strategy("procurl-env", c_rollouts=1, refresh_every=12, measure="success")
    run = host_run(counting(), strategy, LINEAR, pool=NUMBERS, eval_env=counting(end=3))
    with pytest.raises(ValueError, match="info\\['is_success'\\] is missing .* measure='return'"):
        run.advance()


def test_tasks_that_do_not_arrive_are_noticed():
    class Hides(gymnasium.Wrapper[Any, Any, Any, Any]):
        queue = ()

    with pytest.raises(RuntimeError, match="started task .* was pushed.*'queue'"):
        host_run(vector_of(lambda: Hides(task_env()), 8))


def test_what_needs_an_environment_of_its_own_says_so():
    env = native()
    with pytest.raises(ValueError, match="eval_env must not be env"):
        host_run(env, eval_env=env)
    with pytest.raises(ValueError, match="eval_env is required: procurl-env plays rollouts"):
        host_run(strategy=make_strategy("procurl-env"))
    with pytest.raises(ValueError, match="eval_env is required for evaluations"):
        host_run().evaluate(0)
    with pytest.raises(ValueError, match="eval_env must have the single_action_space of env"):
        host_run(eval_env=native(env=PushCorridor()))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"env": native(5)}, ValueError, "must divide the 64 steps of an update, got 5"),
        ({"seed": -1}, ValueError, "seed must be"),
        ({"seed": 2**32}, ValueError, "seed must be at most 4294967295, got 4294967296"),
        ({"reset_samples": 0}, ValueError, "reset_samples must be"),
        ({"evaluation": EvaluationPlan(every=0)}, ValueError, "evaluation.every must be"),
        (
            {"evaluation": EvaluationPlan(tasks=[6])},
            ValueError,
            "evaluation.tasks must be ids from 0 to 5",
        ),
        (
            {"evaluation": EvaluationPlan(pool=TaskPool(CONTEXTS))},
            ValueError,
            "evaluation.pool is for training on a TaskSpace",
        ),
        ({"strategy": 3}, TypeError, "strategy must be a Strategy, .* or a name"),
        ({"strategy": replace(VAL, beta=-1.0)}, ValueError, "beta must be"),
        ({"ppo": replace(SMALL, batch_size=7)}, ValueError, "batch_size must divide"),
        ({"ppo": None}, TypeError, "ppo must be PPOSettings, as from paper_settings, got None"),
        ({"pool": CONTEXTS}, TypeError, "pool must be a TaskPool, got ndarray$"),
        (
            {"pool": TaskSpace([1.0], [6.0])},
            TypeError,
            r"pool must be a TaskPool, got TaskSpace.* use space\.pool\(\), or train on the space",
        ),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        host_run(**settings)


class Buffered(VectorEnv[Any, Any, Any]):
    """Shows its task's number and its steps, always in the same arrays; lasts three steps."""

    metadata = {"autoreset_mode": SAME_STEP}  # noqa: RUF012
    num_envs = 2
    single_observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    single_action_space = spaces.Discrete(2)

    def __init__(self):
        self.seen = np.zeros((2, 2), dtype=np.float32)
        self.tasks = np.zeros(2, dtype=np.int64)
        self.queues: list[list[int]] = []

    def push_tasks(self, ids):
        self.queues = ids.tolist()

    def _begin(self, i):
        self.tasks[i] = self.queues[i].pop(0)
        self.seen[i] = self.tasks[i] + 1.0, 0.0

    def reset(self, *, seed=None, options=None):
        for i in range(2):
            self._begin(i)
        return self.seen, {"task": self.tasks}

    def step(self, actions):
        self.seen[:, 1] += 1.0
        done = self.seen[:, 1] == 3.0
        for i in np.flatnonzero(done):
            self._begin(i)
        return self.seen, np.ones(2), done, np.zeros(2, dtype=bool), {"task": self.tasks}


class SingleCounter(Counter):
    """A counter whose observations need no conversion, in which copies would be hidden."""

    def __init__(self):
        super().__init__(end=3)
        self.observation_space = spaces.Box(-np.inf, np.inf, (1, 2), np.float32)


def shared_buffer():
    make = lambda: TaskEnv(SingleCounter(), NUMBERS)  # noqa: E731
    return SyncVectorEnv([make] * 2, autoreset_mode=SAME_STEP, copy=False)


@pytest.mark.parametrize("env", [Buffered, shared_buffer])
def test_environments_may_return_the_same_arrays_at_every_step(env):
    run = host_run(env(), VAL, LINEAR, pool=NUMBERS)
    assert run.pool_observations[:, 0, 0].tolist() == [1.0, 2.0, 3.0]
    rollout, _ = collected(run)
    assert rollout.observations[..., 1].T.tolist() == [[0.0, 1.0, 2.0] * 2] * 2
    assert (rollout.observations[..., 0] == rollout.tasks + 1).all()
    assert (rollout.tasks[0] == rollout.tasks[2]).all()


def test_success_may_be_an_array_of_one():
    class Sure(Counter):
        def step(self, action):
            *rest, _ = super().step(action)
            return *rest, {"is_success": np.array([self.seen[0, 0] > 1.0])}

    run = host_run(vector_of(lambda: TaskEnv(Sure(end=3), NUMBERS), 2), IID, LINEAR, pool=NUMBERS)
    rollout, _ = collected(run)
    ended = rollout.dones
    assert ended.sum() == 4
    assert (rollout.success[ended] == (rollout.tasks[ended] > 0)).all()
