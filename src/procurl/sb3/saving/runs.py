"""A run on disk: the model in Stable-Baselines3's format, everything else as arrays and JSON.

A folder holds `model-STEP.zip`, and `replay-STEP.pkl` if the replay buffer is saved;
`curriculum.safetensors`, which names both; and `starts.safetensors` with the initial observations
of the pool, which never change. Those of a space's candidates change, and are in
`curriculum.safetensors`. The model is written first and an older one removed last, so a
folder is complete whenever the process dies.
"""

import os
import re
import struct
import zlib
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np
from stable_baselines3.common.vec_env import (
    VecCheckNan,
    VecExtractDictObs,
    VecMonitor,
    VecTransposeImage,
)

from procurl.envs.adapters.task_env import EpisodeStatistics, join_episodes
from procurl.evidence import ReturnRange
from procurl.internals.archive import content_errors, read_archive, write_archive
from procurl.internals.arrays import NamedArrays
from procurl.sb3.envs.normalization import restore_statistics, saved_statistics
from procurl.sb3.envs.observations import Observations, wrappers_of
from procurl.sb3.saving.parameters import pack_parameters, unpack_parameters
from procurl.sb3.saving.random_state import RandomState, random_state
from procurl.sb3.saving.replay import REPLAY, write_replay_buffer
from procurl.sb3.seeds import later_seed
from procurl.sb3.teacher import ModelTeacher

CURRICULUM = "curriculum.safetensors"
STARTS = "starts.safetensors"
FORMAT = 1
MODEL = re.compile(r"model-\d{12,}\.zip", re.ASCII)
COUNTS = ("teacher_steps", "refreshed_at", "next_round")  # of the teacher
SCORES = ("score", "open_score", "open_length", "best")  # of the training episodes
# What zipfile raises on damaged files.
DAMAGE = (BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError)
STATELESS = (VecMonitor, VecCheckNan, VecTransposeImage, VecExtractDictObs)


class SavedRun(NamedTuple):
    """The content of a folder, except the model."""

    meta: dict[str, Any]
    arrays: NamedArrays
    starts: Observations | None  # of the pool; None if not saved
    source: str = "the saved run"  # its file, for error messages

    @property
    def random(self) -> RandomState:
        """The random states of the process."""
        return RandomState(self.meta["random"], within("random.", self.arrays))


def require_folder(folder: Path) -> None:
    """Create `folder`; raise if it is not writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(
            f"save_to must be a writable folder, got {str(folder)!r}: {error}"
        ) from error


def write_run(folder: Path, teacher: ModelTeacher, replay_buffer: bool = False) -> None:
    """Write the model and the curriculum, and the replay buffer if requested."""
    folder.mkdir(parents=True, exist_ok=True)
    model: Any = teacher.model
    name = f"model-{model.num_timesteps:012d}.zip"
    temporary = folder / f".{os.getpid()}-{name}"
    model.save(temporary)
    os.replace(temporary, folder / name)
    fixed = teacher.curriculum.space is None
    if fixed and teacher.values is not None and teacher.values.kept_in != folder:
        _write_starts(folder / STARTS, teacher)
        teacher.values.kept_in = folder
    replay = write_replay_buffer(folder, model) if replay_buffer else None
    saved = state_of(teacher)
    files = {"model": name, "replay_buffer": replay}
    write_archive(folder / CURRICULUM, saved.meta | files, saved.arrays)
    if not fixed or teacher.values is None:
        (folder / STARTS).unlink(missing_ok=True)  # of an earlier run in this folder
    current = {name, replay["file"] if replay else ""}
    for file in folder.iterdir():
        old = MODEL.fullmatch(file.name) or REPLAY.fullmatch(file.name)
        if old and file.name not in current:
            file.unlink()


def state_of(teacher: ModelTeacher) -> SavedRun:
    """All that a teacher needs to resume, except the model and the first observations."""
    meta, arrays = _progress(teacher)
    episodes, more = _episodes(teacher)
    chance = random_state()
    kept = saved_statistics(teacher.workers.env)
    arrays |= {f"statistics.{key}": part for key, part in kept.items()}
    arrays |= {f"random.{name}": part for name, part in chance.arrays.items()}
    meta |= {"format": FORMAT, "episodes": episodes, "random": chance.meta}
    return SavedRun(meta, arrays | more, None)


def read_run(folder: Path) -> SavedRun:
    """Read what `write_run` wrote."""
    if not (folder / CURRICULUM).exists():
        raise FileNotFoundError(
            f"{folder} holds no saved run, there is no {CURRICULUM} in it: pass the folder to "
            "which CurriculumCallback.save or save_to wrote"
        )
    meta, arrays = read_archive(folder / CURRICULUM)
    if meta.get("format") != FORMAT:
        raise ValueError(
            f"{folder / CURRICULUM}: saved in format {meta.get('format')!r}, "
            f"this version reads {FORMAT}"
        )
    starts = None
    if (folder / STARTS).exists() and not _has_prefix("starts.", arrays):
        found, parts = read_archive(folder / STARTS)
        with content_errors(folder / CURRICULUM):
            fingerprint = meta["curriculum"]["pool"]["fingerprint"]
        with content_errors(folder / STARTS):
            _require(folder, found["pool"] == fingerprint)
            starts = parts if found["dict"] else parts["observations"]
    return SavedRun(meta, arrays, starts, str(folder / CURRICULUM))


def model_of(folder: Path, saved: SavedRun) -> Path:
    """The model file of a saved run; raises if it is missing or damaged."""
    name = str(saved.meta.get("model"))
    if not MODEL.fullmatch(name):
        raise ValueError(
            f"{folder / CURRICULUM}: the model must be a file model-STEP.zip in the same folder, "
            f"got {name!r}"
        )
    path = folder / name
    if not path.is_file():
        raise ValueError(f"{path} is missing: it is the model that {CURRICULUM} belongs to")
    try:
        with ZipFile(path) as archive:
            # A truncated file may open as the archive of weights inside it.
            whole = "data" in archive.namelist() and archive.testzip() is None
    except DAMAGE:
        whole = False
    if not whole:
        raise ValueError(f"{path}: the model is truncated or altered and cannot be loaded")
    return path


def restore_progress(saved: SavedRun, teacher: ModelTeacher) -> None:
    """Restore the curriculum and its pending evidence; raises if it does not match."""
    meta, arrays = saved.meta, saved.arrays
    if (step := teacher.model.num_timesteps) != meta["step"]:
        raise ValueError(
            f"the curriculum was saved at step {meta['step']}, but the model is at step {step}: "
            f"load {meta.get('model')}, which was saved with it, and call learn with "
            "reset_num_timesteps=False"
        )
    restore_statistics(teacher.workers.env, within("statistics.", arrays))
    state = within("curriculum.", arrays)
    teacher.curriculum.load_state_dict(meta["curriculum"] | {"state": state})
    if teacher.curriculum.space is not None:
        teacher.play_candidates(np.arange(len(teacher.curriculum.pool)))
    teacher.seed = meta["seed"]
    for name in COUNTS:
        setattr(teacher, name, meta[name])
    teacher.episodes = [EpisodeStatistics(**within("ended.", arrays))]
    if teacher.values is not None:
        teacher.values.starts = saved.starts
        if _has_prefix("starts.", arrays):
            teacher.values.starts = _parts(within("starts.", arrays))
        teacher.values.values = arrays.get("values")
        teacher.values.next_task = meta["next_value"]
    if teacher.anchor is not None and (left := meta["anchor"]) is not None:
        teacher.anchor.idle, teacher.anchor.returns = left["idle"], left["returns"]
        parameters = unpack_parameters(left["parameters"], within("anchor.", arrays))
        teacher.anchor.parameters = parameters
    kept = [name for name in SCORES if getattr(teacher.totals, name) is not None]
    scores = {name: arrays[f"scores.{name}"] for name in kept}
    seen = ReturnRange(**within("seen.", arrays))
    teacher.totals = teacher.totals._replace(returns=seen, **scores)


def restore_episodes(saved: SavedRun, teacher: ModelTeacher) -> bool:
    """Restore every training episode; returns False if the environments cannot."""
    states = saved.meta["episodes"]
    model: Any = teacher.model
    if states is None or len(states) != teacher.workers.n_envs or not _restorable(teacher):
        return False
    for i, state in enumerate(states):
        if "state" in state["env"]:
            state["env"]["state"] = within(f"episode-{i}.", saved.arrays)
        teacher.workers.env.env_method("load_state_dict", state, indices=i)
    model._last_obs = _parts(within("last_obs.", saved.arrays))
    model._last_episode_starts = saved.arrays["last_episode_starts"]
    return True


def _progress(teacher: ModelTeacher) -> tuple[dict[str, Any], NamedArrays]:
    """(JSON values, arrays) of everything a teacher keeps between rounds."""
    curriculum = teacher.curriculum.state_dict()
    arrays = {f"curriculum.{name}": part for name, part in curriculum.pop("state").items()}
    meta = {
        "curriculum": curriculum,
        "seed": teacher.seed,
        "step": teacher.model.num_timesteps,
        "episode_seed": later_seed(teacher.model),
        "next_value": None if teacher.values is None else teacher.values.next_task,
        "anchor": None,
    }
    if (anchor := teacher.anchor) is not None:
        packed, parts = pack_parameters(anchor.parameters)
        meta["anchor"] = {"idle": anchor.idle, "returns": anchor.returns, "parameters": packed}
        arrays |= {f"anchor.{name}": part for name, part in parts.items()}
    meta |= {name: getattr(teacher, name) for name in COUNTS}
    ended, seen = join_episodes(teacher.episodes), teacher.totals.returns
    arrays |= {f"ended.{name}": column for name, column in ended._asdict().items()}
    arrays |= {f"seen.{name}": np.asarray(part) for name, part in seen._asdict().items()}
    if teacher.values is not None and teacher.values.values is not None:
        arrays["values"] = teacher.values.values
    if teacher.values is not None and teacher.curriculum.space is not None:
        starts = teacher.values.observations
        by_key = starts if isinstance(starts, dict) else {"": starts}
        arrays |= {f"starts.{key}": part for key, part in by_key.items()}
    totals = teacher.totals._asdict()
    arrays |= {f"scores.{name}": totals[name] for name in SCORES if totals[name] is not None}
    return meta, arrays


def _episodes(teacher: ModelTeacher) -> tuple[list[dict[str, Any]] | None, NamedArrays]:
    """(state of every environment or None, arrays including the model's last observations)."""
    if not _restorable(teacher):
        return None, {}
    states = teacher.workers.env.env_method("state_dict")
    if any(state["env"] is None for state in states):
        return None, {}
    model: Any = teacher.model
    arrays: NamedArrays = {"last_episode_starts": np.asarray(model._last_episode_starts)}
    for i, state in enumerate(states):
        if "state" in state["env"]:  # not if all is JSON
            own, state["env"]["state"] = state["env"]["state"], {}
            arrays |= {f"episode-{i}.{name}": part for name, part in own.items()}
    seen = model._last_obs if isinstance(model._last_obs, dict) else {"": model._last_obs}
    return states, arrays | {f"last_obs.{key}": part for key, part in seen.items()}


def _restorable(teacher: ModelTeacher) -> bool:
    """Whether no wrapper around `TaskEnv` has a state that would be lost."""
    env = teacher.workers.env
    # The string of an environment shows its wrappers: <Monitor<TaskEnv<…>>>.
    outside = {name.partition("<TaskEnv")[0] for name in env.env_method("__str__")}
    stateless = all(type(wrapper) in STATELESS for wrapper in wrappers_of(env))
    return stateless and outside <= {"", "<Monitor"}


def _write_starts(path: Path, teacher: ModelTeacher) -> None:
    assert teacher.values is not None
    starts = teacher.values.observations
    several = isinstance(starts, dict)
    meta = {"pool": teacher.curriculum.pool.fingerprint, "dict": several}
    write_archive(path, meta, starts if isinstance(starts, dict) else {"observations": starts})


def _parts(parts: NamedArrays) -> Observations:
    return parts[""] if set(parts) == {""} else parts


def _has_prefix(prefix: str, arrays: NamedArrays) -> bool:
    return any(name.startswith(prefix) for name in arrays)


def within(prefix: str, arrays: NamedArrays) -> NamedArrays:
    """The arrays whose names start with `prefix`, by the rest of their names."""
    return {name[len(prefix) :]: part for name, part in arrays.items() if name.startswith(prefix)}


def _require(folder: Path, same_pool: bool) -> None:
    if not same_pool:
        raise ValueError(
            f"{folder}: {STARTS} and {CURRICULUM} belong to different pools; "
            "save each run in a separate folder"
        )
