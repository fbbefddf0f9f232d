"""Checkpoints of a host run: its own state and, if it can be saved, its environment's."""

from typing import Any

from gymnasium.vector import SyncVectorEnv

from procurl.envs.adapters.task_env import TaskEnv
from procurl.evidence import without_open_episodes
from procurl.internals.arrays import NamedArrays
from procurl.ppo.checkpoints import pack_progress, unpack_progress
from procurl.ppo.host.programs import HostLanes
from procurl.ppo.host.run import HostRun


def host_checkpoint(run: HostRun) -> tuple[dict[str, Any], NamedArrays]:
    """(JSON values, arrays) from which `restore_host` resumes.

    It resumes in the middle of the episodes, bit for bit, if the environment has `state_dict` and
    `load_state_dict`: the vector environment, as `GymVectorEnv` does, or every environment in the
    `TaskEnv`s of a `SyncVectorEnv`. Otherwise new episodes start, the same ones whenever the
    checkpoint is restored.
    """
    meta, arrays = pack_progress(run, [run.evaluations])
    states = [part.state_dict() for part in _parts(run)]
    if not states or any(_holder(state) is None for state in states):
        return meta | {"env": None, "stopped_at": run.stopped_at}, arrays
    for i, state in enumerate(states):
        holder = _holder(state)
        if "state" in holder:
            arrays |= {f"env-{i}.{name}": array for name, array in holder["state"].items()}
            holder["state"] = {}
    arrays |= {f"lanes.{name}": array for name, array in run.lanes._asdict().items()}
    return meta | {"env": states, "stopped_at": run.stopped_at}, arrays


def restore_host(run: HostRun, meta: dict[str, Any], arrays: NamedArrays) -> None:
    """Resume from a checkpoint of a run with the same settings and environment."""
    [run.evaluations] = unpack_progress(run, meta, arrays)
    run.stopped_at = meta["stopped_at"]
    if meta["env"] is None:
        run.restart_episodes()
        teaching = run.state.teaching
        episodes = without_open_episodes(teaching.episodes)
        run.state = run.state._replace(teaching=teaching._replace(episodes=episodes))
        return
    for i, (part, state) in enumerate(zip(_parts(run), meta["env"], strict=True)):
        prefix = f"env-{i}."
        own = {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}
        if "state" in _holder(state):
            _holder(state)["state"] = own
        part.load_state_dict(state)
    run.lanes = HostLanes(*(arrays[f"lanes.{name}"] for name in HostLanes._fields))


def _parts(run: HostRun) -> list[Any]:
    """The objects whose states are that of the training environment; none if it has no state."""
    inner: Any = run.env.unwrapped
    if hasattr(inner, "state_dict"):
        return [inner]
    if inner is run.env and isinstance(inner, SyncVectorEnv):
        envs = list(inner.envs)
        # A wrapper around TaskEnv may have a state of its own.
        return envs if all(isinstance(env, TaskEnv) for env in envs) else []
    return []


def _holder(state: dict[str, Any]) -> Any:
    """The part of a state whose `state` holds arrays: in a `TaskEnv`, that of its environment."""
    return state["env"] if "queue" in state and "env" in state else state
