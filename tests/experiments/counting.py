"""A trainer that only counts: what a sweep does around it can be seen without any learning."""

import logging

import numpy as np

from procurl import TaskPool
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines.trainer import Checkpoint
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.records.evaluation import Evaluation
from procurl.records.experiment import Contender, Experiment

log = logging.getLogger("procurl.counting")
STEPS_PER_UPDATE = 10
EVAL_EVERY = 30
POOL = TaskPool([[0.0], [1.0]])
BATCH = RunBatch(Contender("iid"), 4, 2)


def job(steps=100, keep_models=False, **experiment):
    fields = {"env": "corridor", "engine": "jax", "steps": steps, "width": 2} | experiment
    return Job(Experiment(**fields), POOL, None, keep_models)


class CountingTrainer:
    """Two runs; their performance is the number of updates, and the second stops at step 50."""

    def __init__(self, job, batch):
        self.identity = {"seeds": list(batch.seeds)}
        self.width = batch.width
        self.updates = 0
        self.plan = EvaluationPlan(every=EVAL_EVERY, steps=job.experiment.steps)
        self.evaluations = [[] for _ in batch.seeds]

    @property
    def train_steps(self):
        return self.updates * STEPS_PER_UPDATE

    @property
    def seconds(self):
        return 0.5 * self.updates

    @property
    def stopped_at(self):
        return [None, 50 if self.train_steps >= 50 else None][: self.width]

    def advance(self):
        before = self.train_steps
        self.updates += 1
        if (due := self.plan.due_step(before, self.train_steps)) is not None:
            self.evaluate(due)

    def evaluate(self, step):
        for run, mine in enumerate(self.evaluations):
            mine.append(
                Evaluation(
                    step=step,
                    performance=float(self.updates + run),
                    test_performance=None,
                    train_steps=self.train_steps,
                    env_steps=self.train_steps,
                    seconds=self.seconds,
                    entropy=0.5,
                    mean_success=None,
                    picks=np.arange(self.updates, dtype=np.int64),
                )
            )

    def warn_at_end(self):
        """As a strategy does that never got to what it is for; seeds differ in the numbers."""
        first = self.identity["seeds"][0]
        log.warning("too short for seed %d", first, extra={"about": "too short"})

    def checkpoint(self):
        steps = [evaluation.step for evaluation in self.evaluations[0]]
        return Checkpoint({"updates": self.updates, "steps": steps}, {})

    def restore(self, checkpoint):
        for step in checkpoint.meta["steps"]:
            self.updates = step // STEPS_PER_UPDATE
            self.evaluate(step)
        self.updates = checkpoint.meta["updates"]

    def save_models(self, run, path, facts):
        path.with_name(f"{path.name}.txt").write_text(f"{facts['seed']} {self.updates}")
