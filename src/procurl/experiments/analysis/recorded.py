"""What tables and figures need of an experiment: runs, what they played, where they were trained.

Records of one experiment can be joined, whatever programs and machines trained them. Each contender
keeps the facts of its own training.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from procurl.experiments.analysis.curves import Curve, by_label, curves
from procurl.experiments.analysis.trends import Trend, trends
from procurl.experiments.presets import PRESETS
from procurl.records.results import Results

FOLLOWED = 10  # runs of each contender whose picked tasks are kept
EVALUATION = ("eval_every", "eval_episodes")  # None for the paper's
# Facts that mean something on another machine, unlike the names of files.
FACTS = ("command", "machine", "versions", "device", "width", "student", "test_hash", *EVALUATION)


class Part(NamedTuple):
    """Contenders that were trained together."""

    labels: tuple[str, ...]
    facts: Mapping[str, Any]  # those of FACTS that are known


@dataclass(frozen=True)
class Recorded:
    """What tables and figures need of an experiment.

    Args:
        results: all runs, without picks and snapshots.
        trends: what the first runs of each contender played.
        parts: where the runs came from; every contender is in one of them.
    """

    results: Results
    trends: Sequence[Trend]
    parts: Sequence[Part]

    @cached_property
    def curves(self) -> Mapping[str, Curve]:
        """The learning curves by contender."""
        return by_label(curves(self.results))

    def followed(self, labels: Iterable[str]) -> list[Trend]:
        """The trends of these contenders."""
        wanted = set(labels)
        return [trend for trend in self.trends if trend.label in wanted]

    def facts_of(self, label: str) -> Mapping[str, Any]:
        """Where the runs of a contender came from."""
        return next((part.facts for part in self.parts if label in part.labels), {})

    def finished(self, label: str) -> set[int]:
        """The seeds of a contender whose runs were evaluated at the last step."""
        results = self.results
        return {
            run.seed
            for run in results.runs
            if run.label == label
            and any(at.train_steps >= results.steps for at in results.evaluations.get(run, ()))
        }

    def only(self, labels: Iterable[str]) -> "Recorded":
        """The same of these contenders alone, in that order; those without runs are passed over."""
        known = set(self.results.labels)
        place = {label: i for i, label in enumerate(dict.fromkeys(labels)) if label in known}
        runs = [run for run in self.results.runs if run.label in place]
        runs.sort(key=lambda run: place[run.label])
        found = sorted(self.followed(place), key=lambda trend: place[trend.label])
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
        return Recorded(results, found, parts)


def recorded_of(results: Results, followed: int = FOLLOWED) -> Recorded:
    """What is to be recorded of results, all trained by one program.

    Args:
        results: with all their details.
        followed: runs of each contender whose picked tasks are kept.
    """
    known = {name: results.facts[name] for name in FACTS if name in results.facts}
    facts = json.loads(json.dumps(known, default=str))
    return Recorded(results, trends(results, seeds=followed), [Part(results.labels, facts)])


def join_records(found: Sequence[Recorded]) -> Recorded:
    """The records of one experiment that several programs have trained, as one.

    Of a contender that several hold, the records with the most finished runs are taken, of equal
    ones the last. ValueError where they are not of one experiment.
    """
    if not found:
        raise ValueError("there are no records to join")
    _require_one_experiment(found)
    owner: dict[str, int] = {}
    for i, recorded in enumerate(found):
        for label in recorded.results.labels:
            before = found[owner[label]].finished(label) if label in owner else set()
            if len(recorded.finished(label)) >= len(before):
                owner[label] = i
    kept = [
        recorded.only(label for label, i in owner.items() if i == mine)
        for mine, recorded in enumerate(found)
    ]
    results = replace(
        found[0].results,
        runs=[run for recorded in kept for run in recorded.results.runs],
        evaluations={
            run: at for recorded in kept for run, at in recorded.results.evaluations.items()
        },
        stopped={run: at for recorded in kept for run, at in recorded.results.stopped.items()},
    )
    played = [trend for recorded in kept for trend in recorded.trends]
    parts = _with_equal_facts(part for recorded in kept for part in recorded.parts)
    return Recorded(results, played, parts).only(owner)


def experiment(
    env: str, engine: str, steps: int, n_envs: int, pool_hash: str, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """What all runs that are recorded together have in common, by name; only what is known.

    Args:
        env: name of the environment.
        engine: `jax`, `host` or `sb3`.
        steps: training steps per run.
        n_envs: environments per run.
        pool_hash: of the training pool.
        facts: as a part has them.
    """
    told: dict[str, Any] = {
        "env": env,
        "engine": engine,
        "steps": steps,
        "n_envs": n_envs,
        "pool_hash": pool_hash,
    }
    if "test_hash" in facts:
        told["test_hash"] = facts["test_hash"]
    told |= {f"PPO's {name}": value for name, value in (facts.get("student") or {}).items()}
    for name in EVALUATION:
        if name in facts:
            paper = getattr(PRESETS.get(env), name, None)
            told[name] = paper if facts[name] is None else facts[name]
    return told


def experiment_of(recorded: Recorded) -> dict[str, Any]:
    """The same of records."""
    results = recorded.results
    facts = {name: value for part in recorded.parts for name, value in part.facts.items()}
    return experiment(
        results.env,
        results.engine,
        results.steps,
        results.n_envs,
        results.pool.fingerprint,
        facts,
    )


def differences(mine: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """What differs between two experiments, empty where nothing does that both know of."""
    return "; ".join(
        f"{name} is {value!r}, not {wanted[name]!r}"
        for name, value in mine.items()
        if name in wanted and value != wanted[name]
    )


def shared_facts(parts: Sequence[Part]) -> Mapping[str, Any]:
    """The facts that all parts agree on, and where there are several, all their commands."""
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


def _require_one_experiment(found: Iterable[Recorded]) -> None:
    known: dict[str, Any] = {}
    for recorded in found:
        told = experiment_of(recorded)
        if differ := differences(told, known):
            raise ValueError(
                f"these records are of different experiments and cannot be joined: {differ}. "
                "Keep them apart, each with another --out"
            )
        known |= told


def _with_equal_facts(parts: Iterable[Part]) -> list[Part]:
    """Parts with the same facts as one."""
    merged: list[Part] = []
    for part in parts:
        same = next((i for i, other in enumerate(merged) if other.facts == part.facts), None)
        if same is None:
            merged.append(part)
        else:
            merged[same] = merged[same]._replace(labels=merged[same].labels + part.labels)
    return merged
