"""Progress for a person to watch: one line per contender while its runs train."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from procurl.experiments.plans import Batch, Experiment


class Listener(Protocol):
    """What `live` gives: told how far a batch is."""

    def __call__(self, progress: Any, /) -> None: ...


@contextmanager
def live(experiment: Experiment, batches: list[Batch]) -> Iterator[Listener]:
    """A bar per contender on a terminal, plain lines at every tenth elsewhere."""
    labels = list(dict.fromkeys(batch.contender.label for batch in batches))
    totals = {
        label: experiment.steps * sum(b.width for b in batches if b.contender.label == label)
        for label in labels
    }
    steps: dict[Batch, int] = {}
    scores: dict[Batch, float] = {}

    def state(progress: Any) -> tuple[str, int, str]:
        """(label, steps of all its runs, performance so far) after one more report."""
        label = progress.batch.contender.label
        steps[progress.batch] = min(progress.step, experiment.steps) * progress.batch.width
        if progress.performance is not None:
            scores[progress.batch] = progress.performance
        mine = [score for batch, score in scores.items() if batch.contender.label == label]
        score = f"{sum(mine) / len(mine):.3f}" if mine else "–"
        done = sum(count for batch, count in steps.items() if batch.contender.label == label)
        return label, done, score

    if sys.stderr.isatty():
        yield from _bars(labels, totals, state)
    else:
        yield from _lines(totals, state)


def _bars(labels: list[str], totals: dict[str, int], state: Any) -> Iterator[Listener]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[speed]} steps/s"),
        TextColumn("performance {task.fields[score]}"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=Console(stderr=True)) as view:
        tasks = {
            label: view.add_task(label, total=totals[label], speed="–", score="–")
            for label in labels
        }

        def show(progress: Any) -> None:
            label, done, score = state(progress)
            if progress.message:
                view.console.print(progress.message, markup=False, highlight=False)
            speed = view.tasks[tasks[label]].speed
            shown = "–" if speed is None else f"{speed:,.0f}"
            view.update(tasks[label], completed=done, score=score, speed=shown)

        yield show


def _lines(totals: dict[str, int], state: Any) -> Iterator[Listener]:
    tenths: dict[str, int] = {}

    def show(progress: Any) -> None:
        label, done, score = state(progress)
        if progress.message:
            print(progress.message, file=sys.stderr, flush=True)
        tenth = 10 * done // totals[label]
        if tenth > tenths.get(label, 0):
            tenths[label] = tenth
            share = f"{10 * tenth}%"
            print(f"{label}: {share}, performance {score}", file=sys.stderr, flush=True)

    yield show
