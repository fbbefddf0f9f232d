"""The benchmark of prompts for a language model: additions, the model, GRPO and the table."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import torch

from additions.choices import BASELINES, EasyToHard, Uniform
from additions.grpo import (
    Adam,
    answer_log_probs,
    answer_logits,
    group_logits,
    improve,
    warm_up,
)
from additions.model import generate, logits_of, make_models
from additions.runs import Plan, Point, make_run, train
from additions.sums import answers_of, carries_of, distinct_numbers, lengths_of, prompts_of
from additions.table import Curve, table_of
from prompt_limits import drawn_by, wasted

NUMBERS = np.array([[12, 345], [95, 7]])
CPU = torch.device("cpu")


def test_additions_as_tokens():
    assert prompts_of(NUMBERS).tolist() == [
        [0, 0, 0, 1, 2, 10, 0, 0, 3, 4, 5, 11],
        [0, 0, 0, 9, 5, 10, 0, 0, 0, 0, 7, 11],
    ]
    # 357 and 102, the last digit first.
    assert answers_of(NUMBERS).tolist() == [[7, 5, 3, 0, 0, 0], [2, 0, 1, 0, 0, 0]]
    assert lengths_of(NUMBERS).tolist() == [3, 2]
    # 95 + 7 carries from the ones and from the tens.
    assert carries_of(NUMBERS).tolist() == [[False] * 5, [True, True, False, False, False]]


def test_prompts_are_different_and_as_long_as_asked():
    numbers = distinct_numbers(np.random.default_rng(0), 120)
    assert len(np.unique(numbers, axis=0)) == len(numbers)
    # There are only 100 sums of two digits.
    assert np.bincount(lengths_of(numbers)).tolist() == [0, 100, 120, 120, 120, 120]


def test_generation_agrees_with_the_model_without_a_cache():
    models = make_models([0, 1], CPU)
    prompts = torch.as_tensor(np.stack([prompts_of(NUMBERS)] * 2))
    answers = generate(models, prompts, 2, None)
    tokens = torch.cat([prompts.repeat_interleave(2, dim=1), answers], dim=2)
    likely = logits_of(models, tokens[:, :, :-1])[:, :, 11:].argmax(dim=-1)
    assert torch.equal(answers, likely)
    assert not torch.equal(answers[0], answers[1])


def test_groups_read_their_prompt_once_and_give_the_same_logits():
    models = make_models([0, 1], CPU)
    answers = np.random.default_rng(0).integers(0, 10, (2, 2, 3, 6))
    asked = np.broadcast_to(prompts_of(NUMBERS)[None, :, None], (2, 2, 3, 12))
    groups = torch.as_tensor(np.concatenate([asked, answers], axis=3))
    apart = answer_logits(models, groups.flatten(1, 2))
    torch.testing.assert_close(group_logits(models, groups), apart)


def test_an_update_raises_what_was_rewarded_and_spares_runs_that_sit_out():
    models = make_models([0, 0], CPU)
    before = {name: value.detach().clone() for name, value in models.items()}
    answers = np.stack([answers_of(NUMBERS), answers_of(NUMBERS)[::-1]], axis=1)  # right and wrong
    asked = np.repeat(prompts_of(NUMBERS)[:, None], 2, axis=1)
    tokens = np.stack([np.concatenate([asked, answers], axis=2)] * 2)  # [2 runs, 2 groups, 2, t]
    rewards = np.stack([[[1.0, 0.0], [1.0, 0.0]]] * 2)
    improve(models, Adam(models, 1e-3), tokens, rewards, np.array([True, False]))
    flat = torch.as_tensor(tokens.reshape(2, 4, -1))
    gain = (answer_log_probs(models, flat) - answer_log_probs(before, flat)).sum(dim=2)
    assert (gain[0, ::2] > gain[0, 1::2]).all()
    for name, value in models.items():
        assert torch.equal(value[1], before[name][1])
        assert not torch.equal(value[0], before[name][0])


def test_choices_that_do_not_learn():
    numbers = distinct_numbers(np.random.default_rng(0), 40)
    uniform = Uniform(numbers, seed=0)
    drawn = np.concatenate([uniform.next(8, 0.0) for _ in range(25)])
    assert sorted(drawn) == list(range(200))
    longest = [lengths_of(numbers[EasyToHard(numbers, 0).next(40, p)]).max() for p in (0.1, 0.5, 1)]
    assert longest == [1, 3, 5]


def test_the_table_compares_samples_and_wasted_groups():
    def curve(method, accuracies, wasted):
        points = [Point(64 * i, a, [], wasted, i, 0.0) for i, a in enumerate(accuracies)]
        return Curve(method, 0, points)

    # Means over three evaluations: 0.1, 0.15, 0.2, 0.3, 0.4 and 0.1, 0.3, 0.4, 0.5, 0.5.
    slow = curve("uniform", [0.1, 0.2, 0.3, 0.4, 0.5], 0.8)
    fast = curve("curriculum", [0.1, 0.5, 0.6, 0.4, 0.5], 0.4)
    rows = table_of([slow, fast]).splitlines()[2:]
    assert rows[0].startswith("| uniform | 0.400 | 256 | 100% | 1 of 1 | 80% | 80% |")
    assert rows[1].startswith("| curriculum | 0.500 | 128 | 50% | 1 of 1 | 40% | 40% |")


def test_each_run_ends_its_warm_up_at_the_wanted_accuracy(monkeypatch):
    able = np.array([[True, True], [True, False]])
    monkeypatch.setattr("additions.grpo.accuracy", lambda models, numbers: able)
    models = make_models([0, 1], CPU)
    before = models["head"].detach().clone()
    rngs = [np.random.default_rng(seed) for seed in (0, 1)]
    shares = (1.0, 0.0, 0.0, 0.0, 0.0)
    warm_up(models, rngs, until=0.6, steps=2, rows=4, rate=1e-3, shares=shares)
    assert torch.equal(models["head"][0], before[0])
    assert not torch.equal(models["head"][1], before[1])


def test_the_limits_of_a_curriculum_are_those_of_what_it_knows():
    """A model that is right by chance only: every way to draw wastes nearly all groups."""
    assert drawn_by(np.array([0.5, 0.0, 1.0])) == pytest.approx(
        [0.98 + 0.02 / 3, 0.02 / 3, 0.02 / 3]
    )
    run = make_run("procurl-group", 0, Plan(per_length=5))
    shares = wasted(make_models([0], CPU), run)
    assert shares == pytest.approx([1.0] * 4, abs=0.1)


@pytest.mark.soak
def test_every_method_trains():
    plan = Plan(iterations=4, groups=8, per_length=20, evaluate_every=2, warm_up_steps=2)
    methods = ["procurl-group", *BASELINES]
    runs = train(methods, [0, 1], plan, CPU)
    assert [run.method for run in runs] == [*methods, *methods]
    for run in runs:
        assert [point.samples for point in run.points] == [0, 128, 256]
        assert run.points[0].accuracy == runs[0 if run.seed == 0 else 4].points[0].accuracy
