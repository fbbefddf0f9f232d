"""Small host runs for the tests in this folder."""

from dataclasses import replace
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

from procurl import TaskEnv, TaskPool, make_strategy
from procurl.envs.adapters.gym_env import GymEnv
from procurl.envs.adapters.vector_env import GymVectorEnv
from procurl.ppo.host.run import HostRun
from procurl.ppo.learning.settings import PPOSettings
from procurl.ppo.programs import PURPOSE
from tests.ppo.toy import (
    CONTEXTS,
    SMALL,
    StepCorridor,
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
    """Set the weights of the student, and of its anchor if it has one."""
    student, anchor = run.state.student._replace(params=params), run.state.anchor
    if anchor is not None:
        anchor = anchor._replace(student=student)
    run.state = run.state._replace(student=student, anchor=anchor)


def put_all_on(run, task):
    """Let the teacher play one task and no other."""
    cumulative = jnp.asarray(np.arange(N) >= task, dtype=jnp.float32)
    run.state = run.state._replace(teaching=run.state.teaching._replace(cumulative=cumulative))


def collected(run):
    """The rollout of the next update, and where it was cut short."""
    key, _ = jax.random.split(run.random_key(PURPOSE.train))
    return run.collect(key)


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
