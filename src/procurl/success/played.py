"""The tasks that were played, often few of a large pool: NumPy computes with these alone."""

from typing import Any, NamedTuple

import numpy as np

from procurl.evidence import Evidence
from procurl.internals.arrays import Array, Ids, by_blocks, namespace


class Played(NamedTuple):
    """Training episodes by task. Those of a task whose numbers are not finite do not count."""

    tasks: Any  # [m] ids, or `...` for all n tasks, played or not
    wins: Array  # [m]
    losses: Array  # [m]
    partial: Array  # [m] Σ w(1 − w), see `Evidence.partial`

    @property
    def episodes(self) -> Array:
        """[m] how many."""
        return self.wins + self.losses


def played_tasks(evidence: Evidence, like: Array) -> Played:
    """What `evidence`, which has wins and losses, says of the tasks that were played.

    Args:
        evidence: on n tasks.
        like: an array of the state that the episodes are added to, which may be JAX's.
    """
    xp = namespace(evidence.wins, evidence.losses, like)
    wins, losses = xp.asarray(evidence.wins), xp.asarray(evidence.losses)
    tasks = _ids(wins, losses) if xp is np else ...
    wins, losses = wins[tasks], losses[tasks]
    finite = xp.isfinite(wins + losses)
    wins, losses = xp.where(finite, wins, 0.0), xp.where(finite, losses, 0.0)
    given = evidence.partial
    partial = xp.zeros_like(wins) if given is None else xp.asarray(given)[tasks]
    return Played(tasks, wins, losses, xp.where(xp.isfinite(partial), partial, 0.0))


def _ids(wins: Array, losses: Array) -> Ids:
    """[m] the tasks that were played."""
    some = by_blocks(lambda won, lost: (won != 0.0) | (lost != 0.0), wins, losses)
    return np.flatnonzero(some)
