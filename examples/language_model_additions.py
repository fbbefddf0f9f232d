"""Teach a small language model to add, by GRPO with TRL, with and without a curriculum.

A transformer is made in this script and warmed up on short additions until it knows some. Its
prompts are additions of 1 to 5 digits: the short ones it answers correctly each time, the long ones
never. Only prompts in between teach it anything. Minutes on a laptop, without a download:

    python examples/language_model_additions.py --out results/additions

It ends with the report. More seeds make the comparison more certain: `--seeds 4`.

The share of groups with a signal, in which some samples are right and some wrong, over two runs
each. With `procurl-group` it is twice that of uniform sampling: 61% of the groups against 29%.
After the same samples, 50% of the prompts are answered correctly, and 49% with uniform sampling.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig

from procurl.experiments import write_report
from procurl.trl import CurriculumGRPOTrainer, PromptRecorder

DIGITS = 5  # of the longest numbers
PER_LENGTH = 300  # prompts
SHARES = (0.5, 0.48, 0.018, 0.0015, 0.0005)  # of 1, 2, … digits during the warm-up
CHARACTERS = [*"0123456789+=", "<pad>", "<end>"]
GROUPS, SAMPLES = 32, 8  # prompts per step, completions of each


def draw_numbers(rng, lengths):
    """[m, 2] two random numbers with as many digits as `lengths` [m] says."""
    low = np.where(lengths > 1, 10 ** (lengths - 1), 0)[:, None]
    return rng.integers(low, 10 ** lengths[:, None], size=(len(lengths), 2))


def prompt_of(a, b):
    """Such as `00012+00345=`."""
    return f"{a:0{DIGITS}}+{b:0{DIGITS}}="


def answer_of(a, b):
    """The sum with its last digit first, such as `753000`: carries then go with the reading."""
    return f"{a + b:0{DIGITS + 1}}"[::-1]


def make_dataset():
    """Different additions of all lengths, with what makes them hard in columns.

    They are the same for every run, so that runs can be compared.
    """
    lengths = np.repeat(np.arange(1, DIGITS + 1), 10 * PER_LENGTH)
    drawn = np.unique(draw_numbers(np.random.default_rng(0), lengths), axis=0)
    rows = []
    for length in range(1, DIGITS + 1):
        longest = np.array([len(str(max(pair))) for pair in drawn])
        chosen = np.random.default_rng(0).permutation(drawn[longest == length])[:PER_LENGTH]
        rows += [(int(a), int(b), length) for a, b in chosen]
    return Dataset.from_list(
        [
            {
                "prompt": prompt_of(a, b),
                "answer": answer_of(a, b),
                "digits": length,
                "carries": sum(a % 10**i + b % 10**i >= 10**i for i in range(1, DIGITS + 1)),
            }
            for a, b, length in rows
        ]
    )


def make_tokenizer():
    """One token per character."""
    known = {character: i for i, character in enumerate(CHARACTERS)}
    characters = Tokenizer(WordLevel(known, unk_token="<pad>"))
    characters.pre_tokenizer = Split(Regex("."), "isolated")
    return PreTrainedTokenizerFast(
        tokenizer_object=characters, pad_token="<pad>", eos_token="<end>", padding_side="left"
    )


def make_model(tokenizer, seed):
    """A transformer of 400,000 parameters."""
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=len(CHARACTERS),
        n_positions=32,
        n_embd=128,
        n_layer=2,
        n_head=4,
        bos_token_id=tokenizer.eos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.08,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    return GPT2LMHeadModel(config)


def warm_up(model, tokenizer, seed, steps):
    """Train the model on the right answers to additions, nearly all of them short."""
    rng, start = np.random.default_rng([seed, 1]), 2 * DIGITS + 2
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        lengths = rng.choice(np.arange(1, DIGITS + 1), size=64, p=SHARES)
        texts = [
            prompt_of(int(a), int(b)) + answer_of(int(a), int(b))
            for a, b in draw_numbers(rng, lengths)
        ]
        tokens = tokenizer(texts, return_tensors="pt").input_ids
        logits = model(tokens).logits[:, start - 1 : -1]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, start:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def correct(completions, answer, **kwargs):
    """The reward: 1 for the right answer."""
    return [
        float(text.replace(" ", "") == right)
        for text, right in zip(completions, answer, strict=True)
    ]


def make_evaluate(tokenizer, dataset):
    """A function that returns whether the model's most likely answer to each prompt is right."""
    prompts = tokenizer(list(dataset["prompt"]), return_tensors="pt").input_ids
    answers = tokenizer(list(dataset["answer"]), return_tensors="pt").input_ids

    @torch.no_grad()
    def evaluate(model):
        given = model.generate(
            prompts,
            attention_mask=torch.ones_like(prompts),
            min_new_tokens=DIGITS + 1,
            max_new_tokens=DIGITS + 1,
            do_sample=False,
        )
        return (given[:, prompts.shape[1] :] == answers).all(dim=1).float().numpy()

    return evaluate


def run(strategy, seed, args):
    """Warm up a model, train it with prompts of the strategy, and record its accuracy."""
    dataset, tokenizer = make_dataset(), make_tokenizer()
    model = make_model(tokenizer, seed)
    warm_up(model, tokenizer, seed, args.warm_up)
    settings = GRPOConfig(
        output_dir=str(args.out / "trl" / f"{strategy}-{seed}"),
        max_steps=args.steps,
        per_device_train_batch_size=GROUPS * SAMPLES,
        num_generations=SAMPLES,
        max_completion_length=DIGITS + 1,
        learning_rate=2e-4,
        entropy_coef=0.02,  # keeps the model from becoming certain of its mistakes
        lr_scheduler_type="constant",
        seed=seed,
        use_cpu=True,
        save_strategy="no",
        report_to=[],
        logging_steps=args.steps,
        gradient_checkpointing=False,
    )
    trainer = CurriculumGRPOTrainer(
        model=model,
        reward_funcs=correct,
        args=settings,
        train_dataset=dataset,
        processing_class=tokenizer,
        strategy=strategy,
        contexts=["digits", "carries"],
    )
    evaluate = make_evaluate(tokenizer, dataset)
    recorder = PromptRecorder(trainer, args.out, evaluate, env="additions", every=args.every)
    trainer.add_callback(recorder)
    trainer.train()
    signal = 1 - trainer.state.log_history[0]["frac_reward_zero_std"]
    print(
        f"{strategy}, seed {seed}: {np.mean(evaluate(model)):.0%} correct after "
        f"{trainer.samples_after(args.steps):,} samples, {signal:.0%} of the groups with "
        "a signal"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/additions"))
    parser.add_argument("--strategies", nargs="+", default=["procurl-group", "iid"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--every", type=int, default=20, help="steps between evaluations")
    parser.add_argument("--warm-up", type=int, default=300, help="supervised steps")
    args = parser.parse_args()
    for seed in range(args.seeds):
        for strategy in args.strategies:
            run(strategy, seed, args)
    print(f"report: {write_report(args.out)}")


if __name__ == "__main__":
    main()
