"""Compare the methods by the samples that they need and the groups that they waste."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from additions.runs import Point, Run
from procurl.internals.files import write_text

SMOOTHING = 3  # evaluations that an accuracy is averaged over


class Curve(NamedTuple):
    """The evaluations of one run."""

    method: str
    seed: int
    points: list[Point]

    @property
    def samples(self) -> NDArray[np.int64]:
        return np.asarray([point.samples for point in self.points])

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """Of each evaluation, as the mean over it and those before it."""
        raw = np.asarray([point.accuracy for point in self.points])
        starts = np.maximum(np.arange(len(raw)) - SMOOTHING + 1, 0)
        return np.asarray([raw[i : j + 1].mean() for j, i in enumerate(starts)])

    def samples_to(self, accuracy: float) -> int | None:
        """The samples after which the accuracy was reached, None if it never was."""
        reached = np.flatnonzero(self.accuracy >= accuracy)
        return int(self.samples[reached[0]]) if len(reached) else None

    def no_signal(self, until: int | None = None) -> float:
        """Share of the groups whose rewards were all equal, up to `until` samples."""
        shares = [p.no_signal for p in self.points[1:] if until is None or p.samples <= until]
        return float(np.mean(shares)) if shares else float("nan")


def write_runs(folder: Path, runs: Sequence[Run]) -> None:
    """One JSON file per run."""
    folder.mkdir(parents=True, exist_ok=True)
    for run in runs:
        content = {
            "method": run.method,
            "seed": run.seed,
            "points": [point._asdict() for point in run.points],
        }
        write_text(folder / f"{run.method}-{run.seed}.json", json.dumps(content))


def read_curves(folder: Path) -> list[Curve]:
    """The runs of `write_runs`."""
    curves = []
    for path in sorted(folder.glob("*-*.json")):
        content = json.loads(path.read_text())
        points = [Point(**point) for point in content["points"]]
        curves.append(Curve(content["method"], content["seed"], points))
    if not curves:
        raise FileNotFoundError(f"{folder} holds no runs")
    return curves


def up_to_the_same_samples(curves: Sequence[Curve]) -> list[Curve]:
    """The curves as far as all of them go: some runs may not have ended."""
    last = min(int(curve.samples[-1]) for curve in curves)
    return [
        curve._replace(points=[point for point in curve.points if point.samples <= last])
        for curve in curves
    ]


def table_of(curves: Sequence[Curve]) -> str:
    """Markdown: one row per method, means over seeds.

    The samples are those after which a run reaches the final accuracy of uniform sampling with the
    same seed. A run that does not reach it counts with all its samples, and the column says how
    many do.
    """
    curves = up_to_the_same_samples(curves)
    uniform = {curve.seed: curve for curve in curves if curve.method == "uniform"}
    alone = [curve for curve in curves if curve.seed not in uniform]
    lines = [
        f"After {curves[0].samples[-1]:,} samples, which all runs have drawn:",
        "",
        "| Prompts | Final accuracy | Samples to uniform's final accuracy | Share of all "
        "samples | Reached by | Groups without a signal until then | Over the whole run |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for method in dict.fromkeys(curve.method for curve in curves if curve.seed in uniform):
        own = [curve for curve in curves if curve.method == method and curve.seed in uniform]
        targets = [float(uniform[curve.seed].accuracy[-1]) for curve in own]
        found = [curve.samples_to(target) for curve, target in zip(own, targets, strict=True)]
        totals = [int(curve.samples[-1]) for curve in own]
        samples = [total if one is None else one for one, total in zip(found, totals, strict=True)]
        share = np.mean([a / b for a, b in zip(samples, totals, strict=True)])
        reached = sum(one is not None for one in found)
        needed = f"{np.mean(samples):,.0f} | {share:.0%}" if reached else "not reached | –"
        until = np.mean([c.no_signal(n) for c, n in zip(own, samples, strict=True)])
        lines.append(
            f"| {method} | {np.mean([curve.accuracy[-1] for curve in own]):.3f} "
            f"| {needed} | {reached} of {len(own)} "
            f"| {until:.0%} | {np.mean([curve.no_signal() for curve in own]):.0%} |"
        )
    if alone:
        names = ", ".join(f"{curve.method} {curve.seed}" for curve in alone)
        lines += ["", f"Left out, because uniform has no run with the same seed: {names}."]
    return "\n".join(lines)
