"""How many groups without a signal a curriculum over prompts could avoid if it knew more.

    python benchmarks/prompt_limits.py [--seed 300] [--iterations 500 1500]

Trains the model of `language_models.py` with `procurl-group`. After each number of iterations it
samples every prompt anew to learn its true pass rate p, and prints the expected share of groups of
8 whose rewards are all equal, if prompts were drawn

- evenly,
- by the curriculum as it is,
- by the potential of the strategy, with the mean p of all prompts with the same contexts for each,
- by the same potential with each prompt's own p, known from 16 samples.

The rates that judge are of 16 other samples, so that none of them is judged by its own luck.
"""

import argparse

import numpy as np
import torch
from numpy.typing import NDArray

from additions.choices import CurriculumChoice, contexts_of
from additions.grpo import Adam, accuracy
from additions.model import Parameters, generate
from additions.runs import TEST_SEED, Plan, Run, advance, make_run, warmed_up
from additions.sums import ANSWER, Numbers, answers_of, distinct_numbers, prompts_of
from procurl.strategies.registry import DEFAULT_GROUP_STRATEGY

SAMPLES, GROUP, FLOOR = 16, 8, 0.02
ROWS = 500  # prompts that are sampled at once


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=300)
    parser.add_argument("--iterations", type=int, nargs="+", default=[500, 1500])
    args = parser.parse_args()
    plan, device = Plan(), torch.device("cpu")
    models = warmed_up([args.seed], plan, device)
    optimizer, run = Adam(models, plan.rate), make_run(DEFAULT_GROUP_STRATEGY, args.seed, plan)
    test = distinct_numbers(np.random.default_rng(TEST_SEED), 100)
    names = ("accuracy", "evenly", "chosen", "contexts", "known p")
    print("iterations" + "".join(f"{name:>10}" for name in names))
    for iteration in range(max(args.iterations) + 1):
        if iteration in args.iterations:
            shares = wasted(models, run)
            right = accuracy(models, test).mean()
            print(f"{iteration:>10}{right:>10.2f}" + "".join(f"{each:>10.0%}" for each in shares))
        advance(models, optimizer, [run], plan, iteration)


def wasted(models: Parameters, run: Run) -> list[float]:
    """The shares of groups without a signal, one for each way to draw prompts."""
    assert isinstance(run.choice, CurriculumChoice)
    rng = np.random.default_rng(0)
    known, judged = (pass_rates(models, run.numbers, rng) for _ in range(2))
    _, cell = np.unique(contexts_of(run.numbers), axis=0, return_inverse=True)
    by_context = (np.bincount(cell, known) / np.bincount(cell))[cell]
    even = np.full(len(known), 1.0 / len(known))
    ways = [even, run.choice.curriculum.probabilities(), drawn_by(by_context), drawn_by(known)]
    equal = judged**GROUP + (1.0 - judged) ** GROUP
    return [float(way @ equal) for way in ways]


def drawn_by(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution of the strategy if p were certain; even if no prompt is worth anything."""
    worth = p**2 * (1.0 - p) ** 3
    if not worth.any():
        return np.full(len(p), 1.0 / len(p))
    mixed: NDArray[np.float64] = (1.0 - FLOOR) * worth / worth.sum() + FLOOR / len(p)
    return mixed


def pass_rates(
    models: Parameters, numbers: Numbers, rng: np.random.Generator
) -> NDArray[np.float64]:
    """[m] the share of correct answers among `SAMPLES` to each addition."""
    rates = []
    for start in range(0, len(numbers), ROWS):
        some = numbers[start : start + ROWS]
        draws = rng.random((1, len(some) * SAMPLES, ANSWER), dtype=np.float32)
        prompts = torch.as_tensor(prompts_of(some))[None]
        given = generate(models, prompts, SAMPLES, torch.as_tensor(draws)).numpy()
        correct = given.reshape(len(some), SAMPLES, ANSWER) == answers_of(some)[:, None]
        rates.append(correct.all(axis=2).mean(axis=1))
    return np.concatenate(rates)


if __name__ == "__main__":
    main()
