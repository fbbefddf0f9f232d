"""Parameters of a model as JSON values and arrays, without pickle."""

from typing import Any

import torch

from procurl.internals.arrays import NamedArrays


def pack_parameters(parameters: dict[str, Any] | None) -> tuple[Any, NamedArrays]:
    """(JSON values, arrays) of what `BaseAlgorithm.get_parameters` returned, or of None."""
    arrays: NamedArrays = {}
    return _pack(parameters, arrays), arrays


def _pack(part: Any, arrays: NamedArrays) -> Any:
    """`part` with a list [kind, content] for each dictionary, sequence and tensor in it."""
    if isinstance(part, dict):
        return ["dict", [[key, _pack(value, arrays)] for key, value in part.items()]]
    if isinstance(part, list | tuple):
        return [type(part).__name__, [_pack(value, arrays) for value in part]]
    if isinstance(part, torch.Tensor):
        name = str(len(arrays))
        arrays[name] = part.detach().cpu().numpy()
        return ["tensor", name]
    return part


def unpack_parameters(packed: Any, arrays: NamedArrays) -> Any:
    """The inverse of `pack_parameters`."""
    if not isinstance(packed, list):
        return packed
    kind, content = packed
    if kind == "tensor":
        return torch.from_numpy(arrays[content].copy())
    if kind == "dict":
        return {key: unpack_parameters(value, arrays) for key, value in content}
    values = [unpack_parameters(value, arrays) for value in content]
    return tuple(values) if kind == "tuple" else values
