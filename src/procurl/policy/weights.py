"""The arrays of a saved policy: their names and shapes.

Their names are those of the engine's parameters, joined by dots: `policy_0.kernel`, `head.log_std`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from procurl.internals.arrays import Floats32

CONTINUOUS, DISCRETE = "continuous", "discrete"


@dataclass(frozen=True)
class PolicyDescription:
    """Everything about a policy except its weights.

    Args:
        environment: name of the training environment.
        observation_size: o.
        shared_layers: widths of the layers shared by policy and value function.
        policy_layers: widths of the policy's own hidden layers.
        value_layers: widths of the value function's own hidden layers.
        actions: `continuous` or `discrete`.
        action_size: dimensions of a continuous action, or number of discrete ones.
        action_low: lower bounds of a continuous action; None for an unbounded dimension.
        action_high: upper bounds, likewise.
        training: facts about the training, chosen by the caller.
        action_shape: of a continuous action; None if it is a row of `action_size` numbers.
    """

    environment: str
    observation_size: int
    shared_layers: tuple[int, ...]
    policy_layers: tuple[int, ...]
    value_layers: tuple[int, ...]
    actions: str
    action_size: int
    action_low: tuple[float | None, ...] | None
    action_high: tuple[float | None, ...] | None
    training: Mapping[str, Any]
    action_shape: tuple[int, ...] | None = None


def flat_arrays(params: Mapping[str, Any]) -> dict[str, Floats32]:
    """Copies of the arrays of nested parameters, by dotted names."""
    return {name: np.array(leaf, dtype=np.float32, order="C") for name, leaf in _leaves(params)}


def _leaves(params: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, entry in params.items():
        if isinstance(entry, Mapping):
            yield from _leaves(entry, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", entry


def nested_params(arrays: Mapping[str, Floats32]) -> dict[str, Any]:
    """The inverse of `flat_arrays`."""
    params: dict[str, Any] = {}
    for name, array in arrays.items():
        *groups, last = name.split(".")
        place = params
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = array
    return params


def layer_widths(arrays: Mapping[str, Floats32], name: str) -> tuple[int, ...]:
    """The widths of the layers NAME_0, NAME_1, …"""
    widths: list[int] = []
    while (bias := arrays.get(f"{name}_{len(widths)}.bias")) is not None:
        widths.append(bias.shape[-1] if bias.ndim else 0)
    return tuple(widths)


def input_size(arrays: Mapping[str, Floats32]) -> int:
    """The size of an observation: the input size of the policy's first layer."""
    for layer in ("shared_0", "policy_0", "head.output"):
        kernel = arrays.get(f"{layer}.kernel")
        if kernel is not None and kernel.ndim > 0:
            return len(kernel)
    raise ValueError(f"params must hold the layers of a policy, got {', '.join(sorted(arrays))}")


def output_size(arrays: Mapping[str, Floats32]) -> int:
    """The output size of the policy's last layer."""
    bias = arrays.get("head.output.bias")
    if bias is None:
        raise ValueError(
            f"params must hold 'head.output.bias', got {', '.join(sorted(arrays)) or 'nothing'}"
        )
    return bias.size


def listed_bounds(name: str, bounds: ArrayLike | None) -> tuple[float | None, ...] | None:
    """Bounds as JSON values in one row, with None for an infinite one."""
    if bounds is None:
        return None
    numbers = np.asarray(bounds, dtype=np.float32)
    if np.isnan(numbers).any():
        raise ValueError(f"{name} must be numbers, got {bounds!r}")
    return tuple(float(bound) if math.isfinite(bound) else None for bound in numbers.ravel())


def common_shape(low: ArrayLike | None, high: ArrayLike | None) -> tuple[int, ...] | None:
    """The shape of an action with these bounds; None if it is a row, or discrete."""
    if low is None or high is None:
        return None
    shape = np.shape(low)
    if shape != np.shape(high):
        raise ValueError(
            "action_low and action_high must both have the shape of an action, got "
            f"{list(shape)} and {list(np.shape(high))}"
        )
    return None if len(shape) == 1 else shape


def bounds_array(bounds: Sequence[float | None] | None, absent: float) -> Floats32:
    """[a] the bounds in `listed_bounds`."""
    return np.array([absent if b is None else b for b in bounds or ()], dtype=np.float32)


def check_arrays(description: PolicyDescription, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise unless the weights are finite and match the described network."""
    shapes = _shapes(description)
    if arrays.keys() != shapes.keys():
        unknown, missing = sorted(arrays.keys() - shapes), sorted(shapes.keys() - arrays)
        raise ValueError(f"params must fit one network: {missing} missing, {unknown} too many")
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float32:
            raise ValueError(
                f"{name!r} must be float32 of shape {list(shape)}, "
                f"got {array.dtype} of shape {list(array.shape)}"
            )
        if not np.isfinite(array).all():
            raise ValueError(f"{name!r} holds NaN or infinity: such a policy cannot act")
    _check_bounds(description)


def _check_bounds(description: PolicyDescription) -> None:
    """Raise unless the bounds and the shape fit the size of an action."""
    low, high, shape = description.action_low, description.action_high, description.action_shape
    if low is None and high is None:
        return
    if low is None or high is None:
        raise ValueError(
            f"action_low and action_high must both be numbers or both be None, got {low} and {high}"
        )
    if len(low) != description.action_size or len(high) != description.action_size:
        raise ValueError(
            f"action_low and action_high must be {description.action_size} numbers each, "
            f"got {list(low)} and {list(high)}"
        )
    if shape is not None and math.prod(shape) != description.action_size:
        raise ValueError(
            f"action_shape must hold {description.action_size} numbers, got {list(shape)}"
        )
    if not (bounds_array(low, -np.inf) <= bounds_array(high, np.inf)).all():
        raise ValueError(
            f"action_low must not exceed action_high, got {list(low)} and {list(high)}"
        )


def _shapes(description: PolicyDescription) -> dict[str, tuple[int, ...]]:
    """The shape of every array of the described network, by name."""
    shapes: dict[str, tuple[int, ...]] = {}

    def add(name: str, inputs: int, outputs: int) -> int:
        shapes.update({f"{name}.kernel": (inputs, outputs), f"{name}.bias": (outputs,)})
        return outputs

    def stack(name: str, size: int, widths: Sequence[int]) -> int:
        for index, width in enumerate(widths):
            size = add(f"{name}_{index}", size, width)
        return size

    common = stack("shared", description.observation_size, description.shared_layers)
    policy = stack("policy", common, description.policy_layers)
    add("head.output", policy, description.action_size)
    add("value", stack("value", common, description.value_layers), 1)
    if description.actions == CONTINUOUS:
        shapes["head.log_std"] = (description.action_size,)
    return shapes
