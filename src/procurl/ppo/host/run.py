"""A run whose environment is stepped in Gymnasium; everything else is compiled."""

import time
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from procurl.evidence.episodes import require_success
from procurl.internals.arrays import Array, Ids
from procurl.internals.checks import require_integer
from procurl.internals.pytrees import register_settings
from procurl.policy import Policy, make_policy
from procurl.ppo import programs
from procurl.ppo.collect import Rollout
from procurl.ppo.episodes import Episodes
from procurl.ppo.evaluation.plan import EvaluationPlan, positions
from procurl.ppo.evaluation.teacher_part import snapshots, teacher_scalars
from procurl.ppo.host.env import HostEnv, second_env
from procurl.ppo.host.programs import (
    CutShort,
    HostLanes,
    bootstrap_rewards,
    count_episodes,
    deterministic,
    draw_noise,
    draw_task_ids,
    endless_noise,
    env_seed,
    learn,
    move_anchor,
    refresh,
    rollout_tasks,
    stack_rows,
    stochastic,
    value_tasks,
)
from procurl.ppo.host.state import HostState
from procurl.ppo.learning.anchor import first_anchor
from procurl.ppo.learning.networks import actor_critic, init_params
from procurl.ppo.learning.settings import PPOSettings
from procurl.ppo.learning.update import init_student
from procurl.ppo.picks import PickLog
from procurl.ppo.programs import PURPOSE, TASK_STREAM
from procurl.ppo.run_settings import require_plan, require_ppo, require_seed
from procurl.ppo.runs import MAX_LOGGED_UPDATES
from procurl.ppo.student import RolloutSummary, Student
from procurl.ppo.teacher import Teacher, Teaching, count_steps
from procurl.records.evaluation import Evaluation
from procurl.strategies.refreshing import is_due
from procurl.strategies.registry import as_strategy, strategy_name
from procurl.strategies.strategy import Strategy
from procurl.success import RolloutPlan
from procurl.tasks.pool import TaskPool
from procurl.tasks.space import require_fixed_pool


class NotFiniteError(RuntimeError):
    """A run cannot continue: a loss, a gradient or its evidence is not finite."""


@dataclass
class HostRun:
    """One run of one strategy in any Gymnasium vector environment.

    It uses the same PPO update and teacher as `Runs`, with the same random numbers for weights,
    tasks and minibatches; only the environment steps differ. Rollouts and evaluations run in
    `eval_env`, so that they never interrupt the training episodes.

    Args:
        env: the training environment; `HostEnv` lists what it must provide. Its sub-environments
            share `n_steps`.
        pool: the tasks.
        strategy: from `make_strategy`, or your own.
        ppo: settings of the student.
        seed: of all random numbers, including those of the environments.
        eval_env: an environment for evaluations and rollouts, with any number of
            sub-environments; None trains without either.
        test_env: an environment for evaluations on `evaluation.test_pool`; None skips them.
        evaluation: when and how the run is evaluated, if there is an `eval_env`.
        reset_samples: number of initial observations per task over which the critic's value is
            averaged, for random resets.
    """

    env: VectorEnv[Any, Any, Any]
    pool: TaskPool
    strategy: Strategy
    ppo: PPOSettings
    seed: int = 0
    eval_env: VectorEnv[Any, Any, Any] | None = None
    test_env: VectorEnv[Any, Any, Any] | None = None
    evaluation: EvaluationPlan = field(default_factory=EvaluationPlan)
    reset_samples: int = 1
    evaluations: list[Evaluation] = field(init=False, default_factory=list)
    updates: int = field(init=False, default=0)
    seconds: float = field(init=False, default=0.0)
    stopped_at: int | None = field(init=False, default=None)  # where a number was not finite

    def __post_init__(self) -> None:
        self._check()
        self._host = HostEnv(self.env, self.pool)
        self._eval_host = second_env(self.env, "eval_env", self.eval_env, self.pool)
        self._test_host = second_env(self.env, "test_env", self.test_env, self.evaluation.test_pool)
        self.n_envs = self._host.n_envs
        if self.ppo.n_steps % self.n_envs:
            raise ValueError(
                f"the number of sub-environments must divide the {self.ppo.n_steps} steps of an "
                f"update, got {self.n_envs}"
            )
        self.strategy = self.strategy.bind(self.pool)
        register_settings(self.strategy)
        self.network = actor_critic(self.ppo, self._host.head)
        self.student = Student(self.network)
        self.teacher = Teacher.of(self.strategy, len(self.pool), self.n_envs)
        if self.teacher.plan is not None and self._eval_host is None:
            raise ValueError(
                f"eval_env is required: {strategy_name(self.strategy)} plays rollouts on the "
                "pool, which must not interrupt the training episodes"
            )
        self._begin()

    def _check(self) -> None:
        require_fixed_pool("pool must be", self.pool)
        require_ppo("ppo", self.ppo)
        self.strategy = as_strategy(self.strategy)
        require_seed("seed", self.seed)
        self.seed = int(self.seed)  # of NumPy, it could not be stored
        require_integer("reset_samples", self.reset_samples, at_least=1)
        require_plan("evaluation", self.evaluation)
        self._evaluated, self._snapshot_tasks = self.evaluation.tasks_of(
            self.evaluation.pools_for(self.pool)[0]
        )
        self._snapshot_at = positions(self._snapshot_tasks, self._evaluated)

    def _begin(self) -> None:
        task_key, env_key = jax.random.split(self.random_key(PURPOSE.begin))
        initial = init_params(self.network, self.seed, self._host.observation_size)
        params = jax.tree.map(jnp.asarray, initial)
        teaching = self.teacher.begin(self.strategy)
        student = init_student(params)
        anchor = None if self.strategy.patience is None else first_anchor(student)
        self.state = HostState(student, anchor, teaching, params, np.float32(-np.inf))
        seed = env_seed(env_key)
        self.pool_observations = jnp.zeros((len(self.pool), 1, self._host.observation_size))
        if self.teacher.uses:
            shown_by = self._eval_host or self._host
            # Vector environments that take ids themselves, as ours do, show their tasks.
            if "values" in self.strategy.needs and not hasattr(self.env.unwrapped, "push_tasks"):
                shown_by.require_differences(seed)
            seen = shown_by.first_observations(self.reset_samples, seed)
            self.pool_observations = jnp.asarray(seen)
        self._begin_episodes(task_key, seed)
        kept = min(-(-self.evaluation.every // self.ppo.n_steps), MAX_LOGGED_UPDATES)
        self.picks = PickLog(1, self.ppo.n_steps, kept)

    def restart_episodes(self) -> None:
        """Start a new episode in every sub-environment, in place of those that were lost."""
        task_key, env_key = jax.random.split(self.random_key(PURPOSE.begin))
        self._begin_episodes(task_key, env_seed(env_key))

    def _begin_episodes(self, task_key: Array, seed: int) -> None:
        self._host.push(self._draw_tasks(task_key, 1))
        self.lanes = HostLanes(*self._host.reset(seed), np.zeros(self.n_envs))

    @property
    def host(self) -> HostEnv:
        """The training environment as the run uses it."""
        return self._host

    @property
    def train_steps(self) -> int:
        """Training steps taken."""
        return self.updates * self.ppo.n_steps

    @property
    def params(self) -> Any:
        """The student's weights."""
        return self.state.student.params

    def policy(self, name: str) -> Policy:
        """The current policy, which acts with NumPy alone and can be saved.

        Args:
            name: name of the environment, stored with the policy.
        """
        facts = {
            "strategy": type(self.strategy).__name__,
            "seed": self.seed,
            "steps": self.train_steps,
        }
        params = jax.tree.map(np.asarray, self.params)
        return make_policy(params, name, self._host.action_low, self._host.action_high, facts)

    def advance(self) -> None:
        """Train for one update, refresh the teacher and evaluate, each if due.

        Raises NotFiniteError if the run cannot continue; after that it stays unchanged.
        """
        before = self.train_steps
        self.updates += 1
        try:
            if self.stopped_at is None:
                self._train()
        except NotFiniteError:
            self.stopped_at = self.train_steps
            self._evaluate_if_due(before)
            raise
        self._evaluate_if_due(before)

    def _train(self) -> None:
        """One update; the state stays unchanged if a number is not finite."""
        start = time.perf_counter()
        rollout_key, order_key = jax.random.split(self.random_key(PURPOSE.train, self.updates - 1))
        rollout, cut_short = self.collect(rollout_key)
        rewarded = jnp.any(rollout.rewards != 0.0)
        if cut_short.where.any():
            rewards = bootstrap_rewards(
                self.network, self.params, rollout.rewards, cut_short, self.ppo.gamma
            )
            rollout = rollout._replace(rewards=rewards)
        mask = self.strategy.learning_mask(self.state.teaching.strategy)
        seen = rollout, self.lanes.observations
        student, summary, diagnostics = learn(
            self.student, self.ppo, self.state.student, *seen, order_key, mask
        )
        if not bool(diagnostics.finite()):
            sound = all(np.isfinite(part.observations).all() for part in (rollout, self.lanes))
            raise self._not_finite("a loss or a gradient" if sound else "an observation")
        self.picks.note(rollout.dones[None], rollout.tasks[None], np.ones(1, dtype=bool))
        anchor, patience = self.state.anchor, self.strategy.patience
        if anchor is not None and patience is not None:
            student, anchor = move_anchor(anchor, student, rewarded, patience)
        teaching = self._teach(student.params, summary)
        self.state = self.state._replace(student=student, anchor=anchor, teaching=teaching)
        jax.block_until_ready(self.state)  # type: ignore[no-untyped-call]
        self.seconds += time.perf_counter() - start

    def _evaluate_if_due(self, before: int) -> None:
        """Evaluate if a multiple of the interval was passed since step `before`."""
        due = self.evaluation.due_step(before, self.train_steps)
        if self._eval_host is not None and due is not None:
            self.evaluate(due)

    def evaluate(self, step: int) -> Evaluation:
        """Evaluate the policy and keep the best weights so far.

        Args:
            step: the nominal training steps of the evaluation.
        """
        if self._eval_host is None:
            raise ValueError(
                "eval_env is required for evaluations: "
                "in env they would interrupt the training episodes"
            )
        returns = self._returns(self._eval_host, self._evaluated, PURPOSE.evaluate)
        performance = np.float32(np.mean(returns))
        if performance > self.state.best:
            best_params = jax.tree.map(jnp.copy, self.params)
            self.state = self.state._replace(best=performance, best_params=best_params)
        evaluation = self._record(step, float(performance), returns[self._snapshot_at])
        self.evaluations.append(evaluation)
        return evaluation

    def _record(self, step: int, performance: float, returns: NDArray[Any]) -> Evaluation:
        """An evaluation with this mean return, and `returns` [m] for the snapshot."""
        taken = self.train_steps if self.stopped_at is None else self.stopped_at
        both = (self.strategy, self.state.teaching)
        strategies, teaching = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], both)  # of 1 run
        [(entropy, mean_success)] = teacher_scalars(strategies, teaching)
        [snapshot] = snapshots(strategies, teaching, self._snapshot_tasks, returns[None])
        [picks] = self.picks.take()
        return Evaluation(
            step=step,
            performance=performance,
            test_performance=self._test_performance(),
            train_steps=taken,
            env_steps=taken + int(count_steps(self.state.teaching.rollout_steps)),
            seconds=self.seconds,
            entropy=entropy,
            mean_success=mean_success,
            picks=picks,
            snapshot=snapshot,
        )

    def _test_performance(self) -> float | None:
        """The mean return over the test pool, if there is one."""
        if self._test_host is None:
            return None
        tasks = np.arange(self._test_host.n_tasks)
        return float(np.mean(self._returns(self._test_host, tasks, PURPOSE.test)))

    def _returns(self, host: HostEnv, tasks: Ids, purpose: int) -> NDArray[np.float64]:
        """[m] mean return on each of `tasks` [m]."""
        key, episodes = self.random_key(purpose), self.evaluation.episodes
        if self.evaluation.stochastic:
            noise = endless_noise(self.network, jax.random.fold_in(key, 1), host.n_envs)
            act = stochastic(self.network, self.params, noise)
        else:
            act = deterministic(self.network, self.params)
        outcomes = host.play(np.repeat(tasks, episodes), act, env_seed(key))
        returns = outcomes.returns.reshape(len(tasks), episodes)
        return np.asarray(returns.mean(axis=1))

    def collect(self, key: Array) -> tuple[Rollout, CutShort]:
        """`n_steps` steps of the stochastic policy on the teacher's tasks."""
        steps = self.ppo.n_steps // self.n_envs
        task_key, noise_key, _ = jax.random.split(key, 3)  # as for compiled environments
        # At most one episode ends per step, so this many tasks suffice; unused ones are dropped.
        self._host.push(self._draw_tasks(task_key, steps))
        noise = draw_noise(self.network, noise_key, (steps, self.n_envs))
        act = stochastic(self.network, self.params, np.asarray(noise))
        rows, cuts = [], []
        for _ in range(steps):
            lanes = self.lanes
            actions = act(lanes.observations)
            after = self._host.step(actions)
            gained = lanes.gained + after.rewards
            rows.append(
                Rollout(
                    lanes.observations,
                    actions,
                    after.rewards.astype(np.float32),
                    after.done,
                    after.success.astype(np.float32),
                    gained.astype(np.float32),
                    lanes.tasks.astype(np.int32),
                )
            )
            cuts.append(CutShort(after.cut_short, after.final))
            unfinished = np.where(after.done, 0.0, gained)
            self.lanes = HostLanes(after.observations, after.tasks, unfinished)
        return stack_rows(rows), stack_rows(cuts)

    def _teach(self, params: Any, summary: RolloutSummary) -> Teaching:
        """The teacher after an update: episodes counted, and the strategy refreshed if due."""
        teacher, strategy, teaching = self.teacher, self.strategy, self.state.teaching
        step = jnp.asarray(self.train_steps, dtype=jnp.int32)
        key, episodes = self.random_key(PURPOSE.teach), None
        due = bool(is_due(strategy, step, teaching.step, teaching.teacher_steps))
        rolls_out = strategy.rolls_out(step, teaching.teacher_steps)
        if due and teacher.plan is not None and rolls_out:
            both = self.random_key(PURPOSE.roll_out)
            rollout_key, key = jax.random.split(both)
            tasks = rollout_tasks(
                teacher, strategy, teaching, jax.random.fold_in(both, TASK_STREAM)
            )
            episodes = self._roll_out(params, teacher.plan, tasks, rollout_key)
        if teacher.counts_episodes:
            if teacher.measure == "success":
                require_success(np.asarray(summary.success)[np.asarray(summary.dones)])
            teaching = count_episodes(teacher, strategy, teaching, summary)
        if due:
            teaching, values = value_tasks(
                teacher, self.network, params, teaching, self.pool_observations
            )
            teaching = refresh(teacher, strategy, teaching, step, values, key, episodes)
        if not bool(teaching.sound):
            raise self._not_finite("the evidence of a task")
        return teaching

    def _roll_out(
        self, params: Any, plan: RolloutPlan, tasks: Array | None, key: Array
    ) -> Episodes:
        """The teacher's rollouts: episodes of the stochastic policy on `tasks` [m], or on all."""
        host = self._eval_host
        assert host is not None
        act_key, env_key = jax.random.split(key)
        ids = np.arange(len(self.pool)) if tasks is None else np.asarray(tasks, dtype=np.int64)
        act = stochastic(self.network, params, endless_noise(self.network, act_key, host.n_envs))
        outcomes = host.play(np.repeat(ids, plan.episodes), act, env_seed(env_key))
        if plan.measure == "success":
            require_success(outcomes.success, "eval_env")
        shape = (len(ids), plan.episodes)
        return Episodes(
            jnp.asarray(outcomes.returns.reshape(shape), dtype=jnp.float32),
            jnp.asarray(outcomes.success.reshape(shape), dtype=jnp.float32),
            jnp.asarray(outcomes.steps, dtype=jnp.int32),
            tasks,
        )

    def _draw_tasks(self, key: Array, k: int) -> Ids:
        """[b, k] ids drawn from the current distribution."""
        drawn = draw_task_ids(key, self.state.teaching.cumulative, (self.n_envs, k))
        return np.minimum(np.asarray(drawn, dtype=np.int64), len(self.pool) - 1)

    def random_key(self, purpose: int, count: int | None = None) -> Array:
        """The random key for a purpose after `count` updates, by default the current number."""
        seeds = jnp.asarray([self.seed], dtype=jnp.uint32)
        return programs.run_keys(seeds, purpose, self.updates if count is None else count)[0]

    def _not_finite(self, what: str) -> NotFiniteError:
        return NotFiniteError(
            f"seed {self.seed}: stopped at step {self.train_steps}: {what} is not finite; "
            "the state before it is kept"
        )
