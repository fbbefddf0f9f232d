"""The results of an experiment, as tables, figures and reports read them.

They do not depend on files. All engines record a run in the same way, so a user's own
Stable-Baselines3 run gives the same report as a run of the JAX engine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from procurl.records.evaluation import Evaluation
from procurl.records.experiment import TEST, pool_index
from procurl.tasks.pool import TaskPool


class RunId(NamedTuple):
    """A run within an experiment."""

    strategy: str
    setting: str  # as written after the colon of `procurl-val:beta=10`; empty for the preset's
    seed: int

    @property
    def label(self) -> str:
        """The strategy with its setting, as it was written."""
        return f"{self.strategy}:{self.setting}" if self.setting else self.strategy


@dataclass(frozen=True)
class Results:
    """All runs of one experiment.

    Args:
        env: name of the environment.
        engine: `jax`, `host` or `sb3`.
        steps: planned training steps per run.
        n_envs: environments per run.
        pool: the training pool, with its feature columns; of several, the first.
        runs: every run, by strategy in the order of the plan, then by seed.
        evaluations: of each run by step, without picks and snapshots.
        stopped: the step at which a run stopped because a value was not finite, for such runs.
        facts: where the results came from: `command`, `machine`, `versions`, `pool_hash`, …
        detail: reads the evaluations of a run with picks and snapshots.
        other_pools: further training pools, if runs were spread over several.
    """

    env: str
    engine: str
    steps: int
    n_envs: int
    pool: TaskPool
    runs: Sequence[RunId]
    evaluations: Mapping[RunId, Sequence[Evaluation]]
    stopped: Mapping[RunId, int]
    facts: Mapping[str, Any]
    detail: Callable[[RunId], Sequence[Evaluation]]
    other_pools: Sequence[TaskPool] = ()

    @property
    def pools(self) -> tuple[TaskPool, ...]:
        """All training pools."""
        return (self.pool, *self.other_pools)

    def pool_of(self, run: RunId) -> TaskPool:
        """The pool that a run was trained on."""
        return self.pools[pool_index(run.seed, len(self.pools))]

    @property
    def test_name(self) -> str:
        """What tables call the test pool: `test`, or `targets` if these are its tasks."""
        return str(self.facts.get("test_name") or TEST)

    @property
    def labels(self) -> tuple[str, ...]:
        """The strategies with their settings, in order."""
        return tuple(dict.fromkeys(run.label for run in self.runs))
