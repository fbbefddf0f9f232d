"""A curriculum in a checkpoint directory of TRL."""

import io
import logging
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from procurl.curriculum import Curriculum
from procurl.internals.archive import content_errors, read_archive, write_archive
from procurl.internals.arrays import Floats, Ids
from procurl.internals.files import write_bytes
from procurl.tasks.pool import TaskPool
from procurl.trl.prompts import Prompts, prompt_pool, recognize_by

CURRICULUM = "curriculum.safetensors"
GENERATIONS = "generations_{process}.pt"
STATE = "state."  # prefix of the curriculum's arrays
WAITING = "waiting."  # prefix of the batches' arrays
log = logging.getLogger(__name__)


class Batch(NamedTuple):
    """One generation batch of k groups with g completions each."""

    prompts: Ids  # [k] their tasks
    rewards: Floats  # [k, g] NaN where a completion has none


class Resumed(NamedTuple):
    """What a run continues with, besides the curriculum."""

    prompts: Prompts  # those of today, with the ids that the checkpoint knows them by
    waiting: list[Batch]  # to be recorded


def save_curriculum(
    folder: Path, curriculum: Curriculum, columns: list[str], batches: list[Batch] | None
) -> None:
    """Write the curriculum and its prompts' ids atomically.

    Args:
        folder: of the checkpoint.
        curriculum: over the prompts.
        columns: of the dataset, by which prompts are recognized.
        batches: that wait to be recorded.
    """
    saved = curriculum.state_dict()
    arrays = {STATE + name: array for name, array in saved.pop("state").items()}
    if batches:
        joined = Batch(*map(np.concatenate, zip(*batches, strict=True)))
        arrays |= {WAITING + name: array for name, array in joined._asdict().items()}
    arrays["prompts"] = _as_numbers(curriculum.pool.labels or ())
    if curriculum.pool.contexts is not None:
        arrays["contexts"] = curriculum.pool.contexts
    folder.mkdir(parents=True, exist_ok=True)
    more = {"names": curriculum.pool.names, "columns": columns}
    write_archive(folder / CURRICULUM, saved | more, arrays)


def load_curriculum(
    folder: Path, curriculum: Curriculum, prompts: Prompts, dataset: Any
) -> Resumed:
    """Continue from `save_curriculum`.

    If the prompts or their contexts have changed, prompts in both keep what is known about them,
    and no batch waits. Without the file, which a trainer without a curriculum does not write, the
    curriculum stays as it is.

    Args:
        folder: of the checkpoint.
        curriculum: over `prompts`.
        prompts: of today's dataset.
        dataset: that of today.
    """
    path = folder / CURRICULUM
    if not path.exists():
        log.warning("%s does not exist: the curriculum starts without evidence", path)
        return Resumed(prompts, [])
    meta, arrays = read_archive(path)
    with content_errors(path):
        names, columns, ids = meta.pop("names"), meta.pop("columns"), arrays.pop("prompts")
        contexts = arrays.pop("contexts", None)
        waiting = [arrays.pop(WAITING + name) for name in Batch._fields if WAITING + name in arrays]
        state = {name.removeprefix(STATE): array for name, array in arrays.items()}
        saved = meta | {"state": state}
        prompts = recognize_by(prompts, dataset, columns)
        now = prompts.pool
        if now is not curriculum.pool:
            curriculum.change_pool(now)
        same_prompts = np.array_equal(ids, _as_numbers(now.labels or ()))
        if same_prompts and saved["pool"]["fingerprint"] == now.fingerprint:
            curriculum.load_state_dict(saved)
            return Resumed(prompts, [Batch(*waiting)] if waiting else [])
        before = prompt_pool([f"{number:016x}" for number in ids.tolist()], contexts, names)
        _warn_of_changes(before, prompts, columns)
        curriculum.change_pool(before)
        curriculum.load_state_dict(saved)
        curriculum.change_pool(now, prior=prompts.pass_rate)
        return Resumed(prompts, [])


def _warn_of_changes(before: TaskPool, prompts: Prompts, columns: list[str]) -> None:
    """Log how today's prompts differ from those `before`, which had ids from `columns`."""
    now = prompts.pool
    old, new = set(before.labels or ()), set(now.labels or ())
    message = (
        f"{'contexts have' if before.labels == now.labels else 'train_dataset has'} changed since "
        f"the checkpoint: {len(old - new)} prompts are gone and {len(new - old)} are new. The "
        f"other {len(old & new)} keep what the curriculum knows about them."
    )
    if columns != prompts.columns:
        message += (
            f" It knows prompts by the columns {', '.join(columns)}: train_dataset lacks some of "
            "them, or has prompts that differ in other columns only."
        )
    log.warning("%s", message)


def _as_numbers(labels: tuple[str, ...]) -> Any:
    """[n] the ids of prompts as integers, which take half the space of their digits."""
    return np.asarray([int(label, 16) for label in labels], dtype=np.uint64)


def save_generations(
    folder: Path, process: int, step: int, inputs: Any, layout: dict[str, int]
) -> None:
    """Write completions that later steps will still learn from; every process has its own.

    Args:
        folder: of the checkpoint.
        process: index of this process.
        step: batches that were learned from so far.
        inputs: what TRL keeps of the completions.
        layout: the settings that say which part of `inputs` a step learns from.
    """
    content = io.BytesIO()
    torch.save({"step": step, "inputs": inputs, "layout": layout}, content)
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(_generations(folder, process), content.getvalue())


def remove_generations(folder: Path, process: int) -> None:
    """Remove what an earlier run has left in the folder of the same step."""
    _generations(folder, process).unlink(missing_ok=True)


def load_generations(
    folder: Path, process: int, layout: dict[str, int], device: torch.device
) -> tuple[int, Any] | None:
    """(step, inputs) of `save_generations`; None if there is none, or it has another layout."""
    path = _generations(folder, process)
    if not path.exists():
        return None
    saved = torch.load(path, map_location=device, weights_only=True)
    before = saved.get("layout", {})
    if before != layout:
        changed = [name for name, value in layout.items() if before.get(name) != value]
        log.warning(
            "%s is not used, and new completions are sampled: %s changed since the checkpoint",
            path,
            " and ".join(changed),
        )
        return None
    return saved["step"], saved["inputs"]


def _generations(folder: Path, process: int) -> Path:
    return folder / GENERATIONS.format(process=process)
