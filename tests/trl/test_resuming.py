"""A run that continues from a checkpoint draws the same prompts and has the same losses."""

import logging

import numpy as np
import pytest

pytest.importorskip("trl")

from datasets import Dataset

from procurl.trl import CurriculumGRPOTrainer, CurriculumRLOOTrainer
from procurl.trl.checkpoints import CURRICULUM
from tests.trl.toy import Reward, logged, make_dataset, make_trainer

pytestmark = [
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
STEPS = 8  # the toy has 12 prompts, so that its second epoch begins after 6 steps of 2


def whole_and_resumed(folder, at, **changes):
    """Two finished trainers with their rewards: one run, and its continuation from step `at`."""
    saving = {"save_strategy": "steps", "save_steps": at, "max_steps": STEPS, **changes}
    rewards = [Reward(), Reward()]
    whole = make_trainer(folder / "run", reward=rewards[0], **saving)
    whole.train()
    resumed = make_trainer(folder / "again", reward=rewards[1], **saving)
    resumed.train(resume_from_checkpoint=str(folder / "run" / f"checkpoint-{at}"))
    return (whole, rewards[0]), (resumed, rewards[1])


@pytest.mark.parametrize("at", [2, 6])
@pytest.mark.parametrize("trainer", [CurriculumGRPOTrainer, CurriculumRLOOTrainer])
def test_a_resumed_run_is_the_same(tmp_path, at, trainer):
    (whole, seen), (resumed, again) = whole_and_resumed(tmp_path, at, trainer=trainer)
    assert again.calls == seen.calls[at:]
    assert logged(resumed, "loss") == logged(whole, "loss")
    assert logged(resumed, "grad_norm")[-1] == logged(whole, "grad_norm")[-1]
    assert resumed.curriculum.probabilities().tolist() == (
        whole.curriculum.probabilities().tolist()
    )
    assert len({tuple(numbers) for numbers, _ in seen.calls}) > 4


@pytest.mark.parametrize("at", [1, 2, 3, 5])
def test_it_is_the_same_from_between_two_generations(tmp_path, at):
    # One generation serves two optimizer steps of two batches, twice.
    changes = {"gradient_accumulation_steps": 2, "steps_per_generation": 4, "num_iterations": 2}
    (whole, seen), (resumed, again) = whole_and_resumed(tmp_path, at, **changes)
    assert len(seen.calls) == 2
    assert again.calls == seen.calls[1:] if at < 4 else not again.calls
    assert logged(resumed, "loss") == logged(whole, "loss")
    assert logged(resumed, "grad_norm")[-1] == logged(whole, "grad_norm")[-1]


def test_prompts_that_were_removed_are_forgotten_and_new_ones_added(tmp_path, caplog):
    saving = {"save_strategy": "steps", "save_steps": 4, "max_steps": 4}
    saving["curriculum"] = {"strategy": "procurl-out"}
    whole = make_trainer(tmp_path / "run", dataset=make_dataset(12), **saving)
    whole.train()
    reward = Reward()
    # Prompts 0 to 3 are gone, 12 and 13 are new, and the others are in another order.
    dataset = make_dataset(14).select([13, 12, *range(11, 3, -1)])
    other = make_trainer(
        tmp_path / "again", dataset=dataset, reward=reward, **(saving | {"max_steps": 6})
    )
    with caplog.at_level(logging.WARNING):
        other.train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-4"))
    assert "4 prompts are gone and 2 are new. The other 8 keep" in caplog.text
    assert {n for numbers, _ in reward.calls for n in numbers} <= {*range(4, 14)}
    played = {n for numbers, _ in reward.calls for n in numbers}
    idle = [n for n in range(4, 12) if n not in played]
    before, after = whole.curriculum.success()[idle], other.curriculum.success()
    now = np.asarray([after[2 + 11 - n] for n in idle])
    # All estimates shift alike with the latest rewards, so that their order is what is kept.
    assert np.argsort(now, kind="stable").tolist() == np.argsort(before, kind="stable").tolist()


def test_contexts_may_change(tmp_path, caplog):
    """An embedding that is computed again may differ in its last digits."""
    saving = {"save_strategy": "steps", "save_steps": 4}
    contexts = np.arange(12.0)[:, None]

    def train(folder, contexts, steps, checkpoint=None):
        made = make_trainer(
            tmp_path / folder, curriculum={"contexts": contexts}, max_steps=steps, **saving
        )
        made.train(resume_from_checkpoint=checkpoint)
        return made.curriculum.success()

    train("run", contexts, 4)
    checkpoint = str(tmp_path / "run" / "checkpoint-4")
    expected = train("same", contexts, 5, checkpoint)
    assert "changed" not in caplog.text
    found = train("again", contexts + 1e-9, 5, checkpoint)
    assert "contexts have changed since the checkpoint: 0 prompts are gone" in caplog.text
    assert found == pytest.approx(expected)
    assert len(set(found)) > 1


@pytest.mark.parametrize("pass_rate", [None, "level"])
def test_a_run_is_the_same_if_columns_are_added(tmp_path, caplog, pass_rate):
    (_, seen), _ = whole_and_resumed(tmp_path, 3)
    reward, more = Reward(), make_dataset(12, level=[0.5] * 12, tag=["new"] * 12)
    again = make_trainer(
        tmp_path / "more",
        more,
        reward,
        curriculum={"pass_rate": pass_rate},
        max_steps=STEPS,
        save_strategy="steps",
        save_steps=3,
    )
    again.train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-3"))
    assert reward.calls == seen.calls[3:]
    assert "changed" not in caplog.text
    # The next checkpoint knows them by the same columns.
    third = Reward()
    final = make_trainer(tmp_path / "third", reward=third, max_steps=STEPS)
    final.train(resume_from_checkpoint=str(tmp_path / "more" / "checkpoint-6"))
    assert third.calls == seen.calls[6:]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"tag": ["a"] * 12}, {}),  # a column is gone
        ({}, {"number": [0, 0, *range(2, 12)], "prompt": ["w0"] * 12, "tag": [*"abcdefghijkl"]}),
    ],
)
def test_prompts_are_new_if_the_columns_of_the_checkpoint_are_not_enough(
    tmp_path, caplog, before, after
):
    saving = {"save_strategy": "steps", "save_steps": 2}
    make_trainer(tmp_path / "run", make_dataset(12, **before), max_steps=2, **saving).train()
    other = Dataset.from_dict(make_dataset(12).to_dict() | after)
    again = make_trainer(tmp_path / "again", other, max_steps=3, **saving)
    again.train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-2"))
    assert "12 prompts are gone and 12 are new" in caplog.text
    assert f"knows prompts by the columns number, prompt{', tag' * bool(before)}:" in caplog.text


def test_new_prompts_start_from_their_pass_rate(tmp_path):
    saving = {"save_strategy": "steps", "save_steps": 4}
    make_trainer(tmp_path / "run", max_steps=4, **saving).train()
    more = make_dataset(14, pass_rate=[None] * 12 + [0.1, 0.9])
    rates = {"pass_rate": "pass_rate"}
    again = make_trainer(tmp_path / "again", more, curriculum=rates, max_steps=5, **saving)
    again.batches = []
    again.train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-4"))
    assert not {12, 13} & set(again.batches[0].prompts.tolist())
    # The latest rewards shift all estimates alike, in logits.
    new = again.curriculum.success()[12:]
    assert np.diff(np.log(new / (1 - new))) == pytest.approx(2 * np.log(9), rel=0.1)


def test_completions_of_an_earlier_run_are_not_used(tmp_path):
    saving = {"save_strategy": "steps", "save_steps": 2}
    reused = {"steps_per_generation": 4}
    make_trainer(tmp_path / "run", max_steps=2, seed=5, **saving, **reused).train()
    assert (tmp_path / "run" / "checkpoint-2" / "generations_0.pt").exists()
    # In the same folder, but now step 2 is the last that learns from a generation.
    (_, seen), (_, again) = whole_and_resumed(
        tmp_path, 2, gradient_accumulation_steps=2, **saving, **reused
    )
    assert again.calls == seen.calls[1:]


def test_completions_are_sampled_again_if_settings_have_changed(tmp_path, caplog):
    saving = {"save_strategy": "steps", "save_steps": 1}
    make_trainer(tmp_path / "run", max_steps=1, steps_per_generation=2, **saving).train()
    reward = Reward()
    again = make_trainer(
        tmp_path / "again", reward=reward, max_steps=5, steps_per_generation=4, **saving
    )
    with caplog.at_level(logging.WARNING):
        again.train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-1"))
    assert "steps_per_generation changed since the checkpoint" in caplog.text
    assert [len(numbers) for numbers, _ in reward.calls] == [32]


def test_a_checkpoint_without_a_curriculum_starts_one(tmp_path, caplog):
    saving = {"save_strategy": "steps", "save_steps": 2, "max_steps": 2}
    make_trainer(tmp_path / "run", **saving).train()
    folder = tmp_path / "run" / "checkpoint-2"
    (folder / CURRICULUM).unlink()
    again = make_trainer(tmp_path / "again", **(saving | {"max_steps": 3}))
    with caplog.at_level(logging.WARNING):
        again.train(resume_from_checkpoint=str(folder))
    assert "the curriculum starts without evidence" in caplog.text
    assert again.curriculum.step == 2


def test_a_damaged_curriculum_is_refused(tmp_path):
    saving = {"save_strategy": "steps", "save_steps": 2, "max_steps": 2}
    make_trainer(tmp_path / "run", **saving).train()
    folder = tmp_path / "run" / "checkpoint-2"
    content = bytearray((folder / CURRICULUM).read_bytes())
    content[-1] ^= 1
    (folder / CURRICULUM).write_bytes(content)
    again = make_trainer(tmp_path / "again", **saving)
    with pytest.raises(ValueError, match="truncated or altered"):
        again.train(resume_from_checkpoint=str(folder))


def test_another_strategy_is_refused(tmp_path):
    saving = {"save_strategy": "steps", "save_steps": 2, "max_steps": 2}
    make_trainer(tmp_path / "run", **saving).train()
    again = make_trainer(tmp_path / "again", curriculum={"strategy": "iid"}, **saving)
    with pytest.raises(ValueError, match="curriculum.safetensors: .*strategy"):
        again.train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-2"))
