"""Tests of the report draw each task once and figures of a few pixels, to save time."""

from functools import cache

import pytest

from procurl.experiments.analysis.figures import curves as figures
from procurl.experiments.report import explorer_data
from procurl.experiments.report.task_pictures import task_pictures
from procurl.tasks.pool import TaskPool

POOLS: dict[str, TaskPool] = {}  # by fingerprint


@cache
def draw_once(env, fingerprint, tasks):
    return task_pictures(env, POOLS[fingerprint], tasks)


@pytest.fixture(scope="module", autouse=True)
def _quick_pictures():
    def pictures_of(env, pool, tasks):
        POOLS[pool.fingerprint] = pool
        return draw_once(env, pool.fingerprint, tuple(tasks))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorer_data, "task_pictures", pictures_of)
        patch.setattr(figures, "DPI", 30)
        yield
