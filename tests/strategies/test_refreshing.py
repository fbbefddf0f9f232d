"""When strategies are due for a refresh: the rule that every engine follows."""

import numpy as np
import pytest

from procurl import IID, Easy, ProCuRL, RolloutSuccess, make_strategy
from procurl.strategies.refreshing import (
    is_always_due,
    is_due,
    is_due_together,
    rolls_out_together,
)
from tests.strategies.own_rule import AtMultiples


def rolling(**settings):
    """A strategy with rollouts."""
    return ProCuRL(success=RolloutSuccess(**settings))


def test_rollouts_are_due_after_refresh_every_steps():
    strategy = rolling(refresh_every=5120)
    assert not strategy.due(step=5119, refreshed_at=0, teacher_steps=0)
    assert strategy.due(step=5120, refreshed_at=0, teacher_steps=1e9)


def test_a_budget_stretches_the_interval_until_the_last_refresh_is_paid_off():
    """Budget 2: the teacher may use as many steps as training, and 80,000 are spent."""
    strategy = rolling(refresh_every=5120, budget=2.0)
    assert not strategy.due(step=5119, refreshed_at=0, teacher_steps=0)
    assert strategy.due(step=5120, refreshed_at=0, teacher_steps=0)
    assert not strategy.due(step=79_999, refreshed_at=5120, teacher_steps=80_000)
    assert strategy.due(step=80_000, refreshed_at=5120, teacher_steps=80_000)
    runs = strategy.due(np.full(2, 160_000), np.zeros(2), np.array([0, 1e6]))
    assert runs.tolist() == [True, False]


def refreshes(strategy, prices, steps, update):
    """(step, cost) of every refresh, the k-th of which costs prices[k]."""
    made = []
    for step in range(update, steps + 1, update):
        at = made[-1][0] if made else 0
        if strategy.due(step, at, sum(price for _, price in made)):
            made.append((step, prices[len(made)]))
    return made


@pytest.mark.parametrize("budget", [2.0, 4.0])
def test_a_budget_is_used_and_passed_by_one_refresh_at_most(budget):
    strategy = rolling(refresh_every=5120, budget=budget)
    prices = np.random.default_rng(0).integers(60_000, 100_000, size=100)
    made = refreshes(strategy, prices, steps=1_000_000, update=1024)
    assert made[0][0] == 5120
    spent = 0
    for step, price in made:
        spent += price
        assert spent <= (budget - 1.0) * step + price
    total = 1.0 + spent / 1_000_000
    assert budget - 0.02 <= total <= budget + 0.1


def test_a_budget_is_not_used_up_by_cheap_refreshes():
    """Every 5120 steps a refresh of 1000: the interval is kept to, 195 refreshes in a million."""
    made = refreshes(rolling(refresh_every=5120, budget=2.0), [1000] * 200, 1_000_000, 1024)
    assert np.diff([0, *(step for step, _ in made)]).tolist() == [5120] * 195


def test_a_pool_whose_worst_case_exceeds_the_budget_gets_a_curriculum():
    """24,000 tasks · 20 rollouts · 100 steps may be 48M steps. They are 1.5M, more than the budget
    has at the first refresh: the second follows once as many training steps were taken.
    """
    strategy = rolling(refresh_every=102_400, budget=2.0)
    made = refreshes(strategy, [1_500_000] * 3, steps=2_000_000, update=2048)
    assert [step for step, _ in made] == [102_400, 733 * 2048]


def early(budget=2.0, training_steps=1_000_000, refresh_every=5120, **settings):
    """A strategy that spends its budget early."""
    return rolling(
        budget=budget,
        training_steps=training_steps,
        refresh_every=refresh_every,
        spending="early",
        **settings,
    )


@pytest.mark.parametrize(("budget", "last"), [(2.0, 13 * 5120), (4.0, 38 * 5120)])
def test_an_early_budget_is_spent_by_the_first_refreshes(budget, last):
    """Refreshes of 80,000 steps: 1M is gone after 13 of them, 3M after 38, within 0.2M steps."""
    strategy, spent, rolled_at = early(budget), 0, []
    for step in range(5120, 1_000_001, 5120):
        assert strategy.due(step, step - 5120, spent)
        if strategy.rolls_out(step, spent):
            spent += 80_000
            rolled_at.append(step)
    assert rolled_at == list(range(5120, last + 1, 5120))
    assert (budget - 1.0) * 1_000_000 <= spent < (budget - 1.0) * 1_000_000 + 80_000


def test_an_early_budget_that_is_spent_exactly_is_gone():
    assert early().rolls_out(step=999_999, teacher_steps=999_999)
    assert not early().rolls_out(step=5120, teacher_steps=1_000_000)
    runs = early().rolls_out(np.full(2, 5120), np.array([999_999, 1_000_000]))
    assert runs.tolist() == [True, False]


def test_optional_rollouts_wait_for_the_budget_and_refreshes_do_not():
    """Budget 1.5: half of 1000 training steps are the teacher's."""
    strategy = make_strategy("procurl", budget=1.5)
    for spent, rolls_out in ((0, True), (500, True), (501, False)):
        assert strategy.due(step=1000, refreshed_at=999, teacher_steps=spent)
        assert bool(strategy.rolls_out(step=1000, teacher_steps=spent)) is rolls_out
    assert strategy.rolls_out(step=1002, teacher_steps=501)


def test_optional_rollouts_stay_optional_inside_a_mix():
    strategy = make_strategy("mix", strategies="procurl[budget=1.5]+plr")
    assert strategy.due(step=1000, refreshed_at=999, teacher_steps=501)
    assert strategy.rolls_out(step=1000, teacher_steps=500)
    assert not strategy.rolls_out(step=1000, teacher_steps=501)


def test_rollouts_that_a_strategy_needs_are_part_of_every_refresh():
    assert rolling(budget=2.0).rolls_out(step=1000, teacher_steps=10**9)
    assert not make_strategy("procurl").rolls_out(step=1000, teacher_steps=0)


@pytest.mark.parametrize("refresh_every", [None, 1, 64, 100, 1000])
def test_an_interval_is_kept_in_whole_updates(refresh_every):
    """At multiples of 64 steps, the refreshes are ⌈interval / 64⌉ updates apart."""
    strategy = make_strategy("procurl-val", refresh_every=refresh_every)
    refreshed_at, made = 0, []
    for step in range(64, 64 * 100, 64):
        if is_due(strategy, step, refreshed_at, 0):
            refreshed_at = step
            made.append(step)
    apart = 64 * -(-(refresh_every or 1) // 64)
    assert made == list(range(apart, 64 * 100, apart))


def test_a_strategys_own_rule_decides():
    strategy = AtMultiples(every=100.0)
    assert is_due(strategy, 200, 150, 0)
    assert not is_due(strategy, 250, 0, 0)
    assert not is_always_due(strategy)
    assert not is_due_together(strategy)


def test_no_strategy_is_refreshed_twice_at_one_step_or_before_the_least_wait():
    strategy = make_strategy("procurl-val")
    assert is_due(strategy, 200, 199, 0)
    assert not is_due(strategy, 200, 200, 0)
    assert not is_due(strategy, 200, 160, 0, at_least=50)
    assert is_due(strategy, 210, 160, 0, at_least=50)


def test_a_strategy_without_evidence_is_never_due():
    assert not is_due(IID(), 1000, 0, 0)
    assert not is_always_due(IID())


@pytest.mark.parametrize(
    ("strategy", "always", "together", "same_rollouts"),
    [
        (make_strategy("procurl-val"), True, True, True),
        (make_strategy("procurl-val", refresh_every=64), False, True, True),
        (Easy(success=RolloutSuccess(refresh_every=None)), True, True, True),
        (rolling(refresh_every=None, budget=2.0), False, False, False),
        (make_strategy("procurl", budget=1.5), True, True, False),
        (early(), False, True, True),
    ],
)
def test_engines_can_tell_beforehand_when_the_default_rule_holds(
    strategy, always, together, same_rollouts
):
    assert is_always_due(strategy) is always
    assert is_due_together(strategy) is together
    assert rolls_out_together(strategy) is same_rollouts
