"""The replay buffer of a run on disk, in Stable-Baselines3's format with a checksum beside it."""

import hashlib
import os
import re
from pathlib import Path
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm

REPLAY = re.compile(r"replay-\d{12,}\.pkl", re.ASCII)


def require_replay_buffer(model: BaseAlgorithm) -> None:
    """Raise unless the algorithm has a replay buffer."""
    if getattr(model, "replay_buffer", None) is None:
        raise ValueError(
            f"save_replay_buffer=True needs an algorithm with a replay buffer, such as SAC or DQN, "
            f"and {type(model).__name__} has none: leave it out"
        )


def write_replay_buffer(folder: Path, model: Any) -> dict[str, str]:
    """Write the replay buffer; returns its file name and checksum."""
    name = f"replay-{model.num_timesteps:012d}.pkl"
    temporary = folder / f".{os.getpid()}-{name}"
    model.save_replay_buffer(temporary)
    os.replace(temporary, folder / name)
    return {"file": name, "sha256": _checksum(folder / name)}


def replay_file_of(folder: Path, saved: Any) -> Path | None:
    """The file of a saved run, None if it has none; raises if it is missing or altered.

    Args:
        folder: of the run.
        saved: what `write_replay_buffer` returned, as it was read.
    """
    if saved is None:
        return None
    name = str(saved["file"])
    if not REPLAY.fullmatch(name):
        raise ValueError(
            f"the replay buffer must be a file replay-STEP.pkl in the same folder, got {name!r}"
        )
    path = folder / name
    if not path.is_file():
        raise ValueError(f"{path} is missing: it is the replay buffer of the saved run")
    if _checksum(path) != saved["sha256"]:
        raise ValueError(f"{path}: the replay buffer is truncated or altered")
    return path


def restore_replay_buffer(path: Path, model: Any) -> None:
    """Load the replay buffer into the model, which must have as many environments as it had."""
    require_replay_buffer(model)
    model.load_replay_buffer(path)
    if model.replay_buffer.n_envs != model.n_envs:
        raise ValueError(
            f"{path}: the replay buffer is of {model.replay_buffer.n_envs} environments, and the "
            f"model has {model.n_envs}: use as many"
        )


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
