"""Many episodes of an array environment as one `gymnasium.vector.VectorEnv`."""

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.envs.adapters.episode_batch import NO_TASK, EpisodeBatch, Mask, check_options
from procurl.envs.adapters.gym_env import (
    action_space,
    check_header,
    observation_space,
    state_header,
)
from procurl.envs.array_env import ArrayEnv
from procurl.envs.registry import make_host_env
from procurl.internals.arrays import Floats32, Ids
from procurl.internals.checks import require_integer
from procurl.tasks.pool import TaskPool

try:
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise ImportError(
        "procurl's vector environments need gymnasium 1.1 or newer: pip install 'procurl[sb3]'"
    ) from error

MODES = (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED)

DRAWS = 10_000  # tasks drawn at a time, far cheaper than a few at each step

Step = tuple[Floats32, NDArray[np.float64], Mask, Mask, dict[str, Any]]


class GymVectorEnv(VectorEnv[Floats32, Any, NDArray[Any]]):
    """`num_envs` episodes of an array environment, over one pool of tasks.

    By default, when an episode ends, the next one starts within the same step: the observation is
    the first of the new episode, and `info` holds the last one of the old episode as `final_obs`
    and `final_info`. With `autoreset_mode="Disabled"`, finished episodes wait for
    `reset(options={"reset_mask": mask})`.

    `reset(options={"task": [...]})` (ids, or tasks themselves) and `{"context": [...]}` choose the
    tasks, one per sub-environment; entries outside the reset mask are ignored. Without either, and
    in automatic resets, tasks come from `push_tasks`, then from a uniform draw.

    Args:
        env: the dynamics, or the name of a registered environment such as `pointmass-s`.
        num_envs: number of sub-environments.
        pool: the tasks, or a file of them; by default the environment's own pool.
        autoreset_mode: `SameStep` or `Disabled`.
    """

    def __init__(
        self,
        env: ArrayEnv | str,
        num_envs: int = 1,
        pool: TaskPool | str | PathLike[str] | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
    ) -> None:
        require_integer("num_envs", num_envs, at_least=1)
        self.array_env = make_host_env(env) if isinstance(env, str) else env
        self.num_envs = num_envs
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {"autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_space(self.array_env)
        self.single_action_space = action_space(self.array_env)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._episodes = EpisodeBatch(self.array_env, pool, num_envs)
        self._everywhere: Mask = np.ones(num_envs, dtype=bool)
        self._start_rngs: list[np.random.Generator] = []  # one per sub-environment
        self._draws: Ids = np.empty(0, dtype=np.int64)  # tasks for future resets
        self._queue: Ids = np.empty((num_envs, 0), dtype=np.int64)  # [num_envs, k]
        self._n_used: Ids = np.zeros(num_envs, dtype=np.int64)  # queue entries used, per row

    @property
    def pool(self) -> TaskPool:
        """The tasks that `reset` plays."""
        return self._episodes.pool

    def push_tasks(self, ids: Any) -> None:
        """Play row i of `ids` [num_envs, k] next in sub-environment i, in order.

        Tasks left from an earlier call are dropped.
        """
        queue = np.asarray(ids)
        ids_or_none = queue.size == 0 or queue.dtype.kind in "iu"
        if queue.ndim != 2 or len(queue) != self.num_envs or not ids_or_none:
            raise ValueError(
                f"ids must be integers of shape [{self.num_envs}, k], one row per sub-environment, "
                f"got shape {queue.shape} of {queue.dtype}"
            )
        self._episodes.check_ids(queue.ravel())
        self._queue = queue.astype(np.int64)
        self._n_used[:] = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats32, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._draws = self._draws[:0]
        if self._episodes.random_starts and (seed is not None or not self._start_rngs):
            seeds = [None if seed is None else seed + i for i in range(self.num_envs)]
            self._start_rngs = [np.random.default_rng(one) for one in seeds]
        options = options or {}
        check_options(options, ("task", "context", "reset_mask"))
        mask = self._checked_mask(options.get("reset_mask"))
        which = mask.nonzero()[0]
        if "context" in options:
            rows = self._one_per_env("context", options["context"])
            tasks = np.full(len(which), NO_TASK)
            contexts = np.stack([self._episodes.as_context(rows[i]) for i in which])
            self._episodes.start(which, tasks, contexts, self._rngs_of(which))
        elif "task" in options:
            rows = self._one_per_env("task", options["task"])
            pairs = [self._episodes.resolve_task(rows[i]) for i in which]
            tasks = np.array([task for task, _ in pairs])
            contexts = np.stack([context for _, context in pairs])
            self._episodes.start(which, tasks, contexts, self._rngs_of(which))
        else:
            self._start_next(which)
        return self._episodes.observe(), self._info(mask)

    def step(self, actions: Any) -> Step:
        return self.step_with_noise(actions, self._episodes.noise(self.np_random))

    def step_with_noise(self, actions: Any, noise: NDArray[np.float32]) -> Step:
        """`step` with given standard normal noise [num_envs, *noise_shape]."""
        transition = self._episodes.step(self._episodes.as_actions(actions), noise)
        done = transition.done
        which = self._episodes.idle  # the episodes that have ended
        ended: dict[str, Any] = {}
        if which.size:
            success = {"is_success": transition.success.copy(), "_is_success": done.copy()}
            if self.autoreset_mode is AutoresetMode.DISABLED:
                ended = success
            else:
                ended = self._final(which, done, success)
                self._start_next(which)
        info = self._info() | ended
        rewards = transition.reward.astype(np.float64)
        truncated = np.zeros(self.num_envs, dtype=bool)
        return self._episodes.observe(), rewards, done.copy(), truncated, info

    def state_dict(self) -> dict[str, Any]:
        """State of the episodes, the pushed tasks and all random numbers.

        JSON values, and arrays under `state`.
        """
        tasks_ahead = {"draws": self._draws, "queue": self._queue, "n_used": self._n_used}
        return state_header(self._episodes) | {
            "rng": self.np_random.bit_generator.state,
            "start_rngs": [rng.bit_generator.state for rng in self._start_rngs],
            "state": self._episodes.state_dict() | {k: v.copy() for k, v in tasks_ahead.items()},
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from `state_dict` bit for bit.

        Raises and changes nothing if the state belongs to another environment, pool or number of
        sub-environments.
        """
        check_header(self._episodes, saved)
        ahead = [np.array(saved["state"][name]) for name in ("draws", "queue", "n_used")]
        rngs = [np.random.default_rng() for _ in saved["start_rngs"]]
        for rng, state in zip(rngs, saved["start_rngs"], strict=True):
            rng.bit_generator.state = state
        self._episodes.load_state_dict(saved["state"])
        self._draws, self._queue, self._n_used = ahead
        self._start_rngs = rngs
        self.np_random.bit_generator.state = saved["rng"]

    def _start_next(self, which: Ids) -> None:
        """Start the next episodes of the sub-environments `which` [m]."""
        tasks = self._next_tasks(which)
        self._episodes.start_tasks(which, tasks, self._rngs_of(which))

    def _rngs_of(self, which: Ids) -> list[np.random.Generator]:
        return [self._start_rngs[i] for i in which] if self._start_rngs else []

    def _next_tasks(self, which: Ids) -> Ids:
        """[m] tasks for the sub-environments `which` [m]: queued, else drawn."""
        if len(self._draws) < len(which):
            self._draws = self.np_random.integers(len(self.pool), size=DRAWS + len(which))
        tasks, self._draws = self._draws[: len(which)], self._draws[len(which) :]
        if self._queue.size:
            queued = self._n_used[which] < self._queue.shape[1]
            served = which[queued]
            tasks[queued] = self._queue[served, self._n_used[served]]
            self._n_used[served] += 1
        return tasks

    def _final(self, which: Ids, done: Mask, success: dict[str, Mask]) -> dict[str, Any]:
        """The final entries of `info` for the episodes `which` [m], in Gymnasium's form."""
        seen = self._episodes.observe(which)
        final_obs = np.empty(self.num_envs, dtype=object)  # None if the episode continues
        final_obs[which] = np.fromiter(seen, dtype=object, count=len(seen))
        return {
            "final_obs": final_obs,
            "_final_obs": done.copy(),
            "final_info": self._info(done) | success,
            "_final_info": done.copy(),
        }

    def _info(self, mask: Mask | None = None) -> dict[str, Any]:
        """`info` with task and features of the sub-environments in `mask`, by default of all."""
        episodes = self._episodes
        descriptions = episodes.descriptions(mask)
        if mask is None:
            tasks, mask = episodes.tasks.copy(), self._everywhere
        else:
            tasks = episodes.tasks * mask
        info: dict[str, Any] = {"task": tasks, "_task": mask.copy()}
        shown = [mask] * len(episodes.names)
        if episodes.has_free_contexts:
            known = mask & (episodes.tasks != NO_TASK)
            features = len(shown) - episodes.n_entries if known.any() else 0
            shown = [mask] * episodes.n_entries + [known] * features
        for name, column, where in zip(episodes.names, descriptions.T, shown, strict=False):
            info[name] = column
            info[f"_{name}"] = where.copy()
        return info

    def _checked_mask(self, mask: Any) -> Mask:
        if mask is None:
            return self._everywhere
        given = np.asarray(mask)
        if given.shape != (self.num_envs,) or given.dtype != np.bool_ or not given.any():
            raise ValueError(
                f"reset_mask must be {self.num_envs} booleans, at least one of them True, "
                f"got {mask!r}"
            )
        return given

    def _one_per_env(self, option: str, given: Any) -> Any:
        if not hasattr(given, "__len__") or isinstance(given, dict | str):
            raise ValueError(
                f"reset option {option!r} must be a list with one entry per "
                f"sub-environment, got {given!r}"
            )
        if len(given) != self.num_envs:
            raise ValueError(
                f"reset option {option!r} must hold one entry for each of the {self.num_envs} "
                f"sub-environments, got {len(given)}"
            )
        return given


def _autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    for known in MODES:
        if mode in (known, known.value):
            return known
    names = ", ".join(repr(known.value) for known in MODES)
    raise ValueError(f"autoreset_mode must be one of {names}, got {mode!r}")
