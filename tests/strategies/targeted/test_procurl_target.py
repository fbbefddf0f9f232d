"""`procurl-target`: the equation by hand, its relative form, and which tasks are targets."""

import numpy as np
import pytest

from procurl import Curriculum, Evidence, OutcomeSuccess, ProCuRLTarget, TaskPool, make_strategy

# With PoS 0.5, 0.2 and 0.1, u = PoS · (1 − PoS) is 0.25, 0.16 and 0.09.
P = [0.5, 0.2, 0.1]


def line(*marks, features=None):
    """Three tasks at 0, 1 and 3; those with a mark are targets."""
    return TaskPool([[0.0], [1.0], [3.0]], features={"target": list(marks), **(features or {})})


def observed(strategy, pool, values=P):
    bound = strategy.bind(pool)
    state = bound.update(bound.init(len(pool)), Evidence(1, values=np.array(values)))
    return bound, state


def potential(strategy, pool, values=P):
    bound, state = observed(strategy, pool, values)
    return bound.task_potential(state)


def test_the_equation_by_hand_for_one_target():
    # u(s) · u(c) · exp(−d), with u(c) = 0.09 and distances 3, 2 and 0:
    # 0.25 · 0.09 · 0.049787 = 0.00112021, 0.16 · 0.09 · 0.135335 = 0.00194883, 0.09 · 0.09 = 0.0081
    strategy = make_strategy("procurl-target", beta=100)
    expected = [0.00112021, 0.00194883, 0.0081]
    np.testing.assert_allclose(potential(strategy, line(0, 0, 1)), expected, rtol=1e-5)
    # exp(0.112021) = 1.118537, exp(0.194883) = 1.215169, exp(0.81) = 2.247908; sum 4.581614
    bound, state = observed(strategy, line(0, 0, 1))
    probabilities = [0.244136, 0.265227, 0.490637]
    np.testing.assert_allclose(bound.probabilities(state), probabilities, atol=2e-6)


def test_of_several_targets_the_largest_product_counts():
    # Task 1: 0.16 · 0.25 · exp(−1) = 0.0147152 by task 0, more than 0.00194883 by task 2.
    # Task 2: 0.09 · 0.09 = 0.0081 by itself, more than 0.09 · 0.25 · exp(−3) = 0.00112021.
    expected = [0.0625, 0.0147152, 0.0081]
    strategy = make_strategy("procurl-target")
    np.testing.assert_allclose(potential(strategy, line(1, 0, 1)), expected, rtol=1e-5)


def test_success_carries_farther_with_a_larger_bandwidth():
    # exp(−3/2) = 0.22313, exp(−2/2) = 0.367879
    expected = [0.25 * 0.09 * 0.22313, 0.16 * 0.09 * 0.367879, 0.0081]
    strategy = make_strategy("procurl-target", bandwidth=2)
    np.testing.assert_allclose(potential(strategy, line(0, 0, 1)), expected, rtol=1e-5)


def test_distances_are_euclidean_and_not_scaled():
    pool = TaskPool([[100.0, 1000.0], [103.0, 1004.0]], features={"target": [0, 1]})
    strategy = make_strategy("procurl-target", bandwidth=5)
    expected = [0.25 * 0.25 * np.exp(-1.0), 0.25 * 0.25]
    np.testing.assert_allclose(potential(strategy, pool, [0.5, 0.5]), expected, rtol=1e-5)


def test_without_success_on_a_target_the_original_is_uniform():
    bound, state = observed(make_strategy("procurl-target"), line(0, 0, 1), [0.5, 0.2, 0.0])
    np.testing.assert_allclose(bound.probabilities(state), 1 / 3)


def test_the_relative_form_does_not_wait_for_success_on_a_target():
    # u(s) · exp(−d) is 0.25 · 0.049787 = 0.0124468, 0.16 · 0.135335 = 0.0216536 and 0. Divided by
    # the largest: 0.574812, 1 and 0; times 1/16 and β = 16, exp gives 1.776796, 2.718282 and 1.
    strategy = make_strategy("procurl-target", relative=True, beta=16)
    bound, state = observed(strategy, line(0, 0, 1), [0.5, 0.2, 0.0])
    expected = [0.323343, 0.494676, 0.181981]
    np.testing.assert_allclose(bound.probabilities(state), expected, atol=2e-6)


def test_the_relative_form_scales_the_original():
    # 0.00112021 / 0.0081 = 0.138297, 0.00194883 / 0.0081 = 0.240596
    strategy = make_strategy("procurl-target", relative=True)
    expected = np.array([0.138297, 0.240596, 1.0]) / 16
    np.testing.assert_allclose(potential(strategy, line(0, 0, 1)), expected, rtol=1e-5)


@pytest.mark.parametrize("relative", [False, True])
def test_the_distribution_is_uniform_without_success_anywhere(relative):
    strategy = make_strategy("procurl-target", relative=relative)
    bound, state = observed(strategy, line(0, 0, 1), [0.0, 0.0, 0.0])
    np.testing.assert_allclose(bound.probabilities(state), 1 / 3)


def test_tasks_are_compared_block_by_block():
    """A pool of many blocks, against the equation written with whole arrays."""
    rng = np.random.default_rng(0)
    n, m = 3000, 50
    contexts, values = rng.normal(size=(n, 2)), rng.random(n)
    marks = np.arange(n) % (n // m) == 0
    pool = TaskPool(contexts, features={"target": marks})
    distance = np.linalg.norm(contexts[:, None] - contexts[marks], axis=2)
    room = values * (1 - values)
    expected = room * (room[marks] * np.exp(-distance)).max(axis=1)
    got = potential(make_strategy("procurl-target"), pool, values)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_of_too_many_targets_some_are_taken_evenly():
    pool = TaskPool(np.arange(10.0)[:, None], features={"target": [0] + [1] * 9})
    bound = make_strategy("procurl-target", samples=3).bind(pool)
    assert bound.places.targets.tolist() == [1, 4, 7]
    assert len(make_strategy("procurl-target").bind(pool).places.targets) == 9


def test_another_feature_can_mark_the_targets():
    pool = line(1, 0, 0, features={"exam": [0, 0, 1]})
    here = potential(make_strategy("procurl-target", targets="exam"), pool)
    np.testing.assert_array_equal(here, potential(make_strategy("procurl-target"), line(0, 0, 1)))


def test_it_learns_from_outcomes_alone():
    curriculum = Curriculum(ProCuRLTarget(success=OutcomeSuccess()), line(0, 0, 1), seed=0)
    curriculum.record([0, 1, 2] * 4, [1, 1, 0] * 2 + [0, 0, 1] * 2)
    p = curriculum.probabilities()
    assert p[2] == p.max()
    assert p[1] > p[0]


def test_metrics_show_the_success_on_targets():
    curriculum = Curriculum(make_strategy("procurl-target"), line(1, 0, 1), seed=0)
    curriculum.observe(Evidence(1, values=P))
    assert curriculum.metrics().strategy["target_success"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (TaskPool([[0.0], [1.0]]), "targets='target' is not a feature of the pool"),
        (line(0, 0, 0), "no task of the pool is marked .* on all 3 tasks"),
        (TaskPool.from_seeds(3, features={"target": [0, 1, 1]}), "needs a pool with contexts"),
        (
            TaskPool([[1.0, 2e18], [1.0, 0.0]], names=["x", "time"], features={"target": [0, 1]}),
            "contexts of at most 1e.18 in size, .* got 2e.18 in 'time': use another unit",
        ),
    ],
)
def test_a_pool_that_does_not_fit_is_refused(pool, message):
    with pytest.raises(ValueError, match=message):
        Curriculum("procurl-target", pool)


def test_it_must_know_the_pool():
    with pytest.raises(ValueError, match=r"call strategy.bind\(pool\) first"):
        make_strategy("procurl-target").init(3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bandwidth": 0}, "bandwidth must be a finite number above 0, got 0"),
        ({"samples": 0}, "samples must be an integer of at least 1, got 0"),
        ({"beta": -1}, "beta must be"),
        ({"relative": "no"}, "relative must be True or False, got 'no'"),
    ],
)
def test_a_bad_setting_is_refused_by_name(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make_strategy("procurl-target", **settings)
