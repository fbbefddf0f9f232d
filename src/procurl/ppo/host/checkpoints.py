"""Checkpoints of a host run: its own state and its environment's."""

from typing import Any

from procurl.internals.arrays import NamedArrays
from procurl.ppo.checkpoints import pack_progress, unpack_progress
from procurl.ppo.host.programs import HostLanes
from procurl.ppo.host.run import HostRun


def host_checkpoint(run: HostRun) -> tuple[dict[str, Any], NamedArrays]:
    """(JSON values, arrays) from which `restore_host` resumes exactly.

    The environment must have `state_dict` and `load_state_dict`, like `GymVectorEnv`.
    """
    env = _require_resumable(run).state_dict()
    inner = {f"env.{name}": array for name, array in env.pop("state").items()}
    lanes = {f"lanes.{name}": array for name, array in run.lanes._asdict().items()}
    meta, arrays = pack_progress(run, [run.evaluations])
    return meta | {"env": env, "stopped_at": run.stopped_at}, arrays | inner | lanes


def restore_host(run: HostRun, meta: dict[str, Any], arrays: NamedArrays) -> None:
    """Resume from a checkpoint of a run with the same settings and environment."""
    state = {name[4:]: array for name, array in arrays.items() if name.startswith("env.")}
    _require_resumable(run).load_state_dict(meta["env"] | {"state": state})
    [run.evaluations] = unpack_progress(run, meta, arrays)
    run.lanes = HostLanes(*(arrays[f"lanes.{name}"] for name in HostLanes._fields))
    run.stopped_at = meta["stopped_at"]


def _require_resumable(run: HostRun) -> Any:
    """The training environment; raises if its state cannot be saved."""
    inner: Any = run.env.unwrapped
    if not hasattr(inner, "state_dict"):
        raise TypeError(
            "env must have state_dict and load_state_dict to resume a run exactly, but "
            f"{type(inner).__name__} does not: save only the weights, with policy()"
        )
    return inner
