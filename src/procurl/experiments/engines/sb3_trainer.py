"""Stable-Baselines3 as a sweep drives it: its algorithms, and its PPO as our reference."""

import torch

from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines.sb3_run import SB3Run
from procurl.experiments.engines.sequential import SequentialTrainer
from procurl.experiments.engines.setup import setup_of


def make_sb3_trainer(job: Job, batch: RunBatch) -> SequentialTrainer:
    """The runs of a batch at their first step."""
    torch.set_num_threads(1)  # there is one process per core
    setup = setup_of(job, batch)
    runs = [SB3Run(job, setup, seed) for seed in batch.seeds]
    return SequentialTrainer(runs, device="cpu")
