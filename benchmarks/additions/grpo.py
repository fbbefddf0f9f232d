"""Supervised warm-up, then GRPO, for all runs side by side."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from additions.model import Parameters, generate, logits_of, read_prompts
from additions.sums import (
    ANSWER,
    DIGITS,
    PROMPT,
    Numbers,
    Tokens,
    answers_of,
    distinct_numbers,
    draw_numbers,
    prompts_of,
)

BETAS, EPSILON, LARGEST_GRADIENT = (0.9, 0.99), 1e-8, 1.0
WARM_UP_CHECK = 20  # steps
WARM_UP_SEED = 1_000_033  # of the additions that decide when it ends
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


def answer_logits(models: Parameters, tokens: Tensor) -> Tensor:
    """[r, b, ANSWER, v] of the tokens before each token of the answers in `tokens` [r, b, t]."""
    return logits_of(models, tokens[:, :, :-1])[:, :, PROMPT - 1 :]


def answer_log_probs(models: Parameters, tokens: Tensor) -> Tensor:
    """[r, b, ANSWER] log-probability of each token of the answers in `tokens` [r, b, t]."""
    log_probs = answer_logits(models, tokens).log_softmax(dim=-1)
    return log_probs.gather(-1, tokens[:, :, PROMPT:, None]).squeeze(-1)


def group_logits(models: Parameters, groups: Tensor) -> Tensor:
    """[r, m · g, ANSWER, v] as `answer_logits` of m groups [r, m, g, t] that share a prompt each.

    A prompt is read once for all its answers, which takes a third of the time.
    """
    first, cache = read_prompts(models, groups[:, :, 0, :PROMPT], groups.shape[2])
    rest = logits_of(models, groups.flatten(1, 2)[:, :, PROMPT:-1], cache)
    return torch.cat([first[:, :, None], rest], dim=2)


def warm_up(
    models: Parameters,
    rngs: Sequence[np.random.Generator],
    *,
    until: float,
    steps: int,
    rows: int,
    rate: float,
    shares: Sequence[float],
) -> None:
    """Train on correct answers to random additions until a share `until` of others is solved.

    Args:
        models: of r runs.
        rngs: [r] of the additions, of which `shares` have 1, 2, … digits.
        until: accuracy at which a run stops, so that all begin equally able; looked at every
            `WARM_UP_CHECK` steps.
        steps: after which all stop, whatever their accuracy.
        rows: additions per step.
        rate: of learning.
        shares: of each number of digits.
    """
    device = models["tokens"].device
    optimizer = Adam(models, rate)
    check = distinct_numbers(np.random.default_rng(WARM_UP_SEED), 100)
    going = np.ones(len(rngs), dtype=bool)
    for step in range(steps):
        if step % WARM_UP_CHECK == 0:
            going &= accuracy(models, check).mean(axis=1) < until
            if not going.any():
                break
        batch = np.stack([_solved(rng, rows, shares) for rng in rngs])
        log_probs = answer_log_probs(models, torch.as_tensor(batch, device=device))
        optimizer.step(-log_probs.mean(dim=(1, 2)), torch.as_tensor(going, device=device))


def _solved(rng: np.random.Generator, rows: int, shares: Sequence[float]) -> Tokens:
    lengths = rng.choice(np.arange(1, DIGITS + 1), size=rows, p=shares)
    numbers = draw_numbers(rng, lengths)
    return np.concatenate([prompts_of(numbers), answers_of(numbers)], axis=1)


def improve(
    models: Parameters,
    optimizer: Adam,
    tokens: Tokens,
    rewards: NDArray,
    active: NDArray,
    entropy: float = 0.0,
) -> None:
    """One GRPO update, on the samples that have just been drawn.

    Args:
        models: of r runs.
        optimizer: theirs.
        tokens: [r, k, g, t] prompts and answers, in k groups of g samples.
        rewards: [r, k, g].
        active: [r] bool, the runs that update.
        entropy: weight of the entropy of answers, which keeps the model from becoming certain.
    """
    device = models["tokens"].device
    spread = rewards.std(axis=2, keepdims=True, ddof=1)
    advantages = (rewards - rewards.mean(axis=2, keepdims=True)) / (spread + SMALLEST_SPREAD)
    tokens, advantages = _with_signal(tokens, advantages)
    groups = torch.as_tensor(tokens, device=device)
    log_probs = group_logits(models, groups).log_softmax(dim=-1)
    chosen = log_probs.gather(-1, groups.flatten(1, 2)[:, :, PROMPT:, None])
    weights = torch.as_tensor(advantages, dtype=torch.float32, device=device).flatten(1)[:, :, None]
    gain = weights * chosen.squeeze(-1)
    if entropy:
        spread_out = -(log_probs.exp() * log_probs).sum(dim=-1)
        gain = gain + entropy * (weights != 0.0) * spread_out
    losses = -gain.sum(dim=(1, 2)) / (rewards[0].size * ANSWER)
    optimizer.step(losses, torch.as_tensor(active, device=device))


def _with_signal(tokens: Tokens, advantages: NDArray) -> tuple[Tokens, NDArray]:
    """[r, m, g, t] and [r, m, g] the groups with a signal: all others have no gradient.

    Runs with fewer such groups than others are filled up with groups without a signal.
    """
    signal = np.any(advantages != 0.0, axis=2)  # [r, k]
    most = max(int(signal.sum(axis=1).max()), 1)
    first = np.argsort(~signal, axis=1, kind="stable")[:, :most]
    kept = np.take_along_axis(tokens, first[:, :, None, None], axis=1)
    weights = np.take_along_axis(advantages, first[:, :, None], axis=1)
    return kept, weights


def accuracy(models: Parameters, numbers: Numbers) -> NDArray[np.bool_]:
    """[r, m] whether each run's most likely answer to each addition is correct."""
    device = models["tokens"].device
    runs = models["tokens"].shape[0]
    prompts = torch.as_tensor(prompts_of(numbers), device=device).expand(runs, -1, -1)
    given = generate(models, prompts, 1, None).cpu().numpy()
    correct: NDArray[np.bool_] = np.all(given == answers_of(numbers), axis=2)
    return correct
