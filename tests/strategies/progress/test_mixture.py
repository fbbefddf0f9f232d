"""Mixtures of Gaussians: small ones worked by hand, larger ones whose answer is known."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from procurl.strategies.progress.mixture import REGULARIZATION, fit_mixture, invert


def valid(points):
    return np.ones(len(points), dtype=bool)


def test_two_groups_far_apart_become_two_components():
    """(0, 0) and (0.2, 0): mean (0.1, 0), variances 0.01 and 0.

    (1, 0.6), (1, 0.8) and (1, 1): mean (1, 0.8), variances 0 and 0.08/3. Weights 2/5 and 3/5.
    """
    points = np.array([[0, 0], [1, 0.6], [0.2, 0], [1, 0.8], [1, 1]])
    mixture = fit_mixture(points, valid(points), range(2, 3))
    left, right = np.argsort(mixture.means[:, 0])
    assert mixture.weights[[left, right]] == pytest.approx([0.4, 0.6])
    assert mixture.means[left] == pytest.approx([0.1, 0.0])
    assert mixture.means[right] == pytest.approx([1.0, 0.8])
    more = REGULARIZATION
    assert mixture.covariances[left] == pytest.approx(np.diag([0.01 + more, more]))
    assert mixture.covariances[right] == pytest.approx(np.diag([more, 0.08 / 3 + more]))


def test_one_component_is_the_mean_and_the_covariance():
    points = np.random.default_rng(0).random((50, 3))
    mixture = fit_mixture(points, valid(points), range(1, 2))
    expected = np.cov(points.T, bias=True) + REGULARIZATION * np.eye(3)
    assert mixture.means[0] == pytest.approx(points.mean(axis=0))
    assert mixture.covariances[0] == pytest.approx(expected)


def test_a_fit_agrees_with_itself():
    """Weights, means and covariances are those of the points that belong to each component."""
    rng = np.random.default_rng(2)
    groups = [rng.normal(center, 0.11, (150, 2)) for center in ([0.3, 0.3], [0.7, 0.5])]
    points = np.concatenate(groups)
    weights, means, covariances = fit_mixture(points, valid(points), range(2, 3))
    joint = np.array(
        [
            weight * multivariate_normal(mean, covariance).pdf(points)
            for weight, mean, covariance in zip(weights, means, covariances, strict=True)
        ]
    )
    belonging = joint / joint.sum(axis=0)
    mass = belonging.sum(axis=1)
    assert weights == pytest.approx(mass / 300, abs=2e-3)
    assert means == pytest.approx(belonging @ points / mass[:, None], abs=2e-3)
    for k in range(2):
        expected = np.cov(points.T, aweights=belonging[k], bias=True) + REGULARIZATION * np.eye(2)
        assert covariances[k] == pytest.approx(expected, abs=2e-3)


CENTERS = np.array([[0.1, 0.1], [0.5, 0.9], [0.9, 0.2]])


def three_groups(seed):
    rng = np.random.default_rng(seed)
    return rng.permutation(np.concatenate([rng.normal(c, 0.05, (80, 2)) for c in CENTERS]))


@pytest.mark.parametrize("seed", range(3))
def test_aic_tells_groups_apart(seed):
    """A group may become two components, AIC being generous, but never two groups one."""
    points = three_groups(seed)
    mixture = fit_mixture(points, valid(points), range(1, 7))
    assert 3 <= (mixture.weights > 0).sum() <= 4
    for center in CENTERS:
        near = np.linalg.norm(mixture.means - center, axis=1) < 0.2
        weights = np.where(near, mixture.weights, 0.0)
        assert weights.sum() == pytest.approx(1 / 3, abs=1e-3)
        assert weights @ mixture.means * 3 == pytest.approx(center, abs=0.03)


def test_the_best_mixture_has_the_smallest_aic():
    """AIC from densities by SciPy, with 6 parameters per component in 2 dimensions, less one."""
    points = np.random.default_rng(1).random((60, 2))
    aic = []
    for size in (1, 2, 3, 4):
        mixture = fit_mixture(points, valid(points), range(size, size + 1))
        parts = zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
        density = sum(w * multivariate_normal(m, c).pdf(points) for w, m, c in parts)
        aic.append(2 * (6 * size - 1) - 2 * np.log(density).sum())
    best = fit_mixture(points, valid(points), range(1, 5))
    assert (best.weights > 0).sum() == 1 + np.argmin(aic)


def test_points_that_do_not_count_change_nothing():
    points = three_groups(0)
    more = np.concatenate([points[:100], np.full((40, 2), 7.0), points[100:]])
    counted = (more < 5.0).all(axis=1)
    alone = fit_mixture(points, valid(points), range(2, 5))
    among = fit_mixture(more, counted, range(2, 5))
    for one, two in zip(alone, among, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("points", [np.full((20, 2), 0.3), np.eye(2), np.zeros((1, 3))])
def test_points_in_few_places_give_finite_mixtures(points):
    mixture = fit_mixture(points, valid(points), range(2, 6))
    assert all(np.isfinite(part).all() for part in mixture)
    assert mixture.weights.sum() == pytest.approx(1.0)


def test_single_precision_suffices():
    points = three_groups(3)
    double = fit_mixture(points, valid(points), range(2, 11))
    fit = jax.jit(partial(fit_mixture, sizes=range(2, 11)))
    single = fit(jnp.asarray(points, "float32"), jnp.asarray(valid(points)))
    assert single.means.dtype == "float32"
    for one, two in zip(double, single, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-3)


@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_inverses_and_determinants(d):
    factors = np.random.default_rng(d).normal(size=(3, 2, d, 2 * d))
    matrices = factors @ factors.swapaxes(-1, -2)
    inverse, log_determinant = invert(matrices)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrices), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(log_determinant, np.linalg.slogdet(matrices)[1], rtol=1e-9)
