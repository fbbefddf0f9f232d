"""Tests of the report draw each task once and figures of a few pixels, to save time."""

from functools import cache

import pytest

from procurl.experiments.analysis import figures
from procurl.experiments.report import explorer_data


@pytest.fixture(scope="session", autouse=True)
def _quick_pictures():
    draw, pools = explorer_data.task_pictures, {}

    @cache
    def draw_once(env, fingerprint, tasks):
        return draw(env, pools[fingerprint], tasks)

    def task_pictures(env, pool, tasks):
        pools[pool.fingerprint] = pool
        return draw_once(env, pool.fingerprint, tuple(tasks))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorer_data, "task_pictures", task_pictures)
        patch.setattr(figures, "DPI", 30)
        yield
