"""Large pools are computed in blocks and in single precision, with the results of small ones."""

import numpy as np
import pytest

from procurl import Curriculum, Evidence, Scale, TaskPool, strategy_names
from procurl.internals import arrays
from procurl.tasks import cells, neighbors

N = 300
CONTEXTS = np.random.default_rng(0).random((N, 3))
POOL = TaskPool(CONTEXTS, features={"target": np.arange(N) < 20})
BY_SUCCESS = [
    "procurl",
    "procurl-val",
    "procurl-env",
    "procurl-out",
    "easy",
    "hard",
    "space-alt",
    "procurl-target",
    "sfl",
]


def evidence(strategy, step):
    """A tenth of the tasks was played, one entry of the critic is new at every step."""
    rng = np.random.default_rng(step)
    played = (rng.random(N) < 0.1).astype(float)
    wins = played * rng.random(N).round(2)
    fields = {
        "values": rng.random(N),
        "rollout_success": rng.random(N),
        "rollouts": np.full(N, 2.0),
        "wins": wins,
        "losses": played - wins,
        "partial": wins * (played - wins),
        "scale": Scale(0.0, 1.0 + step, np.False_),
    }
    return Evidence(step, **{name: fields[name] for name in fields if name in strategy.uses})


def distributions(name):
    curriculum = Curriculum(name, POOL, seed=0)
    found = []
    for step in range(1, 5):
        curriculum.observe(evidence(curriculum.strategy, step))
        found.append(curriculum.probabilities())
        curriculum.next(4)
    return np.array(found), curriculum


@pytest.mark.parametrize("name", BY_SUCCESS)
def test_blocks_and_single_precision_change_no_distribution(monkeypatch, name):
    assert name in strategy_names()
    expected, _ = distributions(name)
    for module in (arrays, cells, neighbors):
        monkeypatch.setattr(module, "BLOCK", 64)
    for module in (arrays, neighbors):
        monkeypatch.setattr(module, "LARGE", 128)
    found, curriculum = distributions(name)
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-7)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    kept = [array for array in curriculum.state_dict()["state"].values() if array.shape == (N,)]
    assert kept
    assert {array.dtype for array in kept} <= {np.dtype(np.float32), np.dtype(bool)}


def test_a_saved_curriculum_on_a_large_pool_goes_on_identically(monkeypatch, tmp_path):
    monkeypatch.setattr(arrays, "LARGE", 128)
    _, curriculum = distributions("procurl")
    curriculum.save(tmp_path / "saved")
    again = Curriculum("procurl", POOL, seed=1).load(tmp_path / "saved")
    np.testing.assert_array_equal(again.probabilities(), curriculum.probabilities())
    np.testing.assert_array_equal(again.next(20), curriculum.next(20))
