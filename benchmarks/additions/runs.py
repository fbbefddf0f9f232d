"""Train all runs side by side and keep their learning curves."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from additions.choices import Choice, make_choice
from additions.grpo import Adam, accuracy, improve, pass_rates, warm_up
from additions.model import Parameters, generate, make_models, repeat_models
from additions.sums import Additions, Tokens, distinct_additions

SAMPLES = 8  # of each prompt
TEST_SEED = 1_000_003


@dataclass(frozen=True)
class Plan:
    """What every run has in common."""

    seconds: float = float("inf")  # after which runs stop, all at the same step
    iterations: int = 8000  # each with one batch of samples and at most one update
    groups: int = 16  # prompts of a batch
    per_length: int = 8_000  # prompts of each length, if there are as many
    evaluate_every: int = 80  # iterations
    rate: float = 2e-5
    entropy: float = 0.02  # weight of the entropy of answers
    warm_up_accuracy: float = 0.45  # at which the warm-up ends
    warm_up_steps: int = 2000  # after which it ends in any case
    warm_up_rows: int = 64
    warm_up_rate: float = 1e-3
    shares: tuple[float, ...] = (0.5, 0.45, 0.04, 0.007, 0.003)  # of 1, 2, … digits in the warm-up

    @property
    def digits(self) -> int:
        """Of the longest numbers."""
        return len(self.shares)


DEFAULT_PROBLEM = "5-digits"
PROBLEMS = {
    DEFAULT_PROBLEM: Plan(),
    "12-digits": Plan(
        per_length=4_000,
        warm_up_accuracy=0.19,
        shares=(0.5, 0.45, 0.04, 0.006, 0.002, 0.001, 0.0005, 0.0005, 0.0, 0.0, 0.0, 0.0),
    ),
}


class Point(NamedTuple):
    """One evaluation."""

    samples: int  # drawn so far
    accuracy: float  # on additions drawn independently of the prompts
    by_length: list[float]
    no_signal: float  # share of groups whose rewards were all equal, since the last evaluation
    updates: int
    seconds: float


class Group(NamedTuple):
    """The samples of one prompt."""

    prompt: Tokens  # [t]
    answers: Tokens  # [g, a]
    rewards: NDArray  # [g]


@dataclass
class Run:
    """One method with one seed."""

    method: str
    seed: int
    additions: Additions
    batch: int  # groups of an update
    choice: Choice
    rng: np.random.Generator
    points: list[Point] = field(default_factory=list)
    updates: int = 0
    groups: int = 0  # since the last evaluation
    flat: int = 0  # those without a signal
    pending: list[Group] = field(default_factory=list)

    def collect(self, ids: NDArray, prompts: Tokens, answers: Tokens, rewards: NDArray) -> None:
        """Take the samples of the prompts `ids`.

        Args:
            ids: [k].
            prompts: [k, t] their tokens.
            answers: [k, g, a] tokens of g samples of each.
            rewards: [k, g].
        """
        self.choice.record(ids, rewards)
        self.groups += len(rewards)
        self.flat += int((rewards.std(axis=1) == 0.0).sum())
        keep = self.choice.wanted(rewards)
        self.pending += [Group(prompts[i], answers[i], rewards[i]) for i in np.flatnonzero(keep)]

    def take(self) -> list[Group] | None:
        """The groups of the next update, None if there are too few."""
        if len(self.pending) < self.batch:
            return None
        batch, self.pending = self.pending[: self.batch], []
        self.updates += 1
        return batch

    def evaluated(self, correct: NDArray, lengths: NDArray, samples: int, seconds: float) -> None:
        each = [float(correct[lengths == length].mean()) for length in np.unique(lengths)]
        share = self.flat / self.groups if self.groups else 0.0
        self.points.append(
            Point(samples, float(correct.mean()), each, share, self.updates, seconds)
        )
        self.groups = self.flat = 0


def train(
    methods: Sequence[str],
    seeds: Sequence[int],
    plan: Plan,
    device: torch.device,
    keep: Callable[[list[Run]], None] = lambda runs: None,
) -> list[Run]:
    """All runs, with their evaluations. The runs of a seed start from the same model.

    Args:
        methods: as of `make_choice`.
        seeds: each with all methods.
        plan: what the runs have in common.
        device: where they train.
        keep: called with all runs after each evaluation, so that nothing is lost if they stop.
    """
    models = repeat_models(warmed_up(seeds, plan, device), len(methods))
    optimizer = Adam(models, plan.rate)
    runs = [make_run(method, seed, plan) for seed in seeds for method in methods]
    test = distinct_additions(np.random.default_rng(TEST_SEED), plan.digits, 100)
    lengths, began = test.lengths, time.perf_counter()
    for iteration in range(plan.iterations + 1):
        samples = iteration * plan.groups * SAMPLES
        if iteration % plan.evaluate_every == 0:
            correct = accuracy(models, test)
            for run, row in zip(runs, correct, strict=True):
                run.evaluated(row, lengths, samples, time.perf_counter() - began)
            _tell(runs, len(methods), samples)
            keep(runs)
        if time.perf_counter() - began > plan.seconds:
            break
        if iteration < plan.iterations:
            advance(models, optimizer, runs, plan, iteration)
    return runs


def warmed_up(seeds: Sequence[int], plan: Plan, device: torch.device) -> Parameters:
    """The models that the runs of each seed start from."""
    models = make_models(list(seeds), plan.digits, device)
    warm_up(
        models,
        [np.random.default_rng([seed, 0]) for seed in seeds],
        until=plan.warm_up_accuracy,
        steps=plan.warm_up_steps,
        rows=plan.warm_up_rows,
        rate=plan.warm_up_rate,
        shares=plan.shares,
    )
    return models


def advance(
    models: Parameters, optimizer: Adam, runs: list[Run], plan: Plan, iteration: int
) -> None:
    """Sample one batch for every run, and update those that have enough groups."""
    _sample(models, runs, iteration / plan.iterations)
    _update(models, optimizer, runs, plan.entropy)


def _tell(runs: list[Run], methods: int, samples: int) -> None:
    """Print the mean accuracy and share of groups without a signal of each method."""
    parts = [
        f"{own[0].method} {np.mean([run.points[-1].accuracy for run in own]):.3f} "
        f"({np.mean([run.points[-1].no_signal for run in own]):.0%})"
        for own in (runs[i::methods] for i in range(methods))
    ]
    print(
        f"{samples:,} samples, {runs[0].points[-1].seconds:.0f} s: {', '.join(parts)}", flush=True
    )


def make_run(method: str, seed: int, plan: Plan) -> Run:
    rng = np.random.default_rng([seed, 1])
    additions = distinct_additions(rng, plan.digits, plan.per_length)
    choice = make_choice(method, additions, seed)
    return Run(method, seed, additions, plan.groups, choice, np.random.default_rng([seed, 2]))


def _sample(models: Any, runs: list[Run], progress: float) -> None:
    """Sample answers to the prompts that every run has chosen, and reward them."""
    device = models["tokens"].device
    groups = runs[0].batch
    for i, run in enumerate(runs):
        if (ids := run.choice.to_look_up()).size:
            run.choice.look_up(ids, pass_rates(models, i, run.additions[ids]))
    chosen = [run.choice.next(groups, progress) for run in runs]
    additions = [run.additions[ids] for run, ids in zip(runs, chosen, strict=True)]
    prompts = np.stack([each.prompts for each in additions])
    correct = np.stack([each.answers for each in additions])
    shape = (groups * SAMPLES, correct.shape[2])
    draws = np.stack([run.rng.random(shape, dtype=np.float32) for run in runs])
    sampled = generate(
        models,
        torch.as_tensor(prompts, device=device),
        SAMPLES,
        torch.as_tensor(draws, device=device),
    )
    answers = sampled.cpu().numpy().reshape(len(runs), groups, SAMPLES, -1)
    rewards = np.all(answers == correct[:, :, None], axis=3).astype(np.float64)
    for i, run in enumerate(runs):
        run.collect(chosen[i], prompts[i], answers[i], rewards[i])


def _update(models: Any, optimizer: Adam, runs: list[Run], entropy: float) -> None:
    """One update of every run that has enough groups."""
    batches = [run.take() for run in runs]
    full = [batch for batch in batches if batch is not None]
    if not full:
        return
    nothing = Group(*map(np.zeros_like, full[0][0]))
    filled = [batch or [nothing] * runs[0].batch for batch in batches]
    improve(
        models,
        optimizer,
        np.stack([[group.prompt for group in batch] for batch in filled]),
        np.stack([[group.answers for group in batch] for batch in filled]),
        np.stack([[group.rewards for group in batch] for batch in filled]),
        np.asarray([batch is not None for batch in batches]),
        entropy,
    )
