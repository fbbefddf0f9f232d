"""The benchmark of prompts for a language model: additions, the model, GRPO and the table."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import torch

from additions.choices import BASELINES, KNOWN, EasyToHard, KnownRates, Uniform
from additions.grpo import (
    Adam,
    answer_log_probs,
    answer_logits,
    group_logits,
    improve,
    pass_rates,
    warm_up,
)
from additions.model import generate, logits_of, make_models
from additions.runs import PROBLEMS, Point, make_run, train
from additions.sums import Additions, distinct_additions
from additions.table import Curve, table_of

ADDITIONS = Additions(np.array([[12, 345], [95, 7]]), 5)
CPU = torch.device("cpu")


def test_additions_as_tokens():
    assert ADDITIONS.prompts.tolist() == [
        [0, 0, 0, 1, 2, 10, 0, 0, 3, 4, 5, 11],
        [0, 0, 0, 9, 5, 10, 0, 0, 0, 0, 7, 11],
    ]
    # 357 and 102, the last digit first.
    assert ADDITIONS.answers.tolist() == [[7, 5, 3, 0, 0, 0], [2, 0, 1, 0, 0, 0]]
    assert ADDITIONS.lengths.tolist() == [3, 2]
    # 95 + 7 carries from the ones and from the tens.
    assert ADDITIONS.carries.tolist() == [[False] * 5, [True, True, False, False, False]]


def test_additions_of_12_digits_as_tokens():
    numbers = [[987_654_321_098, 12_345_678_903], [500_000_000_000, 500_000_000_007]]
    additions = Additions(np.array(numbers), 12)
    first, second = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 9, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 3]
    assert additions.prompts[0].tolist() == [*first, 10, *second, 11]
    # 1,000,000,000,001 and 1,000,000,000,007, the last digit first.
    assert additions.answers.tolist() == [[1, *[0] * 11, 1], [7, *[0] * 11, 1]]
    assert additions.lengths.tolist() == [12, 12]
    # The first carries from every place, the second from the first digits only.
    assert additions.carries.tolist() == [[True] * 12, [*[False] * 11, True]]


def test_prompts_are_different_and_of_all_lengths():
    additions = distinct_additions(np.random.default_rng(0), 5, 120)
    assert len(np.unique(additions.numbers, axis=0)) == len(additions)
    # There are only 100 sums of two digits.
    assert np.bincount(additions.lengths).tolist() == [0, 100, 120, 120, 120, 120]


@pytest.mark.parametrize(
    ("problem", "prompts"),
    [("5-digits", [0, 100, *[8_000] * 4]), ("12-digits", [0, 100, *[4_000] * 11])],
)
def test_each_problem_has_its_prompts(problem, prompts):
    plan = PROBLEMS[problem]
    additions = make_run("uniform", 0, plan).additions
    assert np.bincount(additions.lengths).tolist() == prompts
    assert additions.digits == plan.digits == len(prompts) - 1
    assert sum(plan.shares) == pytest.approx(1.0)


@pytest.mark.parametrize("digits", [5, 12])
def test_generation_agrees_with_the_model_without_a_cache(digits):
    models = make_models([0, 1], digits, CPU)
    additions = Additions(ADDITIONS.numbers, digits)
    prompts = torch.as_tensor(np.stack([additions.prompts] * 2))
    answers = generate(models, prompts, 2, None)
    assert answers.shape == (2, 4, digits + 1)
    tokens = torch.cat([prompts.repeat_interleave(2, dim=1), answers], dim=2)
    likely = logits_of(models, tokens[:, :, :-1])[:, :, 2 * digits + 1 :].argmax(dim=-1)
    assert torch.equal(answers, likely)
    assert not torch.equal(answers[0], answers[1])


def test_groups_read_their_prompt_once_and_give_the_same_logits():
    models = make_models([0, 1], 5, CPU)
    answers = torch.as_tensor(np.random.default_rng(0).integers(0, 10, (2, 2, 3, 6)))
    prompts = torch.as_tensor(np.stack([ADDITIONS.prompts] * 2))
    apart = answer_logits(models, prompts.repeat_interleave(3, dim=1), answers.flatten(1, 2))
    torch.testing.assert_close(group_logits(models, prompts, answers), apart)


def test_an_update_raises_what_was_rewarded_and_spares_runs_that_sit_out():
    models = make_models([0, 0], 5, CPU)
    before = {name: value.detach().clone() for name, value in models.items()}
    pairs = np.stack([ADDITIONS.answers, ADDITIONS.answers[::-1]], axis=1)  # right and wrong
    prompts, answers = (np.stack([part] * 2) for part in (ADDITIONS.prompts, pairs))
    rewards = np.stack([[[1.0, 0.0], [1.0, 0.0]]] * 2)
    improve(models, Adam(models, 1e-3), prompts, answers, rewards, np.array([True, False]))
    samples = (
        torch.as_tensor(prompts).repeat_interleave(2, dim=1),
        torch.as_tensor(answers).flatten(1, 2),
    )
    gain = (answer_log_probs(models, *samples) - answer_log_probs(before, *samples)).sum(dim=2)
    assert (gain[0, ::2] > gain[0, 1::2]).all()
    for name, value in models.items():
        assert torch.equal(value[1], before[name][1])
        assert not torch.equal(value[0], before[name][0])


def test_choices_that_do_not_learn():
    additions = distinct_additions(np.random.default_rng(0), 5, 40)
    uniform = Uniform(additions, seed=0)
    drawn = np.concatenate([uniform.next(8, 0.0) for _ in range(25)])
    assert sorted(drawn) == list(range(200))
    easy = EasyToHard(additions, 0)
    longest = [additions[easy.next(40, progress)].lengths.max() for progress in (0.1, 0.5, 1)]
    assert longest == [1, 3, 5]


def curve(method, accuracies, wasted, seed=0):
    points = [Point(64 * i, a, [], wasted, i, 0.0) for i, a in enumerate(accuracies)]
    return Curve(method, seed, points)


def test_the_table_compares_samples_and_wasted_groups():
    # Means over three evaluations: 0.1, 0.15, 0.2, 0.3, 0.4 and 0.1, 0.3, 0.4, 0.5, 0.5.
    slow = curve("uniform", [0.1, 0.2, 0.3, 0.4, 0.5], 0.8)
    fast = curve("curriculum", [0.1, 0.5, 0.6, 0.4, 0.5], 0.4)
    rows = table_of([slow, fast]).splitlines()[4:]
    assert rows[0].startswith("| uniform | 0.400 | 256 | 100% | 1 of 1 | 80% | 80% |")
    assert rows[1].startswith("| curriculum | 0.500 | 128 | 50% | 1 of 1 | 40% | 40% |")


def test_runs_that_have_not_ended_are_compared_as_far_as_all_go():
    slow = curve("uniform", [0.125, 0.25, 0.375, 0.5, 0.75], 0.8)
    fast = curve("curriculum", [0.125, 0.5, 0.75], 0.4)
    other = curve("known", [0.1, 0.2, 0.3], 0.1, seed=7)
    text = table_of([slow, fast, other])
    assert text.startswith("After 128 samples, which all runs have drawn:")
    assert "| uniform | 0.250 | 128 | 100% |" in text
    assert text.endswith("Left out, because uniform has no run with the same seed: known 7.")
    assert "| known" not in text


def test_each_run_ends_its_warm_up_at_the_wanted_accuracy(monkeypatch):
    able = np.array([[True, True], [True, False]])
    monkeypatch.setattr("additions.grpo.accuracy", lambda models, additions: able)
    models = make_models([0, 1], 5, CPU)
    before = models["head"].detach().clone()
    rngs = [np.random.default_rng(seed) for seed in (0, 1)]
    shares = (1.0, 0.0, 0.0, 0.0, 0.0)
    warm_up(models, rngs, until=0.6, steps=2, rows=4, rate=1e-3, shares=shares)
    assert torch.equal(models["head"][0], before[0])
    assert not torch.equal(models["head"][1], before[1])


def test_pass_rates_are_those_of_samples():
    """Of the second run's model, warmed up, with 4,000 samples of each addition."""
    models = make_models([0, 1], 5, CPU)
    rngs = [np.random.default_rng(seed) for seed in (0, 1)]
    shares = (1.0, 0.0, 0.0, 0.0, 0.0)
    warm_up(models, rngs, until=1.0, steps=150, rows=64, rate=3e-3, shares=shares)
    additions = Additions(np.array([[2, 3], [4, 5], [9, 8]]), 5)
    prompts = torch.as_tensor(np.stack([additions.prompts] * 2))
    draws = torch.rand((2, 3 * 4000, 6), generator=torch.Generator().manual_seed(0))
    answers = generate(models, prompts, 4000, draws)[1].numpy().reshape(3, 4000, 6)
    rates = np.all(answers == additions.answers[:, None], axis=2).mean(axis=1)
    found = pass_rates(models, 1, additions)
    assert rates == pytest.approx(found, abs=0.03)
    assert found.max() > 0.1


def test_known_rates_choose_prompts_that_teach(monkeypatch):
    monkeypatch.setattr("additions.choices.LOOK_UP_EVERY", 2)
    choice = KnownRates(Additions(np.zeros((10, 2), dtype=np.int64), 5), seed=0)
    prompts = choice.to_look_up()
    assert sorted(prompts) == list(range(10))
    choice.look_up(prompts, np.where(prompts < 2, 0.4, np.where(prompts < 6, 0.0, 1.0)))
    assert set(choice.next(2, 0.0)) == {0, 1}
    assert choice.to_look_up().size == 0  # not before the second batch
    choice.next(2, 0.0)
    assert choice.to_look_up().size == 10


@pytest.mark.soak
@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_method_trains(problem):
    few = {"iterations": 4, "groups": 8, "per_length": 20, "evaluate_every": 2, "warm_up_steps": 2}
    plan = replace(PROBLEMS[problem], **few)
    methods = ["procurl-group", *BASELINES, KNOWN]
    runs = train(methods, [0, 1], plan, CPU)
    assert [run.method for run in runs] == [*methods, *methods]
    for run in runs:
        assert [point.samples for point in run.points] == [0, 128, 256]
        assert [len(point.by_length) for point in run.points] == [plan.digits] * 3
        assert run.points[0].accuracy == runs[0 if run.seed == 0 else 5].points[0].accuracy
