"""The paper's claims: when they hold, when they do not, and when nobody can tell."""

import numpy as np
import pytest

from procurl.experiments.analysis.curves import Curve
from procurl.experiments.paper.agreement import ABLATIONS
from procurl.experiments.paper.claims import (
    BASELINES,
    CLAIMS,
    CLAIMS_OVER_POOLS,
    Claim,
    MissingRuns,
    best_or_tied,
    better,
    check_claims,
    fails,
    flat,
    matches_all,
    not_worse,
    pools_holding,
)
from procurl.experiments.paper.sweeps import POOLED

STEP = 1_000_000


def found(**means):
    """Curves of 20 runs around these means, by strategy with _ for -."""
    made = {}
    for name, mean in means.items():
        label = name.replace("_", "-")
        values = mean + np.linspace(-0.05, 0.05, 20)[:, None]
        made[label] = Curve(label, np.arange(20), np.array([STEP]), *[values] * 4)
    return made


def with_values(which, means):
    rows = ABLATIONS[which].rows("pointmass-s")
    plain = found(procurl_val=0.5)["procurl-val"]
    return {
        row.contender: plain._replace(label=row.contender, performance=plain.performance + shift)
        for row, shift in zip(rows, means, strict=True)
    }


@pytest.mark.parametrize(("val", "holds"), [(0.7, True), (0.5, None), (0.3, False)])
def test_better(val, holds):
    checked = better("procurl-val", "iid")(found(procurl_val=val, iid=0.5), STEP)
    assert checked.holds is holds
    assert f"procurl-val {val:.2f} ±" in checked.evidence
    assert "P(better)" in checked.evidence


@pytest.mark.parametrize(("val", "holds"), [(0.7, True), (0.5, True), (0.3, False)])
def test_not_worse(val, holds):
    checked = not_worse("procurl-val", "iid")(found(procurl_val=val, iid=0.5), STEP)
    assert checked.holds is holds


def test_a_claim_over_pools_says_on_how_many_it_holds():
    """procurl-val is ahead on pools 0 to 3 and behind on pool 4."""
    curves = {
        label: curve._replace(pools=np.arange(20) % 5)
        for label, curve in found(procurl_val=0.7, iid=0.5).items()
    }
    behind = curves["procurl-val"].pools == 4
    curves["procurl-val"].performance[behind] -= 0.4
    claim = Claim("val", "sweep", STEP, "val is better", better("procurl-val", "iid"))
    assert pools_holding(claim, curves) == "alone, it holds on 4 of 5 pools, not on 1"
    assert pools_holding(claim, found(procurl_val=0.7, iid=0.5)) == ""
    iid = curves["iid"]
    curves["iid"] = iid._replace(performance=np.where(behind[:, None], np.nan, iid.performance))
    assert pools_holding(claim, curves) == "alone, it holds on 4 of 5 pools, undecided on 1"


def test_claims_over_pools_are_about_sweeps_over_pools():
    assert {claim.sweep for claim in CLAIMS_OVER_POOLS.values()} == {s.name for s in POOLED}
    assert not set(CLAIMS) & set(CLAIMS_OVER_POOLS)


def test_single_runs_decide_nothing():
    many = with_values("gamma", [0.0] * 5) | found(
        **{name.replace("-", "_"): 0.5 for name in BASELINES}
    )
    one = {
        name: curve._replace(seeds=curve.seeds[:1], performance=curve.performance[:1])
        for name, curve in many.items()
    }
    for check in (
        not_worse("procurl-val", "iid"),
        matches_all("procurl-val"),
        best_or_tied("gamma", "pointmass-s"),
    ):
        assert check(many, STEP).holds is True
        assert check(one, STEP).holds is None


@pytest.mark.parametrize(("mean", "holds"), [(0.01, True), (0.095, False), (0.5, False)])
def test_fails(mean, holds):
    assert fails("hard")(found(hard=mean), STEP).holds is holds


def test_two_runs_do_not_tell_whether_a_strategy_fails():
    curve = found(hard=0.0)["hard"]
    two = {"hard": curve._replace(seeds=curve.seeds[:2], performance=curve.performance[:2])}
    assert fails("hard")(two, STEP).holds is None


@pytest.mark.parametrize(("plr", "holds"), [(0.5, True), (0.62, False)])
def test_matching_all_allows_no_better_baseline(plr, holds):
    others = dict.fromkeys((name.replace("-", "_") for name in BASELINES), 0.3)
    checked = matches_all("procurl-val")(found(procurl_val=0.5, **(others | {"plr": plr})), STEP)
    assert checked.holds is holds
    assert "better than iid with P 1.00" in checked.evidence


def test_best_or_tied_allows_equals_and_worse_ones():
    check = best_or_tied("gamma", "pointmass-s")
    assert check(with_values("gamma", [-0.3, 0, 0, 0, -0.2]), STEP).holds
    worse = check(with_values("gamma", [0, 0.3, 0, 0, 0]), STEP)
    assert worse.holds is False
    assert "γ2/γ1 = 0.8 better with P 1.00" in worse.evidence


def test_flat_is_within_a_tenth():
    check = flat("noise", "pointmass-s")
    assert check(with_values("noise", [0, 0.09, -0.09, 0, 0]), STEP).holds
    assert not check(with_values("noise", [0, 0, 0, 0, -0.12]), STEP).holds


def test_what_was_not_run_is_undecided():
    with pytest.raises(MissingRuns, match="iid at 1M steps"):
        better("procurl-val", "iid")(found(procurl_val=0.5), STEP)
    with pytest.raises(MissingRuns, match="hard at 2M steps"):
        fails("hard")(found(hard=0.0), 2 * STEP)
    assert set(check_claims({}).values()) == {None}
    assert len(CLAIMS) == 21
