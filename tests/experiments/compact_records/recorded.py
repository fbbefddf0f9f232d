"""Compact records for tests, of synthetic results."""

import dataclasses

from procurl.experiments.compact_records.record import compact
from tests.experiments.synthetic import synthetic_results

STEPS = 100_000
HERE = {"command": "here", "machine": {"processor": "a CPU"}, "device": "cpu", "width": 8}
THERE = {"command": "there", "machine": {"processor": "a CPU"}, "device": "gpu", "width": 100}


def recorded(*labels, seeds=2, facts=HERE, **changed):
    results = synthetic_results(labels, seeds, steps=STEPS)
    return compact(dataclasses.replace(results, facts=facts, **changed))


def unfinished(found, label, seed):
    """The same with a run that ended before its last step."""
    results = found.results
    cut = {
        run: measured[:-1] if (run.label, run.seed) == (label, seed) else measured
        for run, measured in results.evaluations.items()
    }
    return dataclasses.replace(found, results=dataclasses.replace(results, evaluations=cut))
