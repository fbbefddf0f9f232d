"""A run whose environment steps on the host, in Gymnasium; all else is compiled as ever."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from procurl.arrays import Array
from procurl.checks import require_whole
from procurl.envs.array_env import ArrayEnv
from procurl.policy import Policy, make_policy
from procurl.pool import TaskPool
from procurl.ppo import programs
from procurl.ppo.collect import Rollout, draw_tasks
from procurl.ppo.distributions import Categorical, Gaussian
from procurl.ppo.episodes import Episodes
from procurl.ppo.host_env import Floats, HostEnv, Ids
from procurl.ppo.networks import ActorCritic, GaussianHead, actor_critic, forward, init_params
from procurl.ppo.programs import PURPOSE
from procurl.ppo.runs import Evaluation
from procurl.ppo.settings import PPOSettings
from procurl.ppo.student import Played, Student
from procurl.ppo.teacher import Teacher, Teaching
from procurl.ppo.update import StudentState, init_student
from procurl.pytrees import register_settings
from procurl.strategies.strategy import Strategy
from procurl.success import RolloutPlan

NOISE_BLOCK = 64  # steps of a rollout whose noise is drawn at once


class HostState(NamedTuple):
    """What learning changes; where the episodes stand is in the environment."""

    student: StudentState
    teaching: Teaching
    best_params: Any  # of the best evaluation so far
    best: float  # its performance


class CutShort(NamedTuple):
    """Where a rollout's episodes were cut short by a limit, and not ended."""

    where: NDArray[np.bool_]  # [T, b]
    final: Floats  # [T, b, o] the observation after the step, zero elsewhere


Tuples = TypeVar("Tuples", Rollout, CutShort)


@dataclass
class HostRun:
    """One run of one strategy in any Gymnasium vector environment.

    The same PPO update and the same teacher as in `Runs`, with the same random numbers for weights,
    tasks and minibatches; only the steps are taken by the environment. Scoring, rollouts and
    evaluations happen in `eval_env`, so that they never touch the training episodes.

    Args:
        env: trains; see `HostEnv` for what it must offer. `n_steps` is shared among its
            sub-environments.
        pool: the tasks.
        strategy: from `make_strategy`, or your own.
        ppo: settings of the student.
        seed: of all random numbers, those of the environments included.
        eval_env: for evaluations and rollouts, of the same kind and with any number of
            sub-environments; None trains without either.
        eval_every: training steps between evaluations, where there is an `eval_env`.
        eval_tasks: ids of the tasks that evaluations play; None plays all.
        reset_samples: where resets are random, how many initial observations of each task the
            critic's value is averaged over.
        horizon: most steps of an episode. It bounds what the first rollouts may cost, for
            strategies with a budget; without it they are made as soon as they are due.
    """

    env: VectorEnv[Any, Any, Any]
    pool: TaskPool
    strategy: Strategy
    ppo: PPOSettings
    seed: int = 0
    eval_env: VectorEnv[Any, Any, Any] | None = None
    eval_every: int = 25_000
    eval_tasks: Sequence[int] | Ids | None = None
    reset_samples: int = 1
    horizon: int | None = None
    evaluations: list[Evaluation] = field(default_factory=list)
    updates: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self._check()
        self._host = HostEnv(self.env, self.pool)
        self._eval_host = self._checked_eval_env()
        self.n_envs = self._host.n_envs
        if self.ppo.n_steps % self.n_envs:
            raise ValueError(
                f"the number of sub-environments must divide the {self.ppo.n_steps} steps of an "
                f"update, got {self.n_envs}"
            )
        self.strategy = self.strategy.bind(self.pool)
        register_settings(self.strategy)
        self.network = actor_critic(self.ppo, self._host.head)
        # It is stepped on the host, so nothing is asked of the student that needs an environment.
        self.student = Student(cast(ArrayEnv, None), self.network, self.n_envs)
        self.teacher = Teacher(
            len(self.pool),
            self.n_envs,
            frozenset(self.strategy.uses),
            self.strategy.rollout_plan(),
        )
        if self.teacher.plan is not None and self._eval_host is None:
            raise ValueError(
                f"eval_env must be given: {type(self.strategy).__name__} plays rollouts on the "
                "whole pool, which must not disturb the training episodes"
            )
        self._begin()

    def _check(self) -> None:
        if not isinstance(self.pool, TaskPool):
            raise TypeError(f"pool must be a TaskPool, got {type(self.pool).__name__}")
        if not isinstance(self.strategy, Strategy):
            raise TypeError(
                f"strategy must be a Strategy, as of make_strategy, got {self.strategy!r}"
            )
        self.strategy.check()
        self.ppo.check()
        require_whole("seed", self.seed, at_least=0)
        require_whole("eval_every", self.eval_every, at_least=1)
        require_whole("reset_samples", self.reset_samples, at_least=1)
        if self.horizon is not None:
            require_whole("horizon", self.horizon, at_least=1)
        n = len(self.pool)
        self._evaluated = np.arange(n) if self.eval_tasks is None else np.asarray(self.eval_tasks)
        if not np.isin(self._evaluated, np.arange(n)).all():
            raise ValueError(f"eval_tasks must be ids from 0 to {n - 1}, got {self.eval_tasks}")

    def _checked_eval_env(self) -> HostEnv | None:
        if self.eval_env is None:
            return None
        if self.eval_env is self.env:
            raise ValueError(
                "eval_env must be another environment than env: "
                "evaluations would break off the training episodes"
            )
        for name in ("single_observation_space", "single_action_space"):
            ours, theirs = getattr(self.env, name), getattr(self.eval_env, name)
            if ours != theirs:
                raise ValueError(f"eval_env must have the {name} of env, {ours}, got {theirs}")
        return HostEnv(self.eval_env, self.pool, "eval_env")

    def _begin(self) -> None:
        weight_key, rest = jax.random.split(self._key(PURPOSE.begin))
        task_key, env_key = jax.random.split(rest)
        params = _fresh_params(self.network, weight_key, self._host.observation_size)
        teaching = self.teacher.begin(self.strategy, self.horizon or 0)
        self.state = HostState(init_student(params), teaching, params, -np.inf)
        seed = _env_seed(env_key)
        self._pool_observations = jnp.zeros((len(self.pool), 1, self._host.observation_size))
        if self.teacher.uses:
            shown_by = self._eval_host or self._host
            seen = shown_by.first_observations(self.reset_samples, seed)
            self._pool_observations = jnp.asarray(seen)
        self._host.push(self._drawn_tasks(task_key, 1))
        self._observations, self._tasks = self._host.reset(seed)
        self._gained = np.zeros(self.n_envs)

    @property
    def train_steps(self) -> int:
        """Training steps taken."""
        return self.updates * self.ppo.n_steps

    @property
    def params(self) -> Any:
        """The student's weights."""
        return self.state.student.params

    def policy(self, name: str) -> Policy:
        """What the student does now, on its own: it acts with NumPy and can be saved.

        Args:
            name: of the environment, kept with the policy.
        """
        facts = {
            "strategy": type(self.strategy).__name__,
            "seed": self.seed,
            "steps": self.train_steps,
        }
        params = jax.tree.map(np.asarray, self.params)
        return make_policy(params, name, self._host.action_low, self._host.action_high, facts)

    def advance(self) -> None:
        """Train for one update, let the teacher learn, and evaluate where due."""
        start = time.perf_counter()
        before = self.train_steps
        rollout_key, order_key = jax.random.split(self._key(PURPOSE.train))
        rollout, cut_short = self._collected(rollout_key)
        if cut_short.where.any():
            rewards = bootstrapped(
                self.network, self.params, rollout.rewards, cut_short, self.ppo.gamma
            )
            rollout = rollout._replace(rewards=rewards)
        student, played, diagnostics = _learn(
            self.student, self.ppo, self.state.student, rollout, self._observations, order_key
        )
        if not bool(diagnostics.finite()):
            raise self._stopped("a loss or a gradient")
        self.updates += 1
        teaching = self._taught(student.params, played)
        self.state = self.state._replace(student=student, teaching=teaching)
        jax.block_until_ready(self.state)  # type: ignore[no-untyped-call]
        self.seconds += time.perf_counter() - start
        reached = self.train_steps // self.eval_every
        if self._eval_host is not None and before // self.eval_every < reached:
            self.evaluate(reached * self.eval_every)

    def evaluate(self, step: int) -> Evaluation:
        """Play one deterministic episode on every task and keep the best weights so far.

        Args:
            step: the training steps that it stands for.
        """
        if self._eval_host is None:
            raise ValueError(
                "eval_env must be given to evaluate: "
                "in env, the training episodes would be broken off"
            )

        def act(observations: Floats) -> NDArray[Any]:
            return np.asarray(likeliest_actions(self.network, self.params, observations))

        seed = _env_seed(self._key(PURPOSE.evaluate))
        performance = float(np.mean(self._eval_host.play(self._evaluated, act, seed).returns))
        if performance > self.state.best:
            self.state = self.state._replace(best=performance, best_params=self.params)
        both = (self.strategy, self.state.teaching)
        alone = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], both)  # a batch of one run
        entropy, success = programs.curriculum_metrics(*alone)
        evaluation = Evaluation(
            step=step,
            train_steps=self.train_steps,
            performance=[performance],
            test_performance=None,
            env_steps=[self.train_steps + int(self.state.teaching.teacher_steps)],
            entropy=np.asarray(entropy).tolist(),
            mean_success=np.asarray(success).tolist(),
            seconds=self.seconds,
        )
        self.evaluations.append(evaluation)
        return evaluation

    def _collected(self, key: Array) -> tuple[Rollout, CutShort]:
        """`n_steps` steps of the stochastic policy on the teacher's tasks."""
        steps = self.ppo.n_steps // self.n_envs
        task_key, noise_key, _ = jax.random.split(key, 3)  # as where environments are compiled
        # Every step may end an episode, so as many tasks are enough; what is left is dropped.
        self._host.push(self._drawn_tasks(task_key, steps))
        noise = _draw_noise(self.network, noise_key, (steps, self.n_envs))
        act = self._stochastic(self.params, np.asarray(noise))
        rows, cuts = [], []
        for _ in range(steps):
            actions = act(self._observations)
            after = self._host.step(actions)
            gained = self._gained + after.rewards
            rows.append(
                Rollout(
                    self._observations,
                    actions,
                    after.rewards.astype(np.float32),
                    after.done,
                    after.success == 1.0,
                    gained.astype(np.float32),
                    self._tasks.astype(np.int32),
                )
            )
            cuts.append(CutShort(after.cut_short, after.final))
            self._observations, self._tasks = after.observations, after.tasks
            self._gained = np.where(after.done, 0.0, gained)
        return _stacked(rows), _stacked(cuts)

    def _taught(self, params: Any, played: Played) -> Teaching:
        """The teacher after an update: what was played gathered, and refreshed where due."""
        teacher, strategy, teaching = self.teacher, self.strategy, self.state.teaching
        step = jnp.asarray(self.train_steps, dtype=jnp.int32)
        key, episodes = self._key(PURPOSE.teach), None
        due = self._interval_passed()
        if teacher.plan is not None:
            due = bool(strategy.due(step, teaching.step, teaching.teacher_steps, teaching.cost))
            if due:
                rollout_key, key = jax.random.split(self._key(PURPOSE.roll_out))
                episodes = self._rolled_out(params, teacher.plan, rollout_key)
        if teacher.gathers or due:
            values = _task_values(self.network, params, self._pool_observations)
        if teacher.gathers:
            teaching = _gather(teacher, strategy, teaching, played, values)
        if due:
            teaching = _refresh(teacher, strategy, teaching, step, values, key, episodes)
        if not bool(teaching.sound):
            raise self._stopped("what the teacher was told of a task")
        return teaching

    def _interval_passed(self) -> bool:
        """Whether the strategy's interval, in whole updates, has passed since the last refresh."""
        every = -(-(self.strategy.n_pos or 1) // self.ppo.n_steps)
        return bool(self.teacher.uses) and self.updates % every == 0

    def _rolled_out(self, params: Any, plan: RolloutPlan, key: Array) -> Episodes:
        """The teacher's rollouts: episodes of the stochastic policy on every task."""
        host = self._eval_host
        assert host is not None
        act_key, env_key = jax.random.split(key)
        tasks = np.repeat(np.arange(len(self.pool)), plan.episodes)
        act = self._stochastic(params, self._endless_noise(act_key, host.n_envs))
        played = host.play(tasks, act, _env_seed(env_key))
        if plan.measure == "success" and np.isnan(played.success).any():
            raise ValueError(
                "eval_env: info['is_success'] is missing at the end of an episode; the strategy "
                "goes by success rates (measure='success'), so the environment has to tell, or "
                "use measure='return'"
            )
        shape = (len(self.pool), plan.episodes)
        return Episodes(
            jnp.asarray(played.returns.reshape(shape), dtype=jnp.float32),
            jnp.asarray(played.success.reshape(shape) == 1.0),
            jnp.asarray(played.steps, dtype=jnp.int32),
        )

    def _stochastic(
        self, params: Any, noise: Iterable[NDArray[Any]]
    ) -> Callable[[Floats], NDArray[Any]]:
        """Acts by the policy with these weights, each step with the next of `noise`."""
        rows = iter(noise)
        return lambda observations: np.asarray(
            draw_actions(self.network, params, observations, next(rows))
        )

    def _endless_noise(self, key: Array, n_envs: int) -> Iterator[NDArray[Any]]:
        """Noise of one step after another, drawn by blocks."""
        for block in count():
            own = jax.random.fold_in(key, block)
            yield from np.asarray(_draw_noise(self.network, own, (NOISE_BLOCK, n_envs)))

    def _drawn_tasks(self, key: Array, k: int) -> Ids:
        """[b, k] ids, from the distribution as it is now."""
        drawn = _draw_tasks(key, self.state.teaching.cumulative, (self.n_envs, k))
        return np.minimum(np.asarray(drawn, dtype=np.int64), len(self.pool) - 1)

    def _key(self, purpose: int) -> Array:
        """The key that this run has for a purpose at this update."""
        seeds = jnp.asarray([self.seed], dtype=jnp.uint32)
        return programs.run_keys(seeds, purpose, self.updates)[0]

    def _stopped(self, what: str) -> RuntimeError:
        return RuntimeError(
            f"seed {self.seed}: stopped at step {self.train_steps}, {what} is not finite; "
            "the state before it is kept"
        )


@partial(jax.jit, static_argnames="network")
def bootstrapped(
    network: ActorCritic, params: Any, rewards: Array, cut_short: CutShort, gamma: Array
) -> Array:
    """[T, b] r + γ·V(s') where an episode was cut short at s', else r.

    What would have followed counts by the critic, as in Stable-Baselines3.
    """
    _, values = forward(network, params, cut_short.final)
    return rewards + jnp.where(cut_short.where, gamma * values, 0.0)


@partial(jax.jit, static_argnames="network")
def draw_actions(network: ActorCritic, params: Any, observations: Array, noise: Array) -> Array:
    """[b, a] or [b]: what the stochastic policy does, not clipped."""
    return forward(network, params, observations)[0].sample(noise)


@partial(jax.jit, static_argnames="network")
def likeliest_actions(network: ActorCritic, params: Any, observations: Array) -> Array:
    """[b, a] or [b]: what the deterministic policy does, not clipped."""
    return forward(network, params, observations)[0].mode()


def _stacked(rows: list[Tuples]) -> Tuples:
    """T NamedTuples of arrays [b, …] as one of arrays [T, b, …]."""
    return type(rows[0])(*map(np.stack, zip(*rows, strict=True)))


def _env_seed(key: Array) -> int:
    return int(jax.random.bits(key, dtype=jnp.uint32) >> 1)


@partial(jax.jit, static_argnames=("network", "shape"))
def _draw_noise(network: ActorCritic, key: Array, shape: tuple[int, int]) -> Array:
    """[T, b, …] what makes actions of a policy."""
    kind = Gaussian if isinstance(network.head, GaussianHead) else Categorical
    return kind.draw_noise(key, (*shape, network.head.size))


@partial(jax.jit, static_argnames="network")
def _task_values(network: ActorCritic, params: Any, observations: Array) -> Array:
    """[n] the critic's values of the tasks, each the mean over its observations [n, k, o]."""
    return jnp.mean(forward(network, params, observations)[1], axis=1)


_fresh_params = jax.jit(init_params, static_argnames=("network", "observation_size"))
_draw_tasks = jax.jit(draw_tasks, static_argnames="shape")
_learn = jax.jit(Student.learn, static_argnums=0)
_gather = jax.jit(Teacher.gather, static_argnums=0)
_refresh = jax.jit(Teacher.refresh, static_argnums=0)
