"""Joining compact records of one experiment, whatever programs and machines trained them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from procurl.experiments.compact_records.record import EVALUATION, CompactRecords, Part
from procurl.experiments.presets import PRESETS
from procurl.records.experiment import pools_hash


def join_records(sources: Sequence[CompactRecords]) -> CompactRecords:
    """Join the records of one experiment.

    If several records have the same contender, the one with the most finished runs counts, and the
    last of equals. Raises ValueError if the records are of different experiments.
    """
    if not sources:
        raise ValueError("there are no records to join")
    _require_one_experiment(sources)
    owner: dict[str, int] = {}
    for i, records in enumerate(sources):
        for label in records.results.labels:
            before = sources[owner[label]].finished_seeds(label) if label in owner else set()
            if len(records.finished_seeds(label)) >= len(before):
                owner[label] = i
    kept = [
        records.only(label for label, i in owner.items() if i == mine)
        for mine, records in enumerate(sources)
    ]
    results = replace(
        sources[0].results,
        runs=[run for records in kept for run in records.results.runs],
        evaluations={
            run: at for records in kept for run, at in records.results.evaluations.items()
        },
        stopped={run: at for records in kept for run, at in records.results.stopped.items()},
    )
    played = [trend for records in kept for trend in records.trends]
    parts = _with_equal_facts(part for records in kept for part in records.parts)
    return CompactRecords(results, played, parts).only(owner)


def shared_settings(
    env: str, engine: str, steps: int, n_envs: int, pool_hash: str, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings that all runs recorded together share, by name; unknown ones are left out.

    Args:
        env: name of the environment.
        engine: `jax`, `host` or `sb3`.
        steps: training steps per run.
        n_envs: environments per run.
        pool_hash: of the training pool.
        facts: of a part.
    """
    settings: dict[str, Any] = {
        "env": env,
        "engine": engine,
        "steps": steps,
        "n_envs": n_envs,
        "pool_hash": pool_hash,
    }
    if "test_hash" in facts:
        settings["test_hash"] = facts["test_hash"]
    settings |= {f"PPO's {name}": value for name, value in (facts.get("student") or {}).items()}
    for name in EVALUATION:
        if name in facts:
            paper = getattr(PRESETS.get(env), name, None)
            settings[name] = paper if facts[name] is None else facts[name]
    return settings


def settings_of(records: CompactRecords) -> dict[str, Any]:
    """The settings that all runs of these records share."""
    results = records.results
    facts = {name: value for part in records.parts for name, value in part.facts.items()}
    return shared_settings(
        results.env,
        results.engine,
        results.steps,
        results.n_envs,
        pools_hash(results.pools),
        facts,
    )


def setting_differences(mine: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """The settings that differ between two experiments, as text; empty if none does."""
    return "; ".join(
        f"{name} is {value!r}, not {wanted[name]!r}"
        for name, value in mine.items()
        if name in wanted and value != wanted[name]
    )


def _require_one_experiment(sources: Iterable[CompactRecords]) -> None:
    known: dict[str, Any] = {}
    for records in sources:
        settings = settings_of(records)
        if differ := setting_differences(settings, known):
            raise ValueError(
                f"these records are of different experiments and cannot be joined: {differ}. "
                "Give each its own --out"
            )
        known |= settings


def _with_equal_facts(parts: Iterable[Part]) -> list[Part]:
    """The parts, with equal facts merged."""
    merged: list[Part] = []
    for part in parts:
        same = next((i for i, other in enumerate(merged) if other.facts == part.facts), None)
        if same is None:
            merged.append(part)
        else:
            merged[same] = merged[same]._replace(labels=merged[same].labels + part.labels)
    return merged
