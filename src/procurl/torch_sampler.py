"""A PyTorch sampler that draws from a curriculum, for any training loop with a data loader."""

from collections.abc import Iterator
from typing import Any

import numpy as np

try:
    from torch.utils.data import Sampler
except ImportError as error:
    raise ImportError(
        "CurriculumSampler needs PyTorch: install torch, see https://pytorch.org/get-started"
    ) from error

from procurl.curriculum import Curriculum
from procurl.internals.checks import require_integer


class CurriculumSampler(Sampler[int]):
    """Yields the indices of the tasks to play next, in batches of different tasks.

    Task i of the pool is example i of the dataset. A batch is drawn when its first index is asked
    for, so that it depends on all outcomes recorded until then. A data loader with workers asks
    ahead: set `num_workers=0`, or accept batches that are a few records older.

    `torchdata`'s StatefulDataLoader saves the sampler with `state_dict` and continues with the
    same indices, also within an epoch, if it has no workers. With workers it saves the sampler as
    it was when a batch was fetched, without the outcomes recorded since then. A new iterator starts
    a new epoch, unless `load_state_dict` came before it. The curriculum goes on in either case.

    Args:
        curriculum: chooses the tasks; one that learns from outcomes if you call `record`.
        batch_size: different tasks per batch.
        repeat: how often each index comes in a row: the size of a group of samples. The data
            loader's own batch size is `batch_size * repeat`.
        batches: per epoch; None: as many as fit the pool once, at least one.
    """

    def __init__(
        self,
        curriculum: Curriculum,
        batch_size: int,
        *,
        repeat: int = 1,
        batches: int | None = None,
    ) -> None:
        if not isinstance(curriculum, Curriculum):
            raise TypeError(f"curriculum must be a Curriculum, got {type(curriculum).__name__}")
        if curriculum.space is not None:
            raise ValueError(
                f"curriculum must have a fixed pool, one task per example, got {curriculum.space}"
            )
        require_integer("batch_size", batch_size, at_least=1)
        require_integer("repeat", repeat, at_least=1)
        if batches is not None:
            require_integer("batches", batches, at_least=1)
        if batch_size > len(curriculum.pool):
            raise ValueError(
                f"batch_size must be at most {len(curriculum.pool)}, the tasks of the pool, "
                f"got {batch_size}"
            )
        self.curriculum = curriculum
        self.batch_size = batch_size
        self.repeat = repeat
        self._batches = batches
        self._begun = 0  # batches drawn in this epoch
        self._rest: list[int] = []  # indices of the current batch that were not yielded yet
        self._continue = False  # whether the next iterator continues the epoch

    @property
    def batches(self) -> int:
        """Batches per epoch."""
        return self._batches or max(1, len(self.curriculum.pool) // self.batch_size)

    def __len__(self) -> int:
        return self.batches * self.batch_size * self.repeat

    def __iter__(self) -> Iterator[int]:
        if not self._continue:
            self._begun, self._rest = 0, []
        self._continue = False
        while self._rest or self._begun < self.batches:
            if not self._rest:
                tasks = self.curriculum.next(self.batch_size, replace=False)
                self._rest = np.repeat(tasks, self.repeat).tolist()
                self._begun += 1
            yield self._rest.pop(0)
        self._begun = 0  # whoever loads a state from here on starts an epoch

    def record(self, tasks: Any, outcomes: Any = None, **settings: Any) -> None:
        """Pass outcomes to the curriculum, as `Curriculum.record`."""
        self.curriculum.record(tasks, outcomes, **settings)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to yield the same indices from here on."""
        return {
            "curriculum": self.curriculum.state_dict(),
            "begun": self._begun,
            "rest": list(self._rest),
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from `state_dict`; another strategy or pool raises and changes nothing."""
        begun, rest = saved["begun"], [int(task) for task in saved["rest"]]
        require_integer("the saved begun", begun, at_least=0)
        n = len(self.curriculum.pool)
        if any(not 0 <= task < n for task in rest):
            raise ValueError(f"the saved rest must hold task ids from 0 to {n - 1}, got {rest}")
        self.curriculum.load_state_dict(saved["curriculum"])
        self._begun, self._rest, self._continue = begun, rest, True
