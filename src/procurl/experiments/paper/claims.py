"""The paper's claims, each checked against our runs.

Two contenders are compared by the probability of improvement with its 95% bootstrap interval. One
is better if the interval lies above 1/2. The two are tied if it contains 1/2.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from procurl.experiments.analysis.curve_intervals import improvement_at, interval_at
from procurl.experiments.analysis.curves import Curve
from procurl.experiments.analysis.labels import MISSING, step_label
from procurl.experiments.analysis.statistics import Estimate, Interval
from procurl.experiments.analysis.tables import Table, as_csv, as_markdown
from procurl.experiments.paper.agreement import ABLATIONS
from procurl.experiments.paper.run_pages import Page, RecordsBySweep
from procurl.internals.files import write_text

FAILED = 0.1  # a strategy whose interval lies below this has failed
BASELINES = ("space", "space-alt", "spdl", "plr", "iid")
FLAT = 0.1  # means within this distance of the plain strategy's are flat

Curves = Mapping[str, Curve]


class MissingRuns(Exception):
    """The runs that a claim is about are missing."""


class Verdict(NamedTuple):
    """Whether a claim holds, with evidence; `holds` is None if the runs cannot decide."""

    holds: bool | None
    evidence: str


class Claim(NamedTuple):
    """A statement of the paper about a sweep."""

    name: str
    sweep: str
    step: int  # of training, where it is checked
    text: str
    check: Callable[[Curves, int], Verdict]


def curve_of(curves: Curves, name: str, step: int) -> Curve:
    """The curve of a contender; raises MissingRuns if it has no evaluation at the step."""
    if name not in curves or np.isnan(curves[name].at(step)).all():
        raise MissingRuns(f"{name} at {step_label(step)} steps")
    return curves[name]


def mean_of(curves: Curves, name: str, step: int) -> Interval:
    """The mean performance of a contender at a step."""
    return interval_at(curve_of(curves, name, step), step)


def chance_of(curves: Curves, ours: str, theirs: str, step: int) -> Estimate:
    """The probability that a run of a contender is better at a step than a run of another."""
    return improvement_at(curve_of(curves, ours, step), curve_of(curves, theirs, step), step)


def better(ours: str, theirs: str) -> Callable[[Curves, int], Verdict]:
    """A contender is better than another."""

    def check(curves: Curves, step: int) -> Verdict:
        chance = chance_of(curves, ours, theirs, step)
        holds = True if chance.low > 0.5 else False if chance.high < 0.5 else None
        return Verdict(holds, f"{_means(curves, step, ours, theirs)}; P(better) {chance}")

    return check


def not_worse(ours: str, theirs: str) -> Callable[[Curves, int], Verdict]:
    """A contender is better than another, or tied."""

    def check(curves: Curves, step: int) -> Verdict:
        chance = chance_of(curves, ours, theirs, step)
        evidence = f"{_means(curves, step, ours, theirs)}; P(better) {chance}"
        return Verdict(_unless([chance.high < 0.5], [chance]), evidence)

    return check


def matches_all(ours: str) -> Callable[[Curves, int], Verdict]:
    """No baseline is better than a contender."""

    def check(curves: Curves, step: int) -> Verdict:
        chances = {name: chance_of(curves, ours, name, step) for name in BASELINES}
        text = "; ".join(f"better than {name} with P {chance}" for name, chance in chances.items())
        behind = [chance.high < 0.5 for chance in chances.values()]
        return Verdict(_unless(behind, chances.values()), text)

    return check


def fails(name: str) -> Callable[[Curves, int], Verdict]:
    """A contender learns next to nothing."""

    def check(curves: Curves, step: int) -> Verdict:
        interval = mean_of(curves, name, step)
        below = interval.mean + interval.half_width < FAILED
        unknown = math.isnan(interval.half_width)  # too few runs
        return Verdict(None if unknown else below, f"{name} {interval}")

    return check


def best_or_tied(which: str, env: str) -> Callable[[Curves, int], Verdict]:
    """No other value of the setting is better than the paper's own."""
    others = [row for row in ABLATIONS[which].rows(env) if row.contender != "procurl-val"]

    def check(curves: Curves, step: int) -> Verdict:
        chances = {
            row.label: chance_of(curves, row.contender, "procurl-val", step) for row in others
        }
        ahead = [chance.low > 0.5 for chance in chances.values()]
        text = "; ".join(f"{label} better with P {chance}" for label, chance in chances.items())
        return Verdict(_unless(ahead, chances.values()), text)

    return check


def flat(which: str, env: str) -> Callable[[Curves, int], Verdict]:
    """The value of the setting hardly matters."""
    rows = ABLATIONS[which].rows(env)

    def check(curves: Curves, step: int) -> Verdict:
        means = {row.label: mean_of(curves, row.contender, step) for row in rows}
        plain = mean_of(curves, "procurl-val", step).mean
        farthest = max(abs(interval.mean - plain) for interval in means.values())
        text = "; ".join(f"{label}: {interval}" for label, interval in means.items())
        return Verdict(farthest <= FLAT, text)

    return check


def _claims() -> list[Claim]:
    made = [
        Claim(
            "val-beats-iid-hard",
            "pointmass-s-hard",
            2_000_000,
            "procurl-val is better than iid on the harder pool",
            better("procurl-val", "iid"),
        )
    ]
    at_step = {
        "pointmass-s": 1_000_000,
        "pointmass-d": 1_000_000,
        "basickarel": 1_000_000,
        "ballcatching": 5_000_000,
    }
    for env, step in at_step.items():
        for ours in ("procurl-val", "procurl-env"):
            made.append(
                Claim(
                    f"{ours.removeprefix('procurl-')}-matches-all-{env}",
                    env,
                    step,
                    f"{ours} matches or outperforms all baselines on {env}",
                    matches_all(ours),
                )
            )
    for env in ("pointmass-s", "basickarel"):
        at = (env, 1_000_000)
        made += [
            Claim(
                f"val-beats-iid-{env}",
                *at,
                f"procurl-val is better than iid on {env}",
                better("procurl-val", "iid"),
            ),
            Claim(
                f"env-not-worse-than-val-{env}",
                *at,
                f"procurl-env is at least as good as procurl-val on {env}",
                not_worse("procurl-env", "procurl-val"),
            ),
            Claim(f"hard-fails-{env}", *at, f"hard fails on {env}", fails("hard")),
            Claim(
                f"gamma-{env}",
                *at,
                f"γ2/γ1 = 1 is best or tied on {env}",
                best_or_tied("gamma", env),
            ),
            Claim(f"beta-{env}", *at, f"flat for β from 10 to 30 on {env}", flat("beta", env)),
            Claim(f"noise-{env}", *at, f"flat for ε up to 0.2 on {env}", flat("noise", env)),
        ]
    return made


def _claims_over_pools() -> list[Claim]:
    checks: dict[str, tuple[str, Callable[[Curves, int], Verdict]]] = {
        f"{ours.removeprefix('procurl-')}-matches-all": (
            f"{ours} matches or outperforms all baselines",
            matches_all(ours),
        )
        for ours in ("procurl-val", "procurl-env")
    }
    checks |= {
        "val-beats-iid": ("procurl-val is better than iid", better("procurl-val", "iid")),
        "env-not-worse-than-val": (
            "procurl-env is at least as good as procurl-val",
            not_worse("procurl-env", "procurl-val"),
        ),
        "procurl-beats-iid": ("procurl is better than iid", better("procurl", "iid")),
        "hard-fails": ("hard fails", fails("hard")),
    }
    at_step = {"pointmass-s": 1_000_000, "basickarel": 1_000_000, "ballcatching": 5_000_000}
    return [
        Claim(f"{name}-{env}-pools", f"{env}-pools", step, f"{text} on pools of {env}", check)
        for env, step in at_step.items()
        for name, (text, check) in checks.items()
        if (name, env) != ("hard-fails", "ballcatching")  # its returns are no success rates
    ]


CLAIMS: Mapping[str, Claim] = {claim.name: claim for claim in _claims()}
CLAIMS_OVER_POOLS: Mapping[str, Claim] = {claim.name: claim for claim in _claims_over_pools()}


def check_claims(
    runs: RecordsBySweep, claims: Mapping[str, Claim] = CLAIMS
) -> dict[str, Verdict | None]:
    """The verdict on each claim; None if the runs that it is about are missing.

    If runs were spread over pools, the evidence ends with the verdict on each pool alone.
    """
    checked: dict[str, Verdict | None] = {}
    for claim in claims.values():
        curves = runs[claim.sweep].curves if claim.sweep in runs else {}
        try:
            verdict = claim.check(curves, claim.step)
            if alone := pools_holding(claim, curves):
                verdict = verdict._replace(evidence=f"{verdict.evidence}; {alone}")
            checked[claim.name] = verdict
        except MissingRuns:
            checked[claim.name] = None
    return checked


def pools_holding(claim: Claim, curves: Curves) -> str:
    """On how many pools a claim holds by their runs alone, in words; empty with a single pool."""
    spread = {label: curve for label, curve in curves.items() if curve.pools is not None}
    pools = sorted({pool for curve in spread.values() for pool in curve.played_pools})
    found: Counter[bool | None] = Counter()
    for pool in pools:
        alone = {label: curve.on_pool(pool) for label, curve in spread.items()}
        try:
            found[claim.check(alone, claim.step).holds] += 1
        except MissingRuns:
            found[None] += 1
    if not found:
        return ""
    rest = [(found[None], "undecided on"), (found[False], "not on")]
    others = "".join(f", {words} {count}" for count, words in rest if count)
    return f"alone, it holds on {found[True]} of {len(pools)} pools{others}"


def claims_page(runs: RecordsBySweep, out: Path, claims: Mapping[str, Claim] = CLAIMS) -> Page:
    """The page of claims with evidence and verdict."""
    lines, count, held = [], 0, 0
    for name, checked in check_claims(runs, claims).items():
        claim = claims[name]
        verdict, evidence = MISSING, "not run"
        if checked is not None:
            count, held = count + 1, held + (checked.holds is True)
            verdict = "undecided" if checked.holds is None else "yes" if checked.holds else "no"
            evidence = checked.evidence
        lines.append((claim.text, step_label(claim.step), verdict, evidence))
    table = Table(("claim", "at", "holds", "evidence, ± and [ ] at 95%"), tuple(lines))
    write_text(out / "table.csv", as_csv(table))
    sentence = f"{held} of the {count} claims with runs hold."
    rules = (
        f"A strategy fails if the interval of its mean lies below {FAILED:g}. A setting is flat if "
        f"all means are within {FLAT:g} of that of the paper's own value. Strategies are tied if "
        "the interval of the probability of improvement contains 1/2."
    )
    return Page("\n".join([as_markdown(table), f"{sentence} {rules}\n"]), sentence)


def _unless(against: Iterable[bool], chances: Iterable[Estimate]) -> bool | None:
    """False if anything contradicts the claim, None if a chance without an interval might."""
    if any(against):
        return False
    return None if any(math.isnan(chance.low) for chance in chances) else True


def _means(curves: Curves, step: int, *names: str) -> str:
    return ", ".join(f"{name} {mean_of(curves, name, step)}" for name in names)
