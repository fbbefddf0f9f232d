"""Small pictures of tasks for the page, drawn by the environment."""

import base64
import io
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.envs.array_env import ArrayEnv
from procurl.envs.point_mass.dynamics import PointMass
from procurl.envs.registry import environment_names, make_host_env
from procurl.tasks.pool import TaskPool

WIDTH = 220  # pixels; shown smaller, to be sharp on high-resolution screens
WIDE = 260  # pixels, of pictures much wider than high
COLORS = 32
MOST_LETTERS = 2_500_000  # in total


class Pictures(NamedTuple):
    """Pictures of tasks."""

    by_task: dict[int, str]  # PNG as a data URL
    missing: str = ""  # why pictures are missing, if that needs an explanation


def task_pictures(env: str, pool: TaskPool, tasks: Iterable[int]) -> Pictures:
    """Pictures of the tasks, up to `MOST_LETTERS` characters in total.

    There are none if the environment is not one of procurl's or cannot draw. If drawing fails,
    because this machine lacks a package or the tasks are not the environment's, `missing` says why.
    """
    if env not in environment_names():
        return Pictures({})
    pictures: dict[int, str] = {}
    letters = 0
    try:
        drawn = make_host_env(env)
        pool = drawn.fit_pool(pool)
        for task in tasks:
            picture = _png(_drawing(drawn, pool, task))
            letters += len(picture)
            if letters > MOST_LETTERS:
                break
            pictures[task] = picture
    except NotImplementedError:
        return Pictures({})
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        return Pictures({}, str(error))
    return Pictures(pictures)


def _drawing(env: ArrayEnv, pool: TaskPool, task: int) -> NDArray[np.uint8]:
    """The task's initial state, without the caption, which the page writes itself."""
    context = env.context_of(pool[task])
    if context.shape != (len(env.context_names),):
        raise ValueError(f"task {task} is not a task of this environment: {context.tolist()}")
    env.check_context(context)
    picture = env.draw([env.initial(context[None])])
    return picture[: len(picture) - _caption_rows(env)]


def _caption_rows(env: ArrayEnv) -> int:
    if not isinstance(env, PointMass):
        return 0
    from procurl.envs.point_mass.picture import CAPTION

    return CAPTION


def _png(picture: NDArray[np.uint8]) -> str:
    from PIL import Image

    height, width = picture.shape[:2]
    target = WIDE if width > 1.5 * height else WIDTH
    image = Image.fromarray(picture)
    if width > target:
        image = image.resize((target, round(height * target / width)), Image.Resampling.BOX)
    file = io.BytesIO()
    image.quantize(COLORS, Image.Quantize.FASTOCTREE).save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
