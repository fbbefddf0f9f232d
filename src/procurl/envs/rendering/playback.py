"""Episodes of a policy, and animated GIFs that show several of them side by side."""

import logging
import math
from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from procurl.envs.adapters.episode_batch import EpisodeBatch
from procurl.envs.array_env import ArrayEnv
from procurl.envs.rendering.contact_sheet import Picture, contact_sheet
from procurl.envs.rendering.gif import apply_palette, palette_of, small_gif
from procurl.internals.checks import require_integer, require_number
from procurl.internals.files import write_bytes
from procurl.tasks.pool import TaskPool

try:
    from PIL import Image, ImageDraw, ImageFont
except ImportError as error:
    raise ImportError(
        "pictures need Pillow, which is not installed: pip install 'procurl[report]'"
    ) from error

MAX_TASKS = 16  # more would be too small to see
WIDTH = 900  # pixels of the whole picture at most
GAP = 12
BAR = 24  # height of the status bar above each episode
MARGIN = 0.025  # fraction of the width that pictures leave free on either side

SECONDS = 5.0  # duration of the longest episode, a pace that one can follow
SLOWEST, FASTEST = 3.0, 20.0  # frames per second
MAX_FRAMES = 101  # of the animation; MuJoCo draws slowly on a CPU
PROGRESS_MESSAGES = 10  # log messages while drawing, at most

PAPER = "#ffffff"
BAR_TEXT = "#ffffff"
TEXT_SIZE = 14
RUNNING, SUCCEEDED, FAILED = "#8a93a0", "#218c54", "#c8372d"

_log = logging.getLogger(__name__)


class SupportsAct(Protocol):
    """Anything with a method `act`, such as a policy of `procurl.load_policy`."""

    def act(self, obs: NDArray[np.float32]) -> Any:
        """The action at `obs` [o]."""


class Episode(NamedTuple):
    """One episode from its start to its end."""

    states: list[Any]  # first to last, each with a batch of one
    total_reward: float  # undiscounted return
    success: bool


def play(
    env: ArrayEnv, context: ArrayLike, policy: SupportsAct, seed: int | Sequence[int] = 0
) -> Episode:
    """Play one episode of `policy` on a context.

    Args:
        env: the dynamics.
        context: [c].
        policy: acts on one observation at a time.
        seed: for the noise of the environment; the same seed gives the same episode.
    """
    row = np.asarray(context, dtype=np.float64)
    env.check_context(row)
    rng = np.random.default_rng(seed)
    batch = EpisodeBatch(env, TaskPool(row[None]), n=1)
    batch.start(np.array([0]), np.array([0]), row[None], [rng])
    states, total_reward = [batch.state], 0.0
    while True:
        actions = batch.as_actions(np.asarray(policy.act(batch.observe()[0]))[None])
        transition = batch.step(actions, batch.noise(rng))
        states.append(transition.state)
        total_reward += float(transition.reward[0])
        if transition.done[0]:
            return Episode(states, total_reward, bool(transition.success[0]))


def write_gif(
    path: str | PathLike[str],
    env: ArrayEnv,
    contexts: ArrayLike,
    policy: SupportsAct,
    seed: int = 0,
    columns: int | None = None,
    frames_per_second: float | None = None,
) -> list[Episode]:
    """Play one episode per context and write them side by side as an animated GIF.

    The bar above an episode counts its steps; it turns green on success and red on failure.
    Finished episodes wait for the longest. If that has more than 100 steps, or the file would
    exceed 2 MB, steps are skipped and the pace stays the same. Drawing may take minutes; this
    module's log reports the progress.

    Args:
        path: file to write.
        env: the dynamics; must implement `draw`.
        contexts: [n, c], n from 1 to 16.
        policy: acts on one observation at a time.
        seed: for the noise of the environments.
        columns: episodes per row; by default the grid is about square.
        frames_per_second: by default the longest episode takes about five seconds.

    Returns:
        The episodes shown.
    """
    rows = np.asarray(contexts, dtype=np.float64)
    if rows.ndim != 2 or not 1 <= len(rows) <= MAX_TASKS:
        raise ValueError(
            f"contexts must be 1 to {MAX_TASKS} rows of numbers, got shape {list(rows.shape)}"
        )
    if columns is None:
        columns = len(rows) if len(rows) <= 3 else math.ceil(math.sqrt(len(rows)))
    require_integer("columns", columns, at_least=1)
    require_integer("seed", seed, at_least=0)
    if frames_per_second is not None:
        require_number("frames_per_second", frames_per_second, above=0.0, at_most=50.0)

    episodes = [play(env, row, policy, seed=(seed, i)) for i, row in enumerate(rows)]
    longest = max(len(episode.states) for episode in episodes)
    pace = frames_per_second or min(max(longest / SECONDS, SLOWEST), FASTEST)
    stride = math.ceil((longest - 1) / (MAX_FRAMES - 1))
    frames = _frames(env, episodes, min(columns, len(rows)), stride)
    write_bytes(path, small_gif(frames, 1000.0 * stride / pace))
    return episodes


def _frames(
    env: ArrayEnv, episodes: Sequence[Episode], columns: int, stride: int
) -> list[Image.Image]:
    """A frame per `stride` steps of the longest episode, and one for its last step."""
    lasts = [len(episode.states) - 1 for episode in episodes]
    panels = [_panel(env, episode, 0, columns) for episode in episodes]
    ends = [
        _panel(env, episode, last, columns) for episode, last in zip(episodes, lasts, strict=True)
    ]
    # Together, the first and the last frame show every color of the animation.
    palette = palette_of(contact_sheet([*panels, *ends], columns=columns, gap=GAP))
    steps = [*range(0, max(lasts), stride), max(lasts)]
    frames = []
    for k, step in enumerate(steps):
        if k % math.ceil(len(steps) / PROGRESS_MESSAGES) == 0:
            _log.info("drawing frame %d of %d", k + 1, len(steps))
        panels = [
            _panel(env, episode, step, columns) if step < last else end
            for episode, last, end in zip(episodes, lasts, ends, strict=True)
        ]
        frames.append(apply_palette(contact_sheet(panels, columns=columns, gap=GAP), palette))
    return frames


def _panel(env: ArrayEnv, episode: Episode, step: int, columns: int) -> Picture:
    """[height, width, 3] an episode after `step` actions, below its status bar."""
    last = len(episode.states) - 1
    if step < last:
        text, color = f"step {step}", RUNNING
    elif episode.success:
        text, color = f"success in {_steps(last)}", SUCCEEDED
    else:
        text, color = f"failure after {_steps(last)}", FAILED
    picture = Image.fromarray(env.draw(episode.states[: step + 1]))
    width = min(picture.width, (WIDTH - GAP) // columns - GAP)
    picture = picture.resize(
        (width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS
    )
    panel = Image.new("RGB", (width, BAR + picture.height), PAPER)
    panel.paste(picture, (0, BAR))
    pen = ImageDraw.Draw(panel)
    inset = round(MARGIN * width)
    pen.rectangle((inset, 0, width - 1 - inset, BAR - 1), color)
    font = ImageFont.load_default(TEXT_SIZE)
    pen.text((width / 2, BAR / 2), text, BAR_TEXT, font=font, anchor="mm")
    return np.asarray(panel)


def _steps(count: int) -> str:
    return f"{count} step" if count == 1 else f"{count} steps"
