"""`procurl paper`: tables, figures and theorems of the paper, with our numbers and its own.

Missing runs are trained and kept under `OUT/runs`, with compact records under `OUT/records`. All
pages are built from the records, so recorded runs are not trained again.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from procurl.experiments.analysis.labels import step_label
from procurl.experiments.analysis.tables import Table, as_markdown, as_text
from procurl.experiments.compact_records.files import (
    read_joined_records,
    record_names,
    write_records,
)
from procurl.experiments.compact_records.record import CompactRecords, Part
from procurl.experiments.paper.entries import ALL, ENTRIES, Entry, contenders_by_sweep, find_entries
from procurl.experiments.paper.run_pages import Page
from procurl.experiments.paper.run_time import duration, estimate
from procurl.experiments.paper.training import (
    RECORDS,
    PaperOptions,
    command_line,
    commands_of,
    train_missing,
)
from procurl.internals.files import write_text
from procurl.internals.hardware import cores

NOTES = "notes.md"  # in the same folder as a page

__all__ = ["PaperOptions", "build_entry", "join", "list_entries", "run"]


def list_entries(seeds: int | None = None) -> str:
    """A table of all entries, the runs that each needs, and how long they take on this machine."""
    PaperOptions(seeds=seeds).check()
    rows = [
        (
            entry.name,
            entry.source,
            _run_counts(entry, seeds),
            duration(_seconds([entry], seeds)) if entry.needs else "seconds",
            entry.title,
        )
        for entry in ENTRIES.values()
    ]
    measured = [entry for entry in ENTRIES.values() if not _has_unknown_time(entry, seeds)]
    table = as_text(Table(("name", "paper", "runs", f"on {cores()} cores", "title"), tuple(rows)))
    return (
        f"{table}\n\n"
        f"Entries share runs: all measured ones together take about "
        f"{duration(_seconds(measured, seeds))} on {cores()} cores.\n"
        f"`procurl paper NAME ...` builds some entries, `procurl paper {ALL}` all of them."
    )


def run(
    names: Sequence[str],
    seeds: int | None = None,
    out: Path = Path("results/paper"),
    from_records: Sequence[Path] = (),
    options: PaperOptions | None = None,
) -> str:
    """Build the named entries in `out` and return a table of the results.

    Args:
        names: of entries; `all` for every one, also the default with `from_records`.
        seeds: per contender; None for as many as the paper has.
        out: directory of the entries' folders, an overview, the runs and their records.
        from_records: folders of records to join and build from, instead of training.
        options: for training.
    """
    chosen = find_entries(names or [ALL])
    given = (options or PaperOptions())._replace(seeds=seeds)
    given.check()
    for folder in from_records:
        record_names(folder)  # raises if there are none
    if not from_records:
        train_missing(chosen, out, given, command_line(names, given))
    records = from_records or (out / RECORDS,)
    known = read_joined_records(records, [sweep.name for sweep in contenders_by_sweep(chosen)])
    lines = []
    for entry in chosen:
        missing = [sweep.name for sweep in entry.needs if sweep.name not in known]
        if entry.partly and len(missing) < len(entry.needs):
            missing = []
        if missing and names and ALL not in names:
            raise ValueError(
                f"{entry.name} needs records of {', '.join(missing)}, and "
                f"{', '.join(map(str, records))} has none; without --from-records they are trained"
            )
        if missing:
            lines.append((entry.name, entry.source, f"no records of {', '.join(missing)}"))
            continue
        mine = {sweep.name: known[sweep.name] for sweep in entry.needs if sweep.name in known}
        made = build_entry(entry, mine, out)
        lines.append((entry.name, entry.source, made.verdict or entry.title))
    _write_overview(out, lines)
    return as_text(Table(("name", "paper", "result"), tuple(lines)))


def build_entry(entry: Entry, runs: Mapping[str, CompactRecords], out: Path) -> Page:
    """Write the page, tables and figures of an entry to a folder in `out`."""
    folder = out / entry.name
    folder.mkdir(parents=True, exist_ok=True)
    made = entry.make(runs, folder)
    where = entry.source if entry.source.startswith("not") else f"{entry.source} of the paper"
    parts = [f"# {entry.title}", f"{where[0].upper()}{where[1:]}.", made.body]
    for sweep, contenders in entry.needs.items():
        if sweep.name in runs:
            parts.append(_provenance(runs[sweep.name].only(contenders)))
    parts.append(_notes(folder))
    if commands := commands_of(entry, runs):
        parts.append("\n    ".join(["Trained by\n", *commands]))
    write_text(folder / "README.md", "\n\n".join(part.strip() for part in parts if part) + "\n")
    return made


def _notes(folder: Path) -> str:
    """Hand-written notes for a page, which are kept when it is built again."""
    path = folder / NOTES
    return path.read_text(encoding="utf-8") if path.exists() else ""


def join(folders: Sequence[Path], out: Path) -> str:
    """Add the records of `folders` to those of `out` and return a table of the joined records.

    Nothing is written if any of them cannot be joined.
    """
    target = out / RECORDS
    names = dict.fromkeys(name for folder in folders for name in record_names(folder))
    joined = read_joined_records([target, *folders], names)
    lines = []
    for name, records in joined.items():
        write_records(records, target / name)
        lines.append((name, ", ".join(records.results.labels), _seed_counts(records)))
    return as_text(Table(("records", "contenders", "seeds"), tuple(lines)))


def _provenance(records: CompactRecords) -> str:
    """How the runs of a page were trained, part by part."""
    results, parts = records.results, records.parts
    if not results.runs:
        return ""
    counts = _seed_counts(records)
    text = (
        f"Ours: {results.env}, {step_label(results.steps)} training steps, {counts} "
        f"seed{'s' * (counts != '1')}, {results.engine} engine, {results.n_envs} "
        f"environment{'s' * (results.n_envs > 1)} per run."
    )
    if len(parts) == 1:
        lines = [f"{text} Trained {_training_summary(parts[0], records)}"]
    else:
        listed = (
            f"- {', '.join(part.labels)}: trained {_training_summary(part, records)}"
            for part in parts
        )
        lines = [text, "\n".join(listed)]
    stopped = len(results.stopped)
    if stopped:
        lines.append(
            f"{stopped} runs stopped because a value was not finite; their last weights count."
        )
    return "\n\n".join(lines)


def _training_summary(part: Part, records: CompactRecords) -> str:
    """How long and on what hardware the contenders of a part were trained."""
    width = int(part.facts.get("width") or 1)
    seconds = sum(
        measured[-1].seconds
        for run, measured in records.results.evaluations.items()
        if run.label in part.labels and measured
    )
    machine = part.facts.get("machine") or {}
    where = f"{machine.get('processor', 'an unknown machine')}, {machine.get('cores', '?')} cores"
    device = f"one {machine.get('gpu', 'GPU')}" if part.facts.get("device") == "gpu" else "one core"
    runs = f"in batches of {width} runs" if width > 1 else "one run at a time"
    return f"{runs} for {duration(seconds / width)} in total, each on {device} of {where}."


def _seed_counts(records: CompactRecords) -> str:
    """The number of seeds per contender."""
    runs = Counter(run.label for run in records.results.runs).values()
    least, most = min(runs, default=0), max(runs, default=0)
    return f"{least}" if least == most else f"{least} to {most}"


def _write_overview(out: Path, lines: Sequence[tuple[str, ...]]) -> None:
    """Write the overview: the entries built now and those built before."""
    now = {name: tuple(rest) for name, *rest in lines}
    page = out / "README.md"
    before = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
    rows: list[tuple[str, ...]] = []
    for name, entry in ENTRIES.items():
        there = (out / name / "README.md").exists()
        link = f"[{name}]({name}/README.md)" if there else name
        start = f"| {link} | {entry.source} | "
        known = [line for line in before if line.startswith(start)]
        if name in now:
            rows.append((link, *now[name]))
        elif known:
            rows.append((link, entry.source, known[0].removeprefix(start).removesuffix(" |")))
        elif there:
            rows.append((link, entry.source, entry.title))
    table = Table(("name", "paper", "result"), tuple(rows))
    title = "# The paper, our numbers beside its own"
    parts = [title, _notes(out), "## All pages", as_markdown(table)]
    write_text(page, "\n\n".join(part.strip() for part in parts if part) + "\n")


def _run_counts(entry: Entry, seeds: int | None) -> str:
    if not entry.needs:
        return "none"
    return " + ".join(
        f"{len(contenders)} × {seeds or sweep.paper_seeds} × {step_label(sweep.steps)}"
        for sweep, contenders in contenders_by_sweep([entry]).items()
    )


def _seconds(entries: Sequence[Entry], seeds: int | None) -> float:
    return estimate(
        (sweep, contenders, seeds or sweep.paper_seeds)
        for sweep, contenders in contenders_by_sweep(entries).items()
    )


def _has_unknown_time(entry: Entry, seeds: int | None) -> bool:
    return math.isnan(_seconds([entry], seeds))
