"""A tiny model that is made in memory, prompts of a few words, and rewards for their answers."""

import pytest

pytest.importorskip("trl")

import torch
from datasets import Dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, RLOOConfig

from procurl.trl import CurriculumGRPOTrainer, CurriculumRLOOTrainer

WORDS = [*(f"w{i}" for i in range(16)), "<pad>", "<eos>"]


def make_tokenizer():
    words = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<eos>"))
    words.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", padding_side="left"
    )


def make_model():
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(WORDS), n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=17
    )
    config.eos_token_id, config.pad_token_id = 17, 16
    return GPT2LMHeadModel(config)


def make_dataset(count=12, **columns):
    """`count` prompts such as `w1 w5`, with their number in a column."""
    prompts = [f"w{i % 16} w{(5 * i + i // 16) % 16}" for i in range(count)]
    return Dataset.from_dict({"prompt": prompts, "number": list(range(count)), **columns})


class Reward:
    """1 for completions that begin with an even word, and a memory of the rows it has seen."""

    __name__ = "reward"

    def __init__(self):
        self.calls = []

    def __call__(self, prompts, completions, number, **kwargs):
        rewards = [self.of(n, text) for n, text in zip(number, completions, strict=True)]
        self.calls.append((list(number), rewards))
        return rewards

    def of(self, number, text):
        words = text.split()
        return float(bool(words) and words[0][1:].isdigit() and int(words[0][1:]) % 2 == 0)


def settings(folder, config=GRPOConfig, **changes):
    """Two prompts with four completions each per step."""
    chosen = {
        "output_dir": str(folder),
        "use_cpu": True,
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "max_completion_length": 2,
        "max_steps": 3,
        "learning_rate": 1e-2,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "seed": 3,
        "beta": 0.0,  # without a reference model, which RLOO would load by its name
        **changes,
    }
    return config(**chosen)


def make_trainer(
    folder, dataset=None, reward=None, trainer=CurriculumGRPOTrainer, curriculum=None, **changes
):
    """A trainer on the toy; `changes` are of TRL's settings."""
    config = RLOOConfig if trainer is CurriculumRLOOTrainer else GRPOConfig
    return trainer(
        model=make_model(),
        reward_funcs=reward or Reward(),
        args=settings(folder, config, **changes),
        train_dataset=make_dataset() if dataset is None else dataset,
        processing_class=make_tokenizer(),
        **(curriculum or {}),
    )


def logged(trainer, name):
    """The values logged under `name`, step by step."""
    return [entry[name] for entry in trainer.state.log_history if name in entry]
