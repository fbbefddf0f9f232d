"""Scans in few kernels: a step of a loop on a GPU starts a kernel for every array that it slices,
carries or writes, and each takes a microsecond, however small."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from procurl.internals.arrays import Array

Carry = TypeVar("Carry")
Step = Callable[[Carry, Any], tuple[Carry, Any]]


def scan(step: Step[Carry], carry: Carry, inputs: Any) -> tuple[Carry, Any]:
    """`jax.lax.scan`, on a GPU with packed arrays."""
    chosen: Any = packed_scan if jax.default_backend() == "gpu" else jax.lax.scan
    result: tuple[Carry, Any] = chosen(step, carry, inputs)
    return result


def packed_scan(step: Step[Carry], carry: Carry, inputs: Any) -> tuple[Carry, Any]:
    """`jax.lax.scan` with one array for the inputs, one for the carry and one for the outputs.

    The numbers are the same bits. Arrays whose items do not take four bytes stay on their own,
    except booleans.
    """
    shapes: Any = jax.eval_shape(lambda tree: tree, (carry, inputs))
    first: Any = jax.eval_shape(partial(jax.tree.map, lambda leaf: leaf[0]), shapes[1])
    carried, given = _Packing.of(shapes[0]), _Packing.of(first)
    returned = _Packing.of(jax.eval_shape(step, shapes[0], first)[1])

    def packed_step(packed: Any, packed_inputs: Any) -> tuple[Any, Any]:
        following, outputs = step(carried.unpack(packed), given.unpack(packed_inputs))
        return carried.pack(following), returned.pack(outputs)

    packed, outputs = jax.lax.scan(packed_step, carried.pack(carry), jax.vmap(given.pack)(inputs))
    result: tuple[Carry, Any] = carried.unpack(packed), jax.vmap(returned.unpack)(outputs)
    return result


class _Packing(NamedTuple):
    """How a tree of arrays becomes one array of bits, and a list of those left alone."""

    structure: Any
    leaves: tuple[jax.ShapeDtypeStruct, ...]
    packed: tuple[bool, ...]  # per leaf

    @classmethod
    def of(cls, tree: Any) -> "_Packing":
        leaves, structure = jax.tree.flatten(tree)
        return cls(structure, tuple(leaves), tuple(_fits(leaf.dtype) for leaf in leaves))

    def pack(self, tree: Any) -> tuple[Array, list[Array]]:
        pairs = list(zip(self.structure.flatten_up_to(tree), self.packed, strict=True))
        bits = [_to_bits(leaf) for leaf, packed in pairs if packed]
        joined = jnp.concatenate([jnp.zeros(0, jnp.uint32), *bits])
        return joined, [leaf for leaf, packed in pairs if not packed]

    def unpack(self, packed: tuple[Array, list[Array]]) -> Any:
        bits, others = packed
        rest, start, leaves = iter(others), 0, []
        for shape, is_packed in zip(self.leaves, self.packed, strict=True):
            if is_packed:
                leaves.append(_from_bits(bits[start : start + shape.size], shape))
                start += shape.size
            else:
                leaves.append(next(rest))
        return self.structure.unflatten(leaves)


def _fits(dtype: Any) -> bool:
    return bool(dtype == jnp.bool_ or (jnp.issubdtype(dtype, jnp.number) and dtype.itemsize == 4))


def _to_bits(leaf: Array) -> Array:
    flat = jnp.asarray(leaf).reshape(-1)
    if flat.dtype == jnp.bool_:
        return flat.astype(jnp.uint32)
    return jax.lax.bitcast_convert_type(flat, jnp.uint32)


def _from_bits(bits: Array, shape: jax.ShapeDtypeStruct) -> Array:
    if shape.dtype == jnp.bool_:
        return (bits != 0).reshape(shape.shape)
    return jax.lax.bitcast_convert_type(bits, shape.dtype).reshape(shape.shape)
