"""PPO's update: in one kernel where there is one for it, otherwise the program of XLA."""

import os
from typing import Any

import jax
import jax.numpy as jnp
import optax

from procurl.internals.arrays import Array
from procurl.ppo.gpu.build import GPU, target
from procurl.ppo.gpu.shape import Shape
from procurl.ppo.learning import update as plain
from procurl.ppo.learning.networks import ActorCritic, Params
from procurl.ppo.learning.settings import PPOSettings
from procurl.ppo.learning.update import Batch, Diagnostics, StudentState

VARIABLE = "PROCURL_KERNELS"
# In the order of the kernel.
SETTINGS = ("learning_rate", "clip_range", "ent_coef", "vf_coef", "max_grad_norm")


def update(
    network: ActorCritic,
    settings: PPOSettings,
    student: StudentState,
    batch: Batch,
    permutations: Array,
) -> tuple[StudentState, Diagnostics]:
    """`learning.update.update`, on an NVIDIA GPU by a kernel if there is one for the network."""
    shape = Shape.of(network, settings, batch.observations.shape[-1])
    single = student.params["value"]["bias"].dtype == jnp.float32
    kernel = kernel_for(shape) if single else None
    if kernel is None:
        return plain.update(network, settings, student, batch, permutations)
    return fused_update(kernel, shape, settings, student, batch, permutations)


def kernel_for(shape: Shape) -> str | None:
    """What JAX calls the kernel for updates of this shape; None if XLA's program is to be used.

    That is so on every device but an NVIDIA GPU, for networks that are too large, without a
    compiler, and if the user says so.
    """
    wanted = os.environ.get(VARIABLE, "1")
    if wanted not in ("0", "1"):
        raise ValueError(
            f"{VARIABLE} must be 1, or 0 for no kernels of procurl's own on a GPU, got {wanted!r}"
        )
    if wanted == "0" or jax.default_backend() != "gpu":
        return None
    return target(shape, GPU)


def fused_update(
    name: str,
    shape: Shape,
    settings: PPOSettings,
    student: StudentState,
    batch: Batch,
    permutations: Array,
) -> tuple[StudentState, Diagnostics]:
    """`learning.update.update` by the kernel that JAX calls `name`, compiled for `shape`."""
    clipping, (adam, scaling) = student.optimizer
    n, scratch = shape.n_params, 3 * shape.n_filled
    sizes = (n, n, n, len(Diagnostics._fields), scratch)
    call: Any = jax.ffi.ffi_call(
        name,
        tuple(jax.ShapeDtypeStruct((size,), jnp.float32) for size in sizes),  # type: ignore[no-untyped-call]
        vmap_method="broadcast_all",
    )
    params, means, squares, diagnostics, _ = call(
        *(_flatten(shape, part) for part in (student.params, adam.mu, adam.nu)),
        adam.count,
        batch.observations.astype(jnp.float32),
        batch.actions.astype(jnp.int32 if shape.discrete else jnp.float32),
        *(part.astype(jnp.float32) for part in (batch.log_probs, batch.advantages, batch.returns)),
        permutations.astype(jnp.int32),
        jnp.stack([jnp.asarray(getattr(settings, key), jnp.float32) for key in SETTINGS]),
    )
    mu, nu = _unflatten(shape, means), _unflatten(shape, squares)
    count = adam.count + permutations.size // shape.batch_size
    optimizer: optax.OptState = (clipping, (adam._replace(count=count, mu=mu, nu=nu), scaling))
    return StudentState(_unflatten(shape, params), optimizer), Diagnostics(*diagnostics)


def _flatten(shape: Shape, params: Params) -> Array:
    """[n] the parameters layer by layer, each a kernel and a bias; the log_std is last."""
    parts = []
    for layer in shape.layers:
        dense = params
        for key in layer.path:
            dense = dense[key]
        parts += [dense["kernel"].reshape(-1), dense["bias"]]
    if not shape.discrete:
        parts.append(params["head"]["log_std"])
    return jnp.concatenate(parts)


def _unflatten(shape: Shape, flat: Array) -> Params:
    params: Params = {"head": {}}
    start = 0
    for layer in shape.layers:
        size = layer.inputs * layer.outputs
        kernel = flat[start : start + size].reshape(layer.inputs, layer.outputs)
        bias = flat[start + size : start + size + layer.outputs]
        *outer, name = layer.path
        place = params[outer[0]] if outer else params
        place[name] = {"kernel": kernel, "bias": bias}
        start += size + layer.outputs
    if not shape.discrete:
        params["head"]["log_std"] = flat[start:]
    return params
