"""Any Gymnasium vector environment as the engine sees it: tasks by id, flat arrays, all checked."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.ppo.learning.networks import CategoricalHead, GaussianHead
from procurl.tasks.pool import TaskPool

try:
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
except ImportError as error:
    raise ImportError(
        "training on the host needs gymnasium 1.1 or newer: pip install 'procurl[sb3]'"
    ) from error

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]

# Where `TaskEnv` keeps what it plays next. Gymnasium's `call` hands the same arguments to every
# sub-environment; `set_attr` is its way to hand each its own.
QUEUE = "queue"
SAME_STEP = "Make it with autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP"


class HostStep(NamedTuple):
    """What one step of b sub-environments gives."""

    observations: Floats  # [b, o], the next episode's first where one has ended
    rewards: NDArray[np.float64]  # [b]
    done: NDArray[np.bool_]  # [b] the episode has ended, in whatever way
    cut_short: NDArray[np.bool_]  # [b] by a limit: truncated and not terminated
    final: Floats  # [b, o] the last observation of episodes cut short, zero elsewhere
    success: NDArray[np.float64]  # [b] of episodes that ended 1 or 0, NaN where nothing says so
    tasks: Ids  # [b] what is played from now on


class Outcomes(NamedTuple):
    """What came of m episodes."""

    returns: NDArray[np.float64]  # [m] undiscounted
    success: NDArray[np.float64]  # [m] 1 or 0, NaN where the environment does not say
    steps: int  # that they took together


class HostEnv:
    """b sub-environments over one pool, which play the tasks that are pushed.

    Args:
        env: with same-step autoreset, whose sub-environments are `TaskEnv`s, or which takes ids
            [b, k] by a method `push_tasks` of its own and tells in `info["task"]` what is played.
        pool: the tasks that ids stand for.
        argument: what to call it in errors.
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
        self.n_tasks = len(pool)
        self.n_envs = env.num_envs
        _check_autoreset(env, argument)
        self.observation_size = _observation_size(env, argument)
        self.head, self.action_low, self.action_high = _actions(env, argument)
        self._push = _pushing(env, argument)
        _check_pool(env, pool, argument)
        self._queue: Ids = np.zeros((self.n_envs, 0), dtype=np.int64)
        self._taken: Ids = np.zeros(self.n_envs, dtype=np.int64)

    def push(self, ids: Ids) -> None:
        """Play row i of `ids` [b, k] in sub-environment i from its next reset on.

        What was left of an earlier call is dropped.
        """
        self._push(ids)
        self._queue, self._taken = ids, np.zeros(self.n_envs, dtype=np.int64)

    def reset(self, seed: int | None = None) -> tuple[Floats, Ids]:
        """(observations [b, o], tasks [b]) of fresh episodes in every sub-environment."""
        observations, info = self.env.reset(seed=seed)
        return self._flat(observations), self._begun(info, np.arange(self.n_envs))

    def step(self, actions: NDArray[Any]) -> HostStep:
        """Act in every sub-environment.

        Args:
            actions: [b, a], clipped to the box on their way, or [b] integers.
        """
        observations, rewards, terminated, truncated, info = self.env.step(self._as_given(actions))
        done = np.logical_or(terminated, truncated)
        cut_short = np.logical_and(truncated, np.logical_not(terminated))
        return HostStep(
            self._flat(observations),
            np.asarray(rewards, dtype=np.float64),
            done,
            cut_short,
            self._final(info, cut_short),
            _success(info, done),
            self._begun(info, np.flatnonzero(done)),
        )

    def first_observations(self, samples: int, seed: int) -> Floats:
        """[n, samples, o] what is seen at the start of every task, reset `samples` times."""
        ids = np.repeat(np.arange(self.n_tasks), samples)
        rounds = self._push_in_turn(ids)
        seen = [self.reset(seed if turn == 0 else None)[0] for turn in range(rounds)]
        together = np.concatenate(seen)[: len(ids)]
        return together.reshape(self.n_tasks, samples, self.observation_size)

    def play(self, tasks: Ids, act: Callable[[Floats], NDArray[Any]], seed: int) -> Outcomes:
        """One episode on each of `tasks` [m], every sub-environment taking each b-th of them.

        Args:
            tasks: ids, may repeat.
            act: observations [b, o] to actions.
            seed: of the environment.
        """
        m = len(tasks)
        returns, success, steps = np.zeros(m), np.full(m, np.nan), 0
        self._push_in_turn(tasks)
        observations, _ = self.reset(seed)
        episode, gained = np.arange(self.n_envs), np.zeros(self.n_envs)
        while (busy := episode < m).any():
            after = self.step(act(observations))
            observations = after.observations
            steps += int(busy.sum())
            gained += after.rewards
            ended = after.done & busy
            returns[episode[ended]] = gained[ended]
            success[episode[ended]] = after.success[ended]
            gained[after.done] = 0.0
            episode[after.done] += self.n_envs
        return Outcomes(returns, success, steps)

    def _push_in_turn(self, ids: Ids) -> int:
        """Deal `ids` [m] to the sub-environments one after another; how many each got."""
        rounds = -(-len(ids) // self.n_envs)
        self.push(np.resize(ids, (rounds, self.n_envs)).T.astype(np.int64))
        return rounds

    def _flat(self, observations: Any) -> Floats:
        return np.asarray(observations, dtype=np.float32).reshape(self.n_envs, -1)

    def _as_given(self, actions: NDArray[Any]) -> NDArray[Any]:
        """`actions` as the environment takes them."""
        if self.action_low is None:
            return actions.astype(np.int64)
        space: Any = self.env.single_action_space
        clipped: NDArray[Any] = np.clip(actions, self.action_low, self.action_high)
        return clipped.reshape(self.n_envs, *space.shape).astype(space.dtype, copy=False)

    def _final(self, info: dict[str, Any], cut_short: NDArray[np.bool_]) -> Floats:
        final = np.zeros((self.n_envs, self.observation_size), dtype=np.float32)
        if cut_short.any():
            if "final_obs" not in info:
                raise ValueError(
                    f"{self.argument}: info['final_obs'] is missing where an episode was "
                    "truncated; the student cannot learn what would have followed"
                )
            for i in np.flatnonzero(cut_short):
                final[i] = np.asarray(info["final_obs"][i], dtype=np.float32).reshape(-1)
        return final

    def _begun(self, info: dict[str, Any], which: Ids) -> Ids:
        """[b] the tasks being played, those of `which` [m] having just begun as pushed."""
        if "task" not in info:
            raise ValueError(
                f"{self.argument}: info['task'] is missing; it has to tell which task of the pool "
                "each sub-environment plays, as TaskEnv does"
            )
        tasks = np.asarray(info["task"], dtype=np.int64)
        queued = which[self._taken[which] < self._queue.shape[1]]
        expected = self._queue[queued, self._taken[queued]]
        self._taken[queued] += 1
        if (wrong := tasks[queued] != expected).any():
            raise RuntimeError(
                f"{self.argument}: sub-environment {queued[wrong][0]} began task "
                f"{tasks[queued][wrong][0]} where {expected[wrong][0]} was pushed. Leave the "
                "environment to the run alone, and let no wrapper around TaskEnv have an "
                f"attribute {QUEUE!r}"
            )
        return tasks


def beside(
    training: VectorEnv[Any, Any, Any],
    argument: str,
    env: VectorEnv[Any, Any, Any] | None,
    pool: TaskPool | None,
) -> HostEnv | None:
    """An environment to evaluate in, beside the one that trains; None where none is given."""
    if env is None:
        return None
    if env is training:
        raise ValueError(
            f"{argument} must be another environment than env: "
            "evaluations would break off the training episodes"
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
            f"{argument} resets in the step after an episode's end (NextStep, Gymnasium's "
            "default); that step ignores the action and nothing can be learned from it. "
            f"{SAME_STEP}"
        )
    raise ValueError(
        f"{argument} must reset in the step in which an episode ends, got "
        f"metadata['autoreset_mode'] = {mode!r}. {SAME_STEP}"
    )


def _observation_size(env: VectorEnv[Any, Any, Any], argument: str) -> int:
    """Numbers in an observation, flattened."""
    space = env.single_observation_space
    if not isinstance(space, spaces.Box):
        raise ValueError(
            f"{argument} must have observations in a Box, got {space}; "
            "put gymnasium.wrappers.FlattenObservation around each sub-environment"
        )
    return int(np.prod(space.shape))


def _actions(
    env: VectorEnv[Any, Any, Any], argument: str
) -> tuple[GaussianHead | CategoricalHead, Floats | None, Floats | None]:
    """(the kind of policy that acts in `env`, lower and upper bounds [a] or None if discrete)."""
    space = env.single_action_space
    if isinstance(space, spaces.Discrete) and space.start == 0:
        return CategoricalHead(int(space.n)), None, None
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        low, high = (bound.astype(np.float32).reshape(-1) for bound in (space.low, space.high))
        return GaussianHead(len(low)), low, high
    raise ValueError(
        f"{argument} must have actions in a Box of floating-point numbers or in a Discrete space "
        f"that starts at 0, got {space}; translate them in a gymnasium.ActionWrapper"
    )


def _pushing(env: VectorEnv[Any, Any, Any], argument: str) -> Callable[[Ids], None]:
    """How ids [b, k] get into the sub-environments."""
    inner: Any = env.unwrapped
    if hasattr(inner, "push_tasks"):
        push: Callable[[Ids], None] = inner.push_tasks
        return push
    missing = (
        f"{argument} takes no tasks: each sub-environment must be a procurl.TaskEnv, as in "
        "SyncVectorEnv([lambda: TaskEnv(MyEnv(), pool)] * 4, "
        "autoreset_mode=AutoresetMode.SAME_STEP), or the vector environment must have a method "
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
    """Raise where the environment plays another pool, as far as it can tell."""
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
                f"{argument} plays another pool, {theirs}, than the run is given, {pool}: "
                "ids would mean other tasks"
            )


def _success(info: dict[str, Any], done: NDArray[np.bool_]) -> NDArray[np.float64]:
    """[b] whether episodes that ended were successes, NaN where nothing says so."""
    success = np.full(len(done), np.nan)
    final = info.get("final_info", {})
    if done.any() and "is_success" in final:
        told = done & np.asarray(final.get("_is_success", done))
        success[told] = np.asarray(final["is_success"], dtype=np.float64)[told]
    return success
