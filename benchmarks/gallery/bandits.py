"""Learners of a few lines in NumPy: REINFORCE on contextual bandits, and a pool of prompts.

Both know the probability of success of every task exactly, so evaluations have no noise.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gallery.problem import EVALUATIONS, Run
from procurl import Curriculum, Evidence, TaskPool

Floats = NDArray[np.float64]

TASKS, ACTIONS, CENTERS = 1_000, 8, 12
BATCH, UPDATES = 32, 800
PROMPTS, TOPICS = 5_000, 40
SAMPLES, PROMPT_BATCH, PROMPT_UPDATES = 8, 64, 400


class Bandits(NamedTuple):
    """Contextual bandits with one good action each."""

    contexts: Floats  # [n, 2]
    features: Floats  # [n, f] that policy and critic see
    good: NDArray[np.int64]  # [n] the action that pays 1
    habits: Floats  # [n, a] initial logits, which prefer a bad action, more or less


def make_bandits() -> Bandits:
    """1,000 tasks in a square; regions share their good action, and habits grow to one side."""
    rng = np.random.default_rng(17)
    contexts = rng.random((TASKS, 2))
    grid = (np.arange(CENTERS) + 0.5) / CENTERS
    centers = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    distances = np.linalg.norm(contexts[:, None] - centers, axis=-1)
    features = np.exp(-0.5 * (distances * CENTERS) ** 2)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    towns = rng.random((30, 2))
    region = np.linalg.norm(contexts[:, None] - towns, axis=-1).argmin(axis=1)
    good = rng.integers(ACTIONS, size=len(towns))[region]
    habits = np.zeros((TASKS, ACTIONS))
    habits[np.arange(TASKS), (good + 1) % ACTIONS] = 6.0 * contexts[:, 0]
    return Bandits(contexts, features, good, habits)


BANDITS = make_bandits()


def train_bandits(strategy: str, seed: int) -> Run:
    """REINFORCE with a linear policy and a linear critic as its baseline; rewards are 0 and 1."""
    rng = np.random.default_rng(seed)
    curriculum = Curriculum(strategy, TaskPool(BANDITS.contexts, names=["x", "y"]), seed=seed)
    features = BANDITS.features
    weights, critic = np.zeros((features.shape[1], ACTIONS)), np.zeros(features.shape[1])
    run = Run([], [], [])
    for update in range(1, UPDATES + 1):
        tasks = curriculum.next(BATCH)
        seen = features[tasks]
        policy = softmax(BANDITS.habits[tasks] + seen @ weights)
        action = (rng.random((BATCH, 1)) > policy.cumsum(axis=1)).sum(axis=1).clip(0, ACTIONS - 1)
        reward = (action == BANDITS.good[tasks]).astype(float)
        advantage = reward - seen @ critic
        chosen = np.eye(ACTIONS)[action]
        weights += 0.5 * seen.T @ (advantage[:, None] * (chosen - policy))
        critic += 0.05 * seen.T @ advantage
        observe(curriculum, update * BATCH, tasks, reward, features @ critic, np.abs(advantage))
        if update % (UPDATES // EVALUATIONS) == 0:
            logits = BANDITS.habits + features @ weights
            success = softmax(logits)[np.arange(TASKS), BANDITS.good]
            record(run, curriculum, update * BATCH, success)
    return run


class Prompts(NamedTuple):
    """Prompts as a language model meets them: nothing is known of them beforehand."""

    topic: NDArray[np.int64]  # [n]
    difficulty: Floats  # [n] logit that the model must overcome


def make_prompts() -> Prompts:
    """5,000 prompts in 40 topics; some are easy from the start, some far out of reach."""
    rng = np.random.default_rng(23)
    topic = rng.integers(TOPICS, size=PROMPTS)
    return Prompts(topic, rng.normal(2.0, 3.0, PROMPTS) + rng.normal(0.0, 1.5, TOPICS)[topic])


PROMPT_POOL = make_prompts()


def train_prompts(strategy: str, seed: int) -> Run:
    """A model with a general skill and one per topic, trained on groups of 8 samples per prompt.

    As in GRPO, advantages are normalized within the group, so a group that was all won or all lost
    teaches nothing, and any other moves the logit of its prompt by √(p(1 − p)).
    """
    rng = np.random.default_rng(seed)
    curriculum = Curriculum(strategy, TaskPool.from_objects(range(PROMPTS)), seed=seed)
    topic, difficulty = PROMPT_POOL
    general, skill, memory = 0.0, np.zeros(TOPICS), np.zeros(PROMPTS)
    run = Run([], [], [])
    for update in range(1, PROMPT_UPDATES + 1):
        tasks = curriculum.next(PROMPT_BATCH)
        success = sigmoid(general + skill[topic[tasks]] + memory[tasks] - difficulty[tasks])
        share = rng.binomial(SAMPLES, success) / SAMPLES
        gain = np.sqrt(share * (1.0 - share))
        general += 0.015 * gain.mean()
        np.add.at(skill, topic[tasks], 0.03 * gain)
        np.add.at(memory, tasks, 0.3 * gain)
        step = update * PROMPT_BATCH * SAMPLES
        observe(curriculum, step, tasks, share, None, gain, count=SAMPLES)
        if update % (PROMPT_UPDATES // EVALUATIONS) == 0:
            record(run, curriculum, step, sigmoid(general + skill[topic] + memory - difficulty))
    return run


def observe(
    curriculum: Curriculum,
    step: float,
    tasks: NDArray[np.int64],
    reward: Floats,
    values: Floats | None,
    score: Floats,
    count: int = 1,
) -> None:
    """Pass the evidence of one batch, with `count` samples for each of its tasks."""
    n = len(curriculum.pool)
    fields: dict[str, Any] = {"values": values, "score": np.zeros(n)}
    for name, weights in (("wins", reward), ("losses", 1.0 - reward), ("played", 1.0 + 0 * reward)):
        fields[name] = np.bincount(tasks, weights * count, minlength=n)
    fields["score"][tasks] = score  # of the latest, if a task was drawn twice
    uses = curriculum.strategy.uses
    curriculum.observe(Evidence(step, **{name: fields[name] for name in uses if name in fields}))


def record(run: Run, curriculum: Curriculum, step: float, success: Floats) -> None:
    """Append an evaluation, given the true success [n] of every task."""
    estimate = curriculum.success()
    run.steps.append(float(step))
    run.performance.append(float(success.mean()))
    run.calibration.append(np.nan if estimate is None else float(np.abs(estimate - success).mean()))


def softmax(logits: Floats) -> Floats:
    """[n, a] probabilities."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def sigmoid(logits: Floats) -> Floats:
    """The probabilities of `logits`."""
    return np.asarray(1.0 / (1.0 + np.exp(-logits)))
