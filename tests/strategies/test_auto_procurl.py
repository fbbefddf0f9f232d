"""`procurl`: its potential, its sampler and its distribution, worked by hand."""

import numpy as np
import pytest

from procurl import (
    AutoProCuRL,
    CriticSuccess,
    Curriculum,
    Evidence,
    Gain,
    Mix,
    Proportional,
    Switch,
    TaskPool,
    make_strategy,
)
from procurl.internals.settings import describe


def test_the_gain_is_the_squared_variance_times_what_is_missing():
    """p²·(1 − p)³: 0.01·0.729, 0.16·0.216, 0.25·0.125 and 0.81·0.001."""
    gain = Gain()(np.array([0.0, 0.1, 0.4, 0.5, 0.9, 1.0]), None)
    assert gain == pytest.approx([0.0, 0.00729, 0.03456, 0.03125, 0.00081, 0.0])


def test_probabilities_are_proportional_above_a_floor():
    """0.8·(1, 3, 0, 4)/8 + 0.2/4."""
    p = Proportional(0.2)(np.array([1.0, 3.0, 0.0, 4.0]), np.float64(0))
    assert p == pytest.approx([0.15, 0.35, 0.05, 0.45])


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30])
def test_only_ratios_of_the_potential_count(scale):
    p = Proportional(0.0)(np.array([1.0, 3.0, 0.0]) * scale, np.float64(0))
    assert p == pytest.approx([0.25, 0.75, 0.0])


def test_without_any_potential_all_tasks_are_equal():
    assert Proportional(0.3)(np.zeros(4), np.float64(0)).tolist() == [0.25] * 4


def test_a_floor_is_a_share():
    with pytest.raises(ValueError, match="floor must be .*1.5"):
        make_strategy("procurl", floor=1.5)


def test_wins_and_losses_by_hand():
    """p = 0.9, 0.5, 0.1, 0.5 (see `JointSuccess`): potentials 81, 3125, 729 and 3125 of 7060."""
    strategy = AutoProCuRL(floor=0.0)
    wins, losses = np.array([4.0, 2, 0, 0]), np.array([0.0, 2, 4, 0])
    state = strategy.update(strategy.init(4), Evidence(1, wins=wins, losses=losses))
    assert strategy.probabilities(state) * 7060 == pytest.approx([81, 3125, 729, 3125])


def test_a_task_that_always_ends_alike_is_left():
    """p = 1/2 on both. Var is 1/6 and 5/6 of 1/4 (see `JointSuccess`), so the odds are 1 to 25."""
    curriculum = Curriculum(AutoProCuRL(floor=0.0), TaskPool.from_seeds(2))
    curriculum.record([0, 0, 1, 1], [0.5, 0.5, 0.0, 1.0])
    assert curriculum.probabilities() == pytest.approx([1 / 26, 25 / 26])


def test_the_first_success_is_followed_at_once():
    curriculum = Curriculum("procurl", TaskPool.from_seeds(100))
    for _ in range(5):
        curriculum.record(range(100), wins=np.zeros(100), losses=np.ones(100))
        assert np.ptp(curriculum.probabilities()) == 0.0
    curriculum.record([7], [1])
    assert curriculum.probabilities()[7] > 0.5


def test_uniform_draws_may_have_patience_too():
    assert make_strategy("iid", patience=3).patience == 3
    assert Mix((make_strategy("iid", patience=3), AutoProCuRL())).patience == 3
    with pytest.raises(ValueError, match="patience must be an integer of at least 0, got -1"):
        make_strategy("iid", patience=-1)
    # Saved runs from before there was the setting continue.
    assert describe(make_strategy("iid")) == {"type": "IID"}
    assert describe(make_strategy("iid", patience=3)) == {"type": "IID", "patience": 3}


def test_combinations_have_the_patience_of_their_most_impatient_part():
    waiting, other = AutoProCuRL(), make_strategy("iid")
    assert waiting.patience == 10
    assert AutoProCuRL(patience=None).patience is None
    assert other.patience is None
    assert Mix((other, waiting)).patience == 10
    assert Mix((AutoProCuRL(patience=3), waiting)).patience == 3
    assert Switch(waiting, other).patience == 10
    assert Mix((other, AutoProCuRL(patience=None))).patience is None


def test_an_estimate_without_a_variance_is_named():
    with pytest.raises(TypeError, match=r"success must estimate the variance .* got CriticSuccess"):
        make_strategy("procurl", success=CriticSuccess())
