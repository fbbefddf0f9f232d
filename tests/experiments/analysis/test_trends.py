"""Blocks of picked tasks: means, moments and typical tasks by hand."""

from dataclasses import replace

import numpy as np
import pytest

from procurl.experiments.analysis.trends import (
    Features,
    features_of,
    mean_trend,
    trend_of,
    trends,
    typical_task,
)
from procurl.records.evaluation import Evaluation
from procurl.tasks.pool import TaskPool
from tests.experiments.synthetic import synthetic_results

FEATURES = Features(("size",), np.array([[0.0], [1.0], [2.0], [3.0]]))


def at(train_steps, picks):
    return Evaluation(
        step=0,
        performance=0.0,
        test_performance=None,
        train_steps=train_steps,
        env_steps=0,
        seconds=0.0,
        entropy=0.0,
        mean_success=None,
        picks=np.array(picks, dtype=np.int64),
    )


def test_blocks_by_hand():
    """Picks 0 1 | 3 3 3 2 at 25, 75 of 100 steps, then 125, 175, 225, 275 of 200 more."""
    found = trend_of("iid", 0, [at(100, [0, 1]), at(300, [3, 3, 3, 2])], FEATURES, size=3)
    assert found.means[:, 0] == pytest.approx([4 / 3, 8 / 3])
    assert found.steps == pytest.approx([75, 225])
    assert found.typical.tolist() == [1, 3]


def test_a_block_that_is_not_full_is_left_out():
    assert len(trend_of("iid", 0, [at(100, [0, 1])], FEATURES, size=3).steps) == 0
    assert len(trend_of("iid", 0, [at(100, [])], FEATURES, size=3).steps) == 0
    assert len(trend_of("iid", 0, [at(100, [0, 1, 2, 3])], FEATURES, size=3).steps) == 1


def test_gates_count_by_their_distance_from_the_middle():
    pool = TaskPool([[-2.0, 1.0], [1.0, 3.0]], names=("gate_position", "gate_width"))
    found = features_of(pool)
    assert found.names == ("|gate_position|", "gate_width")
    assert found.values.tolist() == [[2.0, 1.0], [1.0, 3.0]]


def test_opaque_tasks_have_their_features_or_none():
    assert features_of(TaskPool(["a", "b"])).values.shape == (2, 0)
    assert features_of(TaskPool(["a", "b"], features={"n": [1, 2]})).names == ("n",)


def test_means_over_runs_by_hand():
    runs = [
        trend_of("iid", seed, [at(200, picks)], FEATURES, size=1)
        for seed, picks in ((0, [0, 2]), (1, [2, 2]))
    ]
    mean, error = mean_trend(runs, np.array([0.0, 100.0, 200.0]))
    assert mean[:, 0] == pytest.approx([1.0, 1.5, 2.0])
    assert error[:, 0] == pytest.approx([1.0, 0.5, 0.0])


def test_the_typical_task_is_nearest_to_the_mean_over_runs():
    runs = [
        trend_of("iid", seed, [at(100, picks)], FEATURES, size=1)
        for seed, picks in ((0, [0]), (1, [3]), (2, [2]))
    ]
    assert typical_task(runs, 50, FEATURES) == 2  # the mean is 5/3


def test_only_the_requested_number_of_runs_has_trends():
    results = synthetic_results(("procurl-val", "iid"), seeds=4, steps=100_000)
    assert [(t.label, t.seed) for t in trends(results, seeds=2)] == [
        ("procurl-val", 0),
        ("procurl-val", 1),
        ("iid", 0),
        ("iid", 1),
    ]
    assert {t.label for t in trends(results, labels=["iid"])} == {"iid"}
    gate_width = trends(results, labels=["procurl-val"])[0].means[:, 1]
    assert gate_width[0] > gate_width[-1]  # the synthetic curriculum goes to narrow gates


def test_runs_on_pools_with_other_columns_are_left_out():
    results = synthetic_results(("procurl",), seeds=4)
    other = TaskPool.from_objects([str(task) for task in range(len(results.pool))])
    mixed = replace(results, other_pools=[other])
    assert [trend.seed for trend in trends(mixed)] == [0, 2]
    assert [trend.seed for trend in trends(mixed, seeds=1)] == [0]
