"""Success by the critic's values."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, namespace, pool_array
from procurl.internals.checks import require_bounds, require_choice, require_interval, require_slice
from procurl.internals.settings import ADDED, AUTO
from procurl.success.bounds import Bound, are_found, complete_bounds
from procurl.success.calibration import calibrated_values
from procurl.success.counts import OutcomeCounts, add_outcomes, fast_fading, no_counts
from procurl.success.drift import Drift, next_drift, no_drift, shifted
from procurl.success.estimate import MEASURES, Success
from procurl.success.normalize import keep_finite, normalize
from procurl.success.played import played_tasks


class CriticState(NamedTuple):
    """State of `CriticSuccess`."""

    estimate: Array  # [n] normalized, not clipped
    outcomes: "CriticOutcomes | None"  # that the values are calibrated against; None with bounds


class CriticOutcomes(NamedTuple):
    """What training episodes say about the critic."""

    counts: OutcomeCounts  # recent wins and losses
    drift: Drift
    started: Array  # []  bool, whether there was evidence


@dataclass(frozen=True)
class CriticSuccess(Success):
    """The critic's value of every task's initial observation, as a probability (ProCuRL-val).

    With rewards of 0 and 1 the value itself is the probability of success. For all other rewards
    the values are calibrated against the outcomes of the training episodes, see `calibrate`:
    whether they were a success, if the environment reports it, or their returns (`measure`).
    With numbers as bounds the estimate is (V − v_min) / (v_max − v_min). These are bounds of
    *discounted* returns. With None for both they are the range over the pool at that moment.
    """

    measure: str = "auto"  # of an episode: `return`, `success`, or success where it is reported
    v_min: Bound = AUTO
    v_max: Bound = AUTO
    refresh_every: int | None = None
    # That the critic values at a refresh, in rotation; None: all, or 100,000 of more.
    tasks_per_refresh: int | None = field(default=None, metadata=ADDED)

    def __post_init__(self) -> None:
        complete_bounds(self)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("values",)

    @property
    def uses(self) -> tuple[str, ...]:
        return (*self.needs, "wins", "losses", "scale") if are_found(self) else self.needs

    def init(self, n: int) -> CriticState:
        if not are_found(self):
            return CriticState(pool_array(n), None)
        outcomes = CriticOutcomes(no_counts(n), no_drift(), np.zeros((), dtype=bool))
        return CriticState(pool_array(n), outcomes)

    def update(self, state: CriticState, evidence: Evidence) -> CriticState:
        outcomes = state.outcomes
        with np.errstate(invalid="ignore", over="ignore"):
            if outcomes is None:
                new = normalize(evidence.values, self.v_min, self.v_max)
            elif evidence.scale is None or evidence.wins is None or evidence.losses is None:
                new = evidence.values  # nothing is known of rewards: taken to be 0 and 1
            else:
                outcomes = _with_episodes(outcomes, state.estimate, evidence)
                new = calibrated_values(evidence, outcomes.counts)
                moved = shifted(new, outcomes.drift)
                new = namespace(new, moved).where(evidence.scale.unit, new, moved)
        return CriticState(keep_finite(new, state.estimate), outcomes)

    def estimate(self, state: CriticState) -> Array:
        return state.estimate

    def check(self) -> None:
        require_choice("measure", self.measure, MEASURES)
        require_bounds(self.v_min, self.v_max)
        require_interval(self.refresh_every)
        require_slice(self.tasks_per_refresh)


def _with_episodes(
    outcomes: CriticOutcomes, predicted: Array, evidence: Evidence
) -> CriticOutcomes:
    """What is known after the episodes of `evidence`, whose success was `predicted` [n]."""
    played = played_tasks(evidence, predicted)
    counts = add_outcomes(outcomes.counts, played, fast_fading(played), evidence.scale)
    drift = next_drift(outcomes.drift, outcomes.started, predicted, played)
    return CriticOutcomes(counts, drift, namespace(counts.wins).asarray(True))
