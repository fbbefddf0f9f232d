"""MJX, MuJoCo's physics in JAX, imported when a program needs it; models are program constants.

MJX keeps many of its results in `data._impl`, which is the documented way to read them.
"""

from contextlib import redirect_stdout
from importlib import import_module
from os import devnull
from typing import Any, NamedTuple

PRECISION = "highest"  # of matrix products; by default a GPU rounds the factors to ten bits


class Physics(NamedTuple):
    """A model on the device, and the data with which every simulation starts."""

    model: Any  # mjx.Model
    blank: Any  # mjx.Data of one simulation


def load_mjx() -> Any:
    """The module `mujoco.mjx`; if it is missing, the error names the extra to install."""
    try:
        # MJX prints that its Warp backend is not installed, which is not used here.
        with open(devnull, "w") as nowhere, redirect_stdout(nowhere):
            mjx = import_module("mujoco.mjx")
    except ImportError as error:
        raise ImportError(
            "BallCatching and AntGoal inside JAX programs need MJX: pip install 'procurl[mujoco]'"
        ) from error
    return mjx


def physics_of(model: Any) -> Physics:
    """A `mujoco.MjModel` for MJX; may be called while a program is traced."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    def free(leaf: Any) -> Any:
        return jnp.asarray(np.asarray(leaf)) if isinstance(leaf, jax.Array) else leaf

    mjx = load_mjx()
    with jax.ensure_compile_time_eval():
        # MJX commits its arrays to a device, and with them the results of a program. The program
        # would then be compiled again when it receives its own results.
        physics = Physics(mjx.put_model(model), mjx.make_data(model))
        return Physics(*jax.tree.map(free, physics))


def before_solver(model: Any, data: Any) -> Any:
    """`data` with everything that MuJoCo's constraint solver needs.

    This is what `mjx.forward` does between positions and solver, without the sensors, some of which
    are wrong in MJX.

    Args:
        model: mjx.Model.
        data: from `mjx.fwd_position` or similar; its contacts may have been changed since.
    """
    mjx = load_mjx()
    data = mjx.fwd_velocity(model, mjx.make_constraint(model, data))
    return mjx.fwd_acceleration(model, mjx.fwd_actuation(model, data))


def aligned_with_capsules(model: Any, data: Any) -> Any:
    """`data` with the contact frames of capsules on planes as in MuJoCo's C library.

    There, the first tangent of such a contact always follows the capsule's axis. MJX uses another
    tangent if the capsule is steeper than 60°. Friction, a pyramid over the tangents, then acts
    differently: the acceleration of an ant is off by a fifth.

    Args:
        model: mjx.Model.
        data: from `mjx.fwd_position`.
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
