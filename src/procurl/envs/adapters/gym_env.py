"""One array environment as a `gymnasium.Env`."""

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.envs.adapters.episodes import FREE, Episodes, check_options
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

    `reset(options={"task": i})` plays task i of the pool, `{"context": [...]}` any context, and no
    option a task drawn uniformly. `info` carries `task` (−1 for a free context) and what describes
    the task, and `is_success` at the end of the episode.

    Args:
        env: the dynamics, or the name of a registered environment such as `pointmass-s`.
        pool: the tasks, or a file of them; by default the environment's own.
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
        self._episodes = Episodes(self.array_env, pool, n=1)
        self._drawn: list[Any] = []  # the states of this episode, kept for pictures only

    @property
    def pool(self) -> TaskPool:
        """The tasks that `reset` chooses from."""
        return self._episodes.pool

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        options = options or {}
        check_options(options, ("task", "context"))
        if "context" in options:
            task, context = FREE, self._episodes.checked_context(options["context"])
        elif "task" in options:
            task, context = self._episodes.chosen(options["task"])
        else:
            task, context = self._episodes.chosen(self.np_random.integers(len(self.pool)))
        self._episodes.start(np.array([0]), np.array([task]), context[None], [self.np_random])
        self._drawn = [self._episodes.state]
        return self._episodes.observe()[0], self._info()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        return self.advance(action, self._episodes.noise(self.np_random)[0])

    def advance(
        self, action: Any, noise: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """`step` with the noise [*noise_shape] handed over, standard normal."""
        actions = self._episodes.checked_actions(np.asarray(action)[None])
        transition = self._episodes.advance(actions, noise[None])
        if self.render_mode is not None:
            self._drawn.append(self._episodes.state)
        info = self._info()
        done = bool(transition.done[0])
        if done:
            info["is_success"] = bool(transition.success[0])
        return self._episodes.observe()[0], float(transition.reward[0]), done, False, info

    def render(self) -> NDArray[np.uint8] | None:
        """[height, width, 3] the episode so far, or None without a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs render_mode='rgb_array' at construction")
            return None
        if not self._drawn:
            raise RuntimeError("there is nothing to draw yet: call reset before render")
        return self.array_env.draw(self._drawn)

    def state_dict(self) -> dict[str, Any]:
        """Where the episode and its random numbers stand: JSON values, and arrays under `state`."""
        return saved_header(self._episodes) | {
            "rng": self.np_random.bit_generator.state,
            "state": self._episodes.saved(),
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on from `state_dict` to the bit; pictures begin anew.

        With another environment or pool, raise and change nothing.
        """
        check_header(self._episodes, saved)
        self._episodes.restore(saved["state"])
        self.np_random.bit_generator.state = saved["rng"]
        self._drawn = [self._episodes.state]

    def _info(self) -> dict[str, Any]:
        played = self._episodes
        task = int(played.tasks[0])
        known = played.names[: played.entries] if task == FREE else played.names
        return {"task": task, **dict(zip(known, played.described()[0].tolist(), strict=False))}


def observation_space(env: ArrayEnv) -> spaces.Space[Any]:
    """What one environment shows: a box with finite bounds."""
    return spaces.Box(env.observation_low, env.observation_high, dtype=np.float32)


def action_space(env: ArrayEnv) -> spaces.Space[Any]:
    """What one environment takes: a box, or a number of discrete actions."""
    if env.n_actions is not None:
        return spaces.Discrete(env.n_actions)
    low: Any = env.action_low
    high: Any = env.action_high
    return spaces.Box(low, high, dtype=np.float32)


def saved_header(episodes: Episodes) -> dict[str, Any]:
    """What a saved state is a state of."""
    return {
        "format": FORMAT,
        "env": type(episodes.env).__name__,
        "pool": episodes.pool.fingerprint,
    }


def check_header(episodes: Episodes, saved: dict[str, Any]) -> None:
    """Raise unless a state was saved by the same environment over the same pool."""
    for name, here in saved_header(episodes).items():
        if saved.get(name) != here:
            raise ValueError(
                f"the saved state has {name} {saved.get(name)!r}, here it is {here!r}: "
                "it cannot go on here"
            )


def check_render_mode(render_mode: str | None) -> None:
    """Raise unless pictures can be drawn that way."""
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise ValueError(
            f"render_mode must be None or one of {', '.join(RENDER_MODES)}, got {render_mode!r}"
        )
