"""How alike episodes on one task are: variance within groups, worked by hand and recovered."""

import numpy as np
import pytest

from procurl import Curriculum, Evidence, JointSuccess, TaskPool, make_strategy
from procurl.internals.settings import AUTO, describe
from procurl.success.groups import GroupVariance, add_groups, episodes_worth, no_groups
from procurl.success.joint import _shared
from procurl.success.played import Played


def after(outcomes, expected=0.5, known=0.0, before=None):
    """The variance after one group."""
    w = np.asarray(outcomes, dtype=float)
    given = (w.sum(), (1 - w).sum(), (w * (1 - w)).sum())
    return add_groups(
        no_groups() if before is None else before,
        np.array([expected]),
        np.array([known]),
        Played(..., *(np.array([each]) for each in given)),
    )


@pytest.mark.parametrize(
    ("outcomes", "expected", "within", "total"),
    [
        ([1, 1, 0, 0], 0.5, 1 / 3, 0.25),
        ([1, 1, 1, 1], 0.5, 0.0, 0.25),
        ([1, 0], 0.2, 0.5, 0.34),  # 0.8² and 0.2²
        ([0.25, 0.75], 0.5, 0.125, 0.0625),
        ([0.5, 0.5, 0.5], 0.1, 0.0, 0.16),
    ],
)
def test_the_variance_of_a_group_by_hand(outcomes, expected, within, total):
    """Within: the unbiased variance. Total: the mean squared distance from what was expected."""
    assert after(outcomes, expected) == pytest.approx((within, total))


def test_single_episodes_and_tasks_that_are_known_show_nothing():
    assert after([1]) == no_groups()
    assert after([1, 0, 1], known=1.0) == no_groups()
    assert after([1, 0, 1], known=0.9) != no_groups()


def test_older_groups_fade():
    first = after([1, 1, 0, 0])
    second = after([1, 1, 1, 1], before=first)
    assert second == pytest.approx((first.within * 255 / 256, 0.25 + 0.25 * 255 / 256))


def test_the_weight_by_hand():
    """Before any group 1/2 of the variance is within, so a = 1; then (1/3 + 1/2) / (1/4 + 1)."""
    assert episodes_worth(no_groups()) == pytest.approx(1.0)
    assert episodes_worth(after([1, 1, 0, 0])) == pytest.approx(2.0)
    assert episodes_worth(after([1, 1, 1, 1])) == pytest.approx(2 / 3)
    # The share is at least 1/20 and at most 19/20.
    extreme = [GroupVariance(np.float64(x), np.float64(50.0)) for x in (0.0, 60.0)]
    assert [episodes_worth(each) for each in extreme] == pytest.approx([1 / 19, 19.0])


@pytest.mark.parametrize("weight", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("contexts", [False, True])
def test_a_curriculum_finds_the_weight_that_made_its_prompts(weight, contexts):
    rng = np.random.default_rng(3)
    n = 4000
    difficulty = rng.random(n)
    mean = 0.1 + 0.8 * difficulty if contexts else np.full(n, 0.3)
    rates = rng.beta(weight * mean, weight * (1 - mean))
    pool = TaskPool(difficulty[:, None]) if contexts else TaskPool.from_seeds(n)
    curriculum = Curriculum(make_strategy("procurl-group", floor=1.0), pool)
    for _ in range(100):
        tasks = curriculum.next(16, replace=False)
        curriculum.record(np.repeat(tasks, 8), rng.random(128) < np.repeat(rates[tasks], 8))
    found = episodes_worth(curriculum._state.success.groups)
    # Less with contexts, since the rate around a task is uncertain as well.
    assert weight / 2 < found < 1.6 * weight


def test_many_episodes_on_one_task_say_little_about_its_neighbors():
    """Four tasks in one cell. Task 0 wins 30 of 30, the others lose 2 of 2.

    With a = 1 found, as before any group, they count as 2 · 30 / 31 and 2 · 2 / 3 episodes, and
    with another half of a win in one around, the rate is (60/31 + 1/2) / (60/31 + 4 + 1).
    """
    success = JointSuccess(prior_weight="auto").bind(TaskPool.from_seeds(4))
    given = Evidence(1, wins=np.array([30.0, 0, 0, 0]), losses=np.array([0.0, 2, 2, 2]))
    state = success.update(success.init(4), given)
    assert state.around == pytest.approx(np.full(4, (60 / 31 + 0.5) / (60 / 31 + 5)))
    by_count = JointSuccess().bind(TaskPool.from_seeds(4))
    state = by_count.update(by_count.init(4), given)
    assert state.around == pytest.approx(np.full(4, 30.5 / 37))


def test_faded_episodes_count_no_more_near_a_task_than_on_it():
    """a = 1/4: less than an episode counts as it is, one as one, 31 as 5/4 · 31 / 31.25."""
    played = np.array([0.0, 0.1, 1.0, 31.0])
    wins, near = _shared(played / 2, played, 0.25)
    assert near == pytest.approx([0.0, 0.1, 1.0, 1.24])
    assert wins == pytest.approx(near / 2)


def test_the_first_rewards_are_compared_with_nothing():
    success = JointSuccess(prior_weight="auto")
    given = Evidence(1, wins=np.array([8.0, 0]), losses=np.array([0.0, 8]))
    first = success.update(success.init(2), given)
    assert first.groups == no_groups()
    assert success.update(first, given).groups == no_groups()  # both tasks are known by now


def test_a_given_weight_finds_none_and_is_described_as_before():
    success = JointSuccess()
    assert success.init(3).groups is None
    assert describe(success)["prior_weight"] == 1.0
    assert JointSuccess(prior_weight="auto").prior_weight is AUTO
    with pytest.raises(ValueError, match="prior_weight must be .*auto, a number .*got 'atuo'"):
        make_strategy("procurl", prior_weight="atuo")
    with pytest.raises(ValueError, match="prior_weight must be a finite number above 0, got 0"):
        make_strategy("procurl-group", prior_weight=0)
