"""Joins the compact records of one experiment that several programs or machines have trained."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from procurl.experiments.compact_records.record import EVALUATION, CompactRecords, Part
from procurl.experiments.presets import PRESETS


def join_records(found: Sequence[CompactRecords]) -> CompactRecords:
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
    return CompactRecords(results, played, parts).only(owner)


def shared_settings(
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


def settings_of(recorded: CompactRecords) -> dict[str, Any]:
    """The same of records."""
    results = recorded.results
    facts = {name: value for part in recorded.parts for name, value in part.facts.items()}
    return shared_settings(
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


def _require_one_experiment(found: Iterable[CompactRecords]) -> None:
    known: dict[str, Any] = {}
    for recorded in found:
        told = settings_of(recorded)
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
