"""Mixtures of Gaussians, fitted by expectation-maximization from a start without randomness.

Mixtures of several sizes are fitted at once, as one batch: all have as many components as the
largest, and those beyond a mixture's size have weight 0. Shapes below: m sizes, k components of the
largest, b points in D dimensions.

Log densities are linear in the products of a point's coordinates, and so are the sums that the
next mixture is computed from. Each step is therefore one matrix product with the same matrix of
products, [b, D² + D + 1].
"""

from typing import NamedTuple

import numpy as np

from procurl.internals.arrays import Array, namespace, while_loop

ITERATIONS = 30
# Added to every variance, in coordinates of about unit range: a standard deviation of 0.01. Single
# precision can invert such covariances.
REGULARIZATION = 1e-4
EMPTY = 1e-3  # points; a component with less keeps its place
NEVER = -1e30  # log of 0, finite so that differences are


class Mixture(NamedTuple):
    """A mixture of Gaussians, or a batch of them."""

    weights: Array  # [..., k] sum to 1; 0 beyond the mixture's size
    means: Array  # [..., k, D]
    covariances: Array  # [..., k, D, D]


def fit_mixture(points: Array, valid: Array, sizes: range) -> Mixture:
    """The mixture with the smallest AIC, of those with `sizes` components.

        AIC = 2 · parameters − 2 · log likelihood

    Args:
        points: [b, D], in coordinates of about unit range.
        valid: [b] bool, which points count; at least one.
        sizes: numbers of components to try.
    """
    xp = namespace(points, valid)
    dims = points.shape[1]
    active = xp.asarray(np.arange(sizes[-1]) < np.array(sizes)[:, None])  # [m, k]
    counted = valid.astype(points.dtype)
    middle = counted @ points / xp.sum(counted)
    products = _products(points - middle)  # around the middle they lose the fewest digits
    start = _maximize(_start(points, valid, active), products, active, None)

    def advance(carry: tuple[Array, Mixture]) -> tuple[Array, Mixture]:
        iteration, mixture = carry
        belonging, _ = _expect(mixture, products)
        return iteration + 1, _maximize(belonging * counted, products, active, mixture)

    first = (xp.zeros((), dtype="int32"), start)
    fitted = while_loop(xp, lambda carry: carry[0] < ITERATIONS, advance, first)[1]
    log_density = _expect(fitted, products)[1]
    parameters = np.array([size * (dims + dims * (dims + 1) // 2 + 1) - 1 for size in sizes])
    aic = 2.0 * parameters - 2.0 * xp.sum(log_density * counted, axis=1)
    weights, means, covariances = (part[xp.argmin(aic)] for part in fitted)
    return Mixture(weights, means + middle, covariances)


def invert(matrices: Array) -> tuple[Array, Array]:
    """([..., D, D] inverses, [...] log determinants) of positive definite matrices.

    By Gauss-Jordan elimination, one column at a time for all matrices: they are many and small.
    """
    xp = namespace(matrices)
    inverse = matrices
    log_determinant = xp.zeros(matrices.shape[:-2], dtype=matrices.dtype)
    for i in range(matrices.shape[-1]):
        unit = xp.asarray(np.arange(matrices.shape[-1]) == i)
        pivot = inverse[..., i, i]
        log_determinant = log_determinant + xp.log(pivot)
        row = xp.where(unit, 1.0, inverse[..., i, :]) / pivot[..., None]
        column = xp.where(unit, 0.0, inverse[..., :, i])
        rest = xp.where(unit, 0.0, inverse)  # the column is eliminated
        eliminated = rest - column[..., :, None] * row[..., None, :]
        inverse = xp.where(unit[:, None], row[..., None, :], eliminated)
    return inverse, log_determinant


def _products(points: Array) -> Array:
    """[b, D² + D + 1] products of two coordinates, the coordinates themselves, and 1."""
    xp = namespace(points)
    b, dims = points.shape
    pairs = xp.reshape(points[:, :, None] * points[:, None, :], (b, dims * dims))
    return xp.concat([pairs, points, xp.ones((b, 1), dtype=points.dtype)], axis=1)


def _start(points: Array, valid: Array, active: Array) -> Array:
    """[m, k, b] each point belongs to the nearest of centers that are far apart.

    The first center is the point nearest to the mean, each next one the point farthest from all
    centers before it. A mixture of size s starts from the first s.
    """
    xp = namespace(points, valid)
    counted = valid.astype(points.dtype)
    middle = counted @ points / xp.sum(counted)
    from_middle = xp.sum((points - middle) ** 2, axis=1)
    chosen = xp.argmin(xp.where(valid, from_middle, xp.inf))
    distances: list[Array] = []
    for _ in range(active.shape[1]):
        distances.append(xp.sum((points - points[chosen]) ** 2, axis=1))
        nearest = xp.min(xp.stack(distances), axis=0)
        chosen = xp.argmax(xp.where(valid, nearest, -1.0))
    to_center = xp.where(active[:, :, None], xp.stack(distances), xp.inf)
    component = xp.arange(active.shape[1])[:, None]
    return (xp.argmin(to_center, axis=1)[:, None, :] == component) * counted


def _expect(mixture: Mixture, products: Array) -> tuple[Array, Array]:
    """([m, k, b] how much of each point belongs to each component, [m, b] log densities)."""
    xp = namespace(mixture.means, products)
    m, k, dims = mixture.means.shape
    precision, log_determinant = invert(mixture.covariances)
    linear = (precision @ mixture.means[..., None])[..., 0]
    distance = xp.sum(linear * mixture.means, axis=-1)
    constant = -0.5 * (distance + log_determinant + dims * np.log(2.0 * np.pi))
    some = mixture.weights > 0
    log_weights = xp.where(some, xp.log(xp.where(some, mixture.weights, 1.0)), NEVER)
    quadratic = xp.reshape(-0.5 * precision, (m, k, dims * dims))
    factors = xp.concat([quadratic, linear, (constant + log_weights)[..., None]], axis=-1)
    joint = factors @ products.T
    top = xp.max(joint, axis=1, keepdims=True)
    likelihood = xp.exp(joint - top)
    total = xp.sum(likelihood, axis=1, keepdims=True)
    return likelihood / total, (top + xp.log(total))[:, 0, :]


def _maximize(belonging: Array, products: Array, active: Array, old: Mixture | None) -> Mixture:
    """The mixture that fits best if points belong to components like this.

    Args:
        belonging: [m, k, b].
        products: [b, D² + D + 1].
        active: [m, k] bool, components within the mixture's size.
        old: the mixture before, None at the start.
    """
    xp = namespace(belonging, products)
    m, k = active.shape
    dims = int((products.shape[1] - 1) ** 0.5)
    sums = belonging @ products
    mass = sums[..., -1]
    some = mass > EMPTY
    averages = sums / xp.where(some, mass, 1.0)[..., None]
    means = averages[..., dims * dims : -1]
    squares = xp.reshape(averages[..., : dims * dims], (m, k, dims, dims))
    spread = squares - means[..., :, None] * means[..., None, :]
    covariances = spread + REGULARIZATION * xp.eye(dims, dtype=products.dtype)
    if old is not None:
        means = xp.where(some[..., None], means, old.means)
        covariances = xp.where(some[..., None, None], covariances, old.covariances)
    mass = xp.where(active, xp.maximum(mass, EMPTY), 0.0)
    return Mixture(mass / xp.sum(mass, axis=1, keepdims=True), means, covariances)
