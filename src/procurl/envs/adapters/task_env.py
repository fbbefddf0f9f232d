"""`TaskEnv`: any Gymnasium environment with a pool of tasks, in the order a curriculum gives."""

import logging
import multiprocessing
import pickle
import signal
from collections import deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from procurl.internals.random_state import kept_random_state
from procurl.tasks.pool import TaskPool
from procurl.tasks.pool_difference import pool_difference
from procurl.tasks.space import TaskSpace

try:
    import gymnasium
    from gymnasium.utils import RecordConstructorArgs
    from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker
except ImportError as error:
    raise ImportError("TaskEnv needs gymnasium: pip install 'procurl[sb3]'") from error

from procurl.envs.adapters.gym_env import GymEnv
from procurl.envs.adapters.results import (
    require_finite_reward,
    require_info,
    require_shape,
    require_values,
)
from procurl.envs.adapters.task_errors import (
    LONG_EPISODE,
    RAISED,
    add_set_task,
    add_task,
    hint_of_id,
    shorten,
    warn_of_long_episode,
)
from procurl.envs.adapters.task_reading import require_task_setter

log = logging.getLogger(__name__)
MAX_EPISODES = 100_000  # statistics kept until they are collected; the oldest are dropped


class EpisodeStatistics(NamedTuple):
    """Statistics of m finished episodes, in the order in which they ended."""

    tasks: NDArray[np.int64]  # [m] ids
    returns: NDArray[np.float64]  # [m] sums of rewards, undiscounted
    lengths: NDArray[np.int64]  # [m] steps
    success: NDArray[np.float64]  # [m] info["is_success"] as 1 or 0, NaN if missing


def join_episodes(parts: Sequence[EpisodeStatistics]) -> EpisodeStatistics:
    """The episodes of several environments or times as one."""
    ids, numbers = np.zeros(0, dtype=np.int64), np.zeros(0)
    nothing = EpisodeStatistics(ids, numbers, ids, numbers)
    return EpisodeStatistics(*map(np.concatenate, zip(nothing, *parts, strict=True)))


class TaskEnv(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Wraps an environment so that each reset plays the next task of a queue.

    A queue, because vector environments reset on their own. The wrapped environment receives the
    task itself: a context as `reset(options={"context": row})`, a seed as `reset(seed=…)`, an
    opaque task as `reset(options={"task": task})`. With `set_task`, that function is called before
    a plain reset instead. If the queue is empty, a task is drawn uniformly.
    `reset(options={"task": i})` plays task i and leaves the queue unchanged. `info["task"]` is the
    id of the current task.

    The `seed` argument of `reset` seeds the environment and the uniform draws. With a pool of seeds
    it seeds the draws only, because the task is the environment's seed.

    >>> from procurl import TaskPool
    >>> env = TaskEnv(MyEnv(), TaskPool(contexts))  # doctest: +SKIP
    >>> env.push_tasks([3, 1, 4])  # doctest: +SKIP

    Args:
        env: the environment.
        pool: its tasks, or a `TaskSpace`, whose candidates come from a curriculum. Without one,
            they are those of `TaskSpace.pool()`.
        set_task: called as `set_task(env, task)` before each reset, for environments that do not
            take their task as an argument of `reset`.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        pool: TaskPool | TaskSpace,
        set_task: Callable[[gymnasium.Env[Any, Any], Any], None] | None = None,
    ) -> None:
        # With these, `gymnasium.make(task_env.spec)` builds an equal environment.
        RecordConstructorArgs.__init__(self, pool=pool, set_task=set_task, _disable_deepcopy=True)
        gymnasium.Wrapper.__init__(self, env)
        if not isinstance(pool, TaskPool | TaskSpace):
            raise TypeError(f"pool must be a TaskPool or a TaskSpace, got {type(pool).__name__}")
        if env.has_wrapper_attr("push_tasks"):
            raise TypeError(f"env has tasks already: wrap the environment itself, got {env}")
        if set_task is not None and not callable(set_task):
            raise TypeError(f"set_task must be a function of (env, task), got {set_task!r}")
        if set_task is not None:
            require_task_setter(set_task)
        self.space = pool if isinstance(pool, TaskSpace) else None
        self.task: int | None = None  # current task id, None before the first reset
        self.task_setter = set_task
        self._play(pool.pool() if isinstance(pool, TaskSpace) else pool)
        self._queue: deque[int] = deque()
        self._draws = np.random.default_rng()
        self._finished: deque[tuple[int, float, int, float]] = deque(maxlen=MAX_EPISODES)
        self._return = 0.0
        self._length = 0
        self._over = False  # the episode has ended
        self._shape: tuple[int, ...] | None = None  # of observations in a Box, from the first reset

    def _play(self, pool: TaskPool) -> None:
        """Take the tasks of all later resets from `pool`."""
        self.pool = pool
        # procurl's own environments accept an id of their own pool, which is faster.
        inside = self.env.unwrapped
        self._takes_ids = isinstance(inside, GymEnv) and inside.pool is pool
        # The tasks as the environment reads them: context columns may be in another order.
        self._tasks = pool
        if isinstance(inside, GymEnv) and self.task_setter is None:
            self._tasks = inside.array_env.fit_pool(pool)

    def change_candidates(self, pool: TaskPool, replaced: Any) -> None:
        """Play other candidates of the space from the next reset on.

        The queue is emptied, and episodes that have ended on candidates that are gone are dropped.

        Args:
            pool: the candidates.
            replaced: [k] ids whose task is not the same as before.
        """
        if self.space is None:
            raise ValueError(f"the tasks are those of a fixed pool, {self.pool}")
        self._play(pool)
        self._queue.clear()
        gone = set(np.asarray(replaced).tolist())
        kept = [row for row in self._finished if row[0] not in gone]
        self._finished = deque(kept, maxlen=MAX_EPISODES)

    @property
    def space_is_picklable(self) -> bool:
        """Whether `space` can be sent to another process; with a lambda as `sample` it cannot."""
        return _is_picklable(self.space)

    def push_tasks(self, ids: Any) -> None:
        """Play the tasks `ids` [k] from the next reset on, in place of those still in the queue."""
        queue = np.asarray(ids)
        if queue.ndim != 1 or (queue.size and queue.dtype.kind not in "iu"):
            raise ValueError(f"ids must be a list of task ids, got {ids!r}")
        outside = queue[(queue < 0) | (queue >= len(self.pool))]
        if outside.size:
            self._check_id(outside[0])
        self._queue = deque(queue.tolist())

    @property
    def queue(self) -> tuple[int, ...]:
        """The ids to play next. Setting it calls `push_tasks`.

        So `set_attr("queue", …)` of a vector environment gives each sub-environment its own queue.
        """
        return tuple(self._queue)

    @queue.setter
    def queue(self, ids: Any) -> None:
        self.push_tasks(ids)

    def collect(self) -> EpisodeStatistics:
        """Return the statistics of the episodes that ended since the last call, and clear them.

        Episodes cut short by a reset are not included.
        """
        rows = list(self._finished)
        self._finished.clear()
        tasks, returns, lengths, success = zip(*rows, strict=True) if rows else ((),) * 4
        return EpisodeStatistics(
            np.array(tasks, dtype=np.int64),
            np.array(returns, dtype=np.float64),
            np.array(lengths, dtype=np.int64),
            np.array(success, dtype=np.float64),
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._draws = np.random.default_rng(seed)
        options = dict(options or {})
        self.task = self._next_task(options)
        self._return, self._length, self._over = 0.0, 0, False
        self._add_task_option(self.task, options)
        result = self._reset_to(self.task, seed, options)
        observation, info = require_values(result, self.pool, self.task, 0)
        space = self.observation_space
        self._shape = space.shape if isinstance(space, gymnasium.spaces.Box) else None
        self._check(observation, info)
        return observation, info | {"task": self.task}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        if self.task is None or self._over:  # a step after the end would count as another episode
            reason = "has not started" if self.task is None else "has ended"
            raise RuntimeError(f"the episode {reason}: call reset before step")
        self._length += 1
        try:
            result: Any = self.env.step(action)
        except RAISED as error:
            add_task(error, self.pool, self.task, self._length)
            raise
        place = (self.pool, self.task, self._length)
        observation, reward, terminated, truncated, info = require_values(result, *place)
        self._return += require_finite_reward(reward, *place)
        self._check(observation, info)
        if self._length == LONG_EPISODE:
            warn_of_long_episode(self.pool, self.task, self._length)
        if terminated or truncated:
            self._over, success = True, self._success(info)
            self._finished.append((self.task, self._return, self._length, success))
        return observation, reward, terminated, truncated, info | {"task": self.task}

    def on_copy(self, function: Callable[["TaskEnv"], Any]) -> Any:
        """The result of `function` on a copy of this environment, which stays as it is.

        Global random numbers stay as they are, too. None if this is impossible.
        """
        try:
            # The pool never changes, so the copy may share it.
            copy = deepcopy(self, {id(self.pool): self.pool})
            with kept_random_state():
                return function(copy)
        except Exception as error:  # whatever the environment holds must not stop training
            log.debug("no result on a copy of the environment: %s", error)
            return None

    @property
    def spec_is_picklable(self) -> bool:
        """Whether `spec` can be sent to another process; with a lambda as `set_task` it cannot."""
        return _is_picklable(self.spec)

    def ignore_interrupts(self) -> None:
        """Ignore Ctrl-C in this process, if it is a worker: the main process decides what to do."""
        if multiprocessing.parent_process() is not None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def state_dict(self) -> dict[str, Any]:
        """What is needed to continue identically: JSON values, and arrays in `["env"]["state"]`.

        `env` is None if the wrapped environment cannot save its state. One that can has methods
        `state_dict` and `load_state_dict`, as procurl's own environments do.
        """
        inside: Any = self.env.unwrapped
        return {
            "task": self.task,
            "return": self._return,
            "length": self._length,
            "queue": list(self._queue),
            "finished": [list(row) for row in self._finished],
            "draws": self._draws.bit_generator.state,
            "env": inside.state_dict() if self._can_save_state() else None,
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from `state_dict` in the middle of its episode; requires a first reset."""
        if saved["env"] is None or not self._can_save_state():
            raise ValueError(
                "the environment cannot be restored: it has no state_dict and load_state_dict, "
                "or a wrapper around it may have a state of its own"
            )
        finished = [(task, float(r), int(n), float(won)) for task, r, n, won in saved["finished"]]
        for task in (saved["task"], *saved["queue"], *(row[0] for row in finished)):
            self._check_id(task)
        inside: Any = self.env.unwrapped
        inside.load_state_dict(saved["env"])
        self.task, self._return, self._length = saved["task"], saved["return"], saved["length"]
        self._over = False
        self._queue = deque(saved["queue"])
        self._finished = deque(finished, maxlen=MAX_EPISODES)
        self._draws.bit_generator.state = saved["draws"]

    def _can_save_state(self) -> bool:
        """Whether the environment can be saved and restored in the middle of an episode."""
        inside = self.env
        while isinstance(inside, OrderEnforcing | PassiveEnvChecker):
            inside = inside.env
        own = inside is inside.unwrapped
        return own and hasattr(inside, "state_dict") and hasattr(inside, "load_state_dict")

    def _next_task(self, options: dict[str, Any]) -> int:
        """The id to play; removes the user's choice from `options`."""
        if "task" in options:
            task = options.pop("task")
            self._check_id(task)
            return int(task)
        if self._queue:
            return self._queue.popleft()
        return int(self._draws.integers(len(self.pool)))

    def _add_task_option(self, number: int, options: dict[str, Any]) -> None:
        """Add the task to the options of a reset, if that is how the environment receives it."""
        if self.task_setter is not None or self.pool.seeds is not None:
            return
        task = self._tasks[number]
        by_context = self.pool.contexts is not None and not self._takes_ids
        name = "context" if by_context else "task"
        if name in options:
            raise ValueError(
                f"reset option {name!r} is set by TaskEnv from the task it plays; "
                "choose a task of its pool with options={'task': id}"
            )
        options[name] = np.array(task) if by_context else number if self._takes_ids else task

    def _reset_to(self, number: int, seed: int | None, options: dict[str, Any]) -> Any:
        """What the environment's reset to a task returns."""
        if self.task_setter is not None:
            try:
                self.task_setter(self.env, self._tasks[number])
            except RAISED as error:
                add_set_task(error, self.pool, number)
                raise
        elif self.pool.seeds is not None:
            seed = int(self._tasks[number])
        try:
            return self.env.reset(seed=seed, options=options or None)
        except RAISED as error:
            add_task(error, self.pool, number, 0, self.task_setter is not None)
            raise

    def _check(self, observation: Any, info: Any) -> None:
        """Raise if an observation or info of the current step cannot be used."""
        assert self.task is not None
        require_info(info, self.pool, self.task, self._length)
        if self._shape is not None:
            require_shape(observation, self._shape, self.pool, self.task, self._length)

    def _success(self, info: dict[str, Any]) -> float:
        """`info["is_success"]` as 1 or 0, NaN if it is missing."""
        flag = info.get("is_success", np.nan)
        value = np.asarray(flag)  # may be an array with one element
        if value.size == 1 and value.dtype.kind in "biuf":
            success = float(value.item())
            if success in (0.0, 1.0) or np.isnan(success):
                return success
        raise ValueError(
            f"info['is_success'] must be True or False at the end of an episode, got {flag!r} on "
            f"task {self.task}: leave it out if the environment has no notion of success"
        )

    def _check_id(self, task: Any) -> None:
        last = len(self.pool) - 1
        if isinstance(task, bool) or not isinstance(task, int | np.integer):
            raise TypeError(
                f"task must be the id of a task, an integer from 0 to {last}, not the task itself, "
                f"got {shorten(task)} of type {type(task).__name__}{hint_of_id(self.pool, task)}"
            )
        if not 0 <= task <= last:
            raise ValueError(
                f"task must be from 0 to {last}, got {task}: "
                f"the pool has {last + 1} tasks{hint_of_id(self.pool, task)}"
            )


def _is_picklable(given: Any) -> bool:
    try:
        pickle.dumps(given)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def common_pool(pools: Sequence[Any], argument: str) -> TaskPool:
    """The one pool that the `TaskEnv`s of a vector environment play; raises if they differ.

    Args:
        pools: the attribute `pool` of each sub-environment.
        argument: name of the vector environment in error messages.
    """
    first = pools[0]
    if not isinstance(first, TaskPool):
        raise TypeError(
            f"{argument}: a wrapper around TaskEnv has an attribute `pool`, {first!r}, which hides "
            "the pool of TaskEnv: rename it"
        )
    for i, pool in enumerate(pools):
        if pool is not first and pool.fingerprint != first.fingerprint:
            raise ValueError(
                f"{argument}: all environments must play the same pool. Compared with environment "
                f"0, the pool of environment {i} {pool_difference(pool, first)}"
            )
    return first
