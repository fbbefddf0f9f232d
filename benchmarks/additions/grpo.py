"""Supervised warm-up, then GRPO, for all runs side by side."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from additions.model import Parameters, generate, logits_of
from additions.sums import (
    DIGITS,
    PROMPT,
    Numbers,
    Tokens,
    answers_of,
    draw_numbers,
    prompts_of,
)

BETAS, EPSILON, LARGEST_GRADIENT = (0.9, 0.99), 1e-8, 1.0
SMALLEST_SPREAD = 1e-4  # is added to the standard deviation of a group's rewards


class Adam:
    """Adam with one gradient norm and one step count per run, so that runs may sit out a step."""

    def __init__(self, models: Parameters, rate: float) -> None:
        self.models, self.rate = models, rate
        self._means = {name: torch.zeros_like(value) for name, value in models.items()}
        self._squares = {name: torch.zeros_like(value) for name, value in models.items()}
        first = next(iter(models.values()))
        self._steps = torch.zeros(len(first), device=first.device)

    def step(self, losses: Tensor, active: Tensor) -> None:
        """Lower the losses [r] of the `active` runs, [r] bool."""
        names = list(self.models)
        gradients = torch.autograd.grad(losses.sum(), [self.models[name] for name in names])
        squared = torch.stack([g.flatten(1).square().sum(dim=1) for g in gradients]).sum(dim=0)
        scale = (LARGEST_GRADIENT / (squared.sqrt() + EPSILON)).clamp(max=1.0)
        self._steps += active
        for name, gradient in zip(names, gradients, strict=True):
            self._update(name, gradient * _like(scale, gradient), active)

    @torch.no_grad()
    def _update(self, name: str, gradient: Tensor, active: Tensor) -> None:
        taken = _like(active, gradient)
        mean, square = self._means[name], self._squares[name]
        mean.lerp_(gradient, (1 - BETAS[0]) * taken.float())
        square.lerp_(gradient.square(), (1 - BETAS[1]) * taken.float())
        count = _like(self._steps.clamp(min=1.0), gradient)
        change = (mean / (1 - BETAS[0] ** count)) / (
            (square / (1 - BETAS[1] ** count)).sqrt() + EPSILON
        )
        self.models[name].sub_(self.rate * change * taken)


def _like(per_run: Tensor, other: Tensor) -> Tensor:
    """`per_run` [r] with as many axes as `other` [r, …]."""
    return per_run.view(-1, *([1] * (other.dim() - 1)))


def answer_log_probs(models: Parameters, tokens: Tensor) -> Tensor:
    """[r, b, ANSWER] log-probability of each token of the answers in `tokens` [r, b, t]."""
    logits = logits_of(models, tokens[:, :, :-1])[:, :, PROMPT - 1 :]
    return logits.log_softmax(dim=-1).gather(-1, tokens[:, :, PROMPT:, None]).squeeze(-1)


def warm_up(
    models: Parameters,
    rngs: Sequence[np.random.Generator],
    *,
    steps: int,
    rows: int,
    rate: float,
    shares: Sequence[float],
) -> None:
    """Train on correct answers to random additions, `shares` of which have 1, 2, … digits."""
    device = models["tokens"].device
    optimizer = Adam(models, rate)
    everyone = torch.ones(len(rngs), dtype=torch.bool, device=device)
    for _ in range(steps):
        batch = np.stack([_solved(rng, rows, shares) for rng in rngs])
        log_probs = answer_log_probs(models, torch.as_tensor(batch, device=device))
        optimizer.step(-log_probs.mean(dim=(1, 2)), everyone)


def _solved(rng: np.random.Generator, rows: int, shares: Sequence[float]) -> Tokens:
    lengths = rng.choice(np.arange(1, DIGITS + 1), size=rows, p=shares)
    numbers = draw_numbers(rng, lengths)
    return np.concatenate([prompts_of(numbers), answers_of(numbers)], axis=1)


def improve(
    models: Parameters, optimizer: Adam, tokens: Tokens, rewards: NDArray, active: NDArray
) -> None:
    """One GRPO update, on the samples that have just been drawn.

    Args:
        models: of r runs.
        optimizer: theirs.
        tokens: [r, k, g, t] prompts and answers, in k groups of g samples.
        rewards: [r, k, g].
        active: [r] bool, the runs that update.
    """
    device = models["tokens"].device
    spread = rewards.std(axis=2, keepdims=True, ddof=1)
    advantages = (rewards - rewards.mean(axis=2, keepdims=True)) / (spread + SMALLEST_SPREAD)
    runs, _, _, length = tokens.shape
    log_probs = answer_log_probs(
        models, torch.as_tensor(tokens.reshape(runs, -1, length), device=device)
    )
    weights = torch.as_tensor(advantages.reshape(runs, -1, 1), dtype=torch.float32, device=device)
    losses = -(weights * log_probs).mean(dim=(1, 2))
    optimizer.step(losses, torch.as_tensor(active, device=device))


def accuracy(models: Parameters, numbers: Numbers) -> NDArray[np.bool_]:
    """[r, m] whether each run's most likely answer to each addition is correct."""
    device = models["tokens"].device
    runs = models["tokens"].shape[0]
    prompts = torch.as_tensor(prompts_of(numbers), device=device).expand(runs, -1, -1)
    given = generate(models, prompts, 1, None).cpu().numpy()
    correct: NDArray[np.bool_] = np.all(given == answers_of(numbers), axis=2)
    return correct
