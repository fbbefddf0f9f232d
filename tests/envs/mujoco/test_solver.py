"""The constraint solver: minima of random problems, found by others and by their gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from procurl.envs.mujoco.solver import Pushes, line_minimum, solve_accelerations

N, K = 6, 20


def problem(seed):
    """(mass, free accelerations, constraints), of which some push at the minimum."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((N, N))
    mass = root @ root.T + 0.5 * np.eye(N)
    jacobian, wanted = rng.standard_normal((K, N)), rng.standard_normal(K)
    return mass, rng.standard_normal(N), Pushes(jacobian, wanted, rng.uniform(0.5, 50.0, K))


def cost(x, mass, free, pushes):
    push = np.minimum(pushes.jacobian @ x - pushes.wanted, 0.0)
    return 0.5 * (x - free) @ mass @ (x - free) + 0.5 * np.sum(pushes.stiffness * push**2)


@pytest.mark.parametrize("seed", range(8))
def test_finds_the_minimum(seed):
    mass, free, pushes = problem(seed)
    single = jax.tree.map(lambda part: jnp.asarray(part, dtype=jnp.float32), (mass, free, pushes))
    x = np.asarray(
        jax.jit(solve_accelerations, static_argnums=4)(*single, jnp.zeros(N), 10), dtype=float
    )
    best = minimize(cost, free, (mass, free, pushes), tol=1e-12)
    assert cost(x, mass, free, pushes) == pytest.approx(best.fun, rel=1e-5)
    np.testing.assert_allclose(x, best.x, atol=1e-3)
    forces = np.asarray(Pushes(*map(jnp.asarray, pushes)).forces(jnp.asarray(x)))
    assert (forces > 0).any()
    np.testing.assert_allclose(mass @ (x - free), pushes.jacobian.T @ forces, atol=1e-3)


def test_without_a_push_nothing_changes():
    mass, free, pushes = problem(0)
    far = pushes._replace(wanted=jnp.full(K, -100.0))
    single = jax.tree.map(lambda part: jnp.asarray(part, dtype=jnp.float32), (mass, free, far))
    np.testing.assert_array_equal(solve_accelerations(*single, jnp.ones(N), 10), single[1])


@pytest.mark.parametrize("seed", range(8))
def test_line_search_is_exact(seed):
    """Against a fine grid, with constraints that begin to push, cease to, and never change."""
    rng = np.random.default_rng(seed)
    slack, change = rng.standard_normal(K), rng.standard_normal(K)
    change[:3] = 0.0
    stiffness, bend = rng.uniform(0.5, 5.0, K), 0.7
    slope = -np.sum(stiffness * np.minimum(slack, 0.0) * change) - 3.0  # downhill at 0
    given = (jnp.asarray(part) for part in (slack, change, stiffness, slope, bend))
    alpha = float(line_minimum(*given))
    grid = np.linspace(0.0, 10.0, 100_001)[:, None]
    values = 0.5 * np.sum(stiffness * np.minimum(slack + grid * change, 0.0) ** 2, axis=1)
    values += slope * grid[:, 0] + 0.5 * bend * grid[:, 0] ** 2
    assert alpha == pytest.approx(grid[np.argmin(values), 0], abs=2e-4)
