"""The monitor: calibration by hand, and warnings if a curriculum has no effect."""

import logging

import numpy as np
import pytest

from procurl import Curriculum, Evidence, TaskPool, make_strategy
from procurl.monitor import REFRESHES, CurriculumMonitor, _is_even, _kind_of_idleness

N = 4


def outcomes(wins, losses):
    return Evidence(1, wins=np.asarray(wins), losses=np.asarray(losses))


def pool():
    """A pool of its own: warnings are logged once for each."""
    return TaskPool([[float(task)] for task in range(N)])


def watched(strategy, values, refreshes=REFRESHES, wins=None, losses=None, steps=100):
    """A curriculum after some refreshes with the same evidence."""
    curriculum = Curriculum(strategy, pool())
    for step in range(1, refreshes + 1):
        curriculum.observe(Evidence(step * steps, values=values, wins=wins, losses=losses))
        curriculum.next(3)
    return curriculum


def messages(caplog):
    return [record.getMessage() for record in caplog.records]


def test_calibration_by_hand():
    monitor = CurriculumMonitor("mine", pool())
    success = np.array([0.05, 0.55, 0.58, 1.0])
    assert monitor.calibration is None
    monitor.add_episodes(success, outcomes([5.0, 2.0, 4.0, 10.0], [5.0, 8.0, 6.0, 0.0]))
    # By bins: |0.5 − 5| for the first, |5.5 + 5.8 − 6| for the next two, nothing for the last.
    found = monitor.calibration
    assert found.error == pytest.approx((4.5 + 5.3) / 40)
    assert found.estimated == pytest.approx((0.5 + 5.5 + 5.8 + 10) / 40)
    assert found.achieved == pytest.approx(21 / 40)


def test_a_task_without_an_estimate_does_not_count():
    monitor = CurriculumMonitor("mine", pool())
    success = np.array([np.nan, 0.5, np.nan, np.nan])
    monitor.add_episodes(success, outcomes([9.0, 5.0, 0.0, 0.0], [0.0, 15.0, 0.0, 0.0]))
    assert monitor.calibration == pytest.approx((0.25, 0.5, 0.25))


def test_calibration_forgets():
    monitor = CurriculumMonitor("mine", pool())
    monitor.add_episodes(np.zeros(N), outcomes(np.full(N, 100.0), np.zeros(N)))
    assert monitor.calibration.error == pytest.approx(1.0)
    for _ in range(20):
        monitor.add_episodes(np.ones(N), outcomes(np.full(N, 100.0), np.zeros(N)))
    assert monitor.calibration.error < 0.01


def test_a_perfect_estimate_of_coins_is_well_calibrated():
    monitor, rng = CurriculumMonitor("mine", pool()), np.random.default_rng(0)
    success = np.array([0.2, 0.5, 0.5, 0.9])
    for _ in range(300):
        wins = (rng.random(N) < success).astype(float)
        monitor.add_episodes(success, outcomes(wins, 1.0 - wins))
    assert monitor.calibration.error < 0.08  # what chance leaves of about 300 episodes


def test_metrics_compare_the_estimate_with_the_outcomes_that_followed():
    curriculum = Curriculum(make_strategy("procurl-out", bandwidth=0.01, prior_weight=0.1), pool())
    assert curriculum.metrics().calibration is None
    counts = {"wins": [10, 0, 0, 10], "losses": [0, 10, 10, 0]}
    curriculum.observe(Evidence(1, **counts))
    assert curriculum.metrics().calibration is None  # there was no estimate before
    curriculum.observe(Evidence(2, **counts))
    metrics = curriculum.metrics()
    assert metrics.calibration == pytest.approx(0.0, abs=0.02)
    assert metrics.achieved_success == 0.5
    swapped = {"wins": counts["losses"], "losses": counts["wins"]}
    curriculum.observe(Evidence(3, **swapped))
    assert 0.4 < curriculum.metrics().calibration < 0.6


def test_a_curriculum_that_knows_no_outcomes_has_no_calibration():
    assert watched("procurl-val", [0.1, 0.5, 0.5, 0.9]).metrics().calibration is None
    assert watched("iid", None).metrics().calibration is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            [0.0, 0.01, 0.0, 0.0],
            "every task is estimated to fail (success 0.00 to 0.01), so",
        ),
        ([1.0, 0.99, 1.0, 1.0], "every task is estimated to be solved (success 0.99 to 1.00), so"),
        (
            [0.50, 0.5, 0.5, 0.49],
            "no task seems much more useful than another (success 0.49 to",
        ),
    ],
)
def test_a_curriculum_without_effect_says_so_once(values, said, caplog):
    with caplog.at_level(logging.WARNING):
        curriculum = watched("procurl-val", values, refreshes=REFRESHES - 1)
        assert messages(caplog) == []
        for step in range(REFRESHES, 3 * REFRESHES):
            curriculum.observe(Evidence(step * 100, values=values))
            curriculum.next()
    [message] = messages(caplog)
    assert message.startswith(f"procurl-val, {REFRESHES} refreshes up to step 2,000: ")
    assert said in message
    assert "If this is true: " in message
    assert message.endswith("if few of them end: train longer, or compare with procurl.")


def test_the_warning_says_what_was_achieved(caplog):
    lost = {"wins": [0] * N, "losses": [5] * N}
    won = {"wins": [5] * N, "losses": [0] * N}
    with caplog.at_level(logging.WARNING):
        watched("procurl-out", [0.0] * N, **lost)
        watched("procurl-val", [0.0] * N, **won)  # rewards are taken to be 0 and 1
    true, false = messages(caplog)
    assert true.endswith(
        "In recent training episodes, success was estimated at 0.00 and 0.00 was achieved "
        "(calibration error 0.00). To do: add easier tasks, or wait until the agent wins some."
    )
    assert false.endswith(
        "success was estimated at 0.00 and 1.00 was achieved (calibration error 1.00). To do: "
        "leave out v_min and v_max if you passed them. An estimate that follows the training "
        "episodes lags if few of them end: train longer, or compare with procurl."
    )


def test_a_strategy_without_an_estimate_is_compared_with_iid(caplog):
    curriculum = Curriculum("plr", pool())
    with caplog.at_level(logging.WARNING):
        for step in range(REFRESHES):
            curriculum.observe(Evidence(step, score=np.zeros(N), played=np.zeros(N)))
            curriculum.next()
    assert messages(caplog) == [
        "plr, 20 refreshes up to step 19: tasks are drawn almost evenly, so the curriculum has no "
        "more effect than iid."
    ]


def test_a_curriculum_with_an_effect_says_nothing(caplog):
    with caplog.at_level(logging.WARNING):
        watched("procurl-val", [0.1, 0.5, 0.5, 0.9], refreshes=3 * REFRESHES)
        watched("iid", None, refreshes=3 * REFRESHES)
        curriculum = Curriculum("procurl-val", TaskPool([[1.0]]))
        for step in range(3 * REFRESHES):
            curriculum.observe(Evidence(step, values=[0.5]))
            curriculum.next()
        # In between, there is a choice.
        curriculum = Curriculum("procurl-val", pool())
        for step in range(3 * REFRESHES):
            values = [0.5] * N if step % 10 else [0.1, 0.5, 0.5, 0.9]
            curriculum.observe(Evidence(step, values=values))
            curriculum.next()
    assert messages(caplog) == []


def large(n=400_000):
    p = np.full(n, 1.0 / n)
    half = np.where(np.arange(n) < n // 2, 2.0, 0.0) / n
    one = 0.9 * p + np.where(np.arange(n) == 3, 0.1, 0.0)
    # Every fourth task is drawn evenly, the others from a few.
    fourth = np.where(np.arange(n) % 4 == 0, 1.0 / n, 0.0)
    fourth[1:400:4] = 0.75 / 100
    random = np.random.default_rng(0).gamma(4.0, size=n)
    return {
        "even": p,
        "nearly": random / random.sum(),
        "half": half,
        "one task": one,
        "fourth": fourth,
    }


@pytest.mark.parametrize(
    ("name", "even"),
    [
        ("even", True),
        ("nearly", True),
        ("half", False),
        ("one task", False),
        ("fourth", False),
    ],
)
def test_some_tasks_of_a_large_pool_tell_whether_it_is_drawn_from_evenly(name, even):
    assert _is_even(large()[name]) is even


@pytest.mark.parametrize(
    ("success", "expected"),
    [
        ([0.01, 0.0, 0.01, 0.0], "failure"),
        ([0.99, 1.0, 0.99, 1.0], "success"),
        ([0.01, 0.5, 0.01, 0.0], None),
        ([np.nan, 1.0, 0.99, 1.0], None),
    ],
)
def test_tasks_without_an_estimate_are_neither_failed_nor_solved(success, expected):
    assert _kind_of_idleness(np.array([0.7, 0.1, 0.1, 0.1]), np.array(success)) == expected


def test_little_evidence_is_no_reason_to_warn(caplog):
    tasks = TaskPool([[float(task)] for task in range(1000)])
    curriculum = Curriculum("procurl-out", tasks)
    one = np.eye(1000)
    with caplog.at_level(logging.WARNING):
        for step in range(60):
            curriculum.observe(Evidence(step, wins=one[step], losses=0 * one[step]))
            curriculum.next()
    assert messages(caplog) == []


@pytest.mark.parametrize(
    "strategy",
    [
        make_strategy("stages", until="steps:100"),
        make_strategy("anneal", steps=100),
        make_strategy("switch", first="procurl-val", second="iid", when="steps:100"),
        make_strategy("mix", strategies="iid+anneal[steps=100]"),
    ],
    ids=["stages", "anneal", "switch", "mix"],
)
def test_a_curriculum_that_ends_evenly_by_design_says_nothing(strategy, caplog):
    with caplog.at_level(logging.WARNING):
        curriculum = watched(strategy, np.full(N, 0.5), 2 * REFRESHES, np.ones(N), np.ones(N))
    assert curriculum.probabilities() == pytest.approx(1 / N)
    assert messages(caplog) == []


def test_a_mix_warns_if_one_of_its_parts_should_have_an_effect(caplog):
    with caplog.at_level(logging.WARNING):
        watched(make_strategy("mix"), np.full(N, 0.5), wins=np.ones(N), losses=np.ones(N))
    assert "mix" in messages(caplog)[0]


def test_an_estimate_that_stays_wrong_says_so_once(caplog):
    """Tasks 0 and 3 always end against the estimate: |0.1 − 1| and |0.9 − 0| of half the episodes.

    The other two are estimated at 0.5 and won every other time.
    """
    values, wins, losses = [0.1, 0.5, 0.5, 0.9], [4, 2, 2, 0], [0, 2, 2, 4]
    with caplog.at_level(logging.WARNING):
        # Outcomes are compared from the second refresh on, and known after 20 episodes: the third.
        curriculum = watched("procurl-val", values, REFRESHES + 1, wins, losses)
        assert messages(caplog) == []
        for step in range(REFRESHES + 2, 3 * REFRESHES):
            evidence = Evidence(step * 100, values=values, wins=wins, losses=losses)
            curriculum.observe(evidence)
            curriculum.next()
    assert messages(caplog) == [
        "procurl-val, 20 refreshes up to step 2,200: the estimate of success is off by 0.45 on "
        "average (in recent training episodes 0.50 was estimated and 0.50 achieved), so tasks that "
        "are too easy or too hard are preferred. To do: use procurl, which estimates success "
        "from the training episodes."
    ]


def test_an_estimate_that_was_wrong_for_a_while_is_not_worth_a_warning(caplog):
    monitor = CurriculumMonitor("mine", pool())
    p, success, played = np.array([0.1, 0.4, 0.4, 0.1]), np.array([0.1, 0.5, 0.5, 0.9]), 200.0
    with caplog.at_level(logging.WARNING):
        for step in range(3 * REFRESHES):
            right = success if step % 10 == 0 else 1.0 - success
            monitor.add_episodes(success, outcomes(played * right, played * (1.0 - right)))
            monitor.add_refresh(p, success, step)
    assert messages(caplog) == []


def test_procurl_out_is_not_recommended_to_itself(caplog):
    monitor = CurriculumMonitor("procurl-out", pool())
    p, success = np.array([0.1, 0.4, 0.4, 0.1]), np.array([0.1, 0.5, 0.5, 0.9])
    with caplog.at_level(logging.WARNING):
        for step in range(REFRESHES):
            monitor.add_episodes(success, outcomes(20 * (1.0 - success), 20 * success))
            monitor.add_refresh(p, success, step)
    [message] = messages(caplog)
    assert "use procurl" not in message
    assert message.endswith("if few of them end: train longer.")
