"""The state of any Stable-Baselines3 model as JSON values and arrays, without pickled code."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.save_util import recursive_getattr

from procurl.internals.arrays import NamedArrays
from procurl.sb3.saving.runs import within

# What changes during training besides parameters; an algorithm has some of them.
COUNTERS = (
    "_n_updates",
    "_n_calls",
    "_episode_num",
    "exploration_rate",
    "_current_progress_remaining",
)
BUFFER = "replay_buffer"


def model_state(model: Any) -> tuple[dict[str, Any], NamedArrays]:
    """(JSON values, arrays) from which `restore_model` continues."""
    meta: dict[str, Any] = {name: getattr(model, name) for name in COUNTERS if hasattr(model, name)}
    meta["actions"] = model.action_space.np_random.bit_generator.state
    arrays: NamedArrays = {}
    for owner, state in model.get_parameters().items():
        arrays |= {f"{owner}/{name}": part for name, part in _flat(state).items()}
    for name in _variables(model):
        arrays[f"variable/{name}"] = _array(recursive_getattr(model, name).data)
    if (buffer := getattr(model, BUFFER, None)) is not None:
        meta["buffer"] = {"pos": int(buffer.pos), "full": bool(buffer.full)}
        arrays |= {f"{BUFFER}/{name}": part.copy() for name, part in _filled(buffer).items()}
    return meta, arrays


def restore_model(model: Any, meta: Mapping[str, Any], arrays: NamedArrays) -> None:
    """Continue from `model_state` in a new model with the same settings."""
    for name in COUNTERS:
        if name in meta:
            setattr(model, name, meta[name])
    model.action_space.np_random.bit_generator.state = meta["actions"]
    for owner, fresh in model.get_parameters().items():
        saved = within(f"{owner}/", arrays)
        recursive_getattr(model, owner).load_state_dict(_nested(saved, fresh))
    for name in _variables(model):
        recursive_getattr(model, name).data = torch.from_numpy(arrays[f"variable/{name}"])
    if (buffer := getattr(model, BUFFER, None)) is not None:
        buffer.pos, buffer.full = meta["buffer"]["pos"], meta["buffer"]["full"]
        saved = within(f"{BUFFER}/", arrays)
        for name, part in _filled(buffer).items():
            part[:] = saved[name]


def weights_of(model: Any) -> NamedArrays:
    """Copies of the policy's weights, by name."""
    return {name: part.numpy().copy() for name, part in model.policy.state_dict().items()}


def set_weights(model: Any, weights: NamedArrays) -> None:
    """Replace the policy's weights by those of `weights_of`."""
    model.policy.load_state_dict({name: torch.from_numpy(part) for name, part in weights.items()})


def _variables(model: Any) -> list[str]:
    """The tensors that belong to no module, such as SAC's entropy coefficient."""
    return [name for name in model._get_torch_save_params()[1] if name]


def _is_optimizer(state: Mapping[str, Any]) -> bool:
    return state.keys() == {"state", "param_groups"}


def _flat(state: Mapping[str, Any]) -> NamedArrays:
    """The arrays of a module by name, or of an optimizer by parameter and name."""
    if not _is_optimizer(state):
        return {name: _array(part) for name, part in state.items()}
    return {
        f"{parameter}.{name}": _array(part)
        for parameter, own in state["state"].items()
        for name, part in own.items()
    }


def _nested(arrays: NamedArrays, fresh: Mapping[str, Any]) -> dict[str, Any]:
    """The result of `_flat` as a `state_dict`; an optimizer keeps the settings of the fresh one."""
    if not _is_optimizer(fresh):
        return {name: torch.from_numpy(part) for name, part in arrays.items()}
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, part in arrays.items():
        parameter, _, field = name.partition(".")
        state.setdefault(int(parameter), {})[field] = torch.from_numpy(part)
    return {"state": state, "param_groups": fresh["param_groups"]}


def _array(part: Any) -> Any:
    return part.detach().numpy().copy() if isinstance(part, torch.Tensor) else np.asarray(part)


def _filled(buffer: Any) -> NamedArrays:
    """Views of the part of a replay buffer that holds transitions, by name."""
    size = buffer.buffer_size if buffer.full else buffer.pos
    found: NamedArrays = {}
    for name, value in vars(buffer).items():
        parts = value if isinstance(value, dict) else {"": value}
        for key, part in parts.items():
            if isinstance(part, np.ndarray) and part.shape[:1] == (buffer.buffer_size,):
                found[f"{name}.{key}"] = part[:size]
    return found
