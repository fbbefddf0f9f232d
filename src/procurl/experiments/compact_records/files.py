"""Files of compact records: small enough to commit, and enough to rebuild every table and figure.

Each experiment has a folder with

- `experiment.json`: what all runs share, how each contender was trained, checksums of all files,
  its own included;
- `evaluations.csv.gz`: a row per evaluation;
- `curriculum.csv.gz`: a row per block of picked tasks, for the first runs of each contender;
- `pool.csv`: the pool, unless procurl can make it; further ones are `pool-1.csv`, …

Numbers have six significant digits. Picks and snapshots are not kept.
"""

import csv
import gzip
import hashlib
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from procurl.experiments.analysis.trends import Trend, features_of
from procurl.experiments.compact_records.joining import join_records
from procurl.experiments.compact_records.pool_files import pack_pools, pool_file_names, read_pools
from procurl.experiments.compact_records.record import CompactRecords, Part, compact, shared_facts
from procurl.internals.archive import content_errors
from procurl.internals.checks import require_integer
from procurl.internals.files import write_bytes, write_text
from procurl.records.evaluation import Evaluation, column_names, from_scalars, scalar_values
from procurl.records.experiment import pools_hash
from procurl.records.results import Results, RunId
from procurl.tasks.pool import TaskPool

FILE = "experiment.json"
EVALUATIONS = "evaluations.csv.gz"
CURRICULUM = "curriculum.csv.gz"
FORMAT = 3  # 1 had a single part, stored as `facts`; 1 and 2 had no checksum of FILE
FORMATS = (1, 2, FORMAT)
RUN_COLUMNS = RunId._fields
COLUMNS = (*RUN_COLUMNS, *column_names())


def has_records(folder: Path) -> bool:
    """Whether `folder` has records that `read_records` can read."""
    return (folder / FILE).exists() and (folder / EVALUATIONS).exists()


def write_records(records: CompactRecords, folder: Path) -> None:
    """Write the records of an experiment to `folder`. Equal records give equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    results = records.results
    contents = {
        EVALUATIONS: _pack(COLUMNS, _evaluation_rows(results)),
        CURRICULUM: _pack(
            (*RUN_COLUMNS, "step", "task", *features_of(results.pool).names),
            _trend_rows(records.trends),
        ),
    }
    pools = pack_pools(results, folder)
    contents |= pools.contents
    for name, content in contents.items():
        write_bytes(folder / name, content)
    about: dict[str, Any] = {
        "format": FORMAT,
        "env": results.env,
        "engine": results.engine,
        "steps": results.steps,
        "n_envs": results.n_envs,
        "pool": pools.entries[0],
        **({"other_pools": pools.entries[1:]} if results.other_pools else {}),
        "pool_hash": pools_hash(results.pools),
        "stopped": [[*run, step] for run, step in results.stopped.items()],
        "parts": [{"labels": part.labels, "facts": part.facts} for part in records.parts],
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
    }
    about = json.loads(json.dumps(about, default=str))
    about["sha256"][FILE] = _digest(about)
    write_text(folder / FILE, json.dumps(about, indent=2) + "\n")


def read_records(folder: Path) -> CompactRecords:
    """Read the records of `folder`; raises ValueError if a file is missing or damaged."""
    path = folder / FILE
    if not path.exists():
        raise ValueError(f"{folder} has no records: it has no {FILE}")
    with content_errors(path):
        about = json.loads(path.read_text(encoding="utf-8"))
        _check_about(about)
        contents = {
            name: _read_verified(folder / name, want)
            for name, want in about["sha256"].items()
            if name != FILE
        }
        pool, *others = read_pools(folder, about)
        evaluations = _read_evaluations(contents[EVALUATIONS])
        found = _read_trends(contents[CURRICULUM], pool)
        parts = _read_parts(about, evaluations)
        results = Results(
            env=about["env"],
            engine=about["engine"],
            steps=about["steps"],
            n_envs=about["n_envs"],
            pool=pool,
            runs=list(evaluations),
            evaluations=evaluations,
            stopped={RunId(*run): step for *run, step in about["stopped"]},
            facts=shared_facts(parts),
            detail=evaluations.__getitem__,
            other_pools=others,
        )
    return CompactRecords(results, found, parts)


def load_records(folder: Path) -> CompactRecords:
    """The compact records of a folder of records or of a comparison's directory."""
    if has_records(folder):
        return read_records(folder)
    from procurl.records.store import read_store

    with read_store(folder) as store:
        return compact(store.results())


def record_names(folder: Path) -> list[str]:
    """The names of the experiments with records in `folder`; raises ValueError without any."""
    names = sorted(inside.name for inside in folder.glob("*") if has_records(inside))
    if not names:
        raise ValueError(f"{folder} has no folders of records: give their parent folder")
    return names


def read_joined_records(folders: Sequence[Path], names: Iterable[str]) -> dict[str, CompactRecords]:
    """The named experiments, each joined over all `folders` that have it."""
    joined = {}
    for name in names:
        there = [folder / name for folder in folders if has_records(folder / name)]
        found = [read_records(folder) for folder in there]
        try:
            if found:
                joined[name] = join_records(found)
        except ValueError as error:
            raise ValueError(f"{', '.join(map(str, there))}: {error}") from error
    return joined


def _evaluation_rows(results: Results) -> Iterator[tuple[Any, ...]]:
    for run in results.runs:
        for at in results.evaluations[run]:
            yield (*run, *map(_cell, scalar_values(at)))


def _trend_rows(found: Iterable[Trend]) -> Iterator[tuple[Any, ...]]:
    for trend in found:
        strategy, _, setting = trend.label.partition(":")
        for step, task, means in zip(trend.steps, trend.typical, trend.means, strict=True):
            yield (strategy, setting, trend.seed, round(step), task, *map(_cell, means))


def _cell(number: int | float | None) -> str:
    """All digits of an integer, six of a float; empty if there is no number."""
    if isinstance(number, int):
        return str(number)
    return "" if number is None or math.isnan(number) else f"{number:.6g}"


def _pack(head: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> bytes:
    """A gzipped CSV file without a timestamp, so that equal rows give equal bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0)


def _digest(about: Mapping[str, Any]) -> str:
    """The checksum of `experiment.json`: of its entries, without the checksum itself."""
    others = {name: digest for name, digest in about["sha256"].items() if name != FILE}
    text = json.dumps({**about, "sha256": others}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _check_about(about: Mapping[str, Any]) -> None:
    """Raise unless the entries of `experiment.json` are as written, and of the right types."""
    if about["format"] not in FORMATS:
        listed = ", ".join(map(str, FORMATS))
        raise ValueError(f"format must be one of {listed}, got {about['format']!r}")
    digests = about["sha256"]
    if (about["format"] >= 3 or FILE in digests) and digests.get(FILE) != _digest(about):
        raise ValueError("the file was changed or truncated: its checksum is wrong")
    pools = pool_file_names(1 + len(about.get("other_pools", [])))
    if foreign := set(digests) - {FILE, EVALUATIONS, CURRICULUM, *pools}:
        raise ValueError(f"sha256 must name files of the records only, got {sorted(foreign)}")
    for name in ("env", "engine"):
        if not isinstance(about[name], str):
            raise TypeError(f"{name} must be text, got {about[name]!r}")
    for name in ("steps", "n_envs"):
        require_integer(name, about[name], at_least=1)
    for *_, step in about["stopped"]:
        require_integer("a step in stopped", step, at_least=0)


def _read_verified(path: Path, wanted: str) -> bytes:
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise ValueError(f"{path.name} is missing") from error
    if hashlib.sha256(content).hexdigest() != wanted:
        raise ValueError(f"{path.name} was changed or truncated: its checksum does not match")
    return content


def _unpack(content: bytes) -> Iterator[dict[str, str]]:
    rows = csv.DictReader(io.StringIO(gzip.decompress(content).decode()))
    if missing := {*RUN_COLUMNS, "step"} - set(rows.fieldnames or ()):
        raise ValueError(f"a table of runs must have the columns {', '.join(sorted(missing))}")
    return rows


def _read_evaluations(content: bytes) -> dict[RunId, list[Evaluation]]:
    found: dict[RunId, list[Evaluation]] = {}
    for row in _unpack(content):
        run = RunId(row["strategy"], row["setting"], int(row["seed"]))
        found.setdefault(run, []).append(from_scalars(row))
    return found


def _read_parts(
    about: Mapping[str, Any], evaluations: Mapping[RunId, Sequence[Evaluation]]
) -> list[Part]:
    if about["format"] > 1:
        return [Part(tuple(part["labels"]), dict(part["facts"])) for part in about["parts"]]
    facts = dict(about["facts"])
    steps = [at.step for at in next(iter(evaluations.values()), ())]
    if len(steps) > 1:
        facts["eval_every"] = steps[0]  # not recorded in format 1
    return [Part(tuple(dict.fromkeys(run.label for run in evaluations)), facts)]


def _read_trends(content: bytes, pool: TaskPool) -> list[Trend]:
    names = features_of(pool).names
    rows: dict[tuple[str, int], list[Mapping[str, str]]] = {}
    for row in _unpack(content):
        run = RunId(row["strategy"], row["setting"], int(row["seed"]))
        rows.setdefault((run.label, run.seed), []).append(row)
    return [
        Trend(
            label,
            seed,
            steps=np.array([float(row["step"]) for row in mine]),
            means=np.array([[float(row[name]) for name in names] for row in mine]),
            typical=np.array([int(row["task"]) for row in mine]),
        )
        for (label, seed), mine in rows.items()
    ]
