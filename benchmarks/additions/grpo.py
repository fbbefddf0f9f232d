"""Supervised warm-up, then GRPO, for all runs side by side."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from additions.model import Parameters, generate, logits_of, read_prompts
from additions.sums import Additions, Tokens, distinct_additions, random_additions

BETAS, EPSILON, LARGEST_GRADIENT = (0.9, 0.99), 1e-8, 1.0
WARM_UP_CHECK = 20  # steps
WARM_UP_SEED = 1_000_033  # of the additions that decide when it ends
LOOKED_UP_AT_ONCE = 1_000  # additions
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


def answer_logits(models: Parameters, prompts: Tensor, answers: Tensor) -> Tensor:
    """[r, b, a, v] for each token of the answers [r, b, a] to the prompts [r, b, t]."""
    tokens = torch.cat([prompts, answers[:, :, :-1]], dim=2)
    return logits_of(models, tokens)[:, :, prompts.shape[2] - 1 :]


def answer_log_probs(models: Parameters, prompts: Tensor, answers: Tensor) -> Tensor:
    """[r, b, a] log-probability of each token of the answers [r, b, a] to prompts [r, b, t]."""
    log_probs = answer_logits(models, prompts, answers).log_softmax(dim=-1)
    return log_probs.gather(-1, answers[..., None]).squeeze(-1)


def pass_rates(models: Parameters, run: int, additions: Additions) -> NDArray[np.float64]:
    """[m] the probability with which a sample of one run's model solves each addition.

    It is that of the correct answer, so that nothing need be sampled.
    """
    one = {name: value[run : run + 1] for name, value in models.items()}
    device, rates = models["tokens"].device, []
    with torch.no_grad():
        for start in range(0, len(additions), LOOKED_UP_AT_ONCE):
            some = additions[start : start + LOOKED_UP_AT_ONCE]
            prompts = torch.as_tensor(some.prompts, device=device)[None]
            answers = torch.as_tensor(some.answers, device=device)[None]
            log_probs = answer_log_probs(one, prompts, answers)
            rates.append(log_probs[0].sum(dim=1).exp().cpu().numpy())
    return np.concatenate(rates).astype(np.float64).clip(0.0, 1.0)


def group_logits(models: Parameters, prompts: Tensor, answers: Tensor) -> Tensor:
    """[r, m · g, a, v] as `answer_logits`, of g answers [r, m, g, a] to each prompt [r, m, t].

    A prompt is read once for all its answers, which takes a third of the time.
    """
    first, cache = read_prompts(models, prompts, answers.shape[2])
    rest = logits_of(models, answers.flatten(1, 2)[:, :, :-1], cache)
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
        shares: of each number of digits, up to that of the longest numbers.
    """
    device = models["tokens"].device
    optimizer = Adam(models, rate)
    check = distinct_additions(np.random.default_rng(WARM_UP_SEED), len(shares), 100)
    going = np.ones(len(rngs), dtype=bool)
    for step in range(steps):
        if step % WARM_UP_CHECK == 0:
            going &= accuracy(models, check).mean(axis=1) < until
            if not going.any():
                break
        batch = [_random_batch(rng, rows, shares) for rng in rngs]
        prompts = torch.as_tensor(np.stack([each.prompts for each in batch]), device=device)
        answers = torch.as_tensor(np.stack([each.answers for each in batch]), device=device)
        log_probs = answer_log_probs(models, prompts, answers)
        optimizer.step(-log_probs.mean(dim=(1, 2)), torch.as_tensor(going, device=device))


def _random_batch(rng: np.random.Generator, rows: int, shares: Sequence[float]) -> Additions:
    lengths = rng.choice(np.arange(1, len(shares) + 1), size=rows, p=shares)
    return random_additions(rng, len(shares), lengths)


def improve(
    models: Parameters,
    optimizer: Adam,
    prompts: Tokens,
    answers: Tokens,
    rewards: NDArray,
    active: NDArray,
    entropy: float = 0.0,
) -> None:
    """One GRPO update, on the samples that have just been drawn.

    Args:
        models: of r runs.
        optimizer: theirs.
        prompts: [r, k, t] one for each of k groups.
        answers: [r, k, g, a] the g samples of each group.
        rewards: [r, k, g].
        active: [r] bool, the runs that update.
        entropy: weight of the entropy of answers, which keeps the model from becoming certain.
    """
    device = models["tokens"].device
    spread = rewards.std(axis=2, keepdims=True, ddof=1)
    advantages = (rewards - rewards.mean(axis=2, keepdims=True)) / (spread + SMALLEST_SPREAD)
    groups = _with_signal(advantages)
    group_prompts = torch.as_tensor(_take(prompts, groups), device=device)
    group_answers = torch.as_tensor(_take(answers, groups), device=device)
    weights = torch.as_tensor(_take(advantages, groups), dtype=torch.float32, device=device)
    weights = weights.flatten(1)[:, :, None]
    log_probs = group_logits(models, group_prompts, group_answers).log_softmax(dim=-1)
    gain = weights * log_probs.gather(-1, group_answers.flatten(1, 2)[..., None]).squeeze(-1)
    if entropy:
        spread_out = -(log_probs.exp() * log_probs).sum(dim=-1)
        gain = gain + entropy * (weights != 0.0) * spread_out
    losses = -gain.sum(dim=(1, 2)) / answers[0].size
    optimizer.step(losses, torch.as_tensor(active, device=device))


def _with_signal(advantages: NDArray) -> NDArray[np.int64]:
    """[r, m] the groups of `advantages` [r, k, g] with a signal: all others have no gradient.

    Runs with fewer such groups than others are filled up with groups without a signal.
    """
    signal = np.any(advantages != 0.0, axis=2)  # [r, k]
    most = max(int(signal.sum(axis=1).max()), 1)
    return np.argsort(~signal, axis=1, kind="stable")[:, :most]


def _take(values: NDArray, groups: NDArray[np.int64]) -> NDArray:
    """[r, m, …] the `groups` [r, m] of each run's values [r, k, …]."""
    return np.take_along_axis(values, groups.reshape(*groups.shape, *[1] * (values.ndim - 2)), 1)


def accuracy(models: Parameters, additions: Additions) -> NDArray[np.bool_]:
    """[r, m] whether each run's most likely answer to each addition is correct."""
    device = models["tokens"].device
    runs = models["tokens"].shape[0]
    prompts = torch.as_tensor(additions.prompts, device=device).expand(runs, -1, -1)
    answers = generate(models, prompts, 1, None).cpu().numpy()
    correct: NDArray[np.bool_] = np.all(answers == additions.answers, axis=2)
    return correct
