"""What every engine reads from a job and a batch before it makes their runs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.presets import Preset, paper_strategy, ppo_of, preset_of
from procurl.ppo.learning.settings import PPOSettings
from procurl.records.evaluation import evaluation_tasks, snapshot_tasks
from procurl.strategies.strategy import Strategy


class RunSetup(NamedTuple):
    """What all runs of a batch share; they differ by their seeds alone."""

    strategy: Strategy
    ppo: PPOSettings
    preset: Preset  # when and how runs are evaluated
    eval_tasks: NDArray[np.int64]  # [m] ids of the tasks that evaluations play
    snapshot_tasks: NDArray[np.int64]  # [k] those of them that snapshots show


def setup_of(job: Job, batch: RunBatch) -> RunSetup:
    """The setup of the runs of a batch."""
    experiment, contender = job.experiment, batch.contender
    preset = preset_of(experiment)
    eval_tasks = evaluation_tasks(len(job.pool), preset.eval_tasks)
    return RunSetup(
        paper_strategy(experiment.env, contender.strategy, **contender.settings()),
        ppo_of(experiment),
        preset,
        eval_tasks,
        snapshot_tasks(eval_tasks),
    )
