"""Record the evaluations of a run with TRL, as every engine does."""

import time
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from transformers import TrainerCallback

from procurl.internals.arrays import Floats, Ids, on_host
from procurl.internals.checks import require_integer
from procurl.internals.settings import describe
from procurl.records.evaluation import NO_PICKS, Evaluation, Snapshot, snapshot_tasks
from procurl.records.experiment import Contender, Experiment
from procurl.records.results import RunId
from procurl.records.run_writer import RunWriter
from procurl.trl.trainers import PromptCurriculum


class PromptRecorder(TrainerCallback):
    """Evaluate the model on its prompts at intervals, for `procurl export` and `procurl report`.

    A step of the record is one sample, that is, one completion. The first evaluation is before
    training.

    >>> trainer = CurriculumGRPOTrainer(...)  # doctest: +SKIP
    >>> trainer.add_callback(PromptRecorder(trainer, "results/mine", evaluate))  # doctest: +SKIP
    >>> trainer.train()  # doctest: +SKIP

    A folder can hold the runs of many strategies and seeds; all must have the same prompts and as
    many samples.

    Args:
        trainer: a trainer of `procurl.trl`.
        out: the folder.
        evaluate: called with the model, returns the reward [n] of each prompt of
            `trainer.prompts`, such as whether its most likely completion is correct. It must leave
            the random state of PyTorch as it is.
        env: name of the dataset in tables.
        label: name of the strategy in tables; None uses the strategy's name and the settings that
            differ from its defaults.
        every: optimizer steps between evaluations.
        overwrite: whether a new run may replace a finished one with the same label and seed;
            otherwise this raises.
    """

    def __init__(
        self,
        trainer: PromptCurriculum,
        out: str | PathLike[str],
        evaluate: Callable[[Any], ArrayLike],
        *,
        env: str = "prompts",
        label: str | None = None,
        every: int = 100,
        overwrite: bool = False,
    ) -> None:
        if not isinstance(trainer, PromptCurriculum):
            raise TypeError(
                "trainer must be a CurriculumGRPOTrainer or another trainer of procurl.trl, got "
                f"{type(trainer).__name__}"
            )
        require_integer("every", every, at_least=1)
        self.trainer = trainer
        self.out = Path(out)
        self.evaluate = evaluate
        self.env = env
        strategy = trainer.curriculum.strategy
        self.contender = Contender.of(strategy) if label is None else Contender.parse(label)
        self.every = every
        self.overwrite = overwrite
        self._writer: RunWriter | None = None
        self._seconds = 0.0  # of training, excluding evaluations
        self._since = 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not state.is_world_process_zero:
            return
        if self.trainer.batches is None or not state.global_step:  # else those of the checkpoint
            self.trainer.batches = []
        self._writer = self._open(state.max_steps, state.global_step)
        if self._writer.evaluations:
            self._seconds = self._writer.evaluations[-1].seconds
        else:
            self._record(state.global_step)
        self._since = time.perf_counter()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        last = state.global_step >= state.max_steps
        if self._writer is not None and (last or state.global_step % self.every == 0):
            self._seconds += time.perf_counter() - self._since
            self._record(state.global_step)
            self._since = time.perf_counter()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._writer is not None:
            self._writer.close(finished=state.global_step >= state.max_steps)
            self._writer, self.trainer.batches = None, None

    def _open(self, steps: int, step: int) -> RunWriter:
        experiment = Experiment(
            env=self.env,
            engine="trl",
            steps=self.trainer.samples_after(steps),
            student={"algorithm": type(self.trainer).__name__},
        )
        seed = self.trainer.args.seed
        return RunWriter(
            self.out,
            experiment,
            self.trainer.prompts.pool,
            RunId(self.contender.strategy, self.contender.setting, seed),
            describe(self.trainer.curriculum.strategy),
            step=self.trainer.samples_after(step),
            overwrite=self.overwrite,
        )

    def _record(self, step: int) -> None:
        assert self._writer is not None
        model = self.trainer.accelerator.unwrap_model(self.trainer.model)
        training = model.training
        model.eval()
        returns = np.asarray(on_host(self.evaluate(model)), dtype=np.float64)
        model.train(training)
        n = len(self.trainer.prompts.rows)
        if returns.shape != (n,):
            raise ValueError(
                f"evaluate must return one reward for each of the {n:,} prompts, got shape "
                f"{returns.shape}"
            )
        if not np.isfinite(returns).all():
            wrong = int(np.argmin(np.isfinite(returns)))
            raise ValueError(
                f"evaluate must return finite rewards, got {returns[wrong]} for prompt {wrong}"
            )
        self._writer.add(self._evaluation(step, returns))

    def _evaluation(self, step: int, returns: Floats) -> Evaluation:
        curriculum = self.trainer.curriculum
        metrics, success = curriculum.metrics(), curriculum.success()
        tasks = snapshot_tasks(np.arange(len(returns)))
        samples = self.trainer.samples_after(step)
        picks, signal = self._take_batches()
        return Evaluation(
            step=samples,
            train_steps=samples,
            env_steps=samples,
            performance=float(returns.mean()),
            test_performance=None,
            seconds=self._seconds,
            entropy=metrics.entropy,
            mean_success=metrics.estimated_success,
            signal=signal,
            picks=picks,
            snapshot=Snapshot(
                tasks=tasks,
                probabilities=curriculum.probabilities()[tasks].astype(np.float32),
                success=None if success is None else success[tasks].astype(np.float32),
                returns=returns[tasks].astype(np.float32),
            ),
        )

    def _take_batches(self) -> tuple[Ids, float | None]:
        """The prompts drawn since the last call, and the share of their groups with a signal."""
        batches, self.trainer.batches = self.trainer.batches, []
        if not batches:
            return NO_PICKS, None
        signal = np.concatenate([have_signal(batch.rewards) for batch in batches])
        return np.concatenate([batch.prompts for batch in batches]), float(signal.mean())


def have_signal(rewards: Floats) -> NDArray[np.bool_]:
    """[k] whether the rewards [k, g] of each group differ; NaN entries are left out."""
    with np.errstate(invalid="ignore"):
        low, high = np.fmin.reduce(rewards, axis=1), np.fmax.reduce(rewards, axis=1)
    return np.asarray(high > low)
