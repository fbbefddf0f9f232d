"""A mix of strategies, worked out by hand, and what its parts must agree on."""

import re

import numpy as np
import pytest

from procurl import (
    CriticSuccess,
    Curriculum,
    Evidence,
    Mix,
    OutcomeSuccess,
    ProCuRL,
    RolloutSuccess,
    Stages,
    TaskPool,
    make_strategy,
)
from procurl.internals.settings import describe
from tests.strategies.few_rollouts import EvenTasks
from tests.strategies.own_rule import AtMultiples

POOL = TaskPool([[0.0], [1.0], [2.0], [3.0]])


def test_probabilities_are_the_weighted_sum():
    """`space` plays task 0 alone at first, `iid` every task with 1/4: weights 3 and 1.

    Task 0: 3/4 · 1 + 1/4 · 1/4 = 13/16; the others: 1/4 · 1/4 = 1/16.
    """
    curriculum = Curriculum(Mix((make_strategy("space"), make_strategy("iid")), (3.0, 1.0)), POOL)
    assert curriculum.probabilities().tolist() == [13 / 16, 1 / 16, 1 / 16, 1 / 16]


def test_without_weights_every_part_has_the_same_share():
    """Two of three parts play task 0 alone: 2/3 + 1/3 · 1/4 = 3/4."""
    alone, uniform = make_strategy("space"), make_strategy("iid")
    p = Curriculum(Mix((alone, uniform, alone)), POOL).probabilities()
    assert p == pytest.approx([9 / 12, 1 / 12, 1 / 12, 1 / 12])


def test_every_part_learns_from_the_evidence():
    """PLR after one episode on task 1: |seen|/n · 1 = 1/4 for it, 1/4 for each unseen one.

    ProCuRL-argmax picks the value 0.5, which is task 2.
    """
    parts = (make_strategy("plr"), make_strategy("procurl-argmax"))
    curriculum = Curriculum(Mix(parts, (0.4, 0.6)), POOL)
    assert curriculum.strategy.needs == ("score", "played", "values")
    curriculum.observe(
        Evidence(9, score=[0, 2, 0, 0], played=[0, 1, 0, 0], values=[0, 0.1, 0.5, 1])
    )
    assert curriculum.probabilities() == pytest.approx([0.1, 0.1, 0.7, 0.1])
    assert curriculum.success() == pytest.approx([0.0, 0.1, 0.5, 1.0])


def test_a_mix_saves_its_parts_and_tells_them_apart(tmp_path):
    mixed = make_strategy("mix", strategies="plr[rho=0.3]+procurl-val")
    curriculum = Curriculum(mixed, POOL, seed=1)
    curriculum.observe(
        Evidence(9, score=[0, 2, 0, 0], played=[0, 1, 0, 0], values=[0, 0.1, 0.5, 1])
    )
    curriculum.save(tmp_path / "saved")
    again = Curriculum(mixed, POOL, seed=5).load(tmp_path / "saved")
    assert again.next(50).tolist() == curriculum.next(50).tolist()
    other = Curriculum(make_strategy("mix", strategies="plr[rho=0.4]+procurl-val"), POOL)
    with pytest.raises(ValueError, match="strategy"):
        other.load(tmp_path / "saved")
    described = describe(mixed)
    assert [part["type"] for part in described["strategies"]] == ["PLR", "ProCuRL"]
    assert described["strategies"][0]["rho"] == 0.3


def test_the_longest_interval_and_the_one_plan_hold_for_all():
    rollouts = RolloutSuccess(c_rollouts=3, refresh_every=500, budget=3.0)
    parts = (make_strategy("iid"), make_strategy("plr", refresh_every=100), ProCuRL(rollouts))
    mixed = Mix(parts, (0.2, 0.4, 0.4))
    assert mixed.refresh_every == 500
    assert mixed.rollout_plan() == ProCuRL(rollouts).rollout_plan()
    assert not mixed.due(499, 0, 0)
    assert mixed.due(500, 0, 0)
    assert mixed.due(500, 0, 1000)
    assert not mixed.due(500, 0, 1001)  # the budget allows 2 teacher steps per training step
    assert Mix().refresh_every is None


@pytest.mark.parametrize(("sizes", "expected"), [((10, 30), 30), ((10, None), None)])
def test_the_largest_slice_suits_all_parts_with_a_critic(sizes, expected):
    valued = [make_strategy("procurl-val", tasks_per_refresh=size) for size in sizes]
    assert Mix((make_strategy("iid"), *valued), (0.2, 0.4, 0.4)).tasks_per_refresh == expected


def test_a_part_with_a_rule_of_its_own_must_be_due_too():
    mixed = Mix((make_strategy("plr", refresh_every=10), AtMultiples(every=64.0)), (0.5, 0.5))
    own = AtMultiples(every=64.0)
    for step in range(10, 300, 7):
        assert bool(mixed.due(step, 0, 0)) == bool(own.due(step, 0, 0))
    assert not mixed.due_by_interval
    assert Mix().due_by_interval


def test_rollouts_are_drawn_by_the_weights_of_the_part_that_needs_them():
    mixed = Mix((make_strategy("iid"), EvenTasks()), (0.5, 0.5))
    np.testing.assert_array_equal(mixed.rollout_weights(mixed.init(5)), [0, 0, 1, 0, 1])
    assert Mix().rollout_weights(Mix().init(5)) is None


def test_parts_that_read_no_outcomes_have_no_say_in_them():
    bounds = ProCuRL(CriticSuccess(v_min=0.0, v_max=60.0))  # of values: it reads no outcomes
    judged = ProCuRL(OutcomeSuccess(v_min=-1.0, v_max=3.0))
    mixed = Mix((bounds, judged), (0.5, 0.5))
    mixed.check()
    scale = np.array([-1.0, 1.0, 3.0])
    np.testing.assert_allclose(mixed.outcomes(scale, None)[0], [0.0, 0.5, 1.0])
    assert mixed.outcome_measure == "return"
    signed = make_strategy("plr", score="gae")
    assert Mix((bounds, signed), (1.0, 1.0)).transition_score(np.array([-2.0])).tolist() == [-2.0]


@pytest.mark.parametrize(
    ("strategies", "message"),
    [
        (
            (ProCuRL(RolloutSuccess(c_rollouts=3)), ProCuRL(RolloutSuccess(c_rollouts=5))),
            "must play the same rollouts: set the same c_rollouts, got ProCuRL(c_rollouts=3) and "
            "ProCuRL(c_rollouts=5)",
        ),
        (
            (ProCuRL(RolloutSuccess()), ProCuRL(RolloutSuccess(rollout_tasks=5))),
            "must play the same rollouts: set the same rollout_tasks, got "
            "ProCuRL(rollout_tasks=None) and ProCuRL(rollout_tasks=5)",
        ),
        (
            (ProCuRL(OutcomeSuccess(measure="return")), Stages()),
            "must judge training episodes alike: set the same measure, got "
            "ProCuRL(measure='return') and Stages(measure='auto')",
        ),
        (
            (
                ProCuRL(OutcomeSuccess(v_min=0.0, v_max=1.0)),
                ProCuRL(OutcomeSuccess(v_min=0.0, v_max=9.0)),
            ),
            "must judge training episodes alike: set the same v_max, got ProCuRL(v_max=1.0) and "
            "ProCuRL(v_max=9.0)",
        ),
        (
            (make_strategy("plr"), make_strategy("plr", score="gae")),
            "must score episodes alike: set the same score, got PLR(score='value_l1') and "
            "PLR(score='gae')",
        ),
        (
            (make_strategy("iid"), make_strategy("plr", robust=True)),
            "a strategy that excludes tasks from learning cannot be combined with others, which "
            "may have chosen these tasks: set robust=False, got PLR with robust=True",
        ),
        ((make_strategy("iid"), "plr"), "every part must be a strategy, such as make_strategy"),
        ((), "strategies must be a tuple of strategies, got ()"),
    ],
)
def test_parts_that_cannot_share_evidence_are_refused(strategies, message):
    mixed = Mix(strategies, (0.5, 0.5))
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        mixed.check()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((1.0,), "weights must hold one number for each of the 2 strategies, got (1.0,)"),
        ((1.0, -0.5), "every weight must be a finite number of at least 0, got -0.5"),
        ((1e308, 1e308), "the sum of the weights must be finite, got (1e+308, 1e+308)"),
        ((0.0, 0.0), "at least one weight must be above 0, got (0.0, 0.0)"),
        ("0.5+many", "weights must be numbers joined with +, such as 0.8+0.2, got '0.5+many'"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        make_strategy("mix", weights=weights)
