"""BallCatching in JAX programs: the same arm and the same rules, simulated by MJX.

MJX finds the contact of a sphere with a cylinder iteratively. This module computes the contact of
the ball with the net in closed form, like MuJoCo's C library: MJX sees the net as a sphere, and
`with_net` replaces that contact by the exact one.
"""

from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

from procurl.envs.array_env import Transition
from procurl.envs.ball_catching.arm import arm_kinematics
from procurl.envs.ball_catching.base import BallCatching
from procurl.envs.ball_catching.rules import (
    BALL_RADIUS,
    MOVED,
    NET_HALF_HEIGHT,
    NET_RADIUS,
    START_NOISE,
    SUBSTEP,
    SUBSTEPS,
    net_normals,
    noisy_starts,
    observations,
    on_arm,
    rewards,
)
from procurl.envs.mujoco.physics import PRECISION, Physics, before_solver, load_mjx, physics_of
from procurl.internals.arrays import Array

# Iterations of the constraint solver; more make no difference in single precision. MJX always takes
# all steps of a line search, while the C library stops when it has converged.
NEWTON_STEPS = 8
LINE_SEARCH_STEPS = 6


class MjxBallState(NamedTuple):
    """State of b arms and balls."""

    positions: Array  # [b, 10] float32, the arm's joints before the ball
    velocities: Array  # [b, 10]
    desired: Array  # [b, 5] positions that the PD law steers the moved joints to


@dataclass(frozen=True)
class MjxBallCatching(BallCatching):
    """BallCatching for the JAX engine; MJX is imported by the first program that steps it.

    Args:
        net_axis: as of `HostBallCatching`.
    """

    net_axis: str = "column"

    def initial(self, contexts: Array) -> MjxBallState:
        """The arm at home and at rest; the throw from the middle of its range."""
        import jax.numpy as jnp

        return self.start(contexts, jnp.zeros((len(contexts), START_NOISE)))

    def start(self, contexts: Array, noise: Array) -> MjxBallState:
        import jax.numpy as jnp

        positions, velocities = noisy_starts(jnp.asarray(contexts, dtype=jnp.float32), noise)
        return MjxBallState(positions, velocities, positions[:, jnp.asarray(MOVED)])

    def observe(self, state: MjxBallState) -> Array:
        return observations(state.desired, state.positions, state.velocities)

    def step(self, state: MjxBallState, actions: Array, noise: Array) -> Transition:
        import jax
        import jax.numpy as jnp

        actions = jnp.clip(actions, self.action_low, self.action_high)
        with jax.default_matmul_precision(PRECISION):
            end = jax.vmap(partial(_act, net_axis=self.net_axis))(state, actions)
        ball_velocities = end.state.velocities[:, _parts().ball]
        reward = rewards(actions, end.caught, end.normal, ball_velocities)
        return Transition(end.state, reward, end.touched, end.caught)


class _End(NamedTuple):
    """The result of the latest substep of one arm."""

    state: MjxBallState  # of one
    touched: Array  # []  bool, the ball has touched something; nothing moves after that
    caught: Array  # []  bool, it was the net
    normal: Array  # [3] of `net_normals`


def _act(state: MjxBallState, action: Array, net_axis: str) -> _End:
    """The substeps of one action, up to and including the first contact of the ball."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def substep(end: _End, _: None) -> tuple[_End, None]:
        following = _take_substep(end.state, action, net_axis)
        return jax.tree.map(lambda old, new: jnp.where(end.touched, old, new), end, following), None

    no = jnp.zeros((), dtype=bool)
    end, _ = lax.scan(substep, _End(state, no, no, jnp.zeros(3)), None, length=SUBSTEPS)
    return end


def _take_substep(state: MjxBallState, action: Array, net_axis: str) -> _End:
    """One substep. Contacts and the net's axis are those at its start, as in MuJoCo."""
    import jax.numpy as jnp

    mjx, (model, blank), parts = load_mjx(), _physics(), _parts()
    desired = state.desired + SUBSTEP * action
    data = blank.replace(qpos=state.positions, qvel=state.velocities, ctrl=on_arm(desired))
    data = arm_kinematics(model, data)
    for positioned in (mjx.com_pos, mjx.crb, mjx.factor_m, mjx.collision, mjx.transmission):
        data = positioned(model, data)
    data = mjx.euler(model, mjx.solve(model, before_solver(model, with_net(data))))
    contact = data._impl.contact
    touches = contact.dist < contact.includemargin
    return _End(
        MjxBallState(data.qpos, data.qvel, desired),
        touched=jnp.any(touches),
        caught=jnp.any(touches & _of_net(contact)),
        normal=net_normals(data.geom_xmat[parts.net_geom], net_axis),
    )


def with_net(data: Any) -> Any:
    """`data` with the ball's contact with the net, a flat cylinder.

    Args:
        data: mjx.Data after `mjx.collision`.
    """
    import jax.numpy as jnp

    parts = _parts()
    net, turn = data.geom_xpos[parts.net_geom], data.geom_xmat[parts.net_geom]
    ball = data.geom_xpos[parts.ball_geom]
    away, gap = nearest_to_cylinder(turn.T @ (ball - net), NET_RADIUS, NET_HALF_HEIGHT)
    normal, depth = turn @ away, gap - BALL_RADIUS
    contact = data._impl.contact
    here = _of_net(contact)
    point = ball - normal * (BALL_RADIUS + 0.5 * depth)
    return data.tree_replace(
        {
            "_impl.contact.dist": jnp.where(here, depth, contact.dist),
            "_impl.contact.pos": jnp.where(here[:, None], point, contact.pos),
            "_impl.contact.frame": jnp.where(here[:, None, None], _frame(normal), contact.frame),
        }
    )


def nearest_to_cylinder(point: Array, radius: float, half_height: float) -> tuple[Array, Array]:
    """(unit vector [3] from the surface to a point, distance []), negative for a point inside.

    Args:
        point: [3] in the frame of the cylinder, whose axis is z.
        radius: of the cylinder.
        half_height: of the cylinder.
    """
    import jax.numpy as jnp

    across, along = jnp.linalg.norm(point[:2]), jnp.abs(point[2])
    outward = jnp.append(point[:2] / jnp.maximum(across, 1e-9), 0.0)
    upward = jnp.asarray([0.0, 0.0, 1.0]) * jnp.where(point[2] > 0.0, 1.0, -1.0)
    outside, above = across - radius, along - half_height
    corner = jnp.hypot(outside, above)
    from_corner = (outside * outward + above * upward) / jnp.maximum(corner, 1e-9)
    over_edge = (outside >= 0.0) & (above >= 0.0)
    by_side = jnp.where(outside > above, 1.0, 0.0)
    direction = jnp.where(over_edge, from_corner, by_side * outward + (1.0 - by_side) * upward)
    return direction, jnp.where(over_edge, corner, jnp.maximum(outside, above))


def _frame(normal: Array) -> Array:
    """[3, 3] a contact's frame as in MuJoCo: the first tangent along y, or z if y is too close."""
    import jax.numpy as jnp

    flat = jnp.abs(normal[1]) < 0.5
    along = jnp.where(flat, jnp.asarray([0.0, 1.0, 0.0]), jnp.asarray([0.0, 0.0, 1.0]))
    tangent = along - normal * jnp.dot(normal, along)
    tangent = tangent / jnp.linalg.norm(tangent)
    return jnp.stack([normal, tangent, jnp.cross(normal, tangent)])


def _of_net(contact: Any) -> Array:
    """[contacts] bool, whether it is the net's; the ball is always the second geom."""
    is_net: Array = contact.geom[:, 0] == _parts().net_geom
    return is_net


class _Parts(NamedTuple):
    """Indices of the ball and the net in the model."""

    ball: slice  # of the velocities
    ball_geom: int  # number of the geom
    net_geom: int


@cache
def _parts() -> _Parts:
    from procurl.envs.ball_catching.model import BALL, BALL_GEOM, NET_GEOM, ball_catching_model

    model = ball_catching_model()
    return _Parts(BALL, model.geom(BALL_GEOM).id, model.geom(NET_GEOM).id)


@cache
def _physics() -> Physics:
    from procurl.envs.ball_catching.model import ball_catching_model
    from procurl.envs.mujoco.library import mujoco

    model = ball_catching_model()
    model.geom_type[_parts().net_geom] = mujoco.mjtGeom.mjGEOM_SPHERE
    model.opt.iterations, model.opt.ls_iterations = NEWTON_STEPS, LINE_SEARCH_STEPS
    return physics_of(model)
