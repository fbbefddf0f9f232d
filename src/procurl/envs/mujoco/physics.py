"""MJX, MuJoCo's physics in JAX: loaded when a program needs it, models as constants of programs.

MJX keeps much of what it computes in `data._impl`, which is its own documented way to read it.
"""

from contextlib import redirect_stdout
from importlib import import_module
from os import devnull
from typing import Any, NamedTuple

PRECISION = "highest"  # of products; a GPU would round their factors to ten bits


class Physics(NamedTuple):
    """A model on the device, and where every simulation of it begins."""

    model: Any  # mjx.Model
    blank: Any  # mjx.Data of one simulation


def load_mjx() -> Any:
    """The module `mujoco.mjx`; an ImportError names the extra that brings it."""
    try:
        # MJX prints that Warp, another backend of it, is not installed. Nothing here uses that.
        with open(devnull, "w") as nowhere, redirect_stdout(nowhere):
            mjx = import_module("mujoco.mjx")
    except ImportError as error:
        raise ImportError(
            "BallCatching and AntGoal inside JAX programs need MJX: pip install 'procurl[mujoco]'"
        ) from error
    return mjx


def physics_of(model: Any) -> Physics:
    """A mujoco.MjModel for MJX, also if this is called while a program is traced."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    def free(leaf: Any) -> Any:
        return jnp.asarray(np.asarray(leaf)) if isinstance(leaf, jax.Array) else leaf

    mjx = load_mjx()
    with jax.ensure_compile_time_eval():
        # MJX ties its arrays to a device. What a program makes of those is tied as well, and the
        # program would be compiled anew when it is handed its own results.
        physics = Physics(mjx.put_model(model), mjx.make_data(model))
        return Physics(*jax.tree.map(free, physics))


def before_solver(model: Any, data: Any) -> Any:
    """`data` with all that MuJoCo's constraint solver needs.

    What `mjx.forward` does between positions and solver, but for the sensors, of which some are
    wrong in MJX.

    Args:
        model: mjx.Model.
        data: of `mjx.fwd_position`, or the like; its contacts may have been changed since.
    """
    mjx = load_mjx()
    data = mjx.fwd_velocity(model, mjx.make_constraint(model, data))
    return mjx.fwd_acceleration(model, mjx.fwd_actuation(model, data))


def aligned_with_capsules(model: Any, data: Any) -> Any:
    """`data` with the contact frames of capsules on planes turned as in MuJoCo's C library.

    There the first tangent of such a contact always follows the capsule's axis. MJX takes another
    one where the capsule stands steeper than 60°, and friction, which is a pyramid over the
    tangents, then acts differently: an ant's acceleration is off by a fifth.

    Args:
        model: mjx.Model.
        data: of `mjx.fwd_position`.
    """
    import jax.numpy as jnp

    from procurl.envs.mujoco.library import mujoco

    contact = data._impl.contact
    plane, other = contact.geom.T  # the plane is the first of the two
    types = jnp.asarray(model.geom_type)
    on_plane = (types[plane] == int(mujoco.mjtGeom.mjGEOM_PLANE)) & (
        types[other] == int(mujoco.mjtGeom.mjGEOM_CAPSULE)
    )
    normal, tangent = contact.frame[:, 0], contact.frame[:, 1]
    axis = data.geom_xmat[other][:, :, 2]
    along = axis - normal * jnp.sum(normal * axis, axis=1, keepdims=True)
    length = jnp.linalg.norm(along, axis=1, keepdims=True)
    follows = on_plane[:, None] & (length > 1e-6)
    tangent = jnp.where(follows, along / jnp.where(follows, length, 1.0), tangent)
    frame = jnp.stack([normal, tangent, jnp.cross(normal, tangent)], axis=1)
    return data.tree_replace({"_impl.contact.frame": frame})
