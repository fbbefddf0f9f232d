"""Estimated training times, by hand."""

import dataclasses
import math

import pytest

from procurl.experiments.paper.run_time import RATES, duration, estimate, teacher_steps
from procurl.experiments.paper.sweeps import HARD, KAREL, POINT_MASS


def test_estimates_by_hand():
    rate = RATES["pointmass-s", "jax"].training
    assert estimate([(POINT_MASS, ["iid"], 4)], cores=2) == pytest.approx(4e6 / rate / 2)
    assert math.isnan(estimate([(dataclasses.replace(HARD, engine="sb3"), ["iid"], 1)]))


def test_teachers_take_the_steps_that_the_paper_counted():
    assert teacher_steps(POINT_MASS, "iid") == 0
    assert teacher_steps(POINT_MASS, "procurl-env") == pytest.approx(16.4e6)
    assert teacher_steps(KAREL, "procurl-env-2") == pytest.approx(2 * 1.4e6)
    dense = dataclasses.replace(POINT_MASS, env="pointmass-d")
    assert teacher_steps(dense, "procurl-env") == pytest.approx(1e6 / 5120 * 20 * 100 * 100)
    assert teacher_steps(dense, "procurl-env-4") == pytest.approx(3e6)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(30, "30 seconds"), (120, "2.0 minutes"), (7200, "2.0 hours"), (86_400 * 20, "20 days")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text
