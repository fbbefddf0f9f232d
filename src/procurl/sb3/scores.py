"""PLR's scores of training episodes, from the advantages in a rollout buffer."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Ended(NamedTuple):
    """An episode that ended within a rollout."""

    step: int  # of the rollout, from 0
    env: int
    task: int


class EpisodeScores:
    """The mean score over the transitions of each task's latest episode.

    Sums are carried from one rollout to the next and committed when the episode ends.

    Args:
        n: tasks in the pool.
        n_envs: b, number of training environments.
    """

    def __init__(self, n: int, n_envs: int) -> None:
        self.n_envs = n_envs
        self.score: NDArray[np.float64] = np.zeros(n)
        self.played: NDArray[np.float64] = np.zeros(n)  # episodes since `forget_played`
        self.open_score: NDArray[np.float64] = np.zeros(n_envs)
        self.open_length: NDArray[np.float64] = np.zeros(n_envs)

    def add(self, scores: NDArray[Any], ended: list[Ended]) -> None:
        """Add a rollout.

        Args:
            scores: [T, b] scores of its transitions.
            ended: the episodes that ended in it, earliest first.
        """
        begun = np.zeros(scores.shape[1], dtype=np.int64)  # first step of the current episode
        for step, env, task in ended:
            own = scores[begun[env] : step + 1, env]
            total = self.open_score[env] + own.sum(dtype=np.float64)
            self.score[task] = total / (self.open_length[env] + len(own))
            self.played[task] += 1
            self.open_score[env] = self.open_length[env] = 0.0
            begun[env] = step + 1
        for env, start in enumerate(begun):
            self.open_score[env] += scores[start:, env].sum(dtype=np.float64)
            self.open_length[env] += len(scores) - start

    def forget_played(self) -> None:
        """Reset the counts after a refresh."""
        self.played = np.zeros_like(self.played)

    def forget_open(self) -> None:
        """Drop the unfinished episodes."""
        self.open_score = np.zeros(self.n_envs)
        self.open_length = np.zeros(self.n_envs)
