"""`procurl paper`: every table, figure and theorem of the paper by name, ours beside theirs.

Runs are trained where they are missing, kept under `OUT/runs`, and recorded compactly under
`OUT/records`. All pages are made from such records, so records alone rebuild them.
"""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from procurl.archive import write_text
from procurl.checks import require_whole
from procurl.experiments.paper_entries import ALL, ENTRIES, Entry, entries_named, needed
from procurl.experiments.paper_estimates import duration, estimate
from procurl.experiments.paper_pages import Made
from procurl.experiments.paper_records import Recorded, is_recorded, read_records
from procurl.experiments.paper_runs import RECORDS, Options, command, command_of, train_missing
from procurl.experiments.results import Results
from procurl.experiments.tables import Table, as_markdown, as_text, short

__all__ = ["Options", "list_names", "make_entry", "run"]


def list_names(seeds: int | None = None) -> str:
    """Every name with what it needs and about how long that takes here; made for a terminal."""
    rows = [
        (
            entry.name,
            entry.source,
            _runs_told(entry, seeds),
            duration(_seconds([entry], seeds)) if entry.needs else "seconds",
            entry.title,
        )
        for entry in ENTRIES.values()
    ]
    measured = [entry for entry in ENTRIES.values() if not _unmeasured(entry, seeds)]
    cores = len(os.sched_getaffinity(0))
    table = as_text(Table(("name", "paper", "runs", f"on {cores} cores", "title"), tuple(rows)))
    return (
        f"{table}\n\n"
        f"Entries share runs: all that was measured together takes about "
        f"{duration(_seconds(measured, seeds))} on {cores} cores.\n"
        f"`procurl paper NAME ...` makes some of it, `procurl paper {ALL}` everything."
    )


def run(
    names: Sequence[str],
    seeds: int | None = None,
    out: Path = Path("results/paper"),
    from_records: Path | None = None,
    options: Options | None = None,
) -> str:
    """Make the named entries in `out`, and return a table of what came of them.

    Args:
        names: of entries; `all`, or nothing together with `from_records`, for every one.
        seeds: per contender, None for as many as the paper had.
        out: a folder per entry, an overview in README.md, the runs and their records.
        from_records: folder of records to rebuild from; nothing is trained then.
        options: for training.
    """
    chosen = entries_named(names or [ALL])
    for name, value in (("seeds", seeds), ("steps", options and options.steps)):
        if value is not None:
            require_whole(name, value, at_least=1)
    given = (options or Options())._replace(seeds=seeds)
    if from_records is None:
        train_missing(chosen, out, given, command(names, given))
        records = out / RECORDS
    else:
        records = from_records
        if not any(map(is_recorded, records.glob("*"))):
            raise ValueError(f"{records} holds no records: name the folder above theirs")
    known = {
        sweep.name: read_records(records / sweep.name)
        for sweep in needed(chosen)
        if is_recorded(records / sweep.name)
    }
    lines = []
    for entry in chosen:
        missing = [sweep.name for sweep in entry.needs if sweep.name not in known]
        if entry.partly and len(missing) < len(entry.needs):
            missing = []
        if missing and names and ALL not in names:
            raise ValueError(
                f"{entry.name} needs records of {', '.join(missing)}, and {records} has none; "
                "without --from-records they are trained"
            )
        if missing:
            lines.append((entry.name, entry.source, f"no records of {', '.join(missing)}"))
            continue
        mine = {sweep.name: known[sweep.name] for sweep in entry.needs if sweep.name in known}
        made = make_entry(entry, mine, out)
        lines.append((entry.name, entry.source, made.verdict or entry.title))
    _write_overview(out, lines)
    return as_text(Table(("name", "paper", "what came of it"), tuple(lines)))


def make_entry(entry: Entry, runs: Mapping[str, Recorded], out: Path) -> Made:
    """Write the page of an entry with its tables and figures into `out`."""
    folder = out / entry.name
    folder.mkdir(parents=True, exist_ok=True)
    made = entry.make(runs, folder)
    where = entry.source if entry.source.startswith("not") else f"{entry.source} of the paper"
    parts = [f"# {entry.title}", f"{where[0].upper()}{where[1:]}.", made.body]
    parts += [_provenance(recorded.results) for recorded in runs.values()]
    if runs:
        parts.append(f"Made by\n\n    {command_of(entry, runs)}")
    write_text(folder / "README.md", "\n\n".join(part.strip() for part in parts) + "\n")
    return made


def _provenance(results: Results) -> str:
    """Where the numbers of a page come from."""
    runs = {label: sum(run.label == label for run in results.runs) for label in results.labels}
    least, most = min(runs.values()), max(runs.values())
    seeds = f"{least}" if least == most else f"{least} to {most}"
    width = int(results.facts.get("width") or 1)
    seconds = sum(
        results.evaluations[run][-1].seconds for run in results.runs if results.evaluations[run]
    )
    machine = results.facts.get("machine") or {}
    where = f"{machine.get('processor', 'an unknown machine')}, {machine.get('cores', '?')} cores"
    gpu = machine.get("gpu", "GPU")
    device = f"one {gpu}" if results.facts.get("device") == "gpu" else "one core"
    lines = [
        f"Ours: {results.env}, {short(results.steps)} training steps, {seeds} seeds, "
        f"{results.engine} engine, {results.n_envs} environment{'s' * (results.n_envs > 1)} a run. "
        f"Its batches of {width} runs trained for {duration(seconds / width)} in all, each on "
        f"{device} of: {where}.",
    ]
    stopped = len(results.stopped)
    if stopped:
        lines.append(
            f"{stopped} runs were stopped by a value that was not finite; their last weights count."
        )
    return "\n\n".join(lines)


def _write_overview(out: Path, lines: Sequence[tuple[str, ...]]) -> None:
    """List what was made now with what came of it, and what was made before."""
    now = {name: tuple(rest) for name, *rest in lines}
    rows = []
    for name, entry in ENTRIES.items():
        there = (out / name / "README.md").exists()
        if name in now or there:
            link = f"[{name}]({name}/README.md)" if there else name
            rows.append((link, *now.get(name, (entry.source, entry.title))))
    table = Table(("name", "paper", "what came of it"), tuple(rows))
    write_text(out / "README.md", f"# The paper, ours beside theirs\n\n{as_markdown(table)}")


def _runs_told(entry: Entry, seeds: int | None) -> str:
    if not entry.needs:
        return "none"
    return " + ".join(
        f"{len(contenders)} × {seeds or sweep.paper_seeds} × {short(sweep.steps)}"
        for sweep, contenders in needed([entry]).items()
    )


def _seconds(entries: Sequence[Entry], seeds: int | None) -> float:
    return estimate(
        (sweep, contenders, seeds or sweep.paper_seeds)
        for sweep, contenders in needed(entries).items()
    )


def _unmeasured(entry: Entry, seeds: int | None) -> bool:
    return math.isnan(_seconds([entry], seeds))
