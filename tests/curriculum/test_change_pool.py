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
@pytest.mark.parametrize("played", [False, True])
def test_new_tasks_have_their_prior_even_if_the_others_had_none(name, played):
    """Without outcomes the others are at 0.5; a win and a loss leave them there."""
    curriculum = Curriculum(name, TaskPool(["a", "b"]))
    if name == "procurl-val":  # knows nothing but what the critic says
        curriculum.observe(Evidence(1, values=[0.5, 0.5]))
    elif played:
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
