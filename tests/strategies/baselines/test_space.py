"""SPaCE step by step, worked by hand."""

import numpy as np
import pytest

from procurl import Evidence, SPaCE, make_strategy
from procurl.internals.arrays import largest


def advance(strategy, state, values):
    return strategy.update(state, Evidence(0, np.asarray(values, dtype=float)))


def test_the_set_starts_as_task_0():
    strategy = SPaCE()
    assert strategy.probabilities(strategy.init(4)) == pytest.approx([1, 0, 0, 0])


def test_the_set_grows_only_while_its_mean_value_stands_still():
    strategy = SPaCE(eta=0.1, kappa=1)
    # No previous mean: no growth. Rises from 0 are the values, so the one task is task 2.
    state = advance(strategy, strategy.init(4), [0.1, 0.2, 0.5, 0.3])
    assert state.mean == pytest.approx(0.1)
    assert strategy.probabilities(state) == pytest.approx([0, 0, 1, 0])
    # The set is task 2: mean 0.6 against 0.1 is a change. Rises 0.1, 0.3, 0.1, 0: task 1.
    state = advance(strategy, state, [0.2, 0.5, 0.6, 0.3])
    assert strategy.probabilities(state) == pytest.approx([0, 1, 0, 0])
    # The set is task 1: |0.55 − 0.6| = 0.05 < 0.1·0.6, so m = 2. Rises 0.4, 0.05, 0, 0.1.
    state = advance(strategy, state, [0.6, 0.55, 0.6, 0.4])
    assert int(state.size) == 2
    assert strategy.probabilities(state) == pytest.approx([0.5, 0, 0, 0.5])
    # The set is tasks 0 and 3: mean 0.5 against 0.55, 0.05 < 0.055: m = 3.
    state = advance(strategy, state, [0.6, 0.60, 0.7, 0.4])
    assert int(state.size) == 3
    assert strategy.probabilities(state) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])


def test_growth_stops_at_the_pool_or_the_cap():
    for strategy, limit in ((SPaCE(kappa=3), 5), (SPaCE(kappa=3, max_size=2), 2)):
        state = strategy.init(5)
        for _ in range(6):
            state = advance(strategy, state, [0.5] * 5)
        assert int(state.size) == limit
        assert np.count_nonzero(strategy.probabilities(state)) == limit


@pytest.mark.parametrize("kappa", [2**31 - 1, 2**31, 2**70])
def test_a_step_beyond_the_pool_takes_all_of_it(kappa):
    strategy = SPaCE(kappa=kappa)
    state = strategy.init(3)
    for _ in range(3):
        state = advance(strategy, state, [0.5] * 3)
    assert strategy.probabilities(state) == pytest.approx([1 / 3] * 3)
    jax = pytest.importorskip("jax")
    evidence = Evidence(0, jax.numpy.full(3, 0.5))
    state = strategy.init(3)
    for _ in range(3):
        state = jax.jit(strategy.update)(state, evidence)
    assert strategy.probabilities(state) == pytest.approx([1 / 3] * 3)


def test_negative_means_are_compared_by_size():
    """q' = −1, q = −1.05: ||q| − |q'|| = 0.05 < 0.1·1."""
    strategy = SPaCE(eta=0.1)
    state = advance(strategy, strategy.init(2), [-1.0, -1.0])
    state = advance(strategy, state, [-1.05, -1.05])
    assert int(state.size) == 2


def test_a_mean_of_zero_never_stands_still():
    strategy = SPaCE(eta=0.1)
    state = strategy.init(3)
    for _ in range(4):
        state = advance(strategy, state, [0.0] * 3)
    assert int(state.size) == 1


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_largest_takes_the_earlier_of_equals(count):
    values = np.array([0.2, 0.7, 0.2, 0.7, 0.1])
    order = [1, 3, 0, 2, 4]
    assert sorted(np.flatnonzero(largest(values, count))) == sorted(order[:count])


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"eta": -1.0}, "eta must be"), ({"kappa": 0}, "kappa must"), ({"max_size": 0}, "max_size")],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        make_strategy("space", **settings)
