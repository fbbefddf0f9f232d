"""What tables and figures need of an experiment: evaluations, trends and provenance."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from procurl.experiments.analysis.curves import Curve, by_label, learning_curves
from procurl.experiments.analysis.trends import Trend, trends
from procurl.records.results import Results

TREND_SEEDS = 10  # runs of each contender whose picked tasks are kept
# None for the paper's.
EVALUATION = ("eval_every", "eval_episodes", "eval_tasks", "eval_stochastic")
# Facts that are meaningful on another machine, unlike file names.
FACTS = (
    "command",
    "machine",
    "versions",
    "device",
    "width",
    "student",
    "test_hash",
    "test_name",
    *EVALUATION,
)


class Part(NamedTuple):
    """Contenders that were trained together, with the facts of their training."""

    labels: tuple[str, ...]
    facts: Mapping[str, Any]  # keys from FACTS


@dataclass(frozen=True)
class CompactRecords:
    """The part of an experiment that tables and figures need.

    Args:
        results: all runs, without picks and snapshots.
        trends: of the tasks that the first runs of each contender played.
        parts: how the runs were trained; every contender is in one part.
    """

    results: Results
    trends: Sequence[Trend]
    parts: Sequence[Part]

    @cached_property
    def curves(self) -> Mapping[str, Curve]:
        """The learning curves by contender."""
        return by_label(learning_curves(self.results))

    def trends_of(self, labels: Iterable[str]) -> list[Trend]:
        """The trends of these contenders."""
        wanted = set(labels)
        return [trend for trend in self.trends if trend.label in wanted]

    def facts_of(self, label: str) -> Mapping[str, Any]:
        """The facts of a contender's training."""
        return next((part.facts for part in self.parts if label in part.labels), {})

    def finished_seeds(self, label: str) -> set[int]:
        """The seeds of a contender whose runs reached the last step."""
        results = self.results
        return {
            run.seed
            for run in results.runs
            if run.label == label
            and any(at.step >= results.steps for at in results.evaluations.get(run, ()))
        }

    def only(self, labels: Iterable[str]) -> "CompactRecords":
        """The records of these contenders only, in that order; those without runs are skipped."""
        known = set(self.results.labels)
        place = {label: i for i, label in enumerate(dict.fromkeys(labels)) if label in known}
        runs = [run for run in self.results.runs if run.label in place]
        runs.sort(key=lambda run: place[run.label])
        kept = sorted(self.trends_of(place), key=lambda trend: place[trend.label])
        parts = [
            Part(tuple(label for label in place if label in part.labels), part.facts)
            for part in self.parts
        ]
        parts = [part for part in parts if part.labels]
        evaluations = {run: self.results.evaluations.get(run, ()) for run in runs}
        results = replace(
            self.results,
            runs=runs,
            evaluations=evaluations,
            stopped={run: at for run, at in self.results.stopped.items() if run in evaluations},
            facts=shared_facts(parts),
            detail=evaluations.__getitem__,
        )
        return CompactRecords(results, kept, parts)


def compact(results: Results, trend_seeds: int = TREND_SEEDS) -> CompactRecords:
    """Compact records of results that one program trained.

    Args:
        results: with picks.
        trend_seeds: number of runs per contender whose picked tasks are kept.
    """
    known = {name: results.facts[name] for name in FACTS if name in results.facts}
    facts = json.loads(json.dumps(known, default=str))
    return CompactRecords(
        results, trends(results, seeds=trend_seeds), [Part(results.labels, facts)]
    )


def shared_facts(parts: Sequence[Part]) -> Mapping[str, Any]:
    """The facts that all parts share and, with several parts, all their commands."""
    if not parts:
        return {}
    first, *others = (part.facts for part in parts)
    if not others:
        return first
    shared = {
        name: value
        for name, value in first.items()
        if all(name in facts and facts[name] == value for facts in others)
    }
    commands = dict.fromkeys(part.facts.get("command") for part in parts)
    return {**shared, "commands": tuple(filter(None, commands))}
