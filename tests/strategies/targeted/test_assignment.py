"""The assignment of rows to columns: exact, for NumPy and under JAX, with and without ties."""

import jax
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from procurl.strategies.targeted.assignment import assign

COMPILED = jax.jit(jax.vmap(assign))
M = 30


def costs_of(kind: str, seed: int):
    """[M, M] costs of a kind."""
    rng = np.random.default_rng(seed)
    if kind == "distinct":
        return rng.random((M, M)).astype(np.float32)
    if kind == "negative":
        return rng.normal(size=(M, M)).astype(np.float32)
    if kind == "ties":
        return rng.integers(0, 4, (M, M)).astype(np.float32)
    points, few = rng.random((M, 2)), rng.random((3, 2))[rng.integers(0, 3, M)]
    return ((points[:, None] - few) ** 2).sum(axis=-1).astype(np.float32)


@pytest.mark.parametrize("kind", ["distinct", "negative", "ties", "repeated columns"])
def test_the_total_cost_is_that_of_scipy(kind):
    costs = np.stack([costs_of(kind, seed) for seed in range(5)])
    compiled = np.asarray(COMPILED(costs))
    for each, traced in zip(costs, compiled, strict=True):
        best = each[linear_sum_assignment(each)].sum()
        for columns in (assign(each), traced):
            assert columns.dtype == np.int32
            assert sorted(columns.tolist()) == list(range(M))
            assert each[np.arange(M), columns].sum() == pytest.approx(best, rel=1e-5, abs=1e-5)


def test_a_row_gives_way_if_the_exchange_costs_less():
    # Row 0 would take column 0 (1), which leaves 10 to row 1: 11. Exchanged, 2 + 3 = 5.
    assert assign(np.array([[1.0, 2.0], [3.0, 10.0]])).tolist() == [1, 0]
    assert assign(np.array([[7.0]])).tolist() == [0]
