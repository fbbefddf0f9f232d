"""Newton's method for constraints that only push, with few and large operations.

In each Newton step, `mjx.solve` does a line search of many small steps; here the line search is
exact. On a GPU a small operation takes as long as a large one, so their number matters.
"""

from typing import Any, NamedTuple

from procurl.envs.mujoco.physics import load_mjx
from procurl.internals.arrays import Array


class Pushes(NamedTuple):
    """k constraints on n accelerations that can push but not pull."""

    jacobian: Array  # [k, n] J
    wanted: Array  # [k] r, the lower bound of J·x
    stiffness: Array  # [k] D

    def slack(self, x: Array) -> Array:
        """[k] J·x − r; a constraint pushes where this is negative."""
        return self.jacobian @ x - self.wanted

    def forces(self, x: Array) -> Array:
        """[k] D·max(0, r − J·x)."""
        import jax.numpy as jnp

        return self.stiffness * jnp.maximum(-self.slack(x), 0.0)


def solve_pushes(model: Any, data: Any, most_steps: int) -> Any:
    """`mjx.solve` for models whose constraints are limits and contacts with pyramidal friction.

    Args:
        model: mjx.Model.
        data: from `before_solver`.
        most_steps: maximum number of Newton steps.
    """
    inner = data._impl
    pushes = Pushes(inner.efc_J, inner.efc_aref, inner.efc_D)
    mass = load_mjx().full_m(model, data)
    x = solve_accelerations(mass, data.qacc_smooth, pushes, data.qacc_warmstart, most_steps)
    return data.tree_replace({"qacc": x, "_impl.efc_force": pushes.forces(x)})


def solve_accelerations(
    mass: Array, free: Array, pushes: Pushes, warm: Array, most_steps: int
) -> Array:
    """[n] the accelerations x that minimize, as in MuJoCo,

        ½·(x − a)ᵀ·M·(x − a) + ½·Σ_i D_i·min(0, J_i·x − r_i)².

    Args:
        mass: [n, n] M.
        free: [n] a, the accelerations without constraints.
        pushes: the constraints.
        warm: [n] the starting point, if it is better than `free`.
        most_steps: maximum number of Newton steps; stops early if nothing improves.
    """
    import jax.numpy as jnp
    from jax import lax
    from jax.scipy.linalg import cho_factor, cho_solve

    jacobian, _, stiffness = pushes

    def cost(x: Array) -> Array:
        push = jnp.minimum(pushes.slack(x), 0.0)
        return 0.5 * (x - free) @ mass @ (x - free) + 0.5 * jnp.sum(stiffness * push**2)

    def goes_on(carry: tuple[Array, Array, Array]) -> Array:
        _, steps, better = carry
        return better & (steps < most_steps)

    def step(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, steps, _ = carry
        slack = pushes.slack(x)
        weights = jnp.where(slack < 0.0, stiffness, 0.0)
        gradient = mass @ (x - free) + jacobian.T @ (weights * slack)
        curvature = mass + jacobian.T @ (weights[:, None] * jacobian)
        towards = -cho_solve(cho_factor(curvature), gradient)
        inertia = mass @ towards
        slope, bend = (x - free) @ inertia, towards @ inertia
        after = x + line_minimum(slack, jacobian @ towards, stiffness, slope, bend) * towards
        better = cost(after) < cost(x)
        return jnp.where(better, after, x), steps + 1, better

    start = jnp.where(cost(warm) < cost(free), warm, free)
    none, yes = jnp.zeros((), dtype=jnp.int32), jnp.ones((), dtype=bool)
    x, _, _ = lax.while_loop(goes_on, step, (start, none, yes))
    return x


def line_minimum(slack: Array, change: Array, stiffness: Array, slope: Array, bend: Array) -> Array:
    """The α ≥ 0 that minimizes bend·α²/2 + slope·α + ½·Σ_i D_i·min(0, slack_i + α·change_i)².

    The derivative increases and is linear between the α at which a constraint starts or stops
    pushing. It is evaluated at all of these at once; the minimum lies on the segment after the last
    one at which it is negative.

    Args:
        slack: [k].
        change: [k].
        stiffness: [k] D.
        slope: [].
        bend: [] positive.
    """
    import jax.numpy as jnp

    crossing = -slack / jnp.where(change == 0.0, 1.0, change)
    corners = jnp.where((change != 0.0) & (crossing > 0.0), crossing, 0.0)  # [k], 0 for none

    def slopes(alpha: Array) -> tuple[Array, Array]:
        """Derivatives, first and second, on the line that begins at each of `alpha` [k]."""
        at = slack + alpha[:, None] * change
        beyond = jnp.abs(at) <= 1e-6 * (jnp.abs(slack) + jnp.abs(alpha[:, None] * change))
        pushes = jnp.where(beyond, change < 0.0, at < 0.0)
        weights = jnp.where(pushes, stiffness, 0.0)
        first = slope + bend * alpha + jnp.sum(weights * at * change, axis=1)
        return first, bend + jnp.sum(weights * change**2, axis=1)

    first, second = slopes(corners)
    last = jnp.argmax(jnp.where(first < 0.0, corners, -1.0))
    return jnp.maximum(corners[last] - first[last] / second[last], 0.0)
