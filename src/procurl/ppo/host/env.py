"""A Gymnasium vector environment as the engine uses it: task ids, flat arrays, checked."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.envs.adapters.episode_outcomes import EpisodeOutcomes
from procurl.envs.adapters.looks import require_different_looks
from procurl.envs.adapters.task_errors import LONGEST_EPISODE, endless_error
from procurl.internals.arrays import Floats32, Ids
from procurl.ppo.learning.networks import CategoricalHead, GaussianHead
from procurl.tasks.pool import TaskPool
from procurl.tasks.pool_difference import pool_difference

try:
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
except ImportError as error:
    raise ImportError(
        "training on the host needs gymnasium 1.1 or newer: pip install 'procurl[sb3]'"
    ) from error


# The attribute of `TaskEnv` with its next tasks. Gymnasium's `call` passes the same arguments to
# every sub-environment; only `set_attr` can pass each its own.
QUEUE = "queue"
SAME_STEP = "Make it with autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP"


class HostStep(NamedTuple):
    """The result of one step in b sub-environments."""

    observations: Floats32  # [b, o], the first of the next episode if one has ended
    rewards: NDArray[np.float64]  # [b]
    done: NDArray[np.bool_]  # [b] the episode has ended, terminated or truncated
    cut_short: NDArray[np.bool_]  # [b] truncated and not terminated
    final: Floats32  # [b, o] the last observation of truncated episodes, otherwise zero
    success: NDArray[np.float64]  # [b] 1 or 0 for episodes that ended, NaN if not reported
    tasks: Ids  # [b] the task being played after this step


class HostEnv:
    """b sub-environments over one pool that play the pushed tasks.

    Args:
        env: uses same-step autoreset. Its sub-environments are `TaskEnv`s, or it has a method
            `push_tasks` for ids [b, k] and reports the current tasks in `info["task"]`.
        pool: the pool that ids refer to.
        argument: its name in error messages.
    """

    def __init__(
        self, env: VectorEnv[Any, Any, Any], pool: TaskPool, argument: str = "env"
    ) -> None:
        if not isinstance(env, VectorEnv):
            raise TypeError(
                f"{argument} must be a gymnasium.vector.VectorEnv, got {type(env).__name__}; for "
                "one environment, SyncVectorEnv([lambda: TaskEnv(env, pool)], "
                "autoreset_mode=AutoresetMode.SAME_STEP)"
            )
        self.env = env
        self.argument = argument
        self.pool = pool
        self.n_tasks = len(pool)
        self.n_envs = env.num_envs
        _check_autoreset(env, argument)
        self.observation_size = _observation_size(env, argument)
        self.head, self.action_low, self.action_high = _actions(env, argument)
        self._push = _push_function(env, argument)
        _check_pool(env, pool, argument)
        self._queue: Ids = np.zeros((self.n_envs, 0), dtype=np.int64)
        self._taken: Ids = np.zeros(self.n_envs, dtype=np.int64)

    def push(self, ids: Ids) -> None:
        """Make sub-environment i play row i of `ids` [b, k], starting with its next reset.

        Unused ids of an earlier call are dropped.
        """
        self._push(ids)
        self._queue, self._taken = ids, np.zeros(self.n_envs, dtype=np.int64)

    def reset(self, seed: int | None = None) -> tuple[Floats32, Ids]:
        """(observations [b, o], tasks [b]) of new episodes in every sub-environment."""
        observations, info = self.env.reset(seed=seed)
        return self._flat(observations), self._current_tasks(info, np.arange(self.n_envs))

    def step(self, actions: NDArray[Any]) -> HostStep:
        """Act in every sub-environment.

        Args:
            actions: [b, a], which are clipped to the action bounds, or [b] integers.
        """
        observations, rewards, terminated, truncated, info = self.env.step(
            self._to_action_space(actions)
        )
        done = np.logical_or(terminated, truncated)
        cut_short = np.logical_and(truncated, np.logical_not(terminated))
        return HostStep(
            self._flat(observations),
            np.asarray(rewards, dtype=np.float64),
            done,
            cut_short,
            self._final(info, cut_short),
            _success(info, done),
            self._current_tasks(info, np.flatnonzero(done)),
        )

    def first_observations(self, samples: int, seed: int) -> Floats32:
        """[n, samples, o] the first observations of every task, each reset `samples` times."""
        ids = np.repeat(np.arange(self.n_tasks), samples)
        rounds = self._push_in_turn(ids)
        seen = [self.reset(seed if turn == 0 else None)[0] for turn in range(rounds)]
        together = np.concatenate(seen)[: len(ids)]
        return together.reshape(self.n_tasks, samples, self.observation_size)

    def require_differences(self, seed: int) -> None:
        """Raise if all tasks have the same first observation; ends the current episodes."""

        def look(task: int) -> Floats32:
            self.push(np.full((self.n_envs, 1), task, dtype=np.int64))
            first: Floats32 = self.reset(seed)[0][0]
            return first

        require_different_looks(self.n_tasks, look)

    def play(
        self, tasks: Ids, act: Callable[[Floats32], NDArray[Any]], seed: int
    ) -> EpisodeOutcomes:
        """Play one episode on each of `tasks` [m]; each sub-environment plays every b-th task.

        Args:
            tasks: ids, may repeat.
            act: maps observations [b, o] to actions.
            seed: seed of the environment.
        """
        m = len(tasks)
        returns, success, steps = np.zeros(m), np.full(m, np.nan), 0
        self._push_in_turn(tasks)
        observations, _ = self.reset(seed)
        episode, gained = np.arange(self.n_envs), np.zeros(self.n_envs)
        lengths = np.zeros(self.n_envs, dtype=np.int64)
        while (busy := episode < m).any():
            after = self.step(act(observations))
            lengths = np.where(after.done, 0, lengths + 1)
            if (endless := busy & (lengths >= LONGEST_EPISODE)).any():
                raise endless_error(self.pool, int(after.tasks[endless][0]), LONGEST_EPISODE)
            observations = after.observations
            steps += int(busy.sum())
            gained += after.rewards
            ended = after.done & busy
            returns[episode[ended]] = gained[ended]
            success[episode[ended]] = after.success[ended]
            gained[after.done] = 0.0
            episode[after.done] += self.n_envs
        return EpisodeOutcomes(returns, success, steps)

    def _push_in_turn(self, ids: Ids) -> int:
        """Deal `ids` [m] to the sub-environments in turn; returns how many each received."""
        rounds = -(-len(ids) // self.n_envs)
        self.push(np.resize(ids, (rounds, self.n_envs)).T.astype(np.int64))
        return rounds

    def _flat(self, observations: Any) -> Floats32:
        """[b, o] a copy: environments may write their next observations into the same array."""
        return np.array(observations, dtype=np.float32).reshape(self.n_envs, -1)

    def _to_action_space(self, actions: NDArray[Any]) -> NDArray[Any]:
        """`actions` in the shape and type of the action space."""
        if self.action_low is None:
            return actions.astype(np.int64)
        space: Any = self.env.single_action_space
        shaped = actions.reshape(self.n_envs, *space.shape)
        clipped: NDArray[Any] = np.clip(shaped, self.action_low, self.action_high)
        return clipped.astype(space.dtype, copy=False)

    def _final(self, info: dict[str, Any], cut_short: NDArray[np.bool_]) -> Floats32:
        final = np.zeros((self.n_envs, self.observation_size), dtype=np.float32)
        if cut_short.any():
            if "final_obs" not in info:
                raise ValueError(
                    f"{self.argument}: info['final_obs'] is missing for a truncated episode; "
                    "the student needs it to value what would have followed"
                )
            for i in np.flatnonzero(cut_short):
                final[i] = np.asarray(info["final_obs"][i], dtype=np.float32).reshape(-1)
        return final

    def _current_tasks(self, info: dict[str, Any], which: Ids) -> Ids:
        """[b] the current tasks; checks that `which` [m], which just started, play as pushed."""
        if "task" not in info:
            raise ValueError(
                f"{self.argument}: info['task'] is missing; it must report the task id that each "
                "sub-environment plays, as TaskEnv does"
            )
        tasks = np.array(info["task"], dtype=np.int64)  # a copy, as of observations
        queued = which[self._taken[which] < self._queue.shape[1]]
        expected = self._queue[queued, self._taken[queued]]
        self._taken[queued] += 1
        if (wrong := tasks[queued] != expected).any():
            raise RuntimeError(
                f"{self.argument}: sub-environment {queued[wrong][0]} started task "
                f"{tasks[queued][wrong][0]}, but {expected[wrong][0]} was pushed. Do not reset or "
                "step the environment outside the run, and make sure that no wrapper around "
                f"TaskEnv has an attribute {QUEUE!r}"
            )
        return tasks


def second_env(
    training: VectorEnv[Any, Any, Any],
    argument: str,
    env: VectorEnv[Any, Any, Any] | None,
    pool: TaskPool | None,
) -> HostEnv | None:
    """A second environment for evaluations, or None if `env` is None."""
    if env is None:
        return None
    if env is training:
        raise ValueError(
            f"{argument} must not be env: evaluations would interrupt the training episodes"
        )
    if pool is None:
        raise ValueError(f"test_pool must be given: {argument} plays its tasks")
    for name in ("single_observation_space", "single_action_space"):
        ours, theirs = getattr(training, name), getattr(env, name)
        if ours != theirs:
            raise ValueError(f"{argument} must have the {name} of env, {ours}, got {theirs}")
    return HostEnv(env, pool, argument)


def _check_autoreset(env: VectorEnv[Any, Any, Any], argument: str) -> None:
    mode = env.metadata.get("autoreset_mode")
    if mode in (AutoresetMode.SAME_STEP, AutoresetMode.SAME_STEP.value):
        return
    if mode in (AutoresetMode.NEXT_STEP, AutoresetMode.NEXT_STEP.value):
        raise ValueError(
            f"{argument} resets in the step after the end of an episode (NextStep, Gymnasium's "
            "default); that step ignores the action, so nothing can be learned from it. "
            f"{SAME_STEP}"
        )
    raise ValueError(
        f"{argument} must reset in the step in which an episode ends, got "
        f"metadata['autoreset_mode'] = {mode!r}. {SAME_STEP}"
    )


def _observation_size(env: VectorEnv[Any, Any, Any], argument: str) -> int:
    """The size of a flattened observation."""
    space = env.single_observation_space
    if not isinstance(space, spaces.Box):
        raise ValueError(
            f"{argument} must have observations in a Box, got {space}; "
            "wrap each sub-environment in gymnasium.wrappers.FlattenObservation"
        )
    return int(np.prod(space.shape))


def _actions(
    env: VectorEnv[Any, Any, Any], argument: str
) -> tuple[GaussianHead | CategoricalHead, Floats32 | None, Floats32 | None]:
    """(policy head, lower and upper bounds as the space has them, or None for discrete actions)."""
    space = env.single_action_space
    if isinstance(space, spaces.Discrete) and space.start == 0:
        return CategoricalHead(int(space.n)), None, None
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        return GaussianHead(space.low.size), *_single_precision(space.low, space.high)
    raise ValueError(
        f"{argument} must have actions in a Box of floating-point numbers or in a Discrete space "
        f"that starts at 0, got {space}; convert them in a gymnasium.ActionWrapper"
    )


def _single_precision(low: NDArray[Any], high: NDArray[Any]) -> tuple[Floats32, Floats32]:
    """Bounds in single precision, rounded to numbers between them if there are any."""
    with np.errstate(over="ignore"):
        near_low, near_high = low.astype(np.float32), high.astype(np.float32)
    inner_low = np.where(near_low < low, np.nextafter(near_low, np.float32(np.inf)), near_low)
    inner_high = np.where(near_high > high, np.nextafter(near_high, -np.float32(np.inf)), near_high)
    some = inner_low <= inner_high
    return np.where(some, inner_low, near_low), np.where(some, inner_high, near_high)


def _push_function(env: VectorEnv[Any, Any, Any], argument: str) -> Callable[[Ids], None]:
    """A function that pushes ids [b, k] to the sub-environments."""
    inner: Any = env.unwrapped
    if hasattr(inner, "push_tasks"):
        push: Callable[[Ids], None] = inner.push_tasks
        return push
    missing = (
        f"{argument} takes no tasks: wrap each sub-environment in procurl.TaskEnv, as in "
        "SyncVectorEnv([lambda: TaskEnv(MyEnv(), pool)] * 4, "
        "autoreset_mode=AutoresetMode.SAME_STEP), or give the vector environment a method "
        "push_tasks(ids) for ids [num_envs, k]"
    )
    if not (hasattr(inner, "call") and hasattr(inner, "set_attr")):
        raise ValueError(missing)
    try:
        inner.call("push_tasks", [])
    except AttributeError as error:
        raise ValueError(missing) from error
    return lambda ids: inner.set_attr(QUEUE, ids.tolist())


def _check_pool(env: VectorEnv[Any, Any, Any], pool: TaskPool, argument: str) -> None:
    """Raise if the environment is known to play a different pool."""
    inner: Any = env.unwrapped
    if hasattr(inner, "push_tasks"):
        own = (getattr(inner, "pool", None),)
    else:
        own = inner.get_attr("pool")
    for theirs in own:
        if theirs is pool or not isinstance(theirs, TaskPool):
            continue
        if theirs.fingerprint != pool.fingerprint:
            raise ValueError(
                f"{argument} must play the pool of the run, {pool}, but the pool it plays "
                f"{pool_difference(theirs, pool)}: task ids would not match"
            )


def _success(info: dict[str, Any], done: NDArray[np.bool_]) -> NDArray[np.float64]:
    """[b] success of the episodes that ended, 1 or 0, NaN if not reported."""
    success = np.full(len(done), np.nan)
    final = info.get("final_info", {})
    if done.any() and "is_success" in final:
        reported = done & np.asarray(final.get("_is_success", done))
        flags = np.asarray(final["is_success"], dtype=np.float64)
        success[reported] = flags.reshape(len(done))[reported]  # each may be an array of one
    return success
