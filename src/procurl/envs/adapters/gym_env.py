"""One array environment as a `gymnasium.Env`."""

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.envs.adapters.episode_batch import NO_TASK, EpisodeBatch, check_options
from procurl.envs.array_env import ArrayEnv
from procurl.envs.registry import make_host_env
from procurl.tasks.pool import TaskPool

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    raise ImportError(
        "procurl's Gymnasium environments need gymnasium: pip install 'procurl[sb3]'"
    ) from error

RENDER_MODES = ("rgb_array",)
FRAMES_PER_SECOND = 10
FORMAT = 1  # of saved states


class GymEnv(gymnasium.Env[NDArray[np.float32], Any]):
    """An array environment, one episode at a time, over a pool of tasks.

    `reset(options={"task": i})` plays task i of the pool and `options={"context": [...]}` plays any
    context. Without options, the task is drawn uniformly. `info` holds the task id as `task` (−1
    for a context), the task's context and features by name, and `is_success` at the end of the
    episode.

    Args:
        env: the dynamics, or the name of a registered environment such as `pointmass-s`.
        pool: the tasks, or a file of them; by default the environment's own pool.
        render_mode: None or `rgb_array`.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": FRAMES_PER_SECOND}  # noqa: RUF012

    def __init__(
        self,
        env: ArrayEnv | str,
        pool: TaskPool | str | PathLike[str] | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.array_env = make_host_env(env) if isinstance(env, str) else env
        check_render_mode(render_mode)
        self.render_mode = render_mode
        self.observation_space = observation_space(self.array_env)
        self.action_space = action_space(self.array_env)
        self._episodes = EpisodeBatch(self.array_env, pool, n=1)
        self._states: list[Any] = []  # of this episode, kept for `render` only

    @property
    def pool(self) -> TaskPool:
        """The tasks that `reset` plays."""
        return self._episodes.pool

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        options = options or {}
        check_options(options, ("task", "context"))
        if "context" in options:
            task, context = NO_TASK, self._episodes.as_context(options["context"])
        elif "task" in options:
            task, context = self._episodes.resolve_task(options["task"])
        else:
            task, context = self._episodes.resolve_task(self.np_random.integers(len(self.pool)))
        self._episodes.start(np.array([0]), np.array([task]), context[None], [self.np_random])
        self._states = [self._episodes.state]
        return self._episodes.observe()[0], self._info()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        return self.step_with_noise(action, self._episodes.noise(self.np_random)[0])

    def step_with_noise(
        self, action: Any, noise: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """`step` with given standard normal noise [*noise_shape]."""
        actions = self._episodes.as_actions(np.asarray(action)[None])
        transition = self._episodes.step(actions, noise[None])
        if self.render_mode is not None:
            self._states.append(self._episodes.state)
        info = self._info()
        done = bool(transition.done[0])
        if done:
            info["is_success"] = bool(transition.success[0])
        return self._episodes.observe()[0], float(transition.reward[0]), done, False, info

    def render(self) -> NDArray[np.uint8] | None:
        """[height, width, 3] picture of the episode so far, or None without a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs an environment made with render_mode='rgb_array'")
            return None
        if not self._states:
            raise RuntimeError("there is nothing to render yet: call reset before render")
        return self.array_env.draw(self._states)

    def state_dict(self) -> dict[str, Any]:
        """State of the episode and its random numbers: JSON values, and arrays under `state`."""
        return state_header(self._episodes) | {
            "rng": self.np_random.bit_generator.state,
            "state": self._episodes.state_dict(),
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from `state_dict` bit for bit; pictures start at the restored state.

        Raises and changes nothing if the state belongs to another environment or pool.
        """
        check_header(self._episodes, saved)
        self._episodes.load_state_dict(saved["state"])
        self.np_random.bit_generator.state = saved["rng"]
        self._states = [self._episodes.state]

    def _info(self) -> dict[str, Any]:
        episodes = self._episodes
        task = int(episodes.tasks[0])
        known = episodes.names[: episodes.n_entries] if task == NO_TASK else episodes.names
        return {"task": task, **dict(zip(known, episodes.descriptions()[0].tolist(), strict=False))}


def observation_space(env: ArrayEnv) -> spaces.Space[Any]:
    """The observation space of one environment: a box with finite bounds."""
    return spaces.Box(env.observation_low, env.observation_high, dtype=np.float32)


def action_space(env: ArrayEnv) -> spaces.Space[Any]:
    """The action space of one environment: a box or discrete."""
    if env.n_actions is not None:
        return spaces.Discrete(env.n_actions)
    low: Any = env.action_low
    high: Any = env.action_high
    return spaces.Box(low, high, dtype=np.float32)


def state_header(episodes: EpisodeBatch) -> dict[str, Any]:
    """The environment and pool that a saved state belongs to."""
    return {
        "format": FORMAT,
        "env": type(episodes.env).__name__,
        "pool": episodes.pool.fingerprint,
    }


def check_header(episodes: EpisodeBatch, saved: dict[str, Any]) -> None:
    """Raise unless a state was saved by the same environment with the same pool."""
    for name, here in state_header(episodes).items():
        if saved.get(name) != here:
            raise ValueError(
                f"the saved state has {name} {saved.get(name)!r}, this environment has {here!r}: "
                "load it into the environment and pool that saved it"
            )


def check_render_mode(render_mode: str | None) -> None:
    """Raise on an unknown render mode."""
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise ValueError(
            f"render_mode must be None or one of {', '.join(RENDER_MODES)}, got {render_mode!r}"
        )
