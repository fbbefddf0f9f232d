"""Statistics over runs: numbers worked by hand, properties, and runs that were not measured."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from procurl.experiments.analysis import resampling
from procurl.experiments.analysis.curve_statistics import (
    area_under_curve,
    smooth,
    steps_to_reach,
    time_to_threshold,
)
from procurl.experiments.analysis.statistics import (
    Estimate,
    difference_interval,
    iqm,
    iqm_interval,
    mean_interval,
    mean_over_runs,
    probability_of_improvement,
    standard_error,
)

NAN = float("nan")
scores = st.lists(st.floats(-100, 100, allow_nan=False).map(lambda x: round(x, 3)), min_size=1)


class TestMean:
    def test_by_hand(self):
        """0.1, 0.2, 0.3, 0.4: mean 0.25, s = 0.129099, SE = 0.064550, t(3) = 3.182446."""
        interval = mean_interval([0.1, 0.2, 0.3, 0.4])
        assert interval.mean == pytest.approx(0.25)
        assert interval.half_width == pytest.approx(0.205426, abs=1e-6)
        assert interval.runs == 4
        assert standard_error([0.1, 0.2, 0.3, 0.4]) == pytest.approx(0.064550, abs=1e-6)

    def test_one_run_has_no_interval(self):
        interval = mean_interval([0.5])
        assert interval.mean == 0.5
        assert math.isnan(interval.half_width)
        assert str(interval) == "0.50"
        assert standard_error([0.5]) == 0.0

    def test_equal_values_have_an_interval_of_no_width(self):
        assert mean_interval([0.1] * 7) == pytest.approx((0.1, 0.0, 7))

    def test_runs_that_were_not_measured_are_left_out_and_not_counted(self):
        assert mean_interval([0.1, NAN, 0.2, 0.3, NAN, 0.4]) == mean_interval([0.1, 0.2, 0.3, 0.4])
        nobody = mean_interval([NAN, NAN])
        assert math.isnan(nobody.mean)
        assert nobody.runs == 0
        assert str(nobody) == "–"

    def test_means_over_runs_are_those_of_the_intervals(self):
        values = np.array([[0.1, NAN, NAN], [0.2, 0.4, NAN], [0.6, 0.7, NAN]])
        expected = [mean_interval(column).mean for column in values.T]
        np.testing.assert_array_equal(mean_over_runs(values), expected)

    def test_an_infinite_value_is_refused(self):
        with pytest.raises(ValueError, match="must not be infinite"):
            mean_interval([0.1, math.inf])

    @settings(deadline=None)
    @given(scores)
    def test_agrees_with_scipy(self, values):
        interval = mean_interval(values)
        if len(values) < 3:
            assert math.isnan(interval.half_width)
        elif len(set(values)) > 1:
            low, high = stats.t.interval(
                0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values)
            )
            assert (interval.mean - interval.half_width, interval.mean + interval.half_width) == (
                pytest.approx((low, high), abs=1e-9)
            )

    def test_covers_the_truth_as_often_as_it_says(self):
        rng = np.random.default_rng(0)
        covered = 0
        for _ in range(2000):
            interval = mean_interval(rng.normal(3.0, 2.0, 5))
            covered += abs(interval.mean - 3.0) <= interval.half_width
        assert covered / 2000 == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("confidence", [0, 95])
@pytest.mark.parametrize(
    "interval",
    [
        mean_interval,
        iqm_interval,
        partial(difference_interval, [0.1, 0.2]),
        partial(probability_of_improvement, [0.1, 0.2]),
    ],
)
def test_a_confidence_out_of_range_is_named(interval, confidence):
    with pytest.raises(ValueError, match=f"confidence must be .* got {confidence}"):
        interval([0.5, 0.6], confidence=confidence)


@pytest.mark.parametrize("runs", [[1.0], [1.0, 3.0]])
def test_the_difference_of_fewer_than_three_runs_has_no_interval(runs):
    found = difference_interval(runs, [0.0, 1.0, 2.0])
    assert found.value == np.mean(runs) - 1.0
    assert np.isnan([found.low, found.high]).all()
    assert str(found) == f"{np.mean(runs) - 1.0:.2f}"


def test_zero_has_no_sign():
    values = [-0.001, -0.002, 0.0]
    assert str(mean_interval(values)) == "0.00 ± 0.00"
    assert str(iqm_interval(values)) == "0.00 [0.00, 0.00]"


@pytest.mark.parametrize(
    "interval", [iqm_interval, partial(probability_of_improvement, [0.1, 0.2])]
)
def test_a_negative_seed_is_named(interval):
    with pytest.raises(ValueError, match="seed must be an integer of at least 0, got -1"):
        interval([0.5, 0.6], seed=-1)


class TestInterquartileMean:
    def test_by_hand(self):
        """Eight values: the two lowest and the two highest go, (3 + 4 + 5 + 6) / 4."""
        assert iqm([6, 100, 3, -50, 4, 1, 5, 7]) == pytest.approx(4.5)

    def test_edges_count_in_part(self):
        """Three values: a quarter of 3 is 0.75, so 0.25 of each outer value stays, over 1.5."""
        assert iqm([0, 1, 10]) == pytest.approx((0.25 * 0 + 1 + 0.25 * 10) / 1.5)

    @pytest.mark.parametrize("n", [4, 8, 20, 100])
    def test_agrees_with_a_trimmed_mean_where_quarters_are_whole(self, n):
        values = np.random.default_rng(n).normal(size=n)
        assert iqm(values) == pytest.approx(stats.trim_mean(values, 0.25))

    def test_one_run_and_none(self):
        assert iqm_interval([0.3]) == pytest.approx((0.3, NAN, NAN), nan_ok=True)
        assert iqm_interval([[0.3], [0.5]]) == pytest.approx((0.4, NAN, NAN), nan_ok=True)
        assert math.isnan(iqm_interval([[0.3], [0.5, 0.6]]).low)
        assert not math.isnan(iqm_interval([[0.3], [0.5, 0.6, 0.7]]).low)
        assert math.isnan(iqm_interval([NAN]).value)
        assert math.isnan(iqm([]))

    def test_without_an_interval_only_the_number_is_shown(self):
        assert str(Estimate(0.3, NAN, NAN)) == "0.30"
        assert str(Estimate(0.3, 0.1, 0.4)) == "0.30 [0.10, 0.40]"

    def test_equal_values_have_an_interval_of_no_width(self):
        assert iqm_interval([0.7] * 5) == pytest.approx((0.7, 0.7, 0.7))

    def test_unmeasured_runs_change_nothing(self):
        values = np.random.default_rng(1).uniform(size=12)
        assert iqm_interval([*values, NAN]) == iqm_interval(values)

    def test_the_same_seed_gives_the_same_interval(self):
        values = np.random.default_rng(2).uniform(size=30)
        assert iqm_interval(values, seed=3) == iqm_interval(values, seed=3)
        assert iqm_interval(values, seed=3) != iqm_interval(values, seed=4)

    def test_runs_are_drawn_within_their_environment(self):
        """Two environments of constant values far apart: no draw can change what is drawn."""
        assert iqm_interval([[0.0] * 4, [1.0] * 4]) == pytest.approx((0.5, 0.5, 0.5))
        mixed = iqm_interval([0.0] * 4 + [1.0] * 4)
        assert mixed.low < 0.3 < 0.7 < mixed.high

    def test_environments_may_have_different_numbers_of_runs(self):
        assert iqm_interval([[0.0, 0.1], [1.0, 1.1, 1.2]]).value == pytest.approx(
            iqm([0.0, 0.1, 1.0, 1.1, 1.2])
        )

    def test_the_interval_agrees_with_a_plain_bootstrap(self):
        rng = np.random.default_rng(0)
        first, second = rng.normal(0, 1, 13), rng.normal(2, 1, 29)
        plain = [
            iqm(np.concatenate([rng.choice(first, 13), rng.choice(second, 29)]))
            for _ in range(4000)
        ]
        found = iqm_interval([first, second], resamples=4000)
        assert (found.low, found.high) == pytest.approx(
            np.quantile(plain, [0.025, 0.975]), abs=0.04
        )

    def test_many_runs_are_drawn_in_portions(self, monkeypatch):
        values = np.random.default_rng(1).uniform(size=50)
        whole = iqm_interval(values)
        monkeypatch.setattr(resampling, "AT_ONCE", 50 * 7)
        assert resampling.portions(20, 50) == [7, 7, 6]
        assert iqm_interval(values) == pytest.approx(whole, abs=0.02)

    @settings(deadline=None)
    @given(scores)
    def test_lies_within_the_values(self, values):
        found = iqm_interval(values, resamples=50)
        if len(values) > 2:
            assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
        assert min(values) - 1e-9 <= found.value <= max(values) + 1e-9


class TestImprovement:
    def test_by_hand(self):
        """0.2 beats 0.1 and ties with 0.2; 0.5 beats both: (1 + 0.5 + 1 + 1) / 4."""
        assert probability_of_improvement([0.2, 0.5], [0.1, 0.2]).value == pytest.approx(0.875)

    def test_certain_cases(self):
        assert probability_of_improvement([2, 3, 3], [0, 1, 1]) == pytest.approx((1, 1, 1))
        assert probability_of_improvement([0, 1, 1], [2, 3, 3]) == pytest.approx((0, 0, 0))

    def test_fewer_than_three_runs_on_either_side_have_no_interval(self):
        one = probability_of_improvement([1], [1])
        assert one == pytest.approx((0.5, NAN, NAN), nan_ok=True)
        assert math.isnan(probability_of_improvement([1, 2, 3], [0, 1]).low)
        several = probability_of_improvement([[1], [1, 2, 3]], [[0], [0, 1, 2]])
        assert not math.isnan(several.low)

    def test_several_environments_weigh_the_same(self):
        found = probability_of_improvement([[1] * 3, [0] * 50], [[0] * 3, [1] * 50])
        assert found == pytest.approx((0.5, 0.5, 0.5))

    def test_environments_have_to_match(self):
        with pytest.raises(ValueError, match="the same environments, got 2 and 1"):
            probability_of_improvement([[1.0], [2.0]], [[1.0]])

    def test_no_measurements(self):
        assert math.isnan(probability_of_improvement([NAN], [0.1]).value)

    @settings(deadline=None)
    @given(scores, scores)
    def test_the_two_directions_add_up_to_one(self, ours, theirs):
        there = probability_of_improvement(ours, theirs, resamples=20).value
        back = probability_of_improvement(theirs, ours, resamples=20).value
        assert there + back == pytest.approx(1.0)

    def test_agrees_with_the_rank_sum_statistic(self):
        rng = np.random.default_rng(0)
        ours, theirs = rng.integers(0, 9, 17), rng.integers(0, 9, 23)
        u = stats.mannwhitneyu(ours, theirs).statistic
        assert probability_of_improvement(ours, theirs).value == pytest.approx(u / (17 * 23))

    def test_the_interval_agrees_with_a_plain_bootstrap(self):
        rng = np.random.default_rng(0)
        ours, theirs = rng.normal(0.5, 1, 30), rng.normal(0, 1, 30)
        plain = [
            np.mean(rng.choice(ours, 30)[:, None] > rng.choice(theirs, 30)) for _ in range(4000)
        ]
        found = probability_of_improvement(ours, theirs, resamples=4000)
        assert (found.low, found.high) == pytest.approx(
            np.quantile(plain, [0.025, 0.975]), abs=0.015
        )


class TestCurves:
    def test_area_by_hand(self):
        """Heights 0, 1, 1 at 0, 100, 400: (50 + 300) / 400."""
        assert area_under_curve([0, 100, 400], [0, 1, 1]) == pytest.approx([0.875])

    def test_area_of_one_evaluation_and_of_a_gap(self):
        assert area_under_curve([100], [[0.3], [0.4]]) == pytest.approx([0.3, 0.4])
        areas = area_under_curve([100, 200], [[0.1, 0.3], [0.1, NAN]])
        assert areas[0] == pytest.approx(0.2)
        assert math.isnan(areas[1])

    @settings(deadline=None)
    @given(st.floats(0.1, 10), st.floats(-5, 5))
    def test_area_of_a_constant_is_its_height_in_any_unit(self, unit, height):
        steps = np.array([1.0, 3.0, 4.0]) * unit
        assert area_under_curve(steps, np.full(3, height)) == pytest.approx([height])

    def test_steps_to_reach_take_the_first_evaluation_at_or_above(self):
        runs = [[0.1, 0.5, 0.2], [0.6, 0.7, 0.8], [0.1, 0.2, 0.3], [NAN, NAN, 0.5]]
        assert steps_to_reach([10, 20, 30], runs, 0.5).tolist() == [20, 10, math.inf, 30]

    def test_runs_that_never_get_there_are_counted(self):
        runs = [[0.1, 0.5], [0.6, 0.7], [0.1, 0.2]]
        assert time_to_threshold([10, 20], runs, 0.5) == (0.5, 3, 2, 20.0)
        assert time_to_threshold([10, 20], runs[2:], 0.5) == (0.5, 1, 0, math.inf)

    @pytest.mark.parametrize(
        ("threshold", "goal"),
        [
            (0.3149, "0.31"),
            (36.58, "37"),
            (99.7, "100"),
            (171.4, "171"),
            (-145.2, "-145"),
            (-12345, "-12,345"),
            (1234567.8, "1,234,568"),
        ],
    )
    def test_a_threshold_is_written_in_plain_digits(self, threshold, goal):
        assert time_to_threshold([10], [[0.0]], threshold).goal == goal

    def test_steps_have_to_ascend_and_to_fit(self):
        with pytest.raises(ValueError, match="must ascend"):
            area_under_curve([10, 10], [1, 2])
        with pytest.raises(ValueError, match="one entry per step"):
            steps_to_reach([10, 20], [1, 2, 3], 0.5)


class TestSmoothing:
    def test_by_hand(self):
        """Windows of 3, 4, 5, 4 and 3 evaluations."""
        assert smooth([0, 1, 2, 3, 10]) == pytest.approx([1, 1.5, 3.2, 4, 5])

    def test_unmeasured_evaluations_are_left_out_and_stay_so(self):
        found = smooth([[0.0, NAN, 2.0], [1.0, 1.0, 1.0]], over=3)
        assert found[0, [0, 2]] == pytest.approx([0.0, 2.0])
        assert np.isnan(found[0, 1])
        assert found[1] == pytest.approx([1, 1, 1])

    def test_one_evaluation_stays(self):
        assert smooth([0.4]) == pytest.approx([0.4])

    def test_an_even_number_would_shift_the_curve(self):
        with pytest.raises(ValueError, match="over must be odd"):
            smooth([1, 2], over=4)
