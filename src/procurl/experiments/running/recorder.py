"""Recording the progress of batches in the store and the logs."""

from collections.abc import Callable, Sequence

from procurl.experiments.batches import RunBatch
from procurl.experiments.running.batch import Progress
from procurl.experiments.running.logs import Log
from procurl.records.store import Store


def recorder(
    store: Store, logs: Sequence[Log], show: Callable[[Progress], None]
) -> Callable[[Progress], None]:
    """A function that writes progress to the store and the logs, and then shows it."""

    def record(progress: Progress) -> None:
        batch: RunBatch = progress.batch
        evaluations = progress.evaluations or [[]] * batch.width
        if any(evaluations) or progress.finished is not None:
            planned = store.plan.seeds.get(batch.contender.label, 0)
            with store.transaction():
                for i, run in enumerate(batch.runs):
                    store.begin(run, padding=run.seed >= planned)
                    new = store.add(run, *evaluations[i])
                    if progress.finished is not None:
                        store.finish(run, progress.finished[i])
                    for log in logs:
                        for evaluation in new:
                            log.add(run, evaluation)
                        if progress.finished is not None:
                            log.finish(run)
        show(progress)

    return record


def unfinished_batches(
    store: Store, batches: Sequence[RunBatch], keep_models: bool
) -> list[RunBatch]:
    """The batches whose runs, or whose models if they are to be kept, are not complete."""
    finished = store.finished_runs()
    return [
        batch
        for batch in batches
        if not set(batch.runs) <= finished
        or (keep_models and not (store.folder / batch.folder / "models").exists())
    ]
