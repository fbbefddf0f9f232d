"""Curves as arrays over runs and steps."""

import math

import numpy as np
import pytest

from procurl.experiments.analysis.curves import curves_from_rows, learning_curves
from procurl.records.evaluation import Evaluation
from procurl.records.export import ExportRow
from tests.experiments.synthetic import synthetic_results


def row(strategy="iid", seed=0, step=100, performance=0.5, setting="", test=None):
    at = Evaluation(
        step,
        performance,
        test,
        train_steps=0,
        env_steps=7,
        seconds=1.5,
        entropy=0.0,
        mean_success=None,
    )
    return ExportRow("pointmass-s", strategy, setting, "jax", seed, at)


def test_contenders_are_kept_apart_in_their_order():
    found = curves_from_rows([row("plr"), row("iid"), row("iid", setting="beta=10"), row("plr", 1)])
    assert [curve.label for curve in found] == ["plr", "iid", "iid:beta=10"]
    assert found[0].seeds.tolist() == [0, 1]


def test_what_a_run_has_not_measured_is_nan():
    found = curves_from_rows([row(seed=0, step=100), row(seed=0, step=200), row(seed=3, step=100)])[
        0
    ]
    assert found.steps.tolist() == [100, 200]
    np.testing.assert_array_equal(found.performance, [[0.5, 0.5], [0.5, np.nan]])
    np.testing.assert_array_equal(found.at(200), [0.5, np.nan])
    assert np.isnan(found.at(150)).all()
    assert np.isnan(found.test_performance).all()


def test_the_best_evaluation_on_the_training_pool_decides_the_test_performance():
    found = curves_from_rows(
        [
            row(step=100, performance=0.3, test=0.9),
            row(step=200, performance=0.6, test=0.2),
            row(step=300, performance=0.6, test=0.4),
            row(step=400, performance=0.8, test=0.1),
            row(seed=1, step=100, performance=math.nan, test=0.5),
        ]
    )[0]
    train, test = found.best(until=300)
    assert (train[0], test[0]) == (0.6, 0.2)
    assert found.best()[0][0] == 0.8
    assert math.isnan(train[1])


def test_a_cut_curve_ends_at_the_last_evaluation_before():
    found = curves_from_rows([row(step=100), row(step=200), row(step=300)])[0]
    assert found.cut(250).steps.tolist() == [100, 200]
    assert found.cut(250).env_steps.shape == (1, 2)


def test_results_and_rows_give_the_same_curves():
    results = synthetic_results(("procurl-val", "procurl-val:beta=10"), seeds=2, steps=100_000)
    first, second = learning_curves(results)
    assert (first.label, second.label) == ("procurl-val", "procurl-val:beta=10")
    run = results.runs[1]
    assert first.performance[1].tolist() == [m.performance for m in results.evaluations[run]]
    assert first.env_steps_at(50_000).tolist() == [50_000, 50_000]
    assert first.seconds_at(50_000) == pytest.approx([1.0, 1.0])
