"""Budgets of rollouts that are spent early: the rule, its settings, and what follows."""

from typing import Any

import numpy as np
import pytest

from procurl import Curriculum, Evidence, RolloutSuccess, TaskPool, TopRollouts, make_strategy
from procurl.success import RolloutPlan

MEASURED = [0.1, 0.5, 0.9]


def early(name="procurl-env-2", **settings) -> Any:
    return make_strategy(name, **{"spending": "early", "training_steps": 1000} | settings)


def curriculum(strategy):
    return Curriculum(strategy, TaskPool.from_seeds(3), seed=0)


def test_the_plan_holds_the_budget_of_the_whole_training():
    plan = early(c_rollouts=5).rollout_plan()
    assert plan == RolloutPlan(
        5, "auto", budget=2.0, spending="early", training_steps=1000, optional=True
    )
    even: Any = make_strategy("procurl-env-2").rollout_plan()
    assert (even.spending, even.optional) == ("even", False)


@pytest.mark.parametrize("name", ["procurl-env-2", "easy", "hard", "sfl"])
@pytest.mark.parametrize("rollouts", [None, [0, 0, 0]])
def test_all_tasks_are_equally_likely_once_the_budget_is_spent(name, rollouts):
    teacher = curriculum(early(name, budget=2.0))
    teacher.observe(Evidence(step=100, rollout_success=MEASURED))
    assert np.ptp(teacher.probabilities()) > 0.1
    teacher.observe(Evidence(step=200, rollouts=rollouts))
    assert teacher.success() == pytest.approx([0.0, 0.0, 0.0])
    assert teacher.probabilities() == pytest.approx([1 / 3, 1 / 3, 1 / 3])


def test_evidence_without_rollouts_is_refused_if_the_budget_is_spent_evenly():
    teacher = curriculum(make_strategy("procurl-env-2"))
    with pytest.raises(ValueError, match="rollout_success is missing"):
        teacher.observe(Evidence(step=200))


def test_outcomes_do_not_take_the_place_of_rollouts():
    with pytest.raises(ValueError, match="procurl-env-2 requires rollout_success"):
        curriculum(early()).record([0, 1], [1.0, 0.0])


def test_the_length_of_training_is_taken_from_the_engine_unless_it_is_set():
    unset = early(training_steps=None)
    assert unset.for_training(500).success.training_steps == 500
    assert early().for_training(500).success.training_steps == 1000
    even = make_strategy("procurl-env-2")
    assert even.for_training(500) == even


@pytest.mark.parametrize("name", ["mix", "switch"])
def test_parts_take_the_length_of_training_too(name):
    parts = {
        "mix": {"strategies": "procurl-env-2[spending=early]+iid"},
        "switch": {"first": "iid", "second": "procurl-env-2[spending=early]", "when": "steps:500"},
    }
    strategy = make_strategy(name, **parts[name]).for_training(500)
    plan: Any = strategy.rollout_plan()
    assert plan.training_steps == 500


def test_an_unknown_length_of_training_is_named():
    with pytest.raises(ValueError, match="spending='early' needs training_steps, the length of"):
        early(training_steps=None).rolls_out(step=100, teacher_steps=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"spending": "late"}, "spending must be one of even, early, got 'late'"),
        ({"budget": None}, "spending='early' needs a budget, such as budget=2.0, got None"),
        ({"spending": "even"}, "training_steps is for spending='early', got 1000 with"),
        ({"training_steps": 0}, "training_steps must be an integer of at least 1, got 0"),
        ({"p_star": TopRollouts()}, r"not RolloutSuccess\(spending='early'\)"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        early(**settings)


def test_an_even_budget_is_the_default():
    assert RolloutSuccess().spending == "even"
    assert RolloutSuccess(budget=2.0).rollout_plan().spending == "even"


def test_drawing_evenly_once_the_budget_is_spent_is_no_reason_to_warn(caplog):
    teacher = curriculum(early())
    teacher.observe(Evidence(step=10, rollout_success=MEASURED))
    for step in range(20, 200):
        teacher.observe(Evidence(step=step))
        teacher.next(3)
    assert not caplog.messages
    assert not make_strategy("procurl-env-2").ends_evenly
