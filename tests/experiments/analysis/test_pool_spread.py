"""The spread of results between pools, worked by hand."""

import math

import numpy as np
import pytest

from procurl.experiments.analysis.curves import Curve, curves_from_rows
from procurl.experiments.analysis.pool_spread import pool_spreads, pools_ahead, pools_table
from procurl.experiments.report.pools_section import pools_section
from procurl.records.export import ExportRow
from tests.experiments.stores import evaluation

POOLS = np.array([0, 1, 2, 0, 1, 2])


def curve(label, values, pools=POOLS):
    heights = np.array(values)[:, None]
    return Curve(label, np.arange(len(values)), np.array([100]), *[heights] * 4, pools=pools)


# On pools 0, 1, 2: 0.2 and 0.4, 0.6 and 0.8, 0.5 and 0.5.
OURS = curve("ours", [0.2, 0.6, 0.5, 0.4, 0.8, 0.5])
IID = curve("iid", [0.3, 0.1, 0.5, 0.1, 0.1, 0.5])


def test_means_and_the_pools_ahead():
    ours, iid = pool_spreads([OURS, IID], 100)
    np.testing.assert_allclose(ours.means, [0.3, 0.7, 0.5])
    assert (ours.ahead, ours.compared) == (2, 3)  # equal on pool 2
    assert pools_ahead(ours) == "2 of 3 pools"
    assert pools_ahead(iid) == "–"


def test_deviations_by_hand():
    """Within: (0.02 + 0.02 + 0)/(6 − 3) = 0.04/3. Between: 2·(0.04 + 0.04 + 0)/2 = 0.08.

    Each pool has 2 runs: (0.08 − 0.04/3)/2 = 1/30.
    """
    [ours] = pool_spreads([OURS], 100)
    assert ours.between_runs == pytest.approx(math.sqrt(0.04 / 3))
    assert ours.between_pools == pytest.approx(math.sqrt(1 / 30))


def test_pools_that_differ_less_than_runs_do_not_differ():
    [same] = pool_spreads([curve("same", [0.0, 0.0, 0.0, 1.0, 1.0, 1.0])], 100)
    assert same.between_pools == 0.0


def test_a_pool_without_runs_is_missing():
    partly = curve("partly", [0.2, 0.6, math.nan, 0.4, 0.8, math.nan])
    ours, _ = pool_spreads([partly, IID], 100)
    assert math.isnan(ours.means[2])
    assert (ours.ahead, ours.compared) == (2, 2)
    assert pools_table([ours]).rows[0][3] == "–"


def test_a_single_pool_has_no_table():
    assert pool_spreads([OURS._replace(pools=None)], 100) == []
    assert pools_section([], [], 100) == ""


def test_the_section_of_the_report():
    section = pools_section(pool_spreads([OURS, IID], 100), ["ours", "iid"], 100)
    assert "<td>0.30</td><td>0.70</td><td>0.50</td>" in section
    assert "2 of 3 pools" in section


def test_runs_on_one_pool():
    alone = OURS.on_pool(1)
    assert alone.pools is None
    assert alone.seeds.tolist() == [1, 4]
    assert alone.at(100).tolist() == [0.6, 0.8]


def test_rows_of_the_export_keep_their_pool():
    rows = [
        ExportRow("pointmass-s", "iid", "", "jax", seed, evaluation(), pool=seed % 2)
        for seed in (2, 1, 0)
    ]
    [found] = curves_from_rows(rows)
    assert found.pools.tolist() == [0, 1, 0]
    [single] = curves_from_rows(row._replace(pool=None) for row in rows)
    assert single.pools is None
