"""`target`: the targets uniformly, and nothing else."""

import numpy as np
import pytest

from procurl import Curriculum, TaskPool, make_strategy

POOL = TaskPool(["a", "b", "c", "d"], features={"target": [0, 1, 0, 1]})


def test_targets_share_the_mass_evenly():
    curriculum = Curriculum("target", POOL, seed=0)
    assert curriculum.probabilities().tolist() == [0.0, 0.5, 0.0, 0.5]
    assert set(curriculum.next(50).tolist()) == {1, 3}


def test_a_floor_goes_to_the_whole_pool():
    curriculum = Curriculum(make_strategy("target", floor=0.2), POOL)
    np.testing.assert_allclose(curriculum.probabilities(), [0.05, 0.45, 0.05, 0.45])


def test_another_pool_brings_its_own_targets():
    curriculum = Curriculum("target", POOL)
    curriculum.change_pool(TaskPool(["a", "b"], features={"target": [1, 0]}))
    assert curriculum.probabilities().tolist() == [1.0, 0.0]


def test_a_pool_without_targets_is_refused():
    with pytest.raises(ValueError, match="targets='target' is not a feature of the pool"):
        Curriculum("target", TaskPool(["a", "b"], features={"size": [1, 2]}))
    with pytest.raises(ValueError, match=r"call strategy.bind\(pool\) first"):
        make_strategy("target").init(2)
    with pytest.raises(ValueError, match="floor must be"):
        make_strategy("target", floor=2)
