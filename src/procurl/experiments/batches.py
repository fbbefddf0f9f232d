"""What a worker gets: a job, and the batch of its runs to train."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from procurl.envs import EnvSource
from procurl.internals.files import file_name
from procurl.records.experiment import Contender, Experiment, RunPlan, pool_index
from procurl.records.results import RunId
from procurl.tasks.pool import TaskPool


class Job(NamedTuple):
    """What all batches of an experiment share."""

    experiment: Experiment
    pool: TaskPool  # of several, the first
    test_pool: TaskPool | None
    keep_models: bool
    source: EnvSource | None = None  # how to make the environment; None for one of ours
    other_pools: tuple[TaskPool, ...] = ()  # further pools that runs are spread over

    @property
    def pools(self) -> tuple[TaskPool, ...]:
        """All training pools."""
        return (self.pool, *self.other_pools)

    def pool_of(self, seed: int) -> TaskPool:
        """The pool that the run with this seed is trained on."""
        return self.pools[pool_index(seed, len(self.pools))]


class RunBatch(NamedTuple):
    """Runs of one contender with consecutive seeds, trained side by side."""

    contender: Contender
    first_seed: int
    width: int

    @property
    def seeds(self) -> range:
        """The seed of every run."""
        return range(self.first_seed, self.first_seed + self.width)

    @property
    def runs(self) -> list[RunId]:
        """[w] its runs in the order of their seeds."""
        return [RunId(*self.contender, seed) for seed in self.seeds]

    @property
    def folder(self) -> str:
        """Where its files are, relative to the experiment's directory."""
        name = file_name(self.contender.label.replace(":", "--"))
        return f"runs/{name}/seeds-{self.first_seed:05d}-{self.seeds[-1]:05d}"


def batches_of(plan: RunPlan, width: int) -> list[RunBatch]:
    """Every batch that the plan needs, its contenders taking turns.

    All batches have the same width, so that numbers do not depend on how a sweep was cut. The last
    batch of a contender may therefore hold more seeds than the plan.
    """
    rounds = [
        (first, RunBatch(Contender.parse(label), first, width))
        for label, seeds in plan.seeds.items()
        for first in range(0, seeds, width)
    ]
    return [batch for _, batch in sorted(rounds, key=lambda pair: pair[0])]


def costly_first(batches: Sequence[RunBatch], cost: Callable[[Contender], float]) -> list[RunBatch]:
    """The batches in the order to start them: long ones first, so that none of them ends alone.

    Args:
        batches: in order.
        cost: of a contender, in any unit; batches of equal cost keep their order.
    """
    costs = {contender: cost(contender) for contender in {batch.contender for batch in batches}}
    return sorted(batches, key=lambda batch: -costs[batch.contender])
