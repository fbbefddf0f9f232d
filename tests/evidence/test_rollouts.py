"""Means over the teacher's rollouts, worked by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from procurl.evidence import average_rollouts

MEASURED = np.array([[0.0, 0.5, 1.0, 0.25, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0]])


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
@pytest.mark.parametrize(
    ("fraction", "top"), [(0.01, 1.0), (0.2, 1.0), (0.4, 0.75), (0.7, 0.4375), (1.0, 0.35)]
)
def test_averages_all_episodes_and_the_best_of_them(xp, fraction, top):
    means = average_rollouts(xp.asarray(MEASURED), fraction)
    assert np.asarray(means.rollout_success).tolist() == pytest.approx([0.35, 1.0])
    assert np.asarray(means.rollout_top).tolist() == pytest.approx([top, 1.0])
