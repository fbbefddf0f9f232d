"""Train simulated learners under a strategy and count the episodes that it takes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from procurl.curriculum import Curriculum
from procurl.evidence import (
    EpisodeTotals,
    RolloutMeans,
    TrainingSteps,
    add_counts,
    add_scores,
    build_evidence,
    no_episodes,
    note_best,
    without_counts,
)
from procurl.internals.arrays import Floats, Ids
from procurl.internals.checks import require_integer, require_number
from procurl.strategies.registry import strategy_name
from procurl.strategies.strategy import Strategy
from procurl.tasks.pool import TaskPool
from procurl.theory.learners import Learner


class Simulation(NamedTuple):
    """The result of `simulate`: one learner per seed, all trained under the same strategy."""

    performance: Floats  # [seeds, episodes + 1] mean p over the pool, before and after each episode
    best: Floats  # [seeds] mean p*, the performance that training can approach
    success: Floats  # [seeds, n] p at the end
    played: NDArray[np.int64]  # [seeds, n] episodes per task


def simulate(
    learner: Learner,
    strategy: Strategy,
    p: ArrayLike,
    p_star: ArrayLike = 1.0,
    *,
    seeds: Sequence[int],
    episodes: int,
    refresh: int = 5,
) -> Simulation:
    """Train one learner per seed, each under a curriculum of its own, and record the performance.

    The teacher sees the true p of every task (as the critic's values and as rollouts), the outcomes
    of the episodes and, as PLR's score, that of a step of advantage outcome − p. A training step
    is one episode. The seeds advance side by side, so that one array operation serves them all.

    >>> from procurl import make_strategy
    >>> from procurl.theory import AbstractLearner, simulate
    >>> learner = AbstractLearner(alpha=0.5, beta=0.0)
    >>> trained = simulate(learner, make_strategy("iid"), [0.5, 0.5], seeds=[0, 1], episodes=100)
    >>> trained.performance[:, [0, -1]].round(3).tolist()
    [[0.5, 1.0], [0.5, 1.0]]

    Args:
        learner: how knowledge changes with an episode.
        strategy: from `make_strategy`, or your own.
        p: [n] or [seeds, n] success before training.
        p_star: a number, [n] or [seeds, n]: the success that each task can reach.
        seeds: of the curriculum and of the outcomes; with the same seed, the k-th episode draws the
            same random number under every strategy.
        episodes: how long to train.
        refresh: episodes between refreshes of the teacher.
    """
    learner.check()
    if not hasattr(seeds, "__len__"):
        raise TypeError(f"seeds must be one integer per learner, such as range(3), got {seeds!r}")
    require_integer("the number of seeds", len(seeds), at_least=1)
    require_integer("episodes", episodes, at_least=1)
    require_integer("refresh", refresh, at_least=1)
    p, p_star = _per_seed(p, p_star, len(seeds))
    pool = TaskPool.from_seeds(p.shape[1])
    curricula = [Curriculum(strategy, pool, seed=seed) for seed in seeds]
    uniform = np.stack([np.random.default_rng([seed, 1]).random(episodes) for seed in seeds])
    students = _Students(learner, p, p_star)
    performance = [students.success.mean(axis=1)]
    taught = curricula[0].strategy
    if curricula[0].learning_mask() is not None:
        raise ValueError(
            f"{strategy_name(taught)} excludes tasks from learning (robust=True), but simulated "
            "learners learn from every episode: use robust=False"
        )
    totals = [no_episodes(p.shape[1], 1, uses=taught.uses)] * len(seeds)
    for start in range(0, episodes, refresh):
        for run, curriculum in enumerate(curricula):
            _observe(curriculum, start, students.success[run].copy(), totals[run])
        count = min(refresh, episodes - start)
        chosen = np.stack([curriculum.next(count) for curriculum in curricula], axis=1)
        outcomes, before = np.zeros(chosen.shape, dtype=bool), np.zeros(chosen.shape)
        for i, tasks in enumerate(chosen):
            before[i], outcomes[i] = students.play(tasks, uniform[:, start + i])
            performance.append(students.success.mean(axis=1))
        for run, total in enumerate(totals):
            totals[run] = _add_episodes(
                without_counts(total), taught, chosen[:, run], outcomes[:, run], before[:, run]
            )
    best = p_star.mean(axis=1)
    return Simulation(np.stack(performance, axis=1), best, students.success, students.played)


class _Students:
    """One learner per seed, side by side.

    Args:
        learner: how knowledge changes with an episode.
        p: [seeds, n] success before training.
        p_star: [seeds, n] the success that each task can reach.
    """

    def __init__(self, learner: Learner, p: Floats, p_star: Floats) -> None:
        self.learner = learner
        self.p_star = p_star
        self.knowledge = learner.knowledge(p, p_star)
        self.success = learner.success(self.knowledge, p_star)
        self.played: Ids = np.zeros(p.shape, dtype=np.int64)

    def play(self, tasks: Ids, uniform: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Play one episode per seed; returns (success of the task before, whether it was won).

        Args:
            tasks: [seeds].
            uniform: [seeds] random numbers that decide the outcomes.
        """
        which = (np.arange(len(tasks)), tasks)
        before, p_star = self.success[which], self.p_star[which]
        after, won = self.learner.play(self.knowledge[which], p_star, uniform)
        self.played[which] += 1
        self.knowledge[which] = after
        self.success[which] = self.learner.success(after, p_star)
        return before, won


def episodes_to_reach(simulation: Simulation, epsilon: float) -> Floats:
    """[seeds] episodes until mean p* − mean p ≤ `epsilon`, infinity if that never happened."""
    require_number("epsilon", epsilon, above=0.0)
    near = simulation.best[:, None] - simulation.performance <= epsilon
    return np.where(near.any(axis=1), near.argmax(axis=1), np.inf)


def _observe(curriculum: Curriculum, step: int, success: Floats, totals: EpisodeTotals) -> None:
    """Show the teacher the true success [n] of every task, and the episodes since the last time."""
    # Rewards are 0 and 1, which strategies assume if there is no scale.
    evidence = build_evidence(
        set(curriculum.strategy.uses) - {"scale"},
        step,
        values=success,
        episodes=totals,
        rollouts=RolloutMeans(success, success, np.ones_like(success)),
    )
    curriculum.observe(evidence)


def _add_episodes(
    totals: EpisodeTotals, strategy: Strategy, tasks: Ids, won: NDArray[np.bool_], p: Floats
) -> EpisodeTotals:
    """Add k episodes of one learner, as far as its strategy uses them.

    Args:
        totals: so far.
        strategy: of the learner's curriculum.
        tasks: [k] of the episodes, in order.
        won: [k] their outcomes.
        p: [k] the success of the task when it was played.
    """
    if {"wins", "losses", "played"} & set(strategy.uses):
        totals = add_counts(totals, tasks, (1.0 * won, 1.0 * ~won))
    totals = note_best(totals, tasks, 1.0 * won)
    if "score" in strategy.uses:
        every = np.ones((len(tasks), 1), dtype=bool)
        scores = strategy.transition_score(won - p, p)[:, None]
        totals = add_scores(totals, TrainingSteps(every, tasks[:, None], scores))
    return totals


def _per_seed(p: ArrayLike, p_star: ArrayLike, seeds: int) -> tuple[Floats, Floats]:
    """(p, p*) as arrays `[seeds, n]`."""
    given = np.atleast_1d(np.asarray(p, dtype=float))
    if given.size == 0:
        raise ValueError("p is empty: there must be at least one task")
    try:
        rows = np.broadcast_to(given, (seeds, given.shape[-1]))
        return rows, np.broadcast_to(np.asarray(p_star, dtype=float), rows.shape)
    except ValueError as error:
        raise ValueError(
            f"p and p_star must hold one number per task, or one row of them for each of {seeds} "
            f"seeds, got shapes {given.shape} and {np.shape(p_star)}"
        ) from error
