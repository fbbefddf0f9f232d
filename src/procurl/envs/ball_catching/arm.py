"""Forward kinematics of BallCatching for MJX: a loop over the links of the arm.

`mjx.kinematics` unrolls the chain of links. Compiled for a CPU, each link is then computed again
wherever a later link needs it. With nine links in a row, this takes 50 times as long as the rest of
a step.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.internals.arrays import Array, Floats32


class Arm(NamedTuple):
    """Constant rotations, as matrices; positions are in the model."""

    bodies: Floats32  # [bodies, 3, 3] of each body's frame in its parent's
    inertias: Floats32  # [bodies, 3, 3] of the principal axes in the body's frame
    geoms: Floats32  # [geoms, 3, 3] in the body's frame


def arm_kinematics(model: Any, data: Any) -> Any:
    """`data` with the positions and rotations of all bodies, geoms and joints in the world.

    The bodies of the model are the world, the arm's base, seven links that each
    have a hinge about their z axis, the net, and the ball.

    Args:
        model: mjx.Model.
        data: mjx.Data with `qpos` [10].
    """
    import jax.numpy as jnp

    arm = _arm()
    hinges, ball = data.qpos[:7], data.qpos[7:]
    places, turns = _chain(model.body_pos[1:-1], arm.bodies[1:-1], jnp.pad(hinges, 1))
    upright = jnp.eye(3)[None]
    xpos = jnp.concatenate([jnp.zeros((1, 3)), places, ball[None]])
    xmat = jnp.concatenate([upright, turns, upright])
    of_geom = np.asarray(model.geom_bodyid)
    return data.replace(
        xpos=xpos,
        xmat=xmat,
        xipos=xpos + jnp.einsum("bij,bj->bi", xmat, model.body_ipos),
        ximat=xmat @ arm.inertias,
        geom_xpos=xpos[of_geom] + jnp.einsum("gij,gj->gi", xmat[of_geom], model.geom_pos),
        geom_xmat=xmat[of_geom] @ arm.geoms,
        xanchor=jnp.concatenate([places[1:-1], jnp.tile(ball, (3, 1))]),
        xaxis=jnp.concatenate([turns[1:-1, :, 2], upright[0]]),
    )


def _chain(offsets: Array, turns: Array, angles: Array) -> tuple[Array, Array]:
    """(positions [k, 3], rotations [k, 3, 3]) of k links in the world, each fixed to the previous.

    Args:
        offsets: [k, 3] of a link's frame in the previous link's.
        turns: [k, 3, 3] rotations of the same frames, at angle 0.
        angles: [k] about the link's z axis.
    """
    import jax.numpy as jnp
    from jax import lax

    c, s = jnp.cos(angles), jnp.sin(angles)
    zero, one = jnp.zeros_like(c), jnp.ones_like(c)
    spun = jnp.stack([c, -s, zero, s, c, zero, zero, zero, one], axis=1).reshape(-1, 3, 3)

    def link(carry: Any, of: tuple[Array, Array]) -> tuple[Any, Any]:
        place, turn = carry
        here = (place + turn @ of[0], turn @ of[1])
        return here, here

    start = (jnp.zeros(3), jnp.eye(3))
    _, found = lax.scan(link, start, (jnp.asarray(offsets), jnp.asarray(turns) @ spun))
    places, turned = found
    return places, turned


@cache
def _arm() -> Arm:
    from procurl.envs.ball_catching.model import ball_catching_model

    model = ball_catching_model()
    return Arm(*map(_matrices, (model.body_quat, model.body_iquat, model.geom_quat)))


def _matrices(quaternions: NDArray[np.float64]) -> Floats32:
    """[k, 3, 3] the rotation matrices of quaternions [k, 4]."""
    from procurl.envs.mujoco.library import mujoco

    matrices = np.empty((len(quaternions), 9))
    for matrix, quaternion in zip(matrices, quaternions, strict=True):
        mujoco.mju_quat2Mat(matrix, quaternion)
    return matrices.reshape(-1, 3, 3).astype(np.float32)
