"""The compiled programs: an agent and its teacher, for a batch of runs side by side.

The first axis of every array is the run. The agent's programs do not depend on the strategy, so all
strategies share them; each strategy adds only a small program.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp

from procurl.envs.array_env import ArrayEnv
from procurl.internals.arrays import Array
from procurl.ppo.actor import Actor
from procurl.ppo.collect import Lanes, head_of
from procurl.ppo.episodes import choose
from procurl.ppo.gpu.repeatable import REPEATABLE
from procurl.ppo.learning.anchor import Anchor, first_anchor, next_anchor
from procurl.ppo.learning.networks import Params, actor_critic
from procurl.ppo.learning.settings import PPOSettings
from procurl.ppo.learning.update import Diagnostics, StudentState, init_student
from procurl.ppo.student import RolloutSummary, Student
from procurl.ppo.teacher import Teacher, Teaching, cumulative_of
from procurl.strategies.refreshing import is_due
from procurl.strategies.strategy import Strategy


class Purpose(NamedTuple):
    """The uses of random numbers in a run; each has its own stream."""

    begin: int = 0
    train: int = 1
    teach: int = 2
    roll_out: int = 3
    evaluate: int = 4
    test: int = 5


PURPOSE = Purpose()
TASK_STREAM = 2  # of the key of rollouts, whose two halves serve the episodes and the noise


class TrainingState(NamedTuple):
    """The part of a run that training changes."""

    student: StudentState
    lanes: Lanes
    anchor: Anchor | None = None  # of an agent with patience


@dataclass(frozen=True)
class Agent:
    """An actor that takes steps and a student that learns from them, with one network."""

    actor: Actor
    student: Student

    @classmethod
    def of(cls, env: ArrayEnv, settings: PPOSettings, n_envs: int) -> Self:
        """The agent with the network that `settings` describe, in `n_envs` copies of `env`."""
        network = actor_critic(settings, head_of(env))
        return cls(Actor(env, network, n_envs), Student(network))

    def begin(
        self, params: Params, contexts: Array, cumulative: Array, key: Array, has_anchor: bool
    ) -> TrainingState:
        """The weights `params`, and environments on tasks of the teacher's first distribution."""
        task_key, noise_key = jax.random.split(key)
        lanes = self.actor.begin(contexts, cumulative, task_key, noise_key)
        student = init_student(params)
        return TrainingState(student, lanes, first_anchor(student) if has_anchor else None)

    def train(
        self,
        ppo: PPOSettings,
        contexts: Array,
        training: TrainingState,
        cumulative: Array,
        key: Array,
        learning_mask: Array | None = None,
        patience: int | None = None,
    ) -> tuple[TrainingState, RolloutSummary, Diagnostics]:
        """One update: `n_steps` steps on the teacher's tasks, then PPO's epochs over them."""
        rollout_key, order_key = jax.random.split(key)
        lanes, rollout = self.actor.collect(
            contexts,
            training.student.params,
            training.lanes,
            cumulative,
            rollout_key,
            ppo.n_steps // self.actor.n_envs,
        )
        student, summary, diagnostics = self.student.learn(
            ppo, training.student, rollout, lanes.observations, order_key, learning_mask
        )
        anchor = training.anchor
        if anchor is not None and patience is not None:
            rewarded = jnp.any(rollout.rewards != 0.0)
            student, anchor = next_anchor(anchor, student, rewarded, patience)
        return TrainingState(student, lanes, anchor), summary, diagnostics


@dataclass(frozen=True)
class Classroom:
    """The static parts of the programs that depend on the strategy."""

    agent: Agent
    teacher: Teacher


class PoolArrays(NamedTuple):
    """The training pool as programs see it; if each run has its own, with one more axis [w]."""

    contexts: Array  # [n, c]
    observations: Array  # [n, o] initial ones, [n, k, o] if resets are random


class Update(NamedTuple):
    """What the teachers see of one update."""

    step: Array  # []  training steps so far
    params: Any  # [w, ...] weights after it
    summary: RolloutSummary  # [w, T, b] its training steps
    alive: Array  # [w] bool, runs that have not stopped


@jax.jit
def run_keys(seeds: Array, purpose: int, count: Array) -> Array:
    """[w] one key per run, for this purpose and the `count`-th use."""

    def of(seed: Array) -> Array:
        stream = jax.random.fold_in(jax.random.key(seed), purpose)
        return jax.random.fold_in(stream, count)

    return jax.vmap(of)(seeds)


def _each_run(one: Callable[..., Any], *runs: Any) -> Any:
    """Apply `one` to every run; `runs` are trees of arrays [w, …].

    A single run is not vmapped: XLA lays out the matrix products of a batch of one so badly that an
    update of Karel's network takes 1.6 times as long on a CPU.
    """
    if jax.tree.leaves(runs)[0].shape[0] > 1:
        return jax.vmap(one)(*runs)
    return jax.tree.map(lambda leaf: leaf[None], one(*jax.tree.map(lambda leaf: leaf[0], runs)))


def _own(contexts: Array, arrays: Any) -> Any:
    """`arrays` if each run has its own contexts [w, n, c], None if all share `contexts` [n, c]."""
    return arrays if contexts.ndim == 3 else None


@partial(jax.jit, static_argnames="actor")
def own_pools(actor: Actor, contexts: Array) -> PoolArrays:
    """The pools of runs with contexts [w, n, c]."""
    return PoolArrays(contexts, jax.vmap(actor.initial_observations)(contexts))


@partial(jax.jit, static_argnames=("agent", "has_anchor"))
def begin_agents(
    agent: Agent,
    params: Params,
    contexts: Array,
    cumulative: Array,
    keys: Array,
    has_anchor: bool = False,
) -> TrainingState:
    """The first state of every run, with the weights `params` [w, …]."""

    def one(params: Params, cumulative: Array, key: Array, own: Array | None) -> TrainingState:
        return agent.begin(params, contexts if own is None else own, cumulative, key, has_anchor)

    begun: TrainingState = _each_run(one, params, cumulative, keys, _own(contexts, contexts))
    return begun


@partial(jax.jit, static_argnames=("teacher", "runs"))
def begin_teachers(teacher: Teacher, strategies: Strategy, runs: int) -> Teaching:
    begun: Teaching = jax.vmap(teacher.begin, axis_size=runs)(strategies)
    return begun


def _train(
    agent: Agent,
    ppo: PPOSettings,
    contexts: Array,
    training: TrainingState,
    cumulative: Array,
    keys: Array,
    alive: Array,
    learning_masks: Array | None = None,
    patience: int | None = None,
) -> tuple[TrainingState, RolloutSummary, Diagnostics, Array]:
    """One update of every run that is alive; a run with a non-finite loss keeps its state.

    Args:
        contexts: [n, c], or [w, n, c] if each run has its own tasks.
        learning_masks: [w, n] bool, the tasks that each run learns from; None: all.
        patience: as of `Strategy.patience`.
    """

    def one(
        ppo: PPOSettings,
        training: TrainingState,
        cumulative: Array,
        key: Array,
        mask: Array | None,
        own: Array | None,
    ) -> tuple[TrainingState, RolloutSummary, Diagnostics]:
        tasks = contexts if own is None else own
        return agent.train(ppo, tasks, training, cumulative, key, mask, patience)

    after, summary, diagnostics = _each_run(
        one, ppo, training, cumulative, keys, learning_masks, _own(contexts, contexts)
    )
    going = alive & jax.vmap(Diagnostics.finite)(diagnostics)
    return choose(going, after, training), summary, diagnostics, going


_compile = partial(jax.jit, static_argnames=("agent", "patience"), donate_argnames="training")
train = _compile(_train)
train_repeatably = _compile(_train, compiler_options=REPEATABLE)
_compile_repeatably = partial(jax.jit, compiler_options=REPEATABLE)
_compile_teaching = partial(_compile_repeatably, donate_argnames="teaching")


@partial(_compile_teaching, static_argnames=("classroom", "refresh"))
def teach(
    classroom: Classroom,
    strategies: Strategy,
    pool: PoolArrays,
    teaching: Teaching,
    update: Update,
    keys: Array,
    refresh: bool,
    due: Array | None = None,
) -> tuple[Teaching, Array]:
    """Count the training episodes and, with `refresh`, refresh; returns (teaching, alive).

    Args:
        due: [w] bool, the runs to refresh; None refreshes all.
    """
    student, teacher = classroom.agent.student, classroom.teacher

    def one(
        strategy: Strategy,
        params: Any,
        teaching: Teaching,
        summary: RolloutSummary,
        key: Array,
        own: PoolArrays | None,
    ) -> tuple[Teaching, Teaching]:
        if teacher.counts_episodes:
            teaching = teacher.count_episodes(strategy, teaching, summary)
        if not refresh:
            return teaching, teaching
        seen = (pool if own is None else own).observations
        valued, values = teacher.value_tasks(teaching, partial(student.values, params), seen)
        return teaching, teacher.refresh(strategy, valued, update.step, values, key, None)

    counted, after = _each_run(
        one, strategies, update.params, teaching, update.summary, keys, _own(pool.contexts, pool)
    )
    if due is not None:
        after = choose(due, after, counted)
    going = update.alive & after.sound
    return choose(going, after, teaching), going


@partial(_compile_teaching, static_argnames=("classroom", "width"))
def teach_by_rollouts(
    classroom: Classroom,
    strategies: Strategy,
    pool: PoolArrays,
    teaching: Teaching,
    update: Update,
    keys: Array,
    rows: Array,
    width: int,
) -> Teaching:
    """Play the teacher's rollouts on its part of the pool and refresh the runs at `rows` [m].

    Only these are computed. A row may occur more than once.
    """
    agent, teacher = classroom.agent, classroom.teacher
    plan = teacher.plan
    assert plan is not None

    def one(
        strategy: Strategy, params: Any, teaching: Teaching, key: Array, own: PoolArrays | None
    ) -> Teaching:
        contexts, observations = pool if own is None else own
        rollout_key, noise_key = jax.random.split(key)
        value = partial(agent.student.values, params)
        teaching, values = teacher.value_tasks(teaching, value, observations)
        tasks = teacher.rollout_tasks(strategy, teaching, jax.random.fold_in(key, TASK_STREAM))
        contexts = contexts if tasks is None else contexts[tasks]
        episodes = agent.actor.roll_out(params, contexts, rollout_key, plan.episodes, width)
        episodes = episodes._replace(tasks=tasks)
        return teacher.refresh(strategy, teaching, update.step, values, noise_key, episodes)

    all_runs = strategies, update.params, teaching, keys, _own(pool.contexts, pool)
    mine = jax.tree.map(lambda leaf: leaf[rows], all_runs)
    after: Teaching = jax.tree.map(
        lambda leaf, new: leaf.at[rows].set(new), teaching, _each_run(one, *mine)
    )
    return after


@partial(_compile_repeatably, static_argnames=("actor", "width", "episodes", "stochastic"))
def evaluate(
    actor: Actor,
    contexts: Array,
    params: Any,
    keys: Array,
    width: int,
    episodes: int = 1,
    stochastic: bool = False,
) -> Array:
    """[w, n] mean return of `episodes` episodes on every task.

    Args:
        contexts: [n, c], or [w, n, c] if each run has its own tasks.
    """

    def one(params: Any, key: Array, own: Array | None) -> Array:
        tasks = contexts if own is None else own
        return actor.evaluate(params, tasks, key, width, episodes, stochastic)

    return _each_run(one, params, keys, _own(contexts, contexts))


@jax.jit
def due(strategies: Strategy, teaching: Teaching, step: Array) -> Array:
    """[w] bool, the runs that are due for a refresh."""

    def one(strategy: Strategy, teaching: Teaching) -> Array:
        return jnp.asarray(is_due(strategy, step, teaching.step, teaching.teacher_steps))

    return jax.vmap(one)(strategies, teaching)


@jax.jit
def rolls_out(strategies: Strategy, teaching: Teaching, step: Array) -> Array:
    """[w] bool, the runs whose budget allows rollouts."""

    def one(strategy: Strategy, teaching: Teaching) -> Array:
        return jnp.asarray(strategy.rolls_out(step, teaching.teacher_steps))

    return jax.vmap(one)(strategies, teaching)


@jax.jit
def redistribute(strategies: Strategy, teaching: Teaching, where: Array) -> Teaching:
    """The runs `where` [w] with the distribution of their strategy's state; others stay as is."""

    def one(strategy: Strategy, teaching: Teaching) -> Teaching:
        cumulative = cumulative_of(strategy.probabilities(teaching.strategy))
        return teaching._replace(cumulative=cumulative, sound=teaching.sound & (cumulative[-1] > 0))

    return choose(where, jax.vmap(one)(strategies, teaching), teaching)


@jax.jit
def learning_masks(strategies: Strategy, teaching: Teaching) -> Array | None:
    """[w, n] bool, the tasks that each run learns from; None: all."""
    return jax.vmap(lambda strategy, own: strategy.learning_mask(own.strategy))(
        strategies, teaching
    )


@jax.jit
def curriculum_metrics(strategies: Strategy, teaching: Teaching) -> tuple[Array, Array]:
    """([w] entropy of the task distribution, [w] mean estimated success or NaN)."""

    def one(strategy: Strategy, teaching: Teaching) -> tuple[Array, Array]:
        p = strategy.probabilities(teaching.strategy)
        entropy = -jnp.sum(p * jnp.log(jnp.where(p > 0, p, 1.0)))
        success = strategy.estimated_success(teaching.strategy)
        return entropy, jnp.asarray(jnp.nan if success is None else jnp.mean(success))

    return jax.vmap(one)(strategies, teaching)


@jax.jit
def task_views(
    strategies: Strategy, teaching: Teaching, tasks: Array
) -> tuple[Array, Array | None]:
    """([w, m] probabilities of `tasks` [m], [w, m] estimated success or None)."""

    def one(strategy: Strategy, teaching: Teaching) -> tuple[Array, Array | None]:
        success = strategy.estimated_success(teaching.strategy)
        p = strategy.probabilities(teaching.strategy)
        return p[tasks], None if success is None else jnp.asarray(success)[tasks]

    return jax.vmap(one)(strategies, teaching)
