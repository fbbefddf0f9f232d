"""A switch between strategies, worked out by hand."""

import re
from typing import Any

import numpy as np
import pytest

from procurl import (
    Curriculum,
    Evidence,
    ProCuRL,
    RolloutSuccess,
    Steps,
    SuccessAbove,
    Switch,
    TaskPool,
    make_strategy,
)

OTHER: Any = 7  # neither a strategy nor a condition
POOL = TaskPool([[0.0], [1.0], [2.0], [3.0]])
VALUES = [0.0, 0.1, 0.5, 1.0]
ARGMAX = [0.0, 0.0, 1.0, 0.0]  # of procurl-argmax on these values


def observed(curriculum, step, **fields):
    curriculum.observe(Evidence(step, values=VALUES, **fields))
    return curriculum.probabilities().tolist()


def test_the_second_strategy_plays_after_so_many_steps_and_knows_the_evidence_so_far():
    switch = Switch(make_strategy("iid"), make_strategy("procurl-argmax"), when=Steps(100.0))
    curriculum = Curriculum(switch, POOL)
    assert curriculum.probabilities().tolist() == [0.25] * 4
    assert observed(curriculum, 99) == [0.25] * 4
    assert curriculum.success() == pytest.approx(VALUES)
    assert observed(curriculum, 100) == ARGMAX


def test_a_switch_is_for_good():
    """Success over all tasks: 3 of 4 at first, then, with a window of 1, none of 9."""
    switch = Switch(
        make_strategy("iid"),
        make_strategy("procurl-argmax"),
        when=SuccessAbove(0.75, episodes=4.0),
        window=1.0,
    )
    curriculum = Curriculum(switch, POOL)
    assert curriculum.strategy.needs == ("values", "wins", "losses")
    assert observed(curriculum, 10, wins=[2, 0, 0, 0], losses=[0, 1, 0, 0]) == [0.25] * 4
    assert observed(curriculum, 20, wins=[0, 3, 0, 0], losses=[0, 1, 0, 0]) == ARGMAX
    assert observed(curriculum, 30, wins=[0] * 4, losses=[9, 0, 0, 0]) == ARGMAX


def test_success_is_that_of_the_strategy_that_plays():
    by_value, by_outcome = make_strategy("procurl-val"), make_strategy("procurl-out")
    curriculum = Curriculum(Switch(by_outcome, by_value, when=Steps(15.0)), POOL)
    alone = Curriculum(by_outcome, POOL)
    evidence = {"values": VALUES, "wins": [4, 4, 0, 0], "losses": [0, 0, 4, 4]}
    for each in (curriculum, alone):
        each.observe(Evidence(10, **evidence))
    assert curriculum.success() == pytest.approx(alone.success())
    curriculum.observe(Evidence(20, **evidence))
    assert curriculum.success() == pytest.approx(VALUES)
    assert Curriculum(Switch(make_strategy("plr"), make_strategy("iid")), POOL).success() is None


def test_strategies_without_evidence_are_switched_too():
    """Engines refresh only strategies that use evidence."""
    switch = Switch(make_strategy("iid"), make_strategy("iid"), when=Steps(10.0))
    assert switch.needs == ()
    assert switch.uses == ("wins", "losses", "scale")
    state = switch.update(switch.init(3), Evidence(10))
    assert bool(state.switched)


@pytest.mark.parametrize(
    ("switch", "message"),
    [
        (Switch(when=Steps(0.0)), "steps must be a finite number above 0, got 0.0"),
        (Switch(when=OTHER), "when must be a condition, such as SuccessAbove(0.7), or text"),
        (Switch(window=0.0), "window must be a finite number of at least 1, got 0.0"),
        (Switch(first=OTHER), "every part must be a strategy, such as make_strategy('iid'), got"),
        (
            Switch(ProCuRL(RolloutSuccess(budget=2.0)), ProCuRL(RolloutSuccess())),
            "must play the same rollouts: set the same budget, got ProCuRL(budget=2.0) and "
            "ProCuRL(budget=None)",
        ),
    ],
)
def test_bad_settings_are_refused(switch, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        switch.check()


def test_relabeled_pools_are_bound_in_both_parts():
    """Stages by the last column play task 3 first, whichever part they are."""
    staged = make_strategy("stages", by="-context_0", parts=4, keep=0)
    for switch in (Switch(staged, make_strategy("iid")), Switch(make_strategy("iid"), staged)):
        bound = switch.bind(POOL)
        state = bound.init(4)
        part = bound.first if switch.first is staged else bound.second
        kept = state.first if switch.first is staged else state.second
        np.testing.assert_array_equal(part.probabilities(kept), [0, 0, 0, 1])
