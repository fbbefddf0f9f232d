"""Contexts on a common scale, however large or small their numbers are."""

import numpy as np
import pytest

from procurl import Curriculum, TaskPool
from procurl.tasks.scaling import scaled_columns


def test_columns_are_scaled_to_their_range_and_constant_ones_to_0():
    contexts = np.array([[1.0, 7.0, -2e-310], [3.0, 7.0, 2e-310], [2.0, 7.0, 0.0]])
    expected = [[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.5, 0.0, 0.5]]
    np.testing.assert_allclose(scaled_columns(contexts), expected)
    np.testing.assert_array_equal(scaled_columns(contexts[:, 0]), [0.0, 1.0, 0.5])


def test_the_distance_between_the_largest_numbers_does_not_overflow():
    contexts = np.array([[-1.6e308, 0.0], [1.6e308, 4.0], [0.8e308, 1.0]])
    np.testing.assert_allclose(scaled_columns(contexts), [[0.0, 0.0], [1.0, 1.0], [0.75, 0.25]])


@pytest.mark.parametrize("name", ["procurl", "procurl-out", "alp-gmm", "currot"])
def test_strategies_do_not_depend_on_the_unit_of_a_context(name):
    """The same contexts, once as they are and once, by powers of 2, up to the largest numbers."""
    contexts = np.random.default_rng(0).uniform(-1.9, 1.9, (40, 2))
    marks = {"target": np.arange(40) >= 35}
    scales = (np.array([1.0, 1.0]), np.array([2.0**1023, 2.0**-900]))
    one, two = (Curriculum(name, TaskPool(contexts * scale, features=marks)) for scale in scales)
    luck = np.random.default_rng(1)
    for _ in range(40):
        tasks, outcomes = luck.integers(0, 40, 8), luck.random(8)
        for each in (one, two):
            each.record(tasks, outcomes)
    np.testing.assert_array_equal(one.probabilities(), two.probabilities())
