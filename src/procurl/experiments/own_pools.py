"""Pools that procurl draws itself: records name them instead of holding their tasks."""

from typing import NamedTuple

from procurl.envs.registry import environment_names, make_pool
from procurl.tasks.pool import TaskPool
from procurl.tasks.targets import TARGET, add_targets

KINDS = ("uniform", "hard")
TARGET_KINDS = ("target", "target-one-mode", "target-two-modes", "target-task")


class OwnPool(NamedTuple):
    """A training pool of one of our environments."""

    kind: str = "uniform"
    size: int | None = None  # number of tasks without targets; None for the paper's
    targets: str | None = None  # kind of the targets that are added, if any
    seed: int | None = None  # of the draw; None for the one behind the published results

    def make(self, env: str) -> TaskPool:
        """The pool for an environment; raises ValueError if it has no such kind."""
        pool = make_pool(env, self.kind, self.size, self.seed)
        return pool if self.targets is None else add_targets(pool, make_pool(env, self.targets))


def recognize(env: str, pool: TaskPool, seed: int | None = None) -> OwnPool | None:
    """The pool of ours that has these tasks; None if it is another one.

    Args:
        env: name of the environment.
        pool: the tasks.
        seed: with which it may have been drawn; None for the published pool.
    """
    if env not in environment_names():
        return None
    return next((own for own in _candidates(pool, seed) if _has_tasks(own, env, pool)), None)


def _candidates(pool: TaskPool, seed: int | None) -> list[OwnPool]:
    if seed is not None:
        return [OwnPool(kind, seed=seed) for kind in KINDS]
    if TARGET not in pool.features:
        return [OwnPool(kind) for kind in KINDS]
    size = len(pool) - int((pool.features[TARGET] != 0).sum())
    return [OwnPool(kind) for kind in KINDS] + [
        OwnPool("uniform", size, kind) for kind in TARGET_KINDS if size > 0
    ]


def _has_tasks(own: OwnPool, env: str, pool: TaskPool) -> bool:
    try:
        return own.make(env).fingerprint == pool.fingerprint
    except ValueError:  # the environment has no such kind
        return False
