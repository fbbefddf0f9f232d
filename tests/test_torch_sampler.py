"""The PyTorch sampler: batches of different tasks, groups, epochs, and exact resuming."""

import pickle
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

from procurl import Curriculum, CurriculumSampler, TaskPool

PROMPTS = [f"{i} + {i}" for i in range(20)]


def sampler_of(batch_size: int = 4, seed: int = 0, n: int = 20, **settings) -> CurriculumSampler:
    curriculum = Curriculum("procurl-out", TaskPool.from_seeds(n), seed=seed)
    return CurriculumSampler(curriculum, batch_size, **settings)


def outcomes_of(tasks) -> np.ndarray:
    """Tasks below 10 are always solved, all others never."""
    return np.asarray(tasks) < 10


def test_batches_hold_different_tasks_in_groups():
    sampler = sampler_of(4, repeat=3)
    indices = list(sampler)
    assert len(indices) == len(sampler) == 5 * 4 * 3
    batches = [indices[i : i + 12] for i in range(0, 60, 12)]
    for batch in batches:
        groups = [batch[i : i + 3] for i in range(0, 12, 3)]
        assert all(len(set(group)) == 1 for group in groups)
        assert len({group[0] for group in groups}) == 4
    assert len({*map(tuple, batches)}) == 5


def test_a_batch_depends_on_everything_recorded_before_it():
    """The indices are those of a curriculum that is asked and answered batch by batch."""
    sampler, curriculum = sampler_of(seed=3), sampler_of(seed=3).curriculum
    loader = DataLoader(PROMPTS, batch_size=4, sampler=sampler, collate_fn=list)
    for prompts in loader:
        tasks = [PROMPTS.index(prompt) for prompt in prompts]
        assert tasks == curriculum.next(4, replace=False).tolist()
        sampler.record(tasks, outcomes_of(tasks))
        curriculum.record(tasks, outcomes_of(tasks))


def test_an_epoch_has_as_many_batches_as_asked_for():
    sampler = sampler_of(4, batches=2)
    assert len(list(sampler)) == len(sampler) == 8
    assert len(list(sampler_of(3))) == 18
    first = next(iter(sampler))
    assert isinstance(first, int)
    assert len(list(sampler)) == 8  # an iterator that was left does not shorten the next epoch


def test_a_loaded_sampler_continues_within_a_batch():
    one, two = sampler_of(repeat=2, seed=5), sampler_of(repeat=2)
    indices = iter(one)
    for _ in range(11):
        task = next(indices)
        one.record([task], [task % 2])
    two.load_state_dict(pickle.loads(pickle.dumps(one.state_dict())))
    assert list(indices) == list(two)
    assert list(one) == list(two)  # and in the next epoch


def stateful_loader(seed: int) -> StatefulDataLoader:
    sampler = sampler_of(seed=seed, repeat=2)
    return StatefulDataLoader(torch.arange(20), batch_size=8, sampler=sampler)


def training(loader) -> Iterator[list[int]]:
    """Batches of epoch after epoch, each recorded; an empty one ends an epoch."""
    while True:
        for batch in loader:
            loader.sampler.record(batch, outcomes_of(batch))
            yield batch.tolist()
        yield []


@pytest.mark.parametrize("steps", [0, 3, 5, 6, 8])
def test_torchdata_saves_and_continues(steps, tmp_path):
    """Saved before, within and after an epoch of five batches."""
    whole = list(islice(training(stateful_loader(seed=1)), 20))
    one, two = stateful_loader(seed=1), stateful_loader(seed=2)
    before = list(islice(training(one), steps))
    torch.save(one.state_dict(), tmp_path / "data.pt")
    two.load_state_dict(torch.load(tmp_path / "data.pt", weights_only=False))
    assert before + list(islice(training(two), 20 - steps)) == whole


def test_prompts_that_are_solved_are_drawn_less():
    sampler = sampler_of(4, batches=200, seed=1)
    drawn = []
    for batch in DataLoader(torch.arange(20), batch_size=4, sampler=sampler):
        tasks = batch.tolist()
        drawn += tasks
        outcomes = [0.5 if task == 7 else float(task < 10) for task in tasks]
        sampler.record(tasks, outcomes)
    counts = np.bincount(drawn[400:], minlength=20)
    assert counts.argmax() == 7


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"batch_size": 21}, ValueError, "batch_size must be at most 20, the tasks of the pool"),
        ({"batch_size": 0}, ValueError, "batch_size must be an integer of at least 1, got 0"),
        ({"repeat": 0}, ValueError, "repeat must be an integer of at least 1, got 0"),
        ({"batches": 1.5}, TypeError, "batches must be an integer of at least 1, got 1.5"),
    ],
)
def test_wrong_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        sampler_of(**arguments)


def test_a_pool_is_not_a_curriculum():
    with pytest.raises(TypeError, match="curriculum must be a Curriculum, got TaskPool"):
        CurriculumSampler(TaskPool.from_seeds(3), 1)


def test_a_state_of_another_pool_is_refused():
    saved = sampler_of().state_dict()
    with pytest.raises(ValueError, match="pool.tasks = 20, this one has 30"):
        sampler_of(n=30).load_state_dict(saved)
    with pytest.raises(ValueError, match="the saved rest must hold task ids from 0 to 19"):
        sampler_of().load_state_dict(saved | {"rest": [20]})


def test_without_torch_the_error_names_it():
    code = "import sys; sys.modules['torch'] = None; from procurl import CurriculumSampler"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: CurriculumSampler needs PyTorch: install torch" in failed.stderr
