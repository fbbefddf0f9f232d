"""Commands in a fraction of the time, for tests of what they record, print and refuse."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace

import pytest

from procurl.experiments import comparison
from procurl.experiments.analysis.figures import curves as figures
from procurl.experiments.engines.registry import ENGINES, trainer_module
from procurl.experiments.running.local import train_and_send


class InProcessBackend:
    """Trains every batch in this process, where packages are imported already; see `Backend`."""

    def __init__(self, count, device, preload):
        self.device = device

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, folder, job, batches, report):
        def send(progress):
            if progress is not None:  # the end of a batch
                report(progress)

        for batch in batches:
            train_and_send(SimpleNamespace(send=send), folder, job, batch, lambda: False)


@contextmanager
def training_here() -> Iterator[None]:
    """Train in this process instead of others."""
    for engine in ENGINES:  # before a command replaces the streams that loggers keep
        import_module(trainer_module(engine))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "LocalBackend", InProcessBackend)
        yield


@contextmanager
def empty_figures() -> Iterator[None]:
    """Draw figures and write empty files in place of their pixels and shapes."""

    def write_nothing(figure, path, kind, **options):
        path.with_suffix(f".{kind}").touch()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "_write_figure", write_nothing)
        yield
