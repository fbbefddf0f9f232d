"""Learning progress worked by hand."""

import math

import numpy as np
import pytest

from procurl import Evidence, LearningProgress, Scale, make_strategy


def played(wins, losses, scale=None):
    return Evidence(0, wins=np.asarray(wins, float), losses=np.asarray(losses, float), scale=scale)


def after(strategy, *evidence):
    state = strategy.init(len(evidence[0].wins))
    for given in evidence:
        state = strategy.update(state, given)
    return state


def test_averages_follow_the_episodes_of_a_task():
    """α = 1/2. The first visit, a loss, sets both averages to 0. A win: fast 1/2, slow 1/4.

    Another win: fast 3/4, slow (1/4 + 3/4)/2 = 1/2.
    """
    strategy = LearningProgress(alpha=0.5)
    state = after(strategy, played([0], [1]), played([1], [0]))
    assert state.averages.fast == pytest.approx([1 / 2])
    assert state.averages.slow == pytest.approx([1 / 4])
    state = strategy.update(state, played([1], [0]))
    assert state.averages.fast == pytest.approx([3 / 4])
    assert state.averages.slow == pytest.approx([1 / 2])


def test_episodes_count_the_same_together_or_one_by_one():
    """The two wins of the test above in one refresh."""
    state = after(LearningProgress(alpha=0.5), played([0], [1]), played([2], [0]))
    assert state.averages.fast == pytest.approx([3 / 4])
    assert state.averages.slow == pytest.approx([1 / 2])


def test_progress_is_measured_on_stretched_rates():
    """θ = 0.1: f(1/2) = 0.45/0.5 = 0.9, f(1/4) = 0.225/0.3 = 0.75, f(3/4) = 0.675/0.7 = 27/28."""
    strategy = LearningProgress(alpha=0.5, theta=0.1)
    state = after(strategy, played([0], [1]), played([1], [0]))
    assert strategy.progress(state) == pytest.approx([0.9 - 0.75])
    state = strategy.update(state, played([1], [0]))
    assert strategy.progress(state) == pytest.approx([27 / 28 - 0.9])


def test_theta_of_one_half_does_not_stretch():
    strategy = LearningProgress(alpha=0.5, theta=0.5)
    state = after(strategy, played([0], [1]), played([1], [0]))
    assert strategy.progress(state) == pytest.approx([1 / 2 - 1 / 4])


def test_losing_what_was_learned_is_progress_too():
    """A task that was won and is now lost: fast 1/2, slow 3/4, at a distance of 27/28 − 0.9."""
    strategy = LearningProgress(alpha=0.5)
    state = after(strategy, played([1], [0]), played([0], [1]))
    assert strategy.progress(state) == pytest.approx([27 / 28 - 0.9])


def test_what_the_agent_could_do_from_the_start_is_not_progress():
    strategy = LearningProgress()
    state = after(strategy, played([3, 0], [1, 4]))
    assert state.averages.fast == pytest.approx([3 / 4, 0])
    assert strategy.progress(state) == pytest.approx([0, 0])
    assert strategy.probabilities(state) == pytest.approx([0.5, 0.5])


def test_tasks_that_are_not_played_stay_as_they_are():
    strategy = LearningProgress(alpha=0.5)
    before = after(strategy, played([0, 1], [1, 0]), played([1, 0], [0, 1]))
    state = strategy.update(before, played([0, 0], [0, 0]))
    state = strategy.update(state, played([0, np.nan], [0, 1]))
    state = strategy.update(state, played([np.inf, 1], [1, np.inf]))
    for new, old in zip(state.averages, before.averages, strict=True):
        assert new == pytest.approx(old)
    assert state.visits.tolist() == [2, 2]


def test_progress_is_standardized_and_squashed():
    """Progress (0, 0, 0, x): mean x/4, deviation x·√3/4, so z = −1/√3 three times and √3."""
    strategy = LearningProgress(alpha=0.5, center=1.0)
    state = after(strategy, played([0] * 4, [1] * 4), played([0, 0, 0, 1], [0, 0, 0, 0]))
    low = 1 / (1 + math.exp(1 + 1 / math.sqrt(3)))
    high = 1 / (1 + math.exp(1 - math.sqrt(3)))
    total = 3 * low + high
    expected = [low / total] * 3 + [high / total]
    assert strategy.probabilities(state) == pytest.approx(expected)


def test_a_wider_range_of_returns_is_not_progress():
    """A return of 1/2 is half of the range [0, 1] and a quarter of [0, 2]."""
    narrow = Scale(np.float64(0.0), np.float64(1.0), np.bool_(False))
    wide = Scale(np.float64(0.0), np.float64(2.0), np.bool_(False))
    for form in ("bidirectional", "absolute"):
        strategy = LearningProgress(form=form)
        state = after(strategy, played([0.5], [0.5], narrow), played([0.25], [0.75], wide))
        assert state.averages[0] == pytest.approx([0.25])
        assert strategy.progress(state) == pytest.approx([0.0])


def test_changes_are_measured_on_the_wider_range_too():
    """Rates 0 and 1/2 on [0, 1]: a change of 1/2, which is 1/4 on [0, 2]."""
    narrow = Scale(np.float64(0.0), np.float64(1.0), np.bool_(False))
    wide = Scale(np.float64(0.0), np.float64(2.0), np.bool_(False))
    strategy = LearningProgress(form="absolute")
    state = after(strategy, played([0], [1], narrow), played([0.5], [0.5], narrow))
    assert strategy.progress(state) == pytest.approx([0.5])
    assert strategy.progress(strategy.update(state, played([0], [0], wide))) == pytest.approx(
        [0.25]
    )


def test_the_absolute_form_averages_changes_between_visits():
    """Rates 0.2, 0.6, 0.5: changes 0.4 and 0.1, of which the average is 0.4 + 0.1·(0.1 − 0.4)."""
    strategy = LearningProgress(form="absolute", alpha=0.1)
    state = after(strategy, played([1], [4]))
    assert strategy.progress(state) == pytest.approx([0.0])
    state = strategy.update(state, played([3], [2]))
    assert strategy.progress(state) == pytest.approx([0.4])
    state = strategy.update(state, played([0], [0]))
    state = strategy.update(state, played([1], [1]))
    assert strategy.progress(state) == pytest.approx([0.37])


def test_a_task_that_improves_is_preferred_to_solved_and_unsolvable_ones():
    strategy = LearningProgress()
    rates = np.linspace(0.0, 0.6, 7)
    state = after(strategy, *(played([1, rate, 0], [0, 1 - rate, 1]) for rate in rates))
    solved, improving, unsolvable = strategy.probabilities(state)
    assert improving > 1.5 * solved
    assert solved == pytest.approx(unsolvable)


def test_it_becomes_uniform_once_nothing_changes():
    strategy = LearningProgress()
    state = after(strategy, played([0, 0], [1, 1]), played([0, 1], [1, 0]))
    assert strategy.probabilities(state)[1] > 0.7
    for _ in range(30):
        state = strategy.update(state, played([0, 10], [10, 0]))
    assert strategy.probabilities(state) == pytest.approx([0.5, 0.5], abs=1e-6)


@pytest.mark.parametrize("center", [-1000.0, 0.0, 1000.0])
def test_far_centers_leave_a_distribution(center):
    strategy = LearningProgress(alpha=0.5, center=center)
    n = 10_000
    wins = np.zeros(n)
    wins[0] = 1.0
    state = after(strategy, played(np.zeros(n), np.ones(n)), played(wins, np.zeros(n)))
    p = strategy.probabilities(state)
    assert p.sum() == pytest.approx(1.0)
    assert (p > 0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"form": "relative"}, "form must be one of bidirectional, absolute, got 'relative'"),
        ({"alpha": 0.0}, "alpha must be a finite number above 0 and at most 1, got 0.0"),
        ({"theta": 0.6}, "theta must be a finite number above 0 and at most 0.5, got 0.6"),
        ({"center": math.nan}, "center must be a finite number, got nan"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        make_strategy("learning-progress", **settings)
