"""Evidence for tests: every field filled, from an explicit seed."""

from typing import Any

import numpy as np

from procurl import Evidence, Scale


def full_evidence(n: int, seed: int, step: int = 1024, **replaced: Any) -> Evidence:
    """Evidence with every field random, values distinct in float32, and `replaced` put in."""
    rng = np.random.default_rng(seed)

    def distinct() -> Any:
        return (rng.permutation(n) + rng.uniform(0.2, 0.8)) / n

    played = rng.integers(0, 3, n)
    wins = rng.binomial(played, 0.5)
    return Evidence(
        step=step,
        values=distinct(),
        rollout_success=distinct(),
        wins=wins,
        losses=played - wins,
        score=distinct(),
        played=played,
        rollout_top=distinct(),
        noise=rng.uniform(-1.0, 1.0, n),
        rollouts=rng.integers(0, 4, n),
        partial=rng.uniform(0.0, 0.2, n) * wins * (played - wins),
        best_return=n * distinct(),  # distinct if added to another field, too
        scale=Scale(np.float64(0.0), np.float64(1.0), np.bool_(True)),
    )._replace(**replaced)
