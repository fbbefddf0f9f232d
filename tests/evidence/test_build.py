"""Evidence holds what a strategy uses, and nothing else."""

import numpy as np

from procurl.evidence import RolloutMeans, build_evidence, no_episodes

VALUES = np.array([0.1, 0.2])
ROLLOUTS = RolloutMeans(np.array([0.3, 0.4]), np.array([0.5, 0.6]), np.array([2, 0]))


def fields_of(evidence):
    return {name for name, field in evidence._asdict().items() if field is not None}


def test_only_what_is_used_is_kept():
    parts = {"values": VALUES, "episodes": no_episodes(2, 1), "rollouts": ROLLOUTS, "noise": VALUES}
    assert fields_of(build_evidence((), 64, **parts)) == {"step"}
    uses = ("score", "played", "rollout_top")
    evidence = build_evidence(uses, 64, **parts)
    assert fields_of(evidence) == {"step", *uses}
    assert evidence.step == 64
    assert evidence.rollout_top is ROLLOUTS.rollout_top
    every = ("values", "rollout_success", "wins", "losses", "score", "played", "noise", "rollouts")
    assert fields_of(build_evidence(every, 64, **parts)) == {"step", *every}


def test_what_was_not_measured_stays_none():
    assert fields_of(build_evidence(("values", "wins", "rollout_success"), 64)) == {"step"}
