"""The curriculum says which tasks get rollouts."""

import numpy as np
import pytest

from procurl import Curriculum, Evidence, TaskPool, make_strategy
from tests.strategies.few_rollouts import EvenTasks


def test_rollout_tasks_are_all_none_or_a_part_of_the_pool(tmp_path):
    pool = TaskPool.from_seeds(9)
    assert Curriculum("iid", pool).rollout_tasks().tolist() == []
    assert Curriculum("procurl-env", pool).rollout_tasks().tolist() == list(range(9))
    strategy = make_strategy("procurl-env", rollout_tasks=4)
    one = Curriculum(strategy, pool, seed=1)
    draws = [one.rollout_tasks().tolist() for _ in range(5)]
    assert all(sorted(set(draw)) == draw and len(draw) == 4 for draw in draws)
    assert len({tuple(draw) for draw in draws}) > 1
    again = Curriculum(strategy, pool, seed=1)
    assert [again.rollout_tasks().tolist() for _ in range(5)] == draws
    one.save(tmp_path / "curriculum")
    two = Curriculum(strategy, pool, seed=7).load(tmp_path / "curriculum")
    np.testing.assert_array_equal(one.rollout_tasks(), two.rollout_tasks())


@pytest.mark.parametrize("weights", [[1.0, 2.0], [0.0] * 3, [1.0, -1.0, 1.0], [np.nan, 1.0, 1.0]])
def test_bad_rollout_weights_are_named(weights):
    class Bad(EvenTasks):
        def rollout_weights(self, state):
            return np.array(weights)

    curriculum = Curriculum(Bad(), TaskPool.from_seeds(3))
    with pytest.raises(ValueError, match=r"Bad.rollout_weights must return one weight for each"):
        curriculum.rollout_tasks()


def test_rollouts_count_episodes():
    curriculum = Curriculum("procurl-env", TaskPool.from_seeds(2))
    evidence = Evidence(step=1, rollout_success=[0.5, 0.5], rollouts=[3, -1])
    with pytest.raises(ValueError, match=r"evidence.rollouts must not be negative"):
        curriculum.observe(evidence)


def test_records_refuse_a_budget_for_rollouts():
    """It would have no effect: `record` and the trainers of language models play none."""
    curriculum = Curriculum(make_strategy("procurl", budget=1.5), TaskPool.from_seeds(3))
    with pytest.raises(
        ValueError, match=r"budget=1\.5 of procurl would have no effect.* leave budget out"
    ):
        curriculum.record([0], [1])
    assert curriculum.step == 0.0


def observe_twice(caplog, first):
    """The warnings after `first`, and after further evidence without rollouts."""
    curriculum = Curriculum(
        make_strategy("procurl", budget=1.5), TaskPool.from_seeds(2), prior=[1, 0]
    )
    counts = {"wins": [1.0, 0.0], "losses": [0.0, 1.0]}
    curriculum.observe(Evidence(step=10, **counts, **first))
    curriculum.observe(Evidence(step=20, **counts))
    return [record.getMessage() for record in caplog.records]


def test_evidence_without_rollouts_warns_once_of_a_budget(caplog):
    (message,) = observe_twice(caplog, {})
    assert "procurl: budget=1.5 has no effect, because the evidence has no rollouts" in message
    assert "leave budget out, or play the tasks of curriculum.rollout_tasks()" in message


def test_a_budget_that_is_used_is_not_warned_of(caplog):
    assert observe_twice(caplog, {"rollout_success": [0.5, 0.5], "rollouts": [1, 1]}) == []
