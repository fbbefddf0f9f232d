"""A batch of runs from start to end: the loop around the compiled programs."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from procurl.envs.array_env import ArrayEnv
from procurl.internals.arrays import Array, Ids
from procurl.internals.checks import require_integer
from procurl.internals.pytrees import register_settings
from procurl.ppo import programs
from procurl.ppo.batch_pools import bind_strategies, evaluation_tasks, require_one_size
from procurl.ppo.episodes import choose
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.evaluation.teacher_part import snapshots, teacher_scalars
from procurl.ppo.gpu.repeatable import is_repeatable
from procurl.ppo.gpu.shape import Shape
from procurl.ppo.learning.networks import init_batch
from procurl.ppo.learning.settings import PPOSettings
from procurl.ppo.picks import PickLog
from procurl.ppo.programs import (
    PURPOSE,
    Agent,
    Classroom,
    PoolArrays,
    Update,
)
from procurl.ppo.run_settings import checked_strategies, require_plan
from procurl.ppo.runs_state import RunsState, first_state, stopping_steps
from procurl.ppo.spaces import BatchCandidates
from procurl.ppo.teacher import Teacher, Teaching, count_steps
from procurl.records.evaluation import Evaluation, Snapshot
from procurl.strategies.refreshing import is_always_due, rolls_out_together
from procurl.strategies.strategy import Strategy
from procurl.tasks.pool import TaskPool
from procurl.tasks.space import TaskSpace

APART = 8  # runs that roll out at different steps do so in groups of 1/APART of a batch
ROLLOUT_WIDTH = 512  # environments at a time in pool-wide rollouts; does not affect results
MAX_LOGGED_UPDATES = 32  # kept on the device before picks are fetched


@dataclass
class Runs:
    """Runs of one environment and one strategy that differ in seed and numeric settings.

    Args:
        env: the dynamics.
        pool: the training pool, to which each strategy is bound, or one pool per run, all of the
            same size, or the `TaskSpace` that each run draws its own candidates from.
        strategies: one per run, or their names; they may differ only in traced settings.
        ppo: one per run, likewise.
        seeds: one per run.
        n_envs: environments per run, which share `n_steps`.
        evaluation: when and how runs are evaluated.
    """

    env: ArrayEnv
    pool: TaskPool | Sequence[TaskPool] | TaskSpace
    strategies: Sequence[Strategy]
    ppo: Sequence[PPOSettings]
    seeds: Sequence[int]
    n_envs: int = 1
    evaluation: EvaluationPlan = field(default_factory=EvaluationPlan)
    evaluations: list[list[Evaluation]] = field(init=False)  # [w] by step
    updates: int = field(init=False, default=0)
    seconds: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self._check()
        self.eval_pools = self.evaluation.pools_for(self.pool)  # one for all runs, or [w]
        self.candidates: BatchCandidates | None = None  # of a space
        if isinstance(self.pool, TaskSpace):
            self.candidates = BatchCandidates(self.pool, self.env, self.strategies, self.seeds)
            self.strategies, n = self.candidates.strategies, self.pool.size
        else:
            self.strategies = bind_strategies(self.strategies, self.eval_pools)
            n = len(self.eval_pools[0])
        first, settings, w = self.strategies[0], self.ppo[0], len(self.seeds)
        register_settings(first)
        self.agent = Agent.of(self.env, settings, self.n_envs)
        self.teacher = Teacher.of(first, n, self.n_envs, renewed=self.candidates is not None)
        self._classroom = Classroom(self.agent, self.teacher)
        self._always_due = is_always_due(first)
        self._excludes_tasks = first.learning_mask(first.init(n)) is not None
        # If runs roll out at different steps, few of them wait for the rollouts of others.
        self.refresh_size = w if rolls_out_together(first) else max(1, w // APART)
        self._strategies = _stack("strategies", self.strategies)
        self._ppo = _stack("ppo", self.ppo)
        self._seeds = jnp.asarray(self.seeds, dtype=jnp.uint32)
        self._tasks = evaluation_tasks(self.env, self.eval_pools, self.evaluation)
        if self.candidates is not None:
            self.take_candidates()
        elif len(self.eval_pools) > 1:
            self._pool = programs.own_pools(self.agent.actor, self._tasks.whole)
        else:
            observe = jax.jit(self.agent.actor.initial_observations)
            self._pool = PoolArrays(self._tasks.whole, observe(self._tasks.whole))
        kept = min(-(-self.evaluation.every // settings.n_steps), MAX_LOGGED_UPDATES)
        shape = Shape.of(self.agent.actor.network, settings, self.agent.actor.observation_size)
        self._repeatable = is_repeatable(shape)
        self.evaluations = [[] for _ in self.seeds]
        self.picks = PickLog(w, settings.n_steps, kept)
        self.state = self._begin()

    def _check(self) -> None:
        if not isinstance(self.env, ArrayEnv):
            raise TypeError(
                f"env must be an ArrayEnv, as from make_array_env, got {self.env!r:.80}"
            )
        if not isinstance(self.pool, TaskPool | TaskSpace | list | tuple):
            raise TypeError(
                f"pool must be a TaskPool or a TaskSpace, got {type(self.pool).__name__}"
            )
        self.strategies = checked_strategies(self.strategies, self.ppo, self.seeds)
        if isinstance(self.pool, list | tuple):
            require_one_size(self.pool, len(self.seeds))
        require_integer("n_envs", self.n_envs, at_least=1)
        n_steps = self.ppo[0].n_steps
        if n_steps % self.n_envs:
            raise ValueError(
                f"n_envs must divide the {n_steps} steps of an update, got {self.n_envs}"
            )
        require_plan("evaluation", self.evaluation)

    def _begin(self) -> RunsState:
        keys = programs.run_keys(self._seeds, PURPOSE.begin, 0)
        w = len(self.seeds)
        teaching = programs.begin_teachers(self.teacher, self._strategies, w)
        contexts, cumulative = self._pool.contexts, teaching.cumulative
        has_anchor = self.strategies[0].patience is not None
        actor = self.agent.actor
        params = init_batch(actor.network, self.seeds, actor.observation_size)
        training = programs.begin_agents(self.agent, params, contexts, cumulative, keys, has_anchor)
        state: RunsState = first_state(training, teaching)
        return state

    @property
    def train_steps(self) -> int:
        """Training steps that every run has taken."""
        return self.updates * self.ppo[0].n_steps

    def advance(self) -> None:
        """Train every run for one update, refresh its teacher and evaluate, each if due."""
        start = time.perf_counter()
        before = self.train_steps
        state = self.state
        keys = programs.run_keys(self._seeds, PURPOSE.train, self.updates)
        train = programs.train_repeatably if self._repeatable else programs.train
        training, summary, _, alive = train(
            self.agent,
            self._ppo,
            self._pool.contexts,
            state.training,
            state.teaching.cumulative,
            keys,
            state.alive,
            self._learning_masks(state.teaching),
            self.strategies[0].patience,
        )
        self.updates += 1
        self.picks.note(summary.dones, summary.tasks, state.alive)
        step = jnp.asarray(self.train_steps, dtype=jnp.int32)
        update = Update(step, training.student.params, summary, alive)
        teaching, alive = self._teach(state.teaching, update)
        if self.candidates is not None:
            teaching = self._renew(self.candidates, teaching, alive, training.lanes.tasks)
        stopped_at = stopping_steps(state.stopped_at, state.alive, alive, step)
        self.state = state._replace(
            training=training, teaching=teaching, alive=alive, stopped_at=stopped_at
        )
        due = self.evaluation.due_step(before, self.train_steps)
        if due is not None:
            jax.block_until_ready(self.state)  # type: ignore[no-untyped-call]
        self.seconds += time.perf_counter() - start
        if due is not None:
            self.evaluate(due)

    def _learning_masks(self, teaching: Teaching) -> Array | None:
        """[w, n] the tasks that each run learns from; None without asking the device: all."""
        if not self._excludes_tasks:
            return None
        return programs.learning_masks(self._strategies, teaching)

    def _teach(self, teaching: Teaching, update: Update) -> tuple[Teaching, Array]:
        """The teachers after an update, and which runs are still alive."""
        alive = update.alive
        due = self._due(teaching, update.step)
        rolling = self._rolling(due, teaching, update.step)
        others = due & ~rolling
        refresh = bool(others.any())
        if self.teacher.counts_episodes or refresh:
            teaching, alive = programs.teach(
                self._classroom,
                self._strategies,
                self._pool,
                teaching,
                update,
                programs.run_keys(self._seeds, PURPOSE.teach, self.updates),
                refresh,
                jnp.asarray(others) if refresh and not others.all() else None,
            )
        if rolling.any():
            keys = programs.run_keys(self._seeds, PURPOSE.roll_out, self.updates)
            rolling = rolling & np.asarray(alive)
            for rows in refresh_groups(np.flatnonzero(rolling), self.refresh_size):
                teaching = programs.teach_by_rollouts(
                    self._classroom,
                    self._strategies,
                    self._pool,
                    teaching,
                    update,
                    keys,
                    rows,
                    ROLLOUT_WIDTH,
                )
            alive = alive & teaching.sound
        return teaching, alive

    def _due(self, teaching: Teaching, step: Array) -> NDArray[np.bool_]:
        """[w] which runs to refresh now; reads from the device only if necessary."""
        if not self.teacher.uses or self._always_due:
            return np.full(len(self.seeds), self._always_due)
        due = np.asarray(programs.due(self._strategies, teaching, step))
        alive = np.asarray(self.state.alive)
        # A run that has stopped stays as it is; it must not make the others wait or refresh.
        return due | ~alive if (due & alive).any() else np.zeros_like(due)

    def _rolling(
        self, due: NDArray[np.bool_], teaching: Teaching, step: Array
    ) -> NDArray[np.bool_]:
        """[w] which of the runs that are `due` play rollouts now."""
        plan = self.teacher.plan
        if plan is None:
            return np.zeros_like(due)
        if not plan.optional or not due.any():
            return due
        affordable: NDArray[np.bool_] = np.asarray(
            programs.rolls_out(self._strategies, teaching, step)
        )
        return due & affordable

    def take_candidates(self) -> None:
        """Teach and train on the candidates as they are now; does nothing for a fixed pool."""
        if self.candidates is not None:
            self.strategies = self.candidates.strategies
            self._strategies = _stack("strategies", self.strategies)
            contexts = jnp.asarray(self.candidates.contexts)
            self._pool = programs.own_pools(self.agent.actor, contexts)

    def _renew(
        self, candidates: BatchCandidates, teaching: Teaching, alive: Array, playing: Array
    ) -> Teaching:
        """The teachers with new candidates in the runs that were refreshed at this update."""
        refreshed = np.asarray(alive)
        if self.teacher.uses:
            refreshed = refreshed & (np.asarray(teaching.step) == self.train_steps)
        if not refreshed.any():
            return teaching
        everything = jnp.arange(self.teacher.n)
        probabilities, _ = programs.task_views(self._strategies, teaching, everything)
        arrays = np.asarray(probabilities), np.asarray(playing)
        teaching = candidates.renew(teaching, refreshed, *arrays, self.updates, self.train_steps)
        self.take_candidates()
        after: Teaching = programs.redistribute(self._strategies, teaching, jnp.asarray(refreshed))
        return after

    def evaluate(self, step: int) -> list[Evaluation]:
        """Evaluate all runs and keep the best weights so far.

        Args:
            step: the nominal training steps of the evaluation.

        Returns:
            [w] one evaluation per run, also added to `evaluations`.
        """
        params = self.state.training.student.params
        whole = step in self.evaluation.whole_at
        contexts = self._tasks.whole if whole else self._tasks.played
        returns = self._returns(contexts, PURPOSE.evaluate)
        performance = jnp.mean(returns, axis=1)
        better = self.state.alive & (performance > self.state.best)
        self.state = self.state._replace(
            best=jnp.where(better, performance, self.state.best),
            best_params=_pick(better, params, self.state.best_params),
        )
        shown = returns[:, self._tasks.shown if whole else self._tasks.shown_at]
        latest = self._records(step, np.asarray(performance), self._test_performance(), shown)
        for evaluations, evaluation in zip(self.evaluations, latest, strict=True):
            evaluations.append(evaluation)
        return latest

    def _records(
        self, step: int, performance: NDArray[Any], test: NDArray[Any] | None, returns: Array
    ) -> list[Evaluation]:
        """[w] an evaluation with these mean returns [w], and `returns` [w, m] for the snapshot."""
        teaching = self.state.teaching
        stopped_at = np.asarray(self.state.stopped_at)
        trained = np.where(stopped_at < 0, self.train_steps, stopped_at)
        env_steps = count_steps(teaching.rollout_steps) + trained
        scalars = teacher_scalars(self._strategies, teaching)
        shown: Sequence[Snapshot | None] = [None] * len(returns)  # a space has other tasks
        if self.candidates is None:
            shown = snapshots(self._strategies, teaching, self._tasks.shown, returns)
        return [
            Evaluation(
                step=step,
                performance=float(performance[run]),
                test_performance=None if test is None else float(test[run]),
                train_steps=int(trained[run]),
                env_steps=int(env_steps[run]),
                seconds=self.seconds,
                entropy=entropy,
                mean_success=mean_success,
                picks=picks,
                snapshot=shown[run],
            )
            for run, ((entropy, mean_success), picks) in enumerate(
                zip(scalars, self.picks.take(), strict=True)
            )
        ]

    def _test_performance(self) -> NDArray[Any] | None:
        """[w] mean returns over the test pool, if there is one."""
        if self._tasks.test is None:
            return None
        returns = self._returns(self._tasks.test, PURPOSE.test)
        return np.asarray(jnp.mean(returns, axis=1))

    def _returns(self, contexts: Array, purpose: int) -> Array:
        """[w, n] mean return of every task."""
        keys = programs.run_keys(self._seeds, purpose, self.updates)
        params = self.state.training.student.params
        return programs.evaluate(
            self.agent.actor,
            contexts,
            params,
            keys,
            ROLLOUT_WIDTH,
            self.evaluation.episodes,
            self.evaluation.stochastic,
        )


def refresh_groups(due: Ids, size: int) -> Iterator[Ids]:
    """The runs `due` in groups of equal size, so that one program refreshes them all.

    The last group is filled up by repeating its first run.
    """
    for first in range(0, len(due), size):
        group = due[first : first + size]
        yield np.concatenate([group, np.repeat(group[:1], size - len(group))])


def _stack(argument: str, trees: Sequence[Any]) -> Any:
    """The settings of all runs as one tree of arrays [w, …] in single precision."""
    kinds = [(jax.tree.structure(tree), *map(np.shape, jax.tree.leaves(tree))) for tree in trees]
    for tree, kind in zip(trees, kinds, strict=True):
        if kind != kinds[0]:
            raise ValueError(
                f"{argument} of one batch may differ only in floating-point settings, such as β or "
                "a learning rate; train runs with other differences in separate batches. Got "
                f"{trees[0]!r} and {tree!r}"
            )

    def stack(*leaves: Any) -> Array:
        array = np.stack([np.asarray(leaf) for leaf in leaves])
        whole = np.issubdtype(array.dtype, np.integer) and array.ndim > 1  # task ids stay integers
        return jnp.asarray(array if whole else array.astype(np.float32))

    return jax.tree.map(stack, *trees)


@jax.jit
def _pick(where: Array, yes: Any, no: Any) -> Any:
    return choose(where, yes, no)
