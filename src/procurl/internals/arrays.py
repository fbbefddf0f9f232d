"""One source for NumPy and JAX: the array namespace of the inputs, and a few functions on top.

Every equation of the teacher is written against the namespace of its inputs, so the same line runs
eagerly on NumPy arrays and traced under `jax.jit` and `jax.vmap`. JAX is imported only if an input
is a JAX array.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = Any  # a NumPy array, a JAX array or a tracer
Ids: TypeAlias = NDArray[np.int64]  # of tasks
Floats: TypeAlias = NDArray[np.float64]
Floats32: TypeAlias = NDArray[np.float32]
NamedArrays: TypeAlias = dict[str, NDArray[Any]]
Carry = TypeVar("Carry")
BLOCK = 2**15  # tasks at a time on NumPy, so that intermediate results stay in the cache
LARGE = 2**20  # tasks from which a strategy's state is kept in single precision, as JAX's always is


def namespace(*values: object) -> Any:
    """The namespace that can hold all `values`: JAX's if any is a JAX array, else NumPy's."""
    for value in values:
        of = getattr(value, "__array_namespace__", None)
        if of is not None and (found := of()) is not np:
            return found
    return np


def on_host(given: Any) -> Any:
    """A PyTorch tensor as NumPy can read it, whatever its device and type; all else as it is."""
    if not hasattr(given, "detach"):
        return given
    tensor = given.detach().cpu()
    return tensor.double() if tensor.is_floating_point() else tensor


def is_numeric(dtype: np.dtype[Any]) -> bool:
    """Whether a type is of booleans, integers or real numbers, such as JAX's bfloat16."""
    # bfloat16 and its kin are of the kind V, like structured arrays, but not of the type void.
    return dtype.kind in "biuf" or (dtype.kind == "V" and dtype.type is not np.void)


def pool_array(n: int, value: float = 0.0) -> NDArray[np.floating]:
    """[n] `value` for every task, in single precision if the pool is large."""
    return np.full(n, value, dtype=np.float32 if n >= LARGE else np.float64)


def by_blocks(compute: Callable[..., Any], *arrays: Array) -> Any:
    """`compute(*arrays)` for a function that treats every task, a row of each array, by itself.

    NumPy computes large pools block by block: intermediate results as long as the pool would take
    several times as long, and memory. JAX compiles such functions into one loop in any case.

    Args:
        compute: returns an array [m, …] or a tuple of them for the arrays [m, …] of m tasks.
        arrays: [n, …] each.
    """
    if namespace(*arrays) is not np or np.size(arrays[0]) <= BLOCK:
        return compute(*arrays)
    n = len(arrays[0])
    whole: tuple[NDArray[Any], ...] = ()
    for start in range(0, n, BLOCK):
        stop = start + BLOCK
        part = compute(*(array[start:stop] for array in arrays))
        parts = part if isinstance(part, tuple) else (part,)
        whole = whole or tuple(np.empty((n, *each.shape[1:]), each.dtype) for each in parts)
        for all_tasks, each in zip(whole, parts, strict=True):
            all_tasks[start:stop] = each
    return whole if isinstance(part, tuple) else whole[0]


def softmax(logits: Array, floor: Array = 0.0) -> Array:
    """Probabilities ∝ exp(logits), mixed with `floor` of the uniform distribution.

    Args:
        logits: [n], finite.
        floor: the share of the mass that is spread evenly, in [0, 1].
    """
    xp = namespace(logits, floor)
    top = xp.max(logits)
    if xp is np and np.isfinite(top):
        weights = by_blocks(lambda own: np.exp(own - top), logits)
    else:
        # A compiler may fuse the caller's product into the difference and round the two apart: the
        # top itself would miss 0, by far if logits are large.
        weights = xp.where(logits >= top, 1.0, xp.exp(xp.minimum(logits - top, 0.0)))
    scale, least = (1.0 - floor) / xp.sum(weights), floor / logits.shape[0]
    return by_blocks(lambda own: own * scale + least, weights)


def entropy_of(probabilities: Floats) -> float:
    """The entropy of a distribution [n], in nats."""
    terms: Floats = by_blocks(lambda p: p * np.log(np.where(p > 0, p, 1.0)), probabilities)
    return -float(np.sum(terms))


def power(base: Array, exponents: Array) -> Array:
    """[n] `base` to the power of `exponents` [n], most of which may be 0."""
    xp = namespace(base, exponents)
    if xp is not np:
        return base**exponents
    powers = np.ones_like(exponents)
    some = np.flatnonzero(exponents != 0.0)  # on large pools most are 0, and powers are slow
    powers[some] = base ** exponents[some]
    return powers


def largest(values: Array, count: Array) -> Array:
    """[n] bool: the `count` largest of `values`, the earlier task first among equals."""
    xp = namespace(values, count)
    smallest_kept = xp.take(xp.sort(values), values.shape[0] - count)
    above = values > smallest_kept
    equal = values == smallest_kept
    room = count - xp.sum(above)
    return above | (equal & (xp.cumsum(equal.astype("int32")) <= room))


def largest_ids(values: Array, count: int) -> Array:
    """[count] the positions of the `count` largest of `values` [n], in increasing order."""
    xp = namespace(values)
    if xp is np:
        return np.sort(np.argpartition(-values, count - 1)[:count])
    from jax import lax

    return xp.sort(lax.top_k(values, count)[1])


def ranks(values: Array, among: Array) -> Array:
    """[n] the rank of each value, 1 for the highest; the earlier comes first among equals.

    Args:
        values: [n].
        among: [n] bool, the values to rank; the others come after them, in any order.
    """
    xp = namespace(values, among)
    if xp is np:  # only those that are ranked, and without sorting twice: pools may be large
        chosen = np.flatnonzero(among)
        found = np.full(len(values), len(values))
        found[chosen[np.argsort(-values[chosen], stable=True)]] = np.arange(1, len(chosen) + 1)
        return found
    order = xp.argsort(xp.where(among, -values, xp.inf), stable=True)
    return 1 + xp.argsort(order, stable=True)  # the inverse permutation


def while_loop(
    xp: Any, condition: Callable[[Carry], Array], body: Callable[[Carry], Carry], carry: Carry
) -> Carry:
    """Repeat `body` while `condition` holds: a Python loop, or `lax.while_loop` for JAX."""
    if xp is np:
        while condition(carry):
            carry = body(carry)
        return carry
    from jax import lax

    return lax.while_loop(condition, body, carry)


def compute_if(xp: Any, condition: Array, compute: Callable[[], Carry], otherwise: Carry) -> Carry:
    """`compute()` if `condition` holds, else `otherwise`, which has the same shapes and types.

    With `vmap`, runs share the work: it is done if any of them needs it. (`lax.cond` would do it
    always.)
    """
    if xp is np:
        return compute() if condition else otherwise
    return while_loop(
        xp,
        lambda carry: carry[0],
        lambda carry: (xp.zeros_like(carry[0]), compute()),
        (xp.asarray(condition), otherwise),
    )[1]


def scan(
    xp: Any,
    body: Callable[[Carry, Any], tuple[Carry, Array]],
    carry: Carry,
    rows: tuple[Array, ...],
) -> tuple[Carry, Array]:
    """(last carry, [T, …] results) of `body` over the rows of arrays [T, …].

    A Python loop, or `lax.scan` for JAX.
    """
    if xp is np:
        results = []
        for row in zip(*rows, strict=True):
            carry, result = body(carry, row)
            results.append(result)
        return carry, np.stack(results)
    from jax import lax

    return lax.scan(body, carry, rows)


def segment_sum(weights: Array, segments: Array, count: int) -> Array:
    """[count] sums of `weights` [m] by the ids `segments` [m], from 0 to `count` − 1."""
    xp = namespace(weights, segments)
    if xp is np:
        return np.bincount(segments, weights, count)
    return xp.zeros(count).at[segments].add(weights)


def segment_max(values: Array, segments: Array, count: int, lowest: float = 0) -> Array:
    """[count] the largest of `values` [m] by the ids `segments` [m], at least `lowest`."""
    xp = namespace(values, segments)
    if xp is np:
        largest_of = np.full(count, lowest, dtype=values.dtype)
        np.maximum.at(largest_of, segments, values)
        return largest_of
    return xp.full(count, lowest, dtype=values.dtype).at[segments].max(values)


def select(where: Array, yes: Any, no: Any) -> Any:
    """`yes` if the flag `where` is set, else `no`: arrays, or nested tuples of arrays.

    Every array keeps the type that it has in `no`; None stays None.
    """
    if no is None:
        return None
    if isinstance(no, tuple):
        parts = [select(where, one, other) for one, other in zip(yes, no, strict=True)]
        return type(no)(*parts) if hasattr(no, "_fields") else tuple(parts)
    return namespace(where, yes, no).where(where, yes, no).astype(no.dtype)
