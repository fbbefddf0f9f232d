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

    def make(self, env: str) -> TaskPool:
        """The pool for an environment; raises ValueError if it has no such kind."""
        pool = make_pool(env, self.kind, self.size)
        return pool if self.targets is None else add_targets(pool, make_pool(env, self.targets))


def recognize(env: str, pool: TaskPool) -> OwnPool | None:
    """The pool of ours that has these tasks; None if it is another one."""
    if env not in environment_names():
        return None
    return next((own for own in _candidates(pool) if _has_tasks(own, env, pool)), None)


def _candidates(pool: TaskPool) -> list[OwnPool]:
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
