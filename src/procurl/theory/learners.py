"""The two learners of the paper's analysis, in which every task has knowledge of its own.

A learner is a frozen dataclass of settings. What it knows about a task is a row of numbers, and
playing a task changes the row of that task alone. All functions work on arrays of tasks of any
leading shape, written `[...]`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from procurl.internals.arrays import Floats
from procurl.internals.checks import require_number


class EpisodeOutcome(NamedTuple):
    """One of the ways in which an episode can go, for every task."""

    probability: Floats  # [...]
    won: bool
    knowledge: Floats  # [..., d] what the learner knows afterwards


class Learner(ABC):
    """Learns n independent tasks, one episode at a time.

    The success p of a task can rise to p* and no further. The improvement of one episode is how
    much nearer, in the l1 norm, it brings the knowledge θ to the target θ* (Eq. 2 of the paper):

        Δ = ‖θ* − θ‖₁ − ‖θ* − θ'‖₁.
    """

    @abstractmethod
    def knowledge(self, p: ArrayLike, p_star: ArrayLike) -> Floats:
        """[..., d] the knowledge of a learner that succeeds with probability `p`."""

    @abstractmethod
    def target(self, p_star: ArrayLike) -> Floats:
        """[..., d] the knowledge θ* that succeeds with probability `p_star`."""

    @abstractmethod
    def success(self, knowledge: Floats, p_star: ArrayLike) -> Floats:
        """[...] the probability of success p."""

    @abstractmethod
    def episodes(self, knowledge: Floats, p_star: ArrayLike) -> tuple[EpisodeOutcome, ...]:
        """Everything that can happen in one episode, with probabilities that sum to 1."""

    @abstractmethod
    def closed_form(self, p: ArrayLike, p_star: ArrayLike) -> Floats:
        """[...] the expected improvement of one episode, as the theorem gives it."""

    def expected_improvement(self, knowledge: Floats, p_star: ArrayLike) -> Floats:
        """[...] C = E[Δ], summed over everything that can happen (Eq. 3 of the paper).

        Nothing of the theorem is used: each episode's update is carried out and the distances to
        the target are measured before and after.
        """
        target = self.target(p_star)
        before = np.abs(target - knowledge).sum(axis=-1)
        improvement = np.zeros(np.shape(before))
        for episode in self.episodes(knowledge, p_star):
            after = np.abs(target - episode.knowledge).sum(axis=-1)
            improvement = improvement + episode.probability * (before - after)
        return improvement

    def expected_gain(self, knowledge: Floats, p_star: ArrayLike) -> Floats:
        """[...] E[½(p* − p)² − ½(p* − p')²], by how much one episode lowers the squared shortfall.

        In the limit of small updates this is the potential of `procurl` for a learner whose policy
        is logistic, see `Gain`.
        """
        before = np.square(np.asarray(p_star) - self.success(knowledge, p_star))
        gain = np.zeros(np.shape(before))
        for episode in self.episodes(knowledge, p_star):
            after = np.square(np.asarray(p_star) - self.success(episode.knowledge, p_star))
            gain = gain + episode.probability * 0.5 * (before - after)
        return gain

    def play(
        self, knowledge: Floats, p_star: ArrayLike, uniform: Floats
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """(knowledge afterwards `[..., d]`, whether it was won `[...]`) of one random episode.

        Args:
            knowledge: [..., d] of the tasks that are played.
            p_star: [...] of the same tasks.
            uniform: [...] random numbers from [0, 1), which decide how the episodes go.
        """
        after = knowledge
        won = np.zeros(np.shape(uniform), dtype=bool)
        reached = np.zeros(np.shape(uniform))
        for episode in self.episodes(knowledge, p_star):
            happens = (reached <= uniform) & (uniform < reached + episode.probability)
            after = np.where(happens[..., None], episode.knowledge, after)
            won = won | (happens & episode.won)
            reached = reached + episode.probability
        return after, won

    def check(self) -> None:
        """Raise on a bad setting."""


@dataclass(frozen=True)
class ReinforceLearner(Learner):
    """REINFORCE with a softmax policy over two actions, on contextual bandits (Theorem 1).

    Action a₁ reaches the goal with probability p*, action a₂ never does. With θ = (θ₁, θ₂),

        π(a₁) = e^θ₁ / (e^θ₁ + e^θ₂),   p = p*·π(a₁),   θ' = θ + η·reward·∇ log π(a),

    and so C = 2·η·p·(1 − p/p*).

    Args:
        eta: η, the learning rate.
        distance: the target is θ* = (distance, −distance). The theorem lets it go to infinity,
            but holds exactly as soon as no update steps over the target.
    """

    eta: float = 0.5
    distance: float = 40.0

    def knowledge(self, p: ArrayLike, p_star: ArrayLike) -> Floats:
        p, p_star = _checked_success(p, p_star)
        if not ((p > 0.0) & (p < p_star)).all():
            raise ValueError(
                "p must lie strictly between 0 and p_star: a softmax policy never takes an action "
                f"with probability 0 or 1; got p from {p.min()} to {p.max()}"
            )
        half = 0.5 * (np.log(p) - np.log(p_star - p))
        return np.stack([half, -half], axis=-1)

    def target(self, p_star: ArrayLike) -> Floats:
        ones = np.ones(np.shape(p_star))
        return np.stack([self.distance * ones, -self.distance * ones], axis=-1)

    def success(self, knowledge: Floats, p_star: ArrayLike) -> Floats:
        return np.asarray(p_star) * _policy(knowledge)[..., 0]

    def episodes(self, knowledge: Floats, p_star: ArrayLike) -> tuple[EpisodeOutcome, ...]:
        policy = _policy(knowledge)
        goal = np.asarray(p_star) + np.zeros(policy.shape[:-1])
        played = []
        for action, reaches in enumerate((goal, np.zeros_like(goal))):
            gradient = np.eye(2)[action] - policy  # of log π(action)
            for reward, chance in ((1.0, reaches), (0.0, 1.0 - reaches)):
                after = knowledge + self.eta * reward * gradient
                played.append(EpisodeOutcome(policy[..., action] * chance, reward == 1.0, after))
        return tuple(played)

    def closed_form(self, p: ArrayLike, p_star: ArrayLike) -> Floats:
        p, p_star = _checked_success(p, p_star)
        share = np.divide(p, p_star, out=np.zeros_like(p), where=p_star > 0)
        return 2.0 * self.eta * p * (1.0 - share)

    def check(self) -> None:
        require_number("eta", self.eta, above=0.0)
        require_number("distance", self.distance, above=0.0)


@dataclass(frozen=True)
class AbstractLearner(Learner):
    """Knowledge is the probability of success itself: θ = p, θ* = p* (Theorem 2).

    A win moves it by the share α of what is missing, a loss by the smaller share β:

        θ' = θ + α·(θ* − θ) after a win,   θ' = θ + β·(θ* − θ) after a loss,

    and so C = α·p·(p* − p) + β·(1 − p)·(p* − p). With α = 1 and β = 0 this is ProCuRL's potential.

    Args:
        alpha: α, what a win teaches, in (0, 1].
        beta: β, what a loss teaches, from 0 to below α.
    """

    alpha: float = 1.0
    beta: float = 0.0

    def knowledge(self, p: ArrayLike, p_star: ArrayLike) -> Floats:
        p, _ = _checked_success(p, p_star)
        return p[..., None].copy()

    def target(self, p_star: ArrayLike) -> Floats:
        return np.asarray(p_star, dtype=float)[..., None]

    def success(self, knowledge: Floats, p_star: ArrayLike) -> Floats:
        return knowledge[..., 0].copy()

    def episodes(self, knowledge: Floats, p_star: ArrayLike) -> tuple[EpisodeOutcome, ...]:
        p, missing = knowledge[..., 0], self.target(p_star) - knowledge
        return (
            EpisodeOutcome(p, True, knowledge + self.alpha * missing),
            EpisodeOutcome(1.0 - p, False, knowledge + self.beta * missing),
        )

    def closed_form(self, p: ArrayLike, p_star: ArrayLike) -> Floats:
        p, p_star = _checked_success(p, p_star)
        return self.alpha * p * (p_star - p) + self.beta * (1.0 - p) * (p_star - p)

    def check(self) -> None:
        require_number("alpha", self.alpha, above=0.0, at_most=1.0)
        require_number("beta", self.beta, at_least=0.0, at_most=1.0)
        if not self.beta < self.alpha:
            raise ValueError(
                f"beta must be below alpha = {self.alpha:g}, because a win teaches more than a "
                f"loss, got {self.beta!r}"
            )


def _policy(knowledge: Floats) -> Floats:
    """[..., 2] softmax over the last axis."""
    weights = np.exp(knowledge - knowledge.max(axis=-1, keepdims=True))
    policy: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return policy


def _checked_success(p: ArrayLike, p_star: ArrayLike) -> tuple[Floats, Floats]:
    """Both as float arrays of the same shape; raises unless 0 ≤ p ≤ p* ≤ 1 everywhere."""
    p, p_star = np.broadcast_arrays(np.asarray(p, dtype=float), np.asarray(p_star, dtype=float))
    bad = ~((p >= 0.0) & (p <= p_star) & (p_star <= 1.0))
    if bad.any():
        raise ValueError(
            "p and p_star must satisfy 0 ≤ p ≤ p_star ≤ 1, "
            f"got p = {p[bad][0]} with p_star = {p_star[bad][0]}"
        )
    return p, p_star
