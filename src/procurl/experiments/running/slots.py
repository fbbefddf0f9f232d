"""Checkpoints of a batch on disk: two files that take turns, so that one is always complete."""

from collections.abc import Callable
from pathlib import Path

from procurl.internals.archive import content_errors, unpack_archive
from procurl.internals.checks import require_integer
from procurl.internals.files import write_bytes

NAMES = ("checkpoint-a.safetensors", "checkpoint-b.safetensors")
STEP = "step"  # in the archive's JSON, by which the newer one is known


class Slots:
    """The two files in a folder, which is created with the first of them.

    Their contents are archives (`procurl.internals.archive`) with a `step`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._created = False
        self._steps: dict[Path, int] | None = None  # −1 if the file is missing or damaged

    def newest(self, warn: Callable[[str], None]) -> bytes | None:
        """The newest complete checkpoint; None if there is none.

        A damaged file is reported through `warn` and ignored.
        """
        for left_over in self._folder.glob(".checkpoint-*"):  # of a process that was killed
            left_over.unlink()
        found: dict[Path, bytes] = {}
        self._steps = dict.fromkeys((self._folder / name for name in NAMES), -1)
        for path in self._steps:
            if not path.exists():
                continue
            content = path.read_bytes()
            try:
                with content_errors(path):
                    step = unpack_archive(content, path)[0][STEP]
                    require_integer(STEP, step, at_least=0)
                self._steps[path], found[path] = step, content
            except ValueError as error:
                warn(f"{error}; it is ignored")
        return found[max(found, key=self._steps.__getitem__)] if found else None

    def keep(self, step: int, content: bytes) -> None:
        """Write a checkpoint in place of the older one."""
        if self._steps is None:
            self.newest(warn=lambda _: None)
        assert self._steps is not None
        older = min(self._steps, key=self._steps.__getitem__)
        if not self._created:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._created = True
        elif not self._folder.is_dir():
            raise OSError(
                f"{self._folder} was removed while its runs were trained. Run the same command "
                "again to train them from the start"
            )
        write_bytes(older, content)
        self._steps[older] = step

    def drop_older(self) -> None:
        """Remove all but the newest checkpoint of a batch that has finished."""
        if self._steps is None:
            self.newest(warn=lambda _: None)
        assert self._steps is not None
        newest = max(self._steps, key=self._steps.__getitem__)
        for path in self._steps:
            if path != newest:
                path.unlink(missing_ok=True)
                self._steps[path] = -1
