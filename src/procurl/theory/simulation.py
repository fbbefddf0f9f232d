"""Train simulated learners under a strategy and count the episodes that it takes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from procurl.curriculum import Curriculum
from procurl.evidence import Evidence
from procurl.internals.checks import require_number, require_whole
from procurl.strategies.strategy import Strategy
from procurl.tasks.pool import TaskPool
from procurl.theory.learners import Floats, Learner


class Training(NamedTuple):
    """What became of one learner per seed, all trained under the same strategy."""

    performance: Floats  # [seeds, episodes + 1] mean p over the pool, before and after each episode
    best: Floats  # [seeds] mean p*, the performance that training can come near to
    success: Floats  # [seeds, n] p at the end
    played: NDArray[np.int64]  # [seeds, n] episodes that each task was given


def simulate(
    learner: Learner,
    strategy: Strategy,
    p: ArrayLike,
    p_star: ArrayLike = 1.0,
    *,
    seeds: Sequence[int],
    episodes: int,
    refresh: int = 5,
) -> Training:
    """Train one learner per seed, each under a curriculum of its own, and record the performance.

    The teacher sees the true p of every task (as the critic's values and as rollouts), the outcomes
    of the episodes and, as PLR's score, |outcome − p| of a task's latest episode. A training step
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
        refresh: episodes between two looks of the teacher at the learner.
    """
    learner.check()
    if not hasattr(seeds, "__len__"):
        raise TypeError(f"seeds must be one integer per learner, such as range(3), got {seeds!r}")
    require_whole("the number of seeds", len(seeds), at_least=1)
    require_whole("episodes", episodes, at_least=1)
    require_whole("refresh", refresh, at_least=1)
    p, p_star = _per_seed(p, p_star, len(seeds))
    pool = TaskPool.from_seeds(p.shape[1])
    curricula = [Curriculum(strategy, pool, seed=seed) for seed in seeds]
    uniform = np.stack([np.random.default_rng([seed, 1]).random(episodes) for seed in seeds])
    knowledge = learner.knowledge(p, p_star)
    success = learner.success(knowledge, p_star)
    performance = np.empty((len(seeds), episodes + 1))
    performance[:, 0] = success.mean(axis=1)
    log = _EpisodeLog.empty(p.shape)
    played = np.zeros(p.shape, dtype=np.int64)
    for start in range(0, episodes, refresh):
        for run, curriculum in enumerate(curricula):
            curriculum.observe(log.evidence(run, start, success[run].copy()))
        log = _EpisodeLog.empty(p.shape)
        count = min(refresh, episodes - start)
        chosen = np.stack([curriculum.next(count) for curriculum in curricula], axis=1)
        for episode, tasks in enumerate(chosen, start):
            which = (np.arange(len(seeds)), tasks)
            after, won = learner.play(knowledge[which], p_star[which], uniform[:, episode])
            log.add(which, won, success[which])
            played[which] += 1
            knowledge[which] = after
            success[which] = learner.success(after, p_star[which])
            performance[:, episode + 1] = success.mean(axis=1)
    return Training(performance, p_star.mean(axis=1), success, played)


def steps_to_reach(training: Training, epsilon: float) -> Floats:
    """[seeds] episodes until mean p* − mean p ≤ `epsilon`, infinity where that never happened."""
    require_number("epsilon", epsilon, above=0.0)
    near = training.best[:, None] - training.performance <= epsilon
    return np.where(near.any(axis=1), near.argmax(axis=1), np.inf)


class _EpisodeLog(NamedTuple):
    """The episodes since the latest evidence, filled in place as they are played."""

    wins: Floats  # [seeds, n]
    losses: Floats  # [seeds, n]
    score: Floats  # [seeds, n] |outcome − p| of the task's latest episode, 0 where there is none

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> "_EpisodeLog":
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(shape))

    def add(self, which: tuple[NDArray, NDArray], won: NDArray[np.bool_], p: Floats) -> None:
        """Note one episode per seed, `won` or not, on a task of success `p`."""
        self.wins[which] += won
        self.losses[which] += ~won
        self.score[which] = np.abs(won - p)

    def evidence(self, run: int, step: int, success: Floats) -> Evidence:
        return Evidence(
            step=step,
            values=success,
            rollout_success=success,
            rollout_top=success,
            wins=self.wins[run],
            losses=self.losses[run],
            score=self.score[run],
            played=self.wins[run] + self.losses[run],
        )


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
