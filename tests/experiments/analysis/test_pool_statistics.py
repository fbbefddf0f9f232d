"""Statistics over runs on several pools: by hand, against independent code, and their coverage."""

import math

import numpy as np
import pytest
from scipy import stats

from procurl.experiments.analysis.resampling import draw_chances_over_pools, draw_counts_over_pools
from procurl.experiments.analysis.statistics import (
    difference_interval,
    iqm,
    iqm_interval,
    mean_interval,
    probability_of_improvement,
    small_number_factor,
    standard_error,
)

NAN = float("nan")
VALUES = [0.1, 0.5, 0.9, 0.3, 0.7, 0.5, 0.2, 0.6, 1.0]
THREE = [0, 1, 2, 0, 1, 2, 0, 1, 2]  # which pool each of them played
SEEDS = 0


class TestOnePool:
    """A single pool gives the numbers of no pools, bit for bit."""

    def test_of_one_side(self):
        one = [3] * len(VALUES)
        assert mean_interval(VALUES, pools=one) == mean_interval(VALUES)
        assert iqm_interval(VALUES, pools=one) == iqm_interval(VALUES)
        assert standard_error(VALUES, pools=one) == standard_error(VALUES)

    def test_of_two_sides(self):
        others, both = VALUES[:6], ([1] * 9, [1] * 6)
        for compare in (difference_interval, probability_of_improvement):
            assert compare(VALUES, others, pools=both) == compare(VALUES, others)


class TestMean:
    def test_by_hand(self):
        """Pools 0, 1, 2 have the means 0.2, 0.6, 0.8: mean 1.6/3, s² = (1/9 + 1/225 + 16/225)/2.

        s = √(0.28/3) = 0.305505, SE = s/√3 = 0.176383, t(2) = 4.302653, half width 0.758917.
        """
        interval = mean_interval(VALUES, pools=THREE)
        assert interval.mean == pytest.approx(1.6 / 3)
        assert interval.half_width == pytest.approx(0.758917, abs=1e-6)
        assert interval.runs == 9
        assert standard_error(VALUES, pools=THREE) == pytest.approx(0.176383, abs=1e-6)

    def test_pools_with_different_numbers_of_runs(self):
        """0, 0 | 1 | 2: mean 3/4; sums of deviations −3/2, 1/4, 5/4; Σ S² = 31/8.

        SE = √(3/2 · 31/8)/4 = 0.602728.
        """
        assert standard_error([0.0, 0.0, 1.0, 2.0], [5, 5, 8, 9]) == pytest.approx(0.602728, 1e-5)

    def test_one_run_per_pool_is_the_interval_of_runs(self):
        ours = mean_interval([0.1, 0.2, 0.3, 0.4], pools=[0, 1, 2, 3])
        assert ours == pytest.approx(mean_interval([0.1, 0.2, 0.3, 0.4]))

    def test_two_pools_have_no_interval(self):
        interval = mean_interval(VALUES[:6], pools=[0, 0, 0, 1, 1, 1])
        assert math.isnan(interval.half_width)
        assert interval.mean == pytest.approx(np.mean(VALUES[:6]))
        assert math.isnan(iqm_interval(VALUES[:6], pools=[0, 0, 0, 1, 1, 1]).low)

    def test_runs_that_were_not_measured_and_their_pools_do_not_count(self):
        more, pools = [*VALUES, NAN, NAN], [*THREE, 0, 7]
        assert mean_interval(more, pools=pools) == mean_interval(VALUES, pools=THREE)
        assert iqm_interval(more, pools=pools) == iqm_interval(VALUES, pools=THREE)

    def test_pools_must_match_the_values(self):
        with pytest.raises(ValueError, match=r"one entry for each run.*\[2\] for.*\[3\]"):
            mean_interval([1.0, 2.0, 3.0], pools=[0, 1])


class TestDifference:
    def test_is_that_of_the_pools(self):
        """On pools 0, 1, 2 ours are ahead by 0.2, 0.0, 0.1, however far the pools are apart."""
        theirs = np.array(VALUES) - np.array([0.2, 0.0, 0.1] * 3)
        ours = difference_interval(VALUES, theirs, pools=(THREE, THREE))
        expected = stats.ttest_1samp([0.2, 0.0, 0.1], 0.0).confidence_interval()
        assert ours == pytest.approx((0.1, expected.low, expected.high))
        alike = difference_interval(VALUES, theirs)
        assert ours.high - ours.low < alike.high - alike.low


def test_runs_on_different_pools_are_never_compared():
    """Ours has come as far on one pool only, and is ahead of the only run of theirs there."""
    ours, theirs, pools = [0.5, NAN, NAN], [0.4, 0.9, 0.9], [0, 1, 2]
    assert probability_of_improvement(ours, theirs, pools=(pools, pools)).value == 1.0
    assert difference_interval(ours, theirs, pools=(pools, pools)).value == pytest.approx(0.1)
    apart = ([0.5, NAN, NAN], [NAN, 0.9, 0.9])
    assert np.isnan(probability_of_improvement(*apart, pools=(pools, pools)).value)
    assert np.isnan(difference_interval(*apart, pools=(pools, pools)).value)


def resampled_iqm(rng, samples):
    """One resample of pools and then of runs, in the plainest code."""
    drawn = [samples[i] for i in rng.integers(len(samples), size=len(samples))]
    return iqm(np.concatenate([rng.choice(sample, len(sample)) for sample in drawn]))


def resampled_chance(rng, pairs):
    drawn = [pairs[i] for i in rng.integers(len(pairs), size=len(pairs))]
    shares = []
    for mine, other in drawn:
        a, b = rng.choice(mine, len(mine)), rng.choice(other, len(other))
        shares.append(np.mean([(x > y) + 0.5 * (x == y) for x in a for y in b]))
    return np.mean(shares)


def widened(value, drawn, pools):
    """Percentiles, as many times farther from the value as t is larger than z."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    factor = stats.t.ppf(0.975, pools - 1) / stats.norm.ppf(0.975)
    return value, value + factor * (low - value), value + factor * (high - value)


SAMPLES = tuple(np.array(VALUES)[np.array(THREE) == pool] for pool in range(3))


class TestBootstrap:
    def test_the_interquartile_mean_against_plain_code(self):
        rng = np.random.default_rng(SEEDS)
        values = rng.normal(0.0, 1.0, (4, 1)) + rng.normal(0.0, 1.0, (4, 6))
        drawn = [resampled_iqm(rng, values) for _ in range(2000)]
        ours = iqm_interval(values.ravel(), resamples=20_000, pools=np.repeat(range(4), 6))
        assert ours == pytest.approx(widened(iqm(values.ravel()), drawn, 4), abs=0.1)
        assert ours.high - ours.low > 1.0

    def test_the_probability_of_improvement_against_plain_code(self):
        theirs, pools = np.array([0.2, 0.3, 0.8, 0.2, 0.7, 0.6]), [0, 1, 2, 0, 1, 2]
        # Wins of three runs against two, ties counting half: 3 of 6, 3.5 of 6, 4 of 6.
        value = (3 / 6 + 3.5 / 6 + 4 / 6) / 3
        ours = probability_of_improvement(VALUES, theirs, pools=(THREE, pools))
        assert ours == pytest.approx((value, 0.0, 1.0))
        pairs = [(SAMPLES[pool], theirs[np.array(pools) == pool]) for pool in range(3)]
        rng = np.random.default_rng(SEEDS)
        plain = np.array([resampled_chance(rng, pairs) for _ in range(2000)])
        drawn = draw_chances_over_pools(rng, pairs, 20_000)
        levels = [0.025, 0.25, 0.75, 0.975]
        assert drawn.std() == pytest.approx(plain.std(), rel=0.06)
        np.testing.assert_allclose(
            np.quantile(drawn, levels), np.quantile(plain, levels), atol=0.03
        )

    def test_runs_are_compared_on_their_own_pool_only(self):
        """Ours win on every pool, though the worst of ours is far below the best of theirs."""
        ours, theirs = [0.2, 0.6, 0.9], [0.1, 0.5, 0.8]
        chance = probability_of_improvement(ours, theirs, pools=([0, 1, 2], [0, 1, 2]))
        assert chance == (1.0, 1.0, 1.0)

    def test_pools_of_one_side_only_do_not_count(self):
        both = probability_of_improvement(VALUES, VALUES[:8], pools=(THREE, THREE[:8]))
        more = probability_of_improvement(
            [*VALUES, 9.0], [*VALUES[:8], 0.0], pools=([*THREE, 7], [*THREE[:8], 8])
        )
        assert more == both

    def test_resamples_hold_as_many_pools_and_draw_runs_of_each(self):
        rng = np.random.default_rng(SEEDS)
        samples = [np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])]
        counts = draw_counts_over_pools(rng, samples, np.arange(1.0, 6.0), 500)
        first, second = counts[:, :2].sum(axis=1), counts[:, 2:].sum(axis=1)
        assert set(zip(first, second, strict=True)) == {(4, 0), (2, 3), (0, 6)}
        assert counts.max() > 2

    def test_chances_of_equal_sides_are_even(self):
        pairs = [(sample, sample) for sample in SAMPLES]
        drawn = draw_chances_over_pools(np.random.default_rng(SEEDS), pairs, 4000)
        assert drawn.mean() == pytest.approx(0.5, abs=0.01)


def test_the_factor_is_that_of_student():
    assert small_number_factor(5) == pytest.approx(2.776445 / 1.959964, rel=1e-6)
    assert small_number_factor(10_000) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.soak
@pytest.mark.parametrize("pools", [5, 10])
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_intervals_hold_the_truth_as_often_as_they_say(pools, spread):
    """Random effects of known size: `spread` between pools in units of that between runs."""
    rng = np.random.default_rng(SEEDS)
    played = np.repeat(np.arange(pools), 5)
    held = np.zeros(3)
    for _ in range(400):
        base, ahead = rng.normal(0.0, spread, (2, pools))
        ours = (base + ahead)[played] + rng.normal(0.7, 1.0, len(played))
        theirs = base[played] + rng.normal(0.0, 1.0, len(played))
        chance = stats.norm.cdf(0.7 / math.sqrt(2 + spread**2))
        mean = mean_interval(theirs, pools=played)
        found = [
            (mean.mean - mean.half_width, 0.0, mean.mean + mean.half_width),
            iqm_interval(theirs, resamples=400, pools=played)._replace(value=0.0),
            probability_of_improvement(
                ours, theirs, resamples=400, pools=(played, played)
            )._replace(value=chance),
        ]
        found[1:] = [(low, value, high) for value, low, high in found[1:]]
        held += [low <= value <= high for low, value, high in found]
    assert (held / 400 >= 0.92).all(), held / 400
