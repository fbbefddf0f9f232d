"""TRL's trainers with a curriculum over the prompts."""

from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.utils import broadcast
from transformers import Trainer
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import GRPOTrainer, RLOOTrainer

from procurl.curriculum import Curriculum
from procurl.curriculum.records import require_outcome_strategy, require_prior_strategy
from procurl.internals.arrays import Floats, Ids
from procurl.strategies.registry import DEFAULT_GROUP_STRATEGY, as_strategy
from procurl.strategies.strategy import Strategy
from procurl.trl.checkpoints import (
    Batch,
    load_curriculum,
    load_generations,
    remove_generations,
    save_curriculum,
    save_generations,
)
from procurl.trl.prompts import read_prompts


class PromptCurriculum(Trainer):
    """Mixin for trainers of TRL that sample groups of completions: a strategy picks the prompts.

    Prompts are chosen at the moment of generation. TRL's sampler still counts steps and epochs, but
    its rows are replaced: data loaders fetch batches ahead, before the latest rewards are known.

    Every process holds the same curriculum. Rewards reach all of them, and the choice of the first
    one counts.

    Args:
        *args: as for TRL's trainer.
        strategy: a name, or a strategy from `make_strategy` that learns from outcomes.
        contexts: columns of `train_dataset`, or an embedding [rows, d], by which prompts share
            evidence; None: each prompt is judged by its own rewards and the mean of all.
        pass_rate: column of `train_dataset` with the pass rates of the model before training.
        **kwargs: as for TRL's trainer.
    """

    def __init__(
        self,
        *args: Any,
        strategy: Strategy | str = DEFAULT_GROUP_STRATEGY,
        contexts: Any = None,
        pass_rate: str | None = None,
        **kwargs: Any,
    ) -> None:
        require_outcome_strategy(as_strategy(strategy))
        if pass_rate is not None:
            require_prior_strategy(as_strategy(strategy), "pass_rate")
        given = signature(super().__init__).bind_partial(*args, **kwargs).arguments
        prompts, dataset = None, given.get("train_dataset")
        if dataset is not None:  # before a large model is loaded
            prompts = read_prompts(dataset, contexts, pass_rate)
        super().__init__(*args, **kwargs)
        if prompts is None or self.train_dataset is not dataset:
            prompts = read_prompts(self.train_dataset, contexts, pass_rate)
        self.prompts = prompts
        if len(self.train_dataset) < self._groups:
            raise ValueError(
                f"train_dataset must have at least {self._groups} rows, the prompts of a "
                f"generation batch, or TRL trains nothing, got {len(self.train_dataset)}: add "
                "rows, which may repeat others, or lower generation_batch_size"
            )
        seed = self.args.seed if self.args.data_seed is None else self.args.data_seed
        pool, prior = self.prompts.pool, self.prompts.pass_rate
        self.curriculum = Curriculum(strategy, pool, seed=seed, prior=prior)
        self.batches: list[Batch] | None = None  # a list collects what is drawn
        self._drawn: Ids = np.zeros(0, dtype=np.int64)  # the prompt of each completion
        self._rows: Any = None  # the dataset with the columns that the trainer uses

    def samples_after(self, steps: int) -> int:
        """The completions that are drawn in the first `steps` optimizer steps."""
        uses, accumulated = self._uses, self.args.gradient_accumulation_steps
        # An epoch ends with an optimizer step, even if too few batches are left for a whole one.
        per_epoch = len(self.train_dataset) // self._groups * uses
        epochs, rest = divmod(steps, -(-per_epoch // accumulated))
        batches = epochs * per_epoch + min(rest * accumulated, per_epoch)
        return int(-(-batches // uses) * self.args.generation_batch_size)

    @property
    def _groups(self) -> int:
        """Prompts in a generation batch."""
        return int(self.args.generation_batch_size // self.num_generations)

    @property
    def _uses(self) -> int:
        """Batches that are learned from between two generations."""
        return int(self.args.steps_per_generation * self.num_iterations)

    @property
    def _layout(self) -> dict[str, int]:
        """What decides which completions a batch holds."""
        return {
            "processes": self.accelerator.num_processes,
            "per_device_train_batch_size": self.args.per_device_train_batch_size,
            "steps_per_generation": self.args.steps_per_generation,
            "num_iterations": self.num_iterations,
        }

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        if self.model.training:
            inputs = self._choose_rows(len(inputs))
        return super()._generate_and_score_completions(inputs)

    def _choose_rows(self, count: int) -> Any:
        """`count` rows of the dataset, those of this process: groups of one prompt each."""
        processes, index = self.accelerator.num_processes, self.accelerator.process_index
        tasks = self._next_tasks(count * processes // self.num_generations)
        self._drawn = np.repeat(tasks, self.num_generations)
        if self._rows is None:
            self._rows = self._remove_unused_columns(self.train_dataset, description="training")
        mine = self._drawn[index * count : (index + 1) * count]
        return self._rows.__getitems__(self.prompts.rows[mine].tolist())

    def _next_tasks(self, k: int) -> Ids:
        """[k] prompts, all different unless the dataset has fewer."""
        n, parts = len(self.prompts.rows), []
        for start in range(0, k, n):
            parts.append(self.curriculum.next(min(n, k - start), replace=False))
        tasks = torch.as_tensor(np.concatenate(parts), device=self.accelerator.device)
        chosen: Ids = broadcast(tasks).cpu().numpy()
        return chosen

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Any:
        rewards = super()._calculate_rewards(*args, **kwargs)
        if self.model.training:
            # `train` may be called again, and then counts its steps from 0.
            step = max(self.curriculum.step, float(self.state.global_step))
            totals = self._totals(rewards)
            self.curriculum.record(self._drawn, totals, step=step)
            self._note_metrics()
            if self.batches is not None:
                size = self.num_generations
                self.batches.append(Batch(self._drawn[::size], totals.reshape(-1, size)))
        return rewards

    def _totals(self, rewards: torch.Tensor) -> Floats:
        """[b] the weighted sum of the rewards [b, f]; NaN if there is none, or it is infinite."""
        weighted = rewards * self.reward_weights.to(rewards.device)
        totals = weighted.nansum(dim=1)
        totals[torch.isnan(rewards).all(dim=1) | ~torch.isfinite(totals)] = torch.nan
        found: Floats = totals.double().cpu().numpy()
        return found

    def _note_metrics(self) -> None:
        metrics = self.curriculum.metrics()
        names = ("entropy", "effective_tasks", "estimated_success", "calibration")
        found = {name: getattr(metrics, name) for name in names} | dict(metrics.strategy)
        for name, value in found.items():
            if value is not None:
                self._metrics["train"][f"curriculum/{name}"].append(value)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        name = f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        folder = Path(self._get_output_dir(trial=trial)) / name
        # Before the rest, so that a checkpoint that TRL has completed holds the curriculum.
        if self.args.should_save:
            save_curriculum(folder, self.curriculum, self.prompts.columns, self.batches)
        process = self.accelerator.process_index
        if self._step % self._uses:
            save_generations(folder, process, self._step, self._buffered_inputs, self._layout)
        else:
            remove_generations(folder, process)
        super()._save_checkpoint(model, trial)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        self.prompts, waiting = load_curriculum(
            Path(checkpoint), self.curriculum, self.prompts, self.train_dataset
        )
        waiting = [batch for batch in waiting if batch.rewards.shape[1] == self.num_generations]
        if waiting and self.accelerator.is_main_process:
            self.batches = waiting
        process, device = self.accelerator.process_index, self.accelerator.device
        generations = load_generations(Path(checkpoint), process, self._layout, device)
        if generations is not None:
            self._step, self._buffered_inputs = generations


class CurriculumGRPOTrainer(PromptCurriculum, GRPOTrainer):
    """TRL's `GRPOTrainer` with prompts chosen by a strategy; see `PromptCurriculum`."""


class CurriculumRLOOTrainer(PromptCurriculum, RLOOTrainer):
    """TRL's `RLOOTrainer` with prompts chosen by a strategy; see `PromptCurriculum`."""
