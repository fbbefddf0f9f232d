"""TRL's trainers with a curriculum: groups, rewards, metrics and what data may look like."""

import numpy as np
import pytest

pytest.importorskip("trl")

import torch
from datasets import Dataset
from trl import GRPOTrainer

from procurl import Curriculum, make_strategy
from procurl.strategies.registry import DEFAULT_GROUP_STRATEGY
from procurl.trl import CurriculumGRPOTrainer, CurriculumRLOOTrainer
from procurl.trl.prompts import read_prompts
from tests.trl.toy import Reward, logged, make_dataset, make_trainer

pytestmark = [
    pytest.mark.soak,
    # Warnings of other packages are not ours to fix.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
OUT = {"strategy": "procurl-out"}
BOTH = pytest.mark.parametrize("trainer", [CurriculumGRPOTrainer, CurriculumRLOOTrainer])


def groups(numbers, size=4):
    """[k] the prompt of each group; raises if a group holds two."""
    rows = np.asarray(numbers).reshape(-1, size)
    assert (rows == rows[:, :1]).all()
    return rows[:, 0]


@BOTH
def test_batches_hold_whole_groups_of_different_prompts(tmp_path, trainer):
    reward = Reward()
    make_trainer(tmp_path, reward=reward, trainer=trainer).train()
    assert len(reward.calls) == 3
    for numbers, _ in reward.calls:
        assert len(set(groups(numbers))) == 2


@BOTH
def test_rewards_reach_the_curriculum_under_their_prompts(tmp_path, trainer):
    reward = Reward()
    made = make_trainer(tmp_path, reward=reward, trainer=trainer)
    twin = Curriculum(DEFAULT_GROUP_STRATEGY, made.prompts.pool, seed=3)
    made.train()
    for step, (numbers, rewards) in enumerate(reward.calls):
        # The rows of the toy are all different, so that a task is the row of its number.
        assert twin.next(2, replace=False).tolist() == groups(numbers).tolist()
        twin.record(numbers, rewards, step=step)
    assert made.curriculum.success().tolist() == twin.success().tolist()
    assert len(set(twin.success())) > 1


def test_completions_are_reused_over_steps_and_iterations(tmp_path):
    reward = Reward()
    changes = {"gradient_accumulation_steps": 2, "steps_per_generation": 4, "num_iterations": 2}
    made = make_trainer(tmp_path, reward=reward, max_steps=8, **changes)
    made.batches = []
    made.train()
    # 16 batches of 8, of which 4 · 2 learn from one generation of 4 · 8 completions.
    assert [len(numbers) for numbers, _ in reward.calls] == [32, 32]
    assert made.samples_after(8) == 64
    for batch, (numbers, rewards) in zip(made.batches, reward.calls, strict=True):
        assert groups(numbers).tolist() == batch.prompts.tolist()
        assert batch.rewards.ravel().tolist() == rewards
        assert len(set(batch.prompts.tolist())) == 8


@pytest.mark.parametrize(
    ("rows", "changes"),
    [
        (5, {"gradient_accumulation_steps": 4, "steps_per_generation": 1}),
        (7, {"gradient_accumulation_steps": 4, "steps_per_generation": 3}),
        (13, {"gradient_accumulation_steps": 5, "steps_per_generation": 3, "num_iterations": 2}),
    ],
)
def test_samples_are_counted_if_an_epoch_ends_within_an_accumulation(tmp_path, rows, changes):
    made = make_trainer(tmp_path, dataset=make_dataset(rows), max_steps=5, **changes)
    made.batches = []
    made.train()
    assert made.samples_after(5) == sum(batch.rewards.size for batch in made.batches)


def test_prompts_that_teach_nothing_become_rare(tmp_path):
    class Half(Reward):
        """Prompts 6 to 11 always fail, the others are a matter of luck."""

        def of(self, number, text):
            return super().of(number, text) if number < 6 else 0.0

    reward = Half()
    make_trainer(tmp_path, reward=reward, max_steps=60, learning_rate=1e-6).train()
    late = np.concatenate([groups(numbers) for numbers, _ in reward.calls[30:]])
    assert np.mean(late < 6) > 0.7


def test_metrics_are_logged_with_those_of_trl(tmp_path):
    made = make_trainer(tmp_path)
    made.train()
    assert len(logged(made, "frac_reward_zero_std")) == 3
    assert logged(made, "curriculum/entropy")[0] <= np.log(12)
    assert logged(made, "curriculum/estimated_success")[-1] == pytest.approx(
        made.curriculum.success().mean()
    )


def test_numbers_of_the_strategy_are_logged_too(tmp_path):
    made = make_trainer(tmp_path, curriculum={"strategy": "stages"})
    made.train()
    assert logged(made, "curriculum/stage") == [0, 0, 0]
    assert not logged(made, "curriculum/estimated_success")  # it has none


def test_evaluation_changes_nothing(tmp_path):
    rewards = [Reward(), Reward()]
    plain = make_trainer(tmp_path / "a", reward=rewards[0])
    plain.train()
    evaluated = make_trainer(
        tmp_path / "b",
        reward=rewards[1],
        curriculum={"eval_dataset": make_dataset(4)},
        eval_strategy="steps",
        eval_steps=1,
    )
    evaluated.train()
    assert evaluated.curriculum.step == plain.curriculum.step
    assert len(rewards[1].calls) > len(rewards[0].calls)


def test_equal_rows_are_one_prompt(tmp_path):
    dataset = Dataset.from_dict(
        {"prompt": ["w1", "w2", "w1", "w1", "w3"], "number": [0, 1, 0, 7, 4]}
    )
    reward = Reward()
    made = make_trainer(tmp_path, dataset=dataset, reward=reward)
    made.train()
    # Row 2 repeats row 0; row 3 has the same text with another answer.
    assert made.prompts.rows.tolist() == [0, 1, 3, 4]
    assert {n for numbers, _ in reward.calls for n in numbers} <= {0, 1, 7, 4}


def test_a_dataset_of_fewer_prompts_than_a_batch_repeats_them(tmp_path):
    dataset = Dataset.from_dict({"prompt": ["w1"] * 6, "number": [0] * 6})
    reward = Reward()
    make_trainer(tmp_path, dataset=dataset, reward=reward).train()
    assert all(numbers == [0] * 8 for numbers, _ in reward.calls)


def test_completions_without_a_reward_are_skipped(tmp_path):
    class Partly(Reward):
        def of(self, number, text):
            return None if number % 2 else 1.0

    reward = Partly()
    made = make_trainer(tmp_path, reward=reward, max_steps=3, curriculum=OUT)
    made.train()
    success = made.curriculum.success()
    played = {n for numbers, _ in reward.calls for n in numbers}
    never = [n for n in range(12) if n not in played]
    assert never
    # A prompt that was played without a reward is known as little as one that was never played.
    assert {success[n] for n in played if n % 2} == {success[never[0]]}
    assert min(success[n] for n in played if n % 2 == 0) > success[never[0]]


def test_the_total_of_several_rewards_counts(tmp_path):
    class First(Reward):
        def of(self, number, text):
            return 1.0 if number < 6 else None

    class Second(Reward):
        def of(self, number, text):
            return -2.0

    made = make_trainer(
        tmp_path,
        reward=[First(), Second()],
        curriculum=OUT,
        max_steps=12,
        reward_weights=[1.0, 0.5],
    )
    made.train()
    # 1 − 1 for the first six, −1 for the others: the lowest and the highest of all totals.
    success = made.curriculum.success()
    assert success[:6].min() > 0.5 > success[6:].max()


def test_fractions_count_as_they_are(tmp_path):
    class Fraction(Reward):
        def of(self, number, text):
            return 0.25

    made = make_trainer(
        tmp_path,
        reward=Fraction(),
        max_steps=30,
        curriculum=OUT,
    )
    made.train()
    assert made.curriculum.success() == pytest.approx(np.full(12, 0.25), abs=0.05)


def test_a_prompt_that_occurs_twice_has_the_mean_of_its_known_rates():
    rates = [None, 0.2, 0.9, 0.4, None]
    rows = [{"prompt": text} for text in ("a", "b", "a", "b", "c")]
    dataset = Dataset.from_list([row | {"rate": r} for row, r in zip(rows, rates, strict=True)])
    prompts = read_prompts(dataset, pass_rate="rate")
    assert prompts.rows.tolist() == [0, 1, 4]
    assert prompts.pass_rate == pytest.approx([0.9, 0.3, np.nan], nan_ok=True)


def test_pass_rates_are_the_prior(tmp_path):
    rates = [*np.linspace(0.0, 1.0, 11), None]
    dataset = make_dataset(pass_rate=rates)
    made = make_trainer(tmp_path, dataset=dataset, curriculum={"pass_rate": "pass_rate"})
    assert made.curriculum.success() == pytest.approx([*np.linspace(0.0, 1.0, 11), 0.5], abs=0.01)
    # They are not part of a prompt's identity.
    assert made.prompts.pool.labels == make_trainer(tmp_path).prompts.pool.labels


@pytest.mark.parametrize("kind", ["column", "list", "tensor"])
def test_contexts_share_rewards_among_near_prompts(tmp_path, kind):
    class Hard(Reward):
        def of(self, number, text):
            return 0.0

    dataset = make_dataset(size=[float(i // 6) for i in range(12)])
    embedding = [[i // 6] for i in range(12)]
    tensor = torch.tensor(embedding, dtype=torch.bfloat16, requires_grad=True)
    contexts = {"column": ["size"], "list": embedding, "tensor": tensor}[kind]
    made = make_trainer(
        tmp_path,
        dataset=dataset,
        reward=Hard(),
        max_steps=1,
        curriculum=OUT | {"contexts": contexts},
    )
    made.train()
    known = made.curriculum.success() < 0.4
    assert known.sum() in (6, 12)  # the prompts of one size, or of both


def test_mistakes_are_named(tmp_path):
    with pytest.raises(ValueError, match="contexts must be a column of train_dataset .*'length'"):
        make_trainer(tmp_path, curriculum={"contexts": ["length"]})
    with pytest.raises(ValueError, match="one row for each of the 12 rows .* shape \\(3, 2\\)"):
        make_trainer(tmp_path, curriculum={"contexts": np.zeros((3, 2))})
    with pytest.raises(ValueError, match="pass_rate must be a column .* got 'rate'"):
        make_trainer(tmp_path, curriculum={"pass_rate": "rate"})
    with pytest.raises(ValueError, match="contexts: column 'prompt' .* must hold numbers"):
        make_trainer(tmp_path, curriculum={"contexts": ["prompt"]})
    with pytest.raises(ValueError, match="contexts must be names of columns, .* shape \\(0,\\)"):
        make_trainer(tmp_path, curriculum={"contexts": []})
    with pytest.raises(ValueError, match="contexts must be names of columns, .*'far'"):
        make_trainer(tmp_path, curriculum={"contexts": np.array([["far"]])})
    pairs = make_dataset(pair=[[i, 0.5] for i in range(12)])
    with pytest.raises(ValueError, match=r"one number per row, .* contexts=np.array\(dataset\['pa"):
        make_trainer(tmp_path, dataset=pairs, curriculum={"contexts": "pair"})
    gaps = make_dataset(level=[1.0, None] * 6)
    with pytest.raises(ValueError, match="'level' .* finite number in every row, got nan"):
        make_trainer(tmp_path, dataset=gaps, curriculum={"contexts": "level"})
    percent = make_dataset(pass_rate=[0.5, 75.0] * 6)
    with pytest.raises(ValueError, match=r"'pass_rate' .* from 0 to 1, got 75 in row 1"):
        make_trainer(tmp_path, dataset=percent, curriculum={"pass_rate": "pass_rate"})
    with pytest.raises(ValueError, match="pass_rate is for strategies .* not for iid: leave it"):
        make_trainer(tmp_path, curriculum={"strategy": "iid", "pass_rate": "pass_rate"})
    with pytest.raises(ValueError, match="at least 2 rows, .* TRL trains nothing, got 1"):
        make_trainer(tmp_path, dataset=make_dataset(1))
    with pytest.raises(ValueError, match="train_dataset has no rows"):
        make_trainer(tmp_path, dataset=make_dataset(0))
    with pytest.raises(ValueError, match="procurl-val requires values"):
        make_trainer(tmp_path, curriculum={"strategy": "procurl-val"})
    with pytest.raises(ValueError, match=r"budget=1\.5 of procurl would have no effect"):
        make_trainer(tmp_path, curriculum={"strategy": make_strategy("procurl", budget=1.5)})
    with pytest.raises(TypeError, match="must be a datasets.Dataset, .* got IterableDataset"):
        make_trainer(tmp_path, dataset=make_dataset().to_iterable_dataset())


def test_mistakes_are_named_before_a_model_is_loaded():
    """A model of this name does not exist, and looking for it would be the next error."""
    dataset = make_dataset()
    with pytest.raises(ValueError, match="contexts must be a column of train_dataset"):
        CurriculumGRPOTrainer("no/model", Reward(), contexts="length", train_dataset=dataset)
    with pytest.raises(ValueError, match="contexts must be a column of train_dataset"):
        CurriculumGRPOTrainer("no/model", Reward(), None, dataset, contexts="length")


def test_trl_itself_is_as_it_was():
    assert GRPOTrainer._calculate_rewards is not CurriculumGRPOTrainer._calculate_rewards
    assert "curriculum" not in vars(GRPOTrainer)
