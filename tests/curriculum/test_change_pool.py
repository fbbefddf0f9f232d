"""Pools that grow and shrink: what is known of a task stays with it."""

import copy

import numpy as np
import pytest

from procurl import IID, Curriculum, Evidence, Mix, TaskPool, make_strategy
from tests.strategies.cases import CASES, pool_of
from tests.strategies.evidence import full_evidence

# Strategies that stay on their pool, and how they are called.
FIXED = {"SPDL": "spdl", "SPaCE": "space", "ALPGMM": "alp-gmm"}


def test_success_of_shared_tasks_is_kept_and_new_ones_have_the_prior():
    """Task b has 2 wins: (2 + 0.5) / 3; c has a loss: 0.5 / 2; d is new: 0.5, or its prior."""
    strategy = make_strategy("procurl-out", decay_steps=1e9)  # without drift
    before, after = TaskPool(["a", "b", "c"]), TaskPool(["d", "c", "b"])
    for prior, expected in ((None, 0.5), ([0.9, None, None], 0.9)):
        curriculum = Curriculum(strategy, before)
        curriculum.record([1, 1, 2, 0], [1, 1, 0, 1])
        curriculum.change_pool(after, prior=prior)
        np.testing.assert_allclose(curriculum.success(), [expected, 0.25, 2.5 / 3])
        assert curriculum.pool is after
        assert set(curriculum.next(200).tolist()) == {0, 1, 2}


@pytest.mark.parametrize("name", ["procurl", "procurl-out", "procurl-val"])
def test_new_tasks_have_their_prior_even_if_the_others_had_none(name):
    """After a win and a loss, or by their critic, the others are at 0.5."""
    curriculum = Curriculum(name, TaskPool(["a", "b"]))
    if name == "procurl-val":  # knows nothing but what the critic says
        curriculum.observe(Evidence(1, values=[0.5, 0.5]))
    else:
        curriculum.record([0, 0, 1, 1], [1, 0, 1, 0])
    curriculum.change_pool(TaskPool(["b", "c", "d"]), prior=[0.9, 0.1, 0.8])
    np.testing.assert_allclose(curriculum.success(), [0.5, 0.1, 0.8], atol=0.02)


def test_a_prior_of_new_tasks_does_not_restore_trust_in_an_old_one():
    """After 64 losses in a row, a prior of 0.3 has lost against the rate of the pool."""
    before = Curriculum("procurl", TaskPool(["a", "b"]), prior=[0.3, 0.3])
    before.record([0] * 64, [0] * 64)
    after = copy.deepcopy(before)
    after.change_pool(before.pool, prior=[0.9, 0.9])
    np.testing.assert_allclose(after.success(), before.success())


def test_a_prior_of_new_tasks_counts_as_it_does_at_first():
    """procurl trusts a prior with 0.98; the rate of the pool, 0.5, has the rest.

    The tasks of both pools were won and lost once and keep (1 + 0.5) / 2 and 0.5 / 2. Task c, which
    is in neither record, keeps the rate of the pool.
    """
    trust = 1 / (1 + np.exp(-4.0))
    curriculum = Curriculum("procurl", TaskPool(["a", "b", "c"]))
    curriculum.record([0, 1], [1, 0])
    curriculum.change_pool(TaskPool(["d", "a", "b", "c", "e"]), prior=[0.9, 0, 1, None, 0.1])
    new = [trust * rate + (1 - trust) * 0.5 for rate in (0.9, 0.1)]
    np.testing.assert_allclose(curriculum.success(), [new[0], 0.75, 0.25, 0.5, new[1]])


@pytest.mark.parametrize("name", ["procurl", "procurl-out", "procurl-val"])
def test_before_any_evidence_all_tasks_are_new(name):
    prior, pool = [0.3, 0.9, 0.1], TaskPool(["a", "b", "x"])
    curriculum = Curriculum(name, TaskPool(["a", "b", "c"]))
    curriculum.change_pool(pool, prior=prior)
    expected = Curriculum(name, pool, prior=prior)
    np.testing.assert_allclose(curriculum.success(), expected.success())
    curriculum.change_pool(TaskPool(["b", "y"]))  # and from then on, what the prior said is known
    assert curriculum.success()[0] == expected.success()[1]


def test_a_trust_that_was_earned_outlasts_the_prior_of_new_tasks():
    """Twenty losses on tasks that the prior calls easy: the new one is no longer believed."""
    curriculum = Curriculum("procurl", TaskPool(["a", "b"]), prior=[0.99, 0.99])
    for _ in range(10):
        curriculum.record([0, 1], [0, 0])
    curriculum.change_pool(TaskPool(["a", "b", "c"]), prior=[None, None, 0.99])
    assert curriculum.success()[2] < 0.2


def test_noise_stays_with_its_task():
    curriculum = Curriculum(make_strategy("procurl", epsilon=0.2), TaskPool(["a", "b", "c"]))
    curriculum.record([0, 1, 2], [1, 0, 1])
    before = curriculum.success()
    assert len(set(before)) == 3
    curriculum.change_pool(TaskPool(["c", "b", "a"]))
    np.testing.assert_allclose(curriculum.success(), before[::-1])


def test_neighbors_are_those_of_the_new_pool():
    """A new task next to one that was won often is estimated above 0.5."""
    curriculum = Curriculum("procurl-out", TaskPool([[0.0], [0.5], [1.0]]))
    for _ in range(5):
        curriculum.record([0, 0], [1, 1])
    curriculum.change_pool(TaskPool([[0.0], [0.001], [0.5], [0.501], [1.0], [1.001]]))
    p = curriculum.success()
    assert p[1] > p[3] + 0.01


def test_labels_identify_tasks_before_their_content():
    curriculum = Curriculum("procurl-out", TaskPool(["x", "y"], labels=["1", "2"]))
    curriculum.record(["1"], [1])
    curriculum.change_pool(TaskPool(["y", "z"], labels=["1", "3"]))
    assert curriculum.success()[0] > 0.6


def test_columns_in_another_order_make_the_same_tasks():
    curriculum = Curriculum("procurl", TaskPool([[1.0, 2.0], [3.0, 4.0]], names=["x", "y"]))
    curriculum.record([0, 1], [1, 0])
    before = curriculum.success()
    curriculum.change_pool(TaskPool([[4.0, 3.0], [2.0, 1.0]], names=["y", "x"]))
    np.testing.assert_allclose(curriculum.success(), before[::-1])
    curriculum.change_pool(TaskPool([[2.0, 1.0], [4.0, 3.0]]))  # without names: by position
    np.testing.assert_allclose(curriculum.success(), before)


def test_records_that_wait_for_a_refresh_are_kept():
    n = 15_000
    curriculum = Curriculum("procurl-out", TaskPool.from_seeds(n))
    curriculum.record([7], [1])
    curriculum.change_pool(TaskPool.from_seeds(range(5, n)))
    assert curriculum.success().argmax() == 2


def test_a_part_that_never_changes_is_that_of_the_new_pool():
    curriculum = Curriculum(Mix((IID(), make_strategy("procurl-out"))), TaskPool(["a", "b", "c"]))
    curriculum.record([0], [1])
    curriculum.change_pool(TaskPool(["a", "b", "c", "d", "e"]))
    assert curriculum.probabilities().sum() == pytest.approx(1)


@pytest.mark.parametrize("name", CASES)
def test_every_strategy_goes_on_or_says_that_it_cannot(name):
    """After a change to an equal pool, the next evidence has the effect that it would have had."""
    case = CASES[name]
    contexts = np.random.default_rng(5).random((8, 2))
    curriculum = Curriculum(case.make(7), pool_of(7, contexts[:7]))
    for i in range(3):
        curriculum.observe(full_evidence(7, seed=i, step=1024 * (i + 1)))
    before = curriculum.probabilities()
    called = FIXED.get(type(curriculum.strategy).__name__)
    if called:
        with pytest.raises(ValueError, match=f"{called} cannot keep its state on another pool"):
            curriculum.change_pool(pool_of(7, contexts[:7]))
        np.testing.assert_array_equal(curriculum.probabilities(), before)
        return
    other = copy.deepcopy(curriculum)
    curriculum.change_pool(pool_of(7, contexts[:7]))
    for each in (curriculum, other):
        each.observe(full_evidence(7, seed=9, step=5000))
    np.testing.assert_allclose(curriculum.probabilities(), other.probabilities(), rtol=1e-9)
    curriculum.change_pool(pool_of(7, contexts[[7, 2, 0, 1, 3, 5, 6]]))
    assert curriculum.probabilities().sum() == pytest.approx(1)


def test_evidence_of_the_new_pool_follows():
    curriculum = Curriculum("procurl-val", TaskPool(["a", "b"]))
    curriculum.observe(Evidence(1, values=[0.5, 0.1]))
    curriculum.change_pool(TaskPool(["b", "c", "a"]))
    assert curriculum.success().tolist() == [0.1, 0.0, 0.5]
    curriculum.observe(Evidence(2, values=[0.1, 0.2, 0.3]))


def test_a_changed_pool_is_saved_and_loaded(tmp_path):
    one = Curriculum("procurl-out", TaskPool(["a", "b"]))
    one.record([0], [1])
    one.change_pool(TaskPool(["b", "a", "c"]))
    one.save(tmp_path / "state")
    two = Curriculum("procurl-out", TaskPool(["b", "a", "c"]), seed=9).load(tmp_path / "state")
    assert one.next(20).tolist() == two.next(20).tolist()


def test_wrong_pools_are_named():
    curriculum = Curriculum("procurl-out", TaskPool([object(), {1, 2}]))
    with pytest.raises(TypeError, match="pool must be a TaskPool, got list"):
        curriculum.change_pool([1, 2])
    with pytest.raises(ValueError, match=r"task 1 of the pool cannot be compared .* pass labels"):
        curriculum.change_pool(TaskPool(["a"]))
    same = Curriculum("procurl-out", TaskPool(["a", "b", "a"]))
    with pytest.raises(ValueError, match="tasks 0 and 2 of the pool are equal.* pass labels"):
        same.change_pool(TaskPool(["a"]))
