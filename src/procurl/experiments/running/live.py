"""Progress on the terminal: a bar or lines per contender, with speed and time left."""

import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TextIO, cast

from procurl.experiments.batches import RunBatch
from procurl.experiments.running.batch import Progress
from procurl.internals.streams import SafeStream, safe
from procurl.records.experiment import Experiment

Listener = Callable[[Progress], None]  # receives the progress of batches


class ContenderProgress(NamedTuple):
    """The progress of the runs of one contender."""

    label: str
    steps: int  # of all its runs together
    total: int
    finished: int  # runs
    runs: int
    speed: float | None  # steps per second of all its runs that are training now
    performance: float | None  # mean over `scored`
    scored: str  # the runs with a performance: in training, finished, or new if some are older

    @property
    def summary(self) -> str:
        """Finished runs, speed and performance, as text."""
        speed = "–" if self.speed is None else f"{self.speed:,.0f}"
        score = "–"
        if self.performance is not None:
            score = f"{self.performance:.3f} ({self.scored})"
        return f"{self.finished}/{self.runs} runs  {speed} steps/s  performance {score}"


class SweepProgress:
    """The progress of all batches of an experiment.

    Args:
        steps: training steps per run.
        batches: all of them.
        finished: those that are done already.
        clock: seconds.
        planned: seeds of each contender that were requested; the last batch may hold more.
    """

    def __init__(
        self,
        steps: int,
        batches: Sequence[RunBatch],
        finished: Collection[RunBatch],
        clock: Callable[[], float] = time.monotonic,
        planned: Mapping[str, int] | None = None,
    ) -> None:
        self._clock = clock
        self._steps = steps
        self._at = {batch: steps if batch in finished else 0 for batch in batches}
        self._finished = set(finished)
        self._planned = planned or {}
        self._scores: dict[RunBatch, float] = {}
        self._begun: dict[RunBatch, int] = {}  # step of the first report
        self._side_by_side = 1  # the most batches that have trained at once
        self._since: dict[RunBatch, tuple[float, int]] = {}  # time and step after compilation
        self._speeds: dict[RunBatch, float] = {}  # steps per second of one of its runs
        self.labels = list(dict.fromkeys(batch.contender.label for batch in batches))

    def update(self, progress: Progress) -> None:
        """Add the progress of one batch."""
        batch, now = progress.batch, self._clock()
        self._at[batch] = min(progress.step, self._steps)
        if progress.performance is not None:
            self._scores[batch] = progress.performance
        if self._at[batch] > self._begun.setdefault(batch, self._at[batch]):
            since, step = self._since.setdefault(batch, (now, self._at[batch]))
            if now > since and self._at[batch] > step:
                self._speeds[batch] = (self._at[batch] - step) / (now - since)
        if progress.finished is not None:
            self._finished.add(batch)
        in_training = sum(begun not in self._finished for begun in self._begun)
        self._side_by_side = max(self._side_by_side, in_training)

    def contender(self, label: str) -> ContenderProgress:
        """The progress of one contender."""
        mine = [batch for batch in self._at if batch.contender.label == label]
        runs = sum(batch.width for batch in mine)
        scored = [batch for batch in mine if batch in self._scores]
        # A run that starts would drag the mean down, as if the finished ones had become worse.
        final = [batch for batch in scored if batch in self._finished]
        scores = [self._scores[batch] for batch in final or scored]
        training = [b for b in mine if b in self._speeds and b not in self._finished]
        return ContenderProgress(
            label,
            steps=sum(self._at[batch] * batch.width for batch in mine),
            total=self._steps * runs,
            finished=sum(self._requested(batch) for batch in mine if batch in self._finished),
            runs=sum(map(self._requested, mine)),
            speed=sum(self._speeds[b] * b.width for b in training) if training else None,
            performance=sum(scores) / len(scores) if scores else None,
            scored=_scored(final, [batch for batch in mine if batch in self._finished]),
        )

    def _requested(self, batch: RunBatch) -> int:
        """The number of its runs that were requested; the others only fill it up."""
        planned = self._planned.get(batch.contender.label, batch.seeds.stop)
        return max(0, min(batch.width, planned - batch.first_seed))

    def seconds_left(self) -> float | None:
        """An estimate of the time left for all batches; None while no speed is known.

        As many batches are taken to train side by side as have done so, even if one has just
        finished and the next has not started.
        """
        left = {
            batch: self._steps - step
            for batch, step in self._at.items()
            if batch not in self._finished
        }
        return estimate_seconds_left(left, self._speeds, self._side_by_side)


def estimate_seconds_left(
    left: Mapping[RunBatch, int], speeds: Mapping[RunBatch, float], side_by_side: int
) -> float | None:
    """The time left for all batches; None if no speed is known.

    Every batch is taken to be as fast as the other batches of its contender, and a contender
    without a speed as fast as the slowest that has one.

    Args:
        left: training steps left of every batch that is not finished.
        speeds: steps per second of a run, of the batches that have begun.
        side_by_side: batches that train at once.
    """
    known: dict[str, list[float]] = {}
    for batch, speed in speeds.items():
        known.setdefault(batch.contender.label, []).append(speed)
    if not known:
        return None
    typical = {label: sum(found) / len(found) for label, found in known.items()}
    slowest = min(typical.values())
    times = [steps / typical.get(batch.contender.label, slowest) for batch, steps in left.items()]
    return max(max(times, default=0.0), sum(times) / side_by_side)


def _scored(final: Sequence[RunBatch], finished: Sequence[RunBatch]) -> str:
    """Which runs the performance is of; those of an earlier call are not read again."""
    if not final:
        return "in training"
    return "finished" if len(final) == len(finished) else "newly finished"


@contextmanager
def live(
    experiment: Experiment,
    batches: Sequence[RunBatch],
    finished: Collection[RunBatch],
    planned: Mapping[str, int] | None = None,
) -> Iterator[Listener]:
    """Show a bar per contender on a terminal, and elsewhere a line at every tenth of the way."""
    sweep = SweepProgress(experiment.steps, batches, finished, planned=planned)
    stream = safe(sys.stderr)  # whether anyone reads must not decide about training
    view = _bars if stream.isatty() else _lines
    with view(sweep, stream) as show:
        yield without_repeats(show)


def without_repeats(show: Listener) -> Listener:
    """`show`, without the messages about something that an earlier message was about."""
    known = set()

    def show_new(progress: Progress) -> None:
        if progress.about is not None and progress.about in known:
            progress = progress._replace(message=None)
        known.add(progress.about)
        show(progress)

    return show_new


@contextmanager
def _bars(sweep: SweepProgress, stream: SafeStream) -> Iterator[Listener]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[words]}", markup=False),
    )
    with Bars(*columns, console=Console(file=cast(TextIO, stream))) as view:
        tasks = {}
        for label in sweep.labels:
            now = sweep.contender(label)
            tasks[label] = view.add_task(
                label, total=now.total, completed=now.steps, words=now.summary
            )
        whole = view.add_task("all", total=sum(sweep.contender(x).total for x in tasks), words="")

        def show(progress: Progress) -> None:
            sweep.update(progress)
            if progress.message:
                view.console.print(progress.message, markup=False, highlight=False)
            now = sweep.contender(progress.batch.contender.label)
            view.update(tasks[now.label], completed=now.steps, words=now.summary)
            done = sum(sweep.contender(label).steps for label in tasks)
            view.update(whole, completed=done, words=_time_left(sweep))

        yield show


@contextmanager
def _lines(sweep: SweepProgress, stream: SafeStream) -> Iterator[Listener]:
    tenths = {label: _tenth(sweep.contender(label)) for label in sweep.labels}

    def show(progress: Progress) -> None:
        sweep.update(progress)
        if progress.message:
            print(progress.message, file=stream, flush=True)
        now = sweep.contender(progress.batch.contender.label)
        if _tenth(now) > tenths[now.label]:
            tenths[now.label] = _tenth(now)
            share = f"{10 * _tenth(now)}%"
            line = f"{now.label}: {share}  {now.summary}  {_time_left(sweep)}"
            print(line.rstrip(), file=stream, flush=True)

    yield show


def _tenth(now: ContenderProgress) -> int:
    """Tenths of the way done; the last one counts once all runs have finished."""
    return min(10 * now.steps // now.total, 10 if now.finished == now.runs else 9)


def _time_left(sweep: SweepProgress) -> str:
    """The time left as text; empty while it is unknown."""
    return time_left_text(sweep.seconds_left())


def time_left_text(seconds: float | None) -> str:
    """The time left as text; empty if it is unknown or almost over."""
    if seconds is None or seconds < 0.5:
        return ""
    if seconds < 100:
        return f"about {seconds:.0f} s left"
    if seconds < 6000:
        return f"about {seconds / 60:.0f} min left"
    return f"about {seconds / 3600:.1f} h left"
