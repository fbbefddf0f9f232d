"""Success by everything that is known of a task."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from procurl.evidence import Evidence, Scale
from procurl.internals.arrays import Array, by_blocks, namespace, pool_array, select
from procurl.internals.checks import (
    require_bounds,
    require_choice,
    require_interval,
    require_number,
    require_slice,
)
from procurl.internals.settings import ADDED, AUTO, convert_setting
from procurl.success.bounds import Bound, are_given, complete_bounds
from procurl.success.calibration import calibrate_unless, calibrated_values
from procurl.success.counts import (
    DECAY,
    Fading,
    OutcomeCounts,
    add_outcomes,
    fading,
    fast_fading,
    no_counts,
)
from procurl.success.drift import EDGE, Drift, next_drift, no_drift, shifted
from procurl.success.estimate import MEASURES, RolloutPlan, Success
from procurl.success.groups import GroupVariance, add_groups, episodes_worth, no_groups
from procurl.success.normalize import keep_finite
from procurl.success.played import Played, played_tasks
from procurl.success.rollout_outcomes import with_rollouts
from procurl.tasks.cells import Cells, cell_rates, nested_cells
from procurl.tasks.pool import TaskPool

PRIOR_ADVANTAGE = 4.0  # of rates that were measured before training: a trust of 0.98 at first
ROLLOUT_TASKS = 100  # with a budget, tasks that get a rollout at each refresh that can afford it


class JointState(NamedTuple):
    """State of `JointSuccess`."""

    counts: OutcomeCounts
    recent: OutcomeCounts  # that fade faster, to calibrate the critic
    drift: Drift
    started: Array  # []  bool, whether there was evidence
    critic: Array  # [n] the critic's latest estimate; NaN: it has none of this task
    judged: Array  # []  bool, whether there was one
    around: Array  # [n] the rate of the near tasks
    advantage: Array  # []  log-likelihood of recent outcomes by `critic`, less that by `around`
    estimate: Array  # [n]
    spread: Array  # [n] variance of an episode's outcome, as a share of p · (1 − p)
    groups: GroupVariance | None  # None: `prior_weight` is given


@dataclass(frozen=True)
class JointSuccess(Success):
    """Training episodes on the task and near it, and the critic as far as it deserves trust.

    With S and F the faded wins and losses of a task and q what is known without them,

        p = (S + a·q) / (S + F + a),    q = t·V + (1 − t)·r.

    r is the rate of wins around the task, in a neighborhood as small as the data allow
    (`cell_rates`). V is the critic's estimate, calibrated unless rewards are 0 and 1. Its trust t
    is the probability that V rather than r made the recent outcomes, if both were equally likely
    at first. Without contexts r is the rate of the pool, and without a critic t is 0.

    As in `OutcomeSuccess`, p is shifted by what the latest episodes on any task show. Nothing
    fades while nothing is won, because the agent does not improve.

    An episode counts by its return, on the range of what was seen or on the bounds.

    With `prior_weight="auto"`, a is found from tasks that are played in groups (`episodes_worth`):
    the less the episodes of a group differ, the less do those on other tasks say about them. Many
    episodes on one task then say little about those near it, and count there as
    (1 + a) · N / (N + a) from one episode on, so at most as 1 + a.

    With a `budget` x, the teacher plays rollouts while training and teacher together have taken at
    most x times the training steps. They are single episodes on up to 100 tasks, drawn with weights
    1 / (S + F + a), so that tasks with the least data come first, and count like training episodes.
    """

    prior_weight: float | str = 1.0  # a, in episodes; `auto`: found from groups
    decay: float = DECAY  # of wins and losses, per pass over the pool
    measure: str = "return"  # of an episode: `return`, `success`, or `auto` for success if reported
    v_min: Bound = AUTO
    v_max: Bound = AUTO
    refresh_every: int | None = None
    # That the critic values at a refresh, in rotation; None: all, or 100,000 of more.
    tasks_per_refresh: int | None = field(default=None, metadata=ADDED)
    budget: float | None = None  # x, above 1; None: no rollouts
    # Not a setting: `bind` computes it from the pool. None: there are no contexts.
    cells: Cells | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        complete_bounds(self)
        convert_setting(self, "prior_weight", str, lambda text: AUTO if text == AUTO else text)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("wins", "losses")

    @property
    def uses(self) -> tuple[str, ...]:
        free = (*self.needs, "values", "partial", "scale")
        return free if self.budget is None else (*free, "rollout_success", "rollouts")

    def init(self, n: int) -> JointState:
        return JointState(
            no_counts(n, partial=True),
            no_counts(n),
            no_drift(),
            started=np.zeros((), dtype=bool),
            critic=pool_array(n, np.nan),
            judged=np.zeros((), dtype=bool),
            around=pool_array(n, 0.5),
            advantage=np.zeros(()),
            estimate=pool_array(n),
            spread=pool_array(n, 1.0),
            groups=no_groups() if self._finds_weight else None,
        )

    def update(self, state: JointState, evidence: Evidence) -> JointState:
        if self.budget is not None:
            evidence = with_rollouts(evidence, self.outcomes)
        xp = namespace(state.around, evidence.wins)
        played = played_tasks(evidence, state.around)
        counts, recent, fast = self._count(state, played, evidence.scale)
        advantage = state.advantage * fast + self._gain(state, played)
        drift = next_drift(state.drift, state.started, state.estimate, played)
        groups = self._groups(state, played)
        dtype = state.estimate.dtype
        a = self._weight(groups, dtype)

        around = self._around(counts, a)
        critic = self._critic(state, recent, evidence)
        judged = state.judged if evidence.values is None else xp.asarray(True)
        trust = xp.where(judged, _sigmoid(advantage), 0.0).astype(dtype)
        share = self._partial_share(counts)

        def estimate(
            wins: Array, losses: Array, partial: Array, critic: Array, around: Array
        ) -> tuple[Array, Array]:
            played = wins + losses
            p = (wins + a * _mixed(judged, trust, critic, around)) / (played + a)
            spread = xp.ones_like(p) if share is None else _spread(p, played, partial, share, a)
            return shifted(p, drift).astype(dtype, copy=False), spread.astype(dtype, copy=False)

        each = counts.wins, counts.losses, counts.partial, critic, around
        estimated, spread = by_blocks(estimate, *each)
        return JointState(
            counts,
            recent,
            drift,
            xp.asarray(True),
            critic.astype(dtype, copy=False),
            judged,
            around.astype(dtype, copy=False),
            advantage.astype(state.advantage.dtype),
            estimated,
            spread,
            groups,
        )

    def trust_prior(self, state: JointState) -> JointState:
        """As of `Strategy.trust_prior`; tasks without a rate have that of the near tasks."""
        if state.judged:  # outcomes have shown how far to trust rates
            return state
        return state._replace(advantage=np.asarray(PRIOR_ADVANTAGE))

    def estimate(self, state: JointState) -> Array:
        return state.estimate

    def spread(self, state: JointState) -> Array:
        """[n] the variance of an episode's outcome, as a share of p · (1 − p)."""
        return state.spread

    def known(self, state: JointState) -> Array:
        """[n] S + F + a: the episodes that the estimate of each task rests on, its prior's too."""
        a = self._weight(state.groups, state.estimate.dtype)
        return by_blocks(lambda won, lost: won + lost + a, state.counts.wins, state.counts.losses)

    def check(self) -> None:
        if isinstance(self.prior_weight, str):
            require_choice("prior_weight", self.prior_weight, ("auto", "a number above 0"))
        else:
            require_number("prior_weight", self.prior_weight, above=0.0)
        require_number("decay", self.decay, above=0.0, at_most=1.0)
        require_choice("measure", self.measure, MEASURES)
        require_bounds(self.v_min, self.v_max)
        require_interval(self.refresh_every)
        require_slice(self.tasks_per_refresh)
        if self.budget is not None:
            require_number("budget", self.budget, above=1.0)

    def bind(self, pool: TaskPool) -> Self:
        """The same estimate with the cells of the pool's contexts."""
        cells = None if pool.contexts is None else nested_cells(pool.contexts)
        return replace(self, cells=cells)

    def rollout_plan(self) -> RolloutPlan | None:
        if self.budget is None:
            return None
        measure = self.outcome_measure
        return RolloutPlan(1, measure, budget=self.budget, tasks=ROLLOUT_TASKS, optional=True)

    def rollout_weights(self, state: JointState) -> Array | None:
        """[n] 1 / (S + F + a); None without a budget."""
        if self.budget is None:
            return None
        return 1.0 / self.known(state)

    def _count(
        self, state: JointState, played: Played, scale: Scale | None
    ) -> tuple[OutcomeCounts, OutcomeCounts, Array]:
        """(counts, recent counts, [] how fast these fade) after the episodes of `played`."""
        xp = namespace(state.around, played.wins)
        scale = None if are_given(self) else scale
        won = xp.any(played.wins > 0.0)
        faded, fast = fading(state.around.shape[0], played, self.decay), fast_fading(played)
        faded = Fading(*(xp.where(won, factor, 1.0) for factor in faded))
        counts = add_outcomes(state.counts, played, faded, scale)
        return counts, add_outcomes(state.recent, played, fast, scale), fast.of_all

    @property
    def _finds_weight(self) -> bool:
        return isinstance(self.prior_weight, str) and self.prior_weight == AUTO

    def _weight(self, groups: GroupVariance | None, dtype: Any) -> Array:
        """[] a, in the precision of the pool: a large one is not to be computed in double."""
        weight = self.prior_weight if groups is None else episodes_worth(groups)
        return namespace(weight).asarray(weight, dtype=dtype)

    def _groups(self, state: JointState, played: Played) -> GroupVariance | None:
        """What groups have shown after `played`; nothing before there was a rate to expect."""
        if state.groups is None:
            return None
        at, won, lost = played.tasks, state.counts.wins, state.counts.losses
        trust = namespace(played.wins).where(state.judged, _sigmoid(state.advantage), 0.0)
        mixed = _mixed(state.judged, trust, state.critic[at], state.around[at])
        expected = shifted(mixed, state.drift)
        after = add_groups(state.groups, expected, won[at] + lost[at], played)
        chosen: GroupVariance = select(state.started, after, state.groups)
        return chosen

    def _around(self, counts: OutcomeCounts, a: Array) -> Array:
        """[n] the rate of wins near each task."""
        wins, played, weight = counts.wins, counts.wins + counts.losses, a
        if self._finds_weight:
            wins, played = by_blocks(lambda won, total: _shared(won, total, a), wins, played)
            weight = 1.0
        if self.cells is not None:
            return cell_rates(self.cells, wins, played, weight)
        xp = namespace(wins)
        rate = (xp.sum(wins) + 0.5 * weight) / (xp.sum(played) + weight)
        return xp.broadcast_to(rate, played.shape)

    def _critic(self, state: JointState, recent: OutcomeCounts, evidence: Evidence) -> Array:
        """[n] what the critic says, in [0, 1]; what it said last if it says nothing."""
        values = evidence.values
        if values is None:
            return state.critic
        xp = namespace(values, recent.wins)
        with np.errstate(invalid="ignore", over="ignore"):
            if evidence.scale is None and are_given(self):
                new = calibrate_unless(self.v_min == 0.0 and self.v_max == 1.0, values, recent)
            else:
                new = calibrated_values(evidence, recent)
            return by_blocks(
                lambda new, old: xp.clip(keep_finite(new, old), 0.0, 1.0), new, state.critic
            )

    def _gain(self, state: JointState, played: Played) -> Array:
        """[] log-likelihood of the latest outcomes by the critic, less that by the near tasks."""
        xp = namespace(state.around, played.wins)
        if xp is np and not state.judged:
            return np.zeros(())
        around = state.around[played.tasks]
        critic = xp.clip(_spoken(state.critic[played.tasks], around), EDGE, 1.0 - EDGE)
        around = xp.clip(around, EDGE, 1.0 - EDGE)
        by_wins = played.wins * xp.log(critic / around)
        gain = by_wins + played.losses * xp.log((1.0 - critic) / (1.0 - around))
        return xp.where(state.judged, xp.sum(gain), 0.0)

    def _partial_share(self, counts: OutcomeCounts) -> Array | None:
        """[] Σ w(1 − w) over the pool, as a share of N · p(1 − p); None if there is none."""
        partial: Array = counts.partial
        xp = namespace(counts.wins, partial)
        if xp is np and not partial.any():  # every outcome was 0 or 1
            return None
        wins, losses = xp.sum(counts.wins), xp.sum(counts.losses)
        whole = wins * (losses / xp.where(wins + losses > 0.0, wins + losses, 1.0))
        return _share(xp.sum(partial), whole)


def _share(part: Array, whole: Array) -> Array:
    """part / whole, at most 1; 0 of nothing."""
    xp = namespace(part, whole)
    return xp.minimum(part, whole) / xp.where(whole > 0.0, whole, 1.0)


def _mixed(judged: Array, trust: Array, critic: Array, around: Array) -> Array:
    """[m] q = t·V + (1 − t)·r."""
    if namespace(around, trust) is np and not judged:
        return around
    return trust * _spoken(critic, around) + (1.0 - trust) * around


def _spoken(critic: Array, around: Array) -> Array:
    """[m] V, and r where the critic has no estimate."""
    xp = namespace(critic, around)
    missing = xp.isnan(critic)
    if xp is np and not missing.any():  # faster on a large pool
        return critic
    return xp.where(missing, around, critic)


def _spread(p: Array, played: Array, partial: Array, share: Array, a: Array) -> Array:
    """[m] 1 − Σ w(1 − w) / (N · p(1 − p)), with the pool's `share` as a prior of weight a."""
    at_most = p * (1.0 - p)
    partial = (partial + a * share * at_most) / (played + a)
    return 1.0 - _share(partial, at_most)


def _shared(wins: Array, played: Array, a: Array) -> tuple[Array, Array]:
    """[m] (wins, episodes) on a task as they count near it: at most 1 + a episodes."""
    weight = (1.0 + a) / (namespace(played).maximum(played, 1.0) + a)
    return (wins * weight).astype(wins.dtype), (played * weight).astype(wins.dtype)


def _sigmoid(x: Array) -> Array:
    xp = namespace(x)
    return 1.0 / (1.0 + xp.exp(-xp.clip(x, -80.0, 80.0)))  # without overflow
