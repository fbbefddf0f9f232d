"""Conditions, worked out by hand, and their text."""

import re
from typing import Any

import numpy as np
import pytest

from procurl import Condition, Evidence, NoProgress, Scale, Steps, SuccessAbove
from procurl.strategies.conditions import (
    add_to_phase,
    as_condition,
    condition_text,
    new_phase,
    next_phase,
)

EVERY = np.ones(2, dtype=bool)
OTHER: Any = 3  # anything but a condition


def phases(episodes, window=4.0, every=100):
    """The phase after each of the (wins, losses), `every` steps apart."""
    phase = new_phase()
    for i, (wins, losses) in enumerate(episodes):
        evidence = Evidence(every * (i + 1), wins=[wins, 0.0], losses=[losses, 0.0])
        phase = add_to_phase(phase, as_arrays(evidence), EVERY, window)
        yield phase


def as_arrays(evidence):
    return evidence._replace(wins=np.array(evidence.wins), losses=np.array(evidence.losses))


def held(condition, episodes, **options):
    """Whether the condition holds after each of the (wins, losses)."""
    state, found = condition.init(), []
    for phase in phases(episodes, **options):
        state = condition.update(state, phase)
        found.append(bool(condition.holds(state, phase)))
    return found


def test_recent_episodes_weigh_more():
    """With a window of 4, every episode fades the older ones by 3/4.

    Two losses, then one win: (0.75 · 0 + 1) wins and 0.75 · 2 losses, a success of 1 / 2.5. Then
    two wins: 0.5625 · 1 + 2 = 2.5625 wins, 0.5625 · 1.5 = 0.84375 losses.
    """
    first, second, third = phases([(0, 2), (1, 0), (2, 0)])
    assert (first.success, second.success) == (0.0, 1 / 2.5)
    assert third.success == pytest.approx(2.5625 / (2.5625 + 0.84375))
    assert (third.episodes, third.steps) == (5, 300)


def test_only_the_tasks_of_the_phase_count():
    evidence = Evidence(10, wins=np.array([1.0, 5.0]), losses=np.array([3.0, 0.0]))
    phase = add_to_phase(new_phase(), evidence, np.array([True, False]), 100.0)
    assert (phase.success, phase.episodes) == (0.25, 4.0)


def test_a_new_phase_starts_with_nothing_where_the_old_one_ended():
    last = list(phases([(1, 1), (1, 1)]))[-1]
    after = next_phase(last)
    assert (after.steps, after.episodes, after.success) == (0.0, 0.0, 0.0)
    assert after.began == 200.0


def test_older_episodes_are_measured_anew_if_the_range_of_returns_widens():
    """A return of 1 on [0, 1] is a win. On [0, 4] it is a quarter of one."""
    phase = new_phase()
    for step, high, wins in ((1, 1.0, 1.0), (2, 4.0, 0.0)):
        scale = Scale(np.float64(0.0), np.float64(high), np.bool_(False))
        outcomes = np.array([wins, 0.0]), np.zeros(2)
        evidence = Evidence(step, wins=outcomes[0], losses=outcomes[1], scale=scale)
        phase = add_to_phase(phase, evidence, EVERY, 1e9)
    assert phase.success == pytest.approx(0.25)


def test_steps_alone_are_counted_without_outcomes():
    phase = add_to_phase(new_phase(), Evidence(64), EVERY, 100.0)
    assert (phase.steps, phase.episodes) == (64.0, 0.0)
    assert Steps(64.0).needs == ()
    assert Steps(64.0).holds(None, phase)
    assert not Steps(65.0).holds(None, phase)


def test_success_must_last_for_some_episodes():
    """Success is 1 from the start; the fourth episode is the first at which it counts."""
    assert held(SuccessAbove(0.9, episodes=4.0), [(1, 0), (2, 0), (1, 0)]) == [False, False, True]
    assert held(SuccessAbove(0.5, episodes=0.0), [(0, 1), (1, 0)]) == [False, True]


def test_no_progress_holds_once_success_has_not_risen_for_long():
    """Window 1: success is that of the latest evidence, here 0.5, 0.52, 0.6, 0.6, 0.55.

    0.5 is a rise over 0, at step 100. 0.52 is within the margin of 0.05, 0.6 is above it, at step
    300. By step 500 it has not risen for 200 steps.
    """
    rates = [(0.5, 0.5), (0.52, 0.48), (0.6, 0.4), (0.6, 0.4), (0.55, 0.45)]
    condition = NoProgress(steps=200.0, margin=0.05)
    assert held(condition, rates, window=1.0) == [False, False, False, False, True]
    assert held(NoProgress(100.0, 0.05), rates, window=1.0)[:3] == [False, True, False]


def test_a_wider_range_hides_no_progress():
    """The first return of 4.5 is 0.9 on a range up to 5; those after it rise up to 200."""
    condition, phase = NoProgress(steps=300.0), new_phase()
    state: Any = condition.init()
    for i, (mean, high) in enumerate([(4.5, 5.0), (20.0, 200.0), (60.0, 200.0), (90.0, 200.0)]):
        wins = 10.0 * mean / high
        scale = Scale(np.float64(0.0), np.float64(high), np.bool_(False))
        evidence = Evidence(100 * (i + 1), wins=[wins, 0.0], losses=[10.0 - wins, 0.0], scale=scale)
        phase = add_to_phase(phase, as_arrays(evidence), EVERY, 1.0)
        state = condition.update(state, phase)
        assert not condition.holds(state, phase)
    assert state.outcome == pytest.approx(90.0)


def test_conditions_join():
    episodes = [(1, 0), (0, 9), (9, 0)]  # 100 steps apart
    good, late = SuccessAbove(0.9, episodes=0.0), Steps(200.0)
    assert held(good, episodes, window=1.0) == [True, False, True]
    assert held(late, episodes) == [False, True, True]
    assert held(good & late, episodes, window=1.0) == [False, False, True]
    assert held(good | late, episodes, window=1.0) == [True, True, True]
    assert (late & late).needs == ()
    assert (late | good).needs == ("wins", "losses")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("above:0.8", SuccessAbove(0.8)),
        ("above:0.8:5", SuccessAbove(0.8, 5.0)),
        ("steps:1000", Steps(1000.0)),
        ("no-progress:500:0.1", NoProgress(500.0, 0.1)),
        ("above:0.5+steps:9/no-progress:7", SuccessAbove(0.5) & Steps(9.0) | NoProgress(7.0)),
        ("steps:1/steps:2/above:0.3", Steps(1.0) | Steps(2.0) | SuccessAbove(0.3)),
    ],
)
def test_text_and_conditions_are_the_same(text, condition):
    assert as_condition("until", text) == condition
    assert condition_text(condition) == text


def test_an_or_inside_an_and_has_no_text():
    assert condition_text((Steps(1.0) | Steps(2.0)) & SuccessAbove(0.5)) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("abov:0.7", "until: condition 'abov' is not known. Did you mean 'above'?"),
        ("above", "until: 'above' is not a condition; write above:ABOVE:EPISODES"),
        ("steps:many", "until: 'steps:many' is not a condition; write steps:STEPS"),
        ("steps:1:2", "until: 'steps:1:2' is not a condition"),
        (0.7, "until must be a condition, such as SuccessAbove(0.7), or text, such as 'above:0.7'"),
    ],
)
def test_text_that_is_no_condition_is_refused(given, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        as_condition("until", given)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (SuccessAbove(1.2), "above must be a finite number of at least 0 and at most 1, got 1.2"),
        (Steps(0.0), "steps must be a finite number above 0, got 0.0"),
        (NoProgress(margin=-1.0), "margin must be a finite number of at least 0, got -1.0"),
        (Steps(1.0) & Steps(-5.0), "steps must be a finite number above 0, got -5.0"),
        (Steps(1.0) | OTHER, "& and | join conditions, such as Steps(1000), got 3"),
    ],
)
def test_bad_settings_are_refused(condition: Condition, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        condition.check()
