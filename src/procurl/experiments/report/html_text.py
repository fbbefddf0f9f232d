"""The page's text as HTML: what was run, the results, and how to reproduce them."""

import math
import shlex
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from procurl.envs.registry import environment_names
from procurl.experiments.analysis.curve_intervals import improvement_at
from procurl.experiments.analysis.curves import Curve, by_label, test_tasks
from procurl.experiments.analysis.standings import BASELINE, Standing, form_of
from procurl.experiments.analysis.statistics import FEWEST
from procurl.experiments.analysis.stopped import stopped_runs
from procurl.experiments.analysis.trends import features_of
from procurl.experiments.report.explorer_data import MOST_FEATURES, Selection
from procurl.records.evaluation import SNAPSHOT_TASKS
from procurl.records.experiment import TARGETS
from procurl.records.results import Results

SHOWN_APART = (
    "command",
    "commands",
    "times",
    "versions",
    "machine",
    "planned_runs",
    "finished_runs",
    "settings",
    "test_name",
    "n_pools",
)
OWN_PROGRAM = (
    "The runs were recorded by a program, which these commands started. Run them in the same "
    "folder and with the same version of the program."
)
OWN_SESSION = (
    "The runs were recorded in a notebook or an interactive session, so there is no command to "
    "repeat. The settings below are those that were recorded."
)
WORDS = {
    "pool_hash": "pool's hash",
    "test_hash": "test pool's hash",
    "width": "runs side by side",
    "eval_every": "steps between evaluations",
    "eval_episodes": "episodes on each task of an evaluation",
    "eval_tasks": "tasks of the pool that an evaluation plays",
    "eval_stochastic": "actions sampled in evaluations",
}


def heading(results: Results) -> str:
    """The page's heading."""
    labels = results.labels
    what = labels[0] if len(labels) == 1 else f"{len(labels)} strategies"
    return f"{escape(what)} on {escape(results.env)}"


def lead(rows: Sequence[Standing], curves: Sequence[Curve]) -> str:
    """The result in at most two sentences, which say if the runs leave it open.

    If there are targets, the result is the mean return on these.
    """
    if not rows:
        return "No run has been evaluated yet."
    last = f"{rows[0].steps[-1]:,} training steps"
    behind = [row for row in rows if math.isnan(row.performance[-1].mean)]
    if behind:
        return f"{_names(behind)} {'has' if len(behind) == 1 else 'have'} not reached {last} yet."
    measure = "mean return"
    if rows[0].test_name == TARGETS and all(row.test is not None for row in rows):
        rows, curves = _on_targets(rows), [curve.on_test for curve in curves]
        measure = "mean return on the targets"
    best = max(rows, key=lambda row: _rank_key(row.performance[-1].mean))
    form = form_of(rows)
    value = f"{_strong(format(best.performance[-1], form))} over {_runs(best.performance[-1].runs)}"
    name = _strong(best.label)
    if len(rows) == 1:
        return f"After {last}, {name} has a {measure} of {value}."
    if all(row.performance[-1].mean == 0 for row in rows):
        return f"After {last}, no strategy has a {measure} above 0."
    shown = f"{best.performance[-1].mean:{form}}"
    tied = [row for row in rows if f"{row.performance[-1].mean:{form}}" == shown]
    if len(tied) > 1:
        return f"After {last}, {_names(tied)} have the highest {measure}, {_strong(shown)}."
    text = f"After {last}, {name} has the highest {measure}, {value}."
    other = next((row for row in rows if row.label == BASELINE and row is not best), None)
    if other is None:
        others = [row for row in rows if row is not best]
        other = max(others, key=lambda row: _rank_key(row.performance[-1].mean))
    curve = by_label(curves)
    step = best.steps[-1]
    chance = improvement_at(curve[best.label], curve[other.label], step)
    if math.isnan(chance.low):
        return text
    interval = f"(95% interval {chance.low:.2f} to {chance.high:.2f})"
    text += (
        f" Its runs beat those of {_strong(other.label)} "
        f"with probability {chance.value:.2f} {interval}"
    )
    unclear = chance.low <= 0.5 <= chance.high
    return f"{text}: more seeds are needed to tell them apart." if unclear else f"{text}."


def _on_targets(rows: Sequence[Standing]) -> list[Standing]:
    """The standings with the targets in place of the training pool at the last step."""
    return [
        row if row.test is None else row._replace(performance=(*row.performance[:-1], row.test))
        for row in rows
    ]


def facts(results: Results) -> str:
    """What was run, as a description list."""
    seeds: dict[str, int] = {}
    for run in results.runs:
        seeds[run.label] = seeds.get(run.label, 0) + 1
    fewest, most = min(seeds.values(), default=0), max(seeds.values(), default=0)
    listed = {
        "Environment": results.env,
        "Pools": str(len(results.pools)) if results.other_pools else "",
        "Tasks in the pool": f"{len(results.pool):,}",
        "Training steps": f"{results.steps:,}",
        "Strategies": str(len(seeds)),
        "Seeds": str(most) if fewest == most else f"{fewest} to {most}",
        "Engine": results.engine,
        "Environments per run": str(results.n_envs),
        "Machine": _machine(results.facts.get("machine")),
    }
    if results.facts.get("device"):
        listed["Device"] = str(results.facts["device"])
    if times := results.facts.get("times"):
        listed["Date"] = str(times[-1]).partition("T")[0]
    return "".join(f"<div>{_term(k, v)}</div>" for k, v in listed.items() if v)


def notices(results: Results, rows: Sequence[Standing]) -> str:
    """Warnings to read before trusting the numbers."""
    said = []
    planned, finished = (int(results.facts.get(k, 0)) for k in ("planned_runs", "finished_runs"))
    if finished < planned:
        said.append(
            f"{finished:,} of {planned:,} runs are finished. The others count up to their last "
            "evaluation."
        )
    unseen = sum(1 for run in results.runs if not results.evaluations.get(run))
    if unseen:
        said.append(f"{_runs(unseen)} of {len(results.runs):,} have no evaluation yet.")
    if sentence := stopped_runs(results):
        said.append(sentence)
    most = max((row.runs for row in rows), default=FEWEST)
    if most < FEWEST:
        count, says = ("One seed", "says") if most == 1 else ("Two seeds", "say")
        said.append(
            f"{count} per strategy {says} little: runs of the same strategy vary widely. Intervals "
            f"need at least {FEWEST} runs."
        )
    return "".join(f'<p class="notice">{escape(text)}</p>' for text in said)


def pool_choice(curves: Sequence[Curve]) -> str:
    """Two buttons for the pool that learning curves show, if there is a test pool."""
    if not any(curve.has_test for curve in curves):
        return ""
    test = curves[0].test_tasks.removeprefix("the ")
    return (
        '<fieldset class="segments" id="curve-pool"><legend>Over</legend>'
        '<label><input type="radio" name="pool" value="train" checked><span>pool</span></label>'
        f'<label><input type="radio" name="pool" value="test"><span>{test}</span></label>'
        "</fieldset>"
    )


def curve_caption(curves: Sequence[Curve], single: int) -> str:
    """What the axes mean, and how many single runs are drawn."""
    text = (
        "Environment steps and time are means over runs. Time is training time without "
        "evaluations; runs trained in one batch share it."
    )
    if any(len(curve.seeds) > single for curve in curves):
        text += f" Single runs show the first {single} seeds."
    return text


def about_table(rows: Sequence[Standing]) -> str:
    """How to read the table's columns."""
    if not rows:
        return "There is no evaluation yet."
    parts = ["Mean return ± 95% interval of the mean along training"]
    if rows[0].test is not None:
        parts.append(f"the same over {test_tasks(rows[0].test_name)} at the end")
    parts.append(
        "IQM, the mean of the middle half of the runs with its 95% bootstrap interval; area, the "
        "mean height of the learning curve"
    )
    if rows[0].reached is not None:
        parts.append(
            f"median steps until a run first reached {rows[0].reached.goal}, halfway from the "
            "first evaluation to the best final mean, and how many runs did"
        )
    text = f"{'; '.join(parts)}."
    if rows[0].test is not None:
        text += f" Except for {test_tasks(rows[0].test_name)}, all returns are over the pool."
    return f"{text} Click a column header to sort."


def coverage(results: Results, chosen: Selection) -> str:
    """Which part of the runs the explorer shows, if not all."""
    if not chosen.runs:
        return ""
    shown = dict.fromkeys(run.label for run in chosen.runs)
    seeds = max((sum(run.label == label for run in chosen.runs) for label in shown), default=0)
    measured = [run for run in results.runs if results.evaluations.get(run)]
    said = []
    if results.other_pools:
        said.append(f"runs on the first of {len(results.pools)} pools")
        measured = [run for run in measured if results.pool_of(run) is results.pool]
    if len(shown) < len(results.labels):
        said.append(f"the first {len(shown)} of {len(results.labels)} strategies")
    if len(chosen.runs) < sum(run.label in shown for run in measured):
        said.append(f"the first {seeds} seeds of each" if seeds > 1 else "the first seed of each")
    if any(len(results.evaluations[run]) > chosen.evaluations for run in chosen.runs):
        said.append(f"{chosen.evaluations} evenly spaced evaluations of each run")
    if len(results.pool) > SNAPSHOT_TASKS:
        said.append(f"{SNAPSHOT_TASKS} of the {len(results.pool):,} tasks")
    columns = len(features_of(results.pool).names)
    if columns > MOST_FEATURES:
        said.append(f"the first {MOST_FEATURES} of {columns} columns of the tasks")
    return f"To keep this file small, it shows {', '.join(said)}." if said else ""


def reproduce(results: Results, files: Sequence[str]) -> str:
    """The commands, versions and other facts of the results."""
    commands = [str(c) for c in results.facts.get("commands") or ()]
    if not commands and results.facts.get("command"):
        commands = [str(results.facts["command"])]
    own_program = "algorithm" in (results.facts.get("student") or {})
    if not commands and not own_program and results.env in environment_names():
        commands = [_derived_command(results)]
    blocks = "".join(
        f'<div class="command"><pre>{escape(command)}</pre></div>'
        for command in dict.fromkeys(commands)
    )
    if own_program:
        blocks += f'<p class="caption">{OWN_PROGRAM if commands else OWN_SESSION}</p>'
    listed = {"strategies": ", ".join(results.labels)}
    for name in ("machine", "versions"):
        if results.facts.get(name):
            listed[name] = _flat(results.facts[name])
    for label, settings in (results.facts.get("settings") or {}).items():
        listed[f"settings of {label}"] = _flat(settings)
    for name, value in results.facts.items():
        if name not in SHOWN_APART and value not in (None, "", ()):
            listed[WORDS.get(name, name.replace("_", " "))] = _flat(value)
    listed.setdefault(WORDS["pool_hash"], results.pool.fingerprint)
    text = f'{blocks}<dl class="list">{"".join(_term(k, v) for k, v in listed.items())}</dl>'
    if files:
        links = ", ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in files)
        text += f'<p class="caption">Next to this file: {links}.</p>'
    return text


def _derived_command(results: Results) -> str:
    """A command that reproduces these runs, if the original one is unknown."""
    seeds = max((run.seed for run in results.runs), default=0) + 1
    words = ["procurl", "compare", results.env, "--strategies", *results.labels]
    words += ["--seeds", str(seeds), "--steps", str(results.steps)]
    words += ["--n-envs", str(results.n_envs), "--engine", results.engine]
    words += ["--pools", str(len(results.pools))] if results.other_pools else []
    return shlex.join(words)


def _machine(machine: Any) -> str:
    if not isinstance(machine, Mapping):
        return "" if machine is None else str(machine)
    cores = f", {machine['cores']} cores" if "cores" in machine else ""
    gpu = f", {machine['gpu']}" if "gpu" in machine else ""
    return f"{machine.get('processor', '')}{cores}{gpu}".strip(", ")


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_flat(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_flat(inner) for inner in value)
    return str(value)


def _term(name: str, value: str) -> str:
    return f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"


def _strong(text: str) -> str:
    return f"<strong>{escape(text)}</strong>"


def _names(rows: Sequence[Standing]) -> str:
    """The names of contenders: a, b and c."""
    names = [_strong(row.label) for row in rows]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def _rank_key(mean: float) -> float:
    return float("-inf") if mean != mean else mean
