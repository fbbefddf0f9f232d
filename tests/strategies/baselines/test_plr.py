"""PLR worked by hand."""

import numpy as np
import pytest

from procurl import PLR, Evidence, make_strategy

VALUES = np.array([0.3, 0.5, -0.1])  # of the critic, for three steps


def advance(strategy, state, score, played):
    return strategy.update(
        state, Evidence(0, score=np.asarray(score, dtype=float), played=np.asarray(played))
    )


def test_unseen_tasks_share_what_is_not_replayed():
    """Two of four tasks seen: replay has 2/4, each unseen task 1/4.

    β = 1, ρ = 0: weights 1/1 and 1/2 give 2/3 and 1/3 of the replay half.
    """
    strategy = PLR(rho=0.0, beta=1.0)
    state = advance(strategy, strategy.init(4), [0.2, 0.0, 0.8, 0.0], [1, 0, 2, 0])
    assert strategy.probabilities(state) == pytest.approx([1 / 6, 1 / 4, 1 / 3, 1 / 4])


def test_rank_and_staleness_mix():
    """All three seen, then task 0 alone is played 4 times: ages 0, 4, 4 after 3 episodes before.

    P_C = 0, 1/2, 1/2. Scores 0.1, 0.9, 0.5: ranks 3, 1, 2, and with β = 0.5 weights 1/9, 1, 1/4,
    whose sum is 49/36, so P_S = 4/49, 36/49, 9/49. With ρ = 0.5 the mean of both.
    """
    strategy = PLR(rho=0.5, beta=0.5)
    state = advance(strategy, strategy.init(3), [0.7, 0.9, 0.5], [1, 1, 1])
    state = advance(strategy, state, [0.1, 0.0, 0.0], [4, 0, 0])
    assert state.age == pytest.approx([0, 4, 4])
    assert state.score == pytest.approx([0.1, 0.9, 0.5])
    expected = [2 / 49, 18 / 49 + 1 / 4, 9 / 98 + 1 / 4]
    assert strategy.probabilities(state) == pytest.approx(expected)


def test_staleness_is_even_when_all_seen_tasks_were_just_played():
    strategy = PLR(rho=1.0)
    state = advance(strategy, strategy.init(3), [0.5, 0.1, 0.0], [1, 1, 0])
    assert strategy.probabilities(state) == pytest.approx([1 / 3, 1 / 3, 1 / 3])


def test_ages_add_up_over_refreshes():
    """Task 0 last played in the first refresh; 2 + 3 episodes since."""
    strategy = PLR()
    state = advance(strategy, strategy.init(2), [1.0, 0.0], [1, 0])
    state = advance(strategy, state, [0.0, 1.0], [0, 2])
    state = advance(strategy, state, [0.0, 1.0], [0, 3])
    assert state.age == pytest.approx([5, 0])


def test_is_uniform_before_anything_was_played():
    strategy = PLR()
    assert strategy.probabilities(strategy.init(4)) == pytest.approx([0.25] * 4)


def test_sharp_ranks_do_not_underflow_to_nan():
    strategy = PLR(beta=0.001, rho=0.0)
    state = advance(strategy, strategy.init(1000), np.arange(1000), np.ones(1000))
    p = strategy.probabilities(state)
    assert p[999] == pytest.approx(1.0)
    assert p.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ("value_l1", [2.0, 0.5, 1.0]),
        ("gae", [-2.0, 0.5, 1.0]),
        ("positive_value_loss", [0.0, 0.5, 1.0]),
        ("maxmc", [-0.3, -0.5, 0.1]),  # without the best return, which `update` adds
    ],
)
def test_transition_scores(score, expected):
    scores = PLR(score=score).transition_score(np.array([-2.0, 0.5, 1.0]), VALUES)
    assert scores == pytest.approx(expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rho": 1.1}, "rho must be a finite number of at least 0 and at most 1, got 1.1"),
        ({"beta": 0.0}, "beta must be a finite number above 0, got 0.0"),
        (
            {"score": "td"},
            "score must be one of value_l1, gae, positive_value_loss, maxmc, got 'td'",
        ),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        make_strategy("plr", **settings)


def test_maximum_monte_carlo_is_the_best_return_less_the_mean_value():
    """Task 0: values 0.2, 0.4 and a best return of 1: ((1 − 0.2) + (1 − 0.4)) / 2 = 0.7.

    Task 1: values 0.5 and a best return of 0.5: 0. Task 2 is not played and keeps nothing, although
    its entries would give the highest score. β = 1, ρ = 0: 2/3 and 1/3 of the 2/3 replayed.
    """
    strategy = PLR(score="maxmc", rho=0.0, beta=1.0)
    assert strategy.needs == ("score", "played", "best_return")
    nothing = np.zeros(2)
    means = [
        strategy.transition_score(nothing, np.array([0.2, 0.4])).mean(),
        strategy.transition_score(nothing, np.array([0.5, 0.5])).mean(),
        9.0,
    ]
    evidence = Evidence(
        0,
        score=np.array(means),
        played=np.array([1, 2, 0]),
        best_return=np.array([1.0, 0.5, 9.0]),
    )
    state = strategy.update(strategy.init(3), evidence)
    assert state.score == pytest.approx([0.7, 0.0, 0.0])
    assert strategy.probabilities(state) == pytest.approx([4 / 9, 2 / 9, 1 / 3])


def test_maximum_monte_carlo_asks_for_values():
    with pytest.raises(ValueError, match="values must hold the critic's value of every step"):
        PLR(score="maxmc").transition_score(np.zeros(3))


def test_robust_learns_from_seen_tasks_only():
    strategy = PLR(robust=True)
    state = strategy.init(3)
    assert strategy.learning_mask(state).tolist() == [False, False, False]
    state = advance(strategy, state, [0.2, 0.0, 0.0], [1, 0, 0])
    state = advance(strategy, state, [0.0, 0.0, 0.8], [0, 0, 2])
    assert strategy.learning_mask(state).tolist() == [True, False, True]
    assert PLR().learning_mask(state) is None


def test_a_robust_that_is_not_a_flag_is_named():
    with pytest.raises(TypeError, match="robust must be True or False, got 1"):
        make_strategy("plr", robust=1)
