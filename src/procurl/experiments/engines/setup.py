"""What every engine reads from a job and a batch before it makes their runs."""

from typing import NamedTuple

from procurl.experiments.algorithms import AlgorithmSettings
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.presets import contender_strategy, preset_of, student_of
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.learning.settings import PPOSettings
from procurl.records.evaluation import evaluation_tasks, snapshot_tasks
from procurl.strategies.strategy import Strategy


class RunSetup(NamedTuple):
    """What all runs of a batch share; they differ by their seeds alone."""

    strategy: Strategy
    student: PPOSettings | AlgorithmSettings
    evaluation: EvaluationPlan

    @property
    def ppo(self) -> PPOSettings:
        """The student, for engines that train our PPO or its twin of Stable-Baselines3."""
        assert isinstance(self.student, PPOSettings)
        return self.student


def setup_of(job: Job, batch: RunBatch) -> RunSetup:
    """The setup of the runs of a batch."""
    experiment, contender = job.experiment, batch.contender
    preset = preset_of(experiment)
    tasks = evaluation_tasks(len(job.pool_of(batch.first_seed)), preset.eval_tasks)
    return RunSetup(
        contender_strategy(experiment.env, contender).for_training(experiment.steps),
        student_of(experiment),
        EvaluationPlan(
            every=preset.eval_every,
            tasks=tasks,
            episodes=preset.eval_episodes,
            stochastic=preset.eval_stochastic,
            whole_at=preset.whole_at,
            snapshot_tasks=snapshot_tasks(tasks),
            test_pool=job.test_pool,
            steps=experiment.steps,
        ),
    )
