"""The curriculum: drawing, observing, metrics, saving."""

import copy
import json
import pickle
import random
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from procurl import Curriculum, Evidence, TaskPool, make_strategy
from procurl.internals.archive import read_archive, write_archive
from procurl.strategies.iid import IID
from tests.crafted import altered_arrays, mutated


def curriculum_over(n: int, name: str = "procurl-val", seed: int = 0, **settings) -> Curriculum:
    return Curriculum(make_strategy(name, **settings), TaskPool.from_seeds(n), seed=seed)


def test_draws_follow_the_probabilities():
    """20,000 draws: every share within 4 standard deviations of its probability."""
    curriculum = curriculum_over(5, beta=5.0)
    curriculum.observe(Evidence(1024, values=[0.0, 0.2, 0.5, 0.8, 1.0]))
    p = curriculum.probabilities()
    shares = np.bincount(curriculum.next(20_000), minlength=5) / 20_000
    assert (np.abs(shares - p) < 4 * np.sqrt(p * (1 - p) / 20_000)).all()


def test_a_task_of_probability_zero_is_never_drawn():
    curriculum = curriculum_over(4, "procurl-argmax")
    curriculum.observe(Evidence(1024, values=[0.0, 0.5, 0.5, 0.0]))
    assert set(curriculum.next(1000).tolist()) == {1, 2}


def test_draws_do_not_depend_on_how_they_are_grouped():
    one, two = curriculum_over(50, seed=7), curriculum_over(50, seed=7)
    assert one.next(6).tolist() == [int(two.next()[0]) for _ in range(6)]


def test_choices_are_the_same_in_another_process():
    code = f"import json; from {__name__} import picks; print(json.dumps(picks('spdl', 5)))"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert json.loads(printed) == picks("spdl", 5)


def picks(name: str, seed: int) -> list[int]:
    curriculum = curriculum_over(30, name, seed)
    picked = []
    for i in range(5):
        values = np.random.default_rng(i).random(30)
        curriculum.observe(Evidence(1024 * (i + 1), values=values))
        picked += curriculum.next(20).tolist()
    return picked


def test_choices_are_the_same_on_every_machine():
    """Written down once; a change here breaks everybody's repeatable runs."""
    curriculum = curriculum_over(10, seed=0)
    assert curriculum.next(8).tolist() == [6, 2, 0, 0, 8, 9, 6, 7]
    curriculum.observe(Evidence(1024, values=np.arange(10) / 10))
    assert curriculum.next(8).tolist() == [5, 7, 6, 1, 7, 2, 6, 4]


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        (Evidence(1024), "evidence.values is missing: procurl-val requires it"),
        (Evidence(1024, values=[0.1, 0.2]), r"each of the 3 tasks, got shape \(2,\)"),
        (Evidence(1024, values=[0.1, np.nan, 0.2]), "finite, got nan for task 1"),
        (Evidence(1024, values=[0.1, 0.3, np.inf]), "finite, got inf for task 2"),
        (Evidence(-1, values=[0.1, 0.3, 0.2]), "evidence.step must be"),
        (Evidence(np.nan, values=[0.1, 0.3, 0.2]), "evidence.step must be"),
        (Evidence([1, 2], values=[0.1, 0.3, 0.2]), "evidence.step must be one number"),
        (Evidence(1024, values=[0.1, 0.3, 0.2], wins=[1, -1, 0]), "wins must not be negative"),
        (
            Evidence(1024, values=[0.1, 1e308, 0.2]),
            r"at most 1e\+30 in size, got 1e\+308 for task 1",
        ),
        (
            Evidence(1024, values=[0.1, 0.3, -1e31]),
            r"at most 1e\+30 in size, got -1e\+31 for task 2",
        ),
        (Evidence(1024, values=[0.1, 0.3, 10**400]), "evidence.values must be at most"),
        (Evidence(1e308, values=[0.1, 0.3, 0.2]), "evidence.step must be at most 1e"),
    ],
)
def test_bad_evidence_raises_and_nothing_is_lost(evidence, message):
    curriculum = curriculum_over(3)
    curriculum.observe(Evidence(0, values=[0.2, 0.5, 0.9]))
    before = curriculum.probabilities()
    with pytest.raises(ValueError, match=message):
        curriculum.observe(evidence)
    np.testing.assert_array_equal(curriculum.probabilities(), before)
    assert curriculum.step == 0
    curriculum.observe(Evidence(1024, values=[0.2, 0.5, 0.9]))


def test_refused_evidence_draws_no_noise():
    curriculum, other = (curriculum_over(3, epsilon=0.1) for _ in range(2))
    with pytest.raises(ValueError, match="values is missing"):
        curriculum.observe(Evidence(1024))
    assert curriculum.next(20).tolist() == other.next(20).tolist()


def test_a_state_that_lacks_something_changes_nothing():
    saved, curriculum = curriculum_over(3), curriculum_over(3)
    saved.observe(Evidence(1024, values=[0.2, 0.5, 0.9]))
    state = saved.state_dict()
    del state["step"]
    before = curriculum.probabilities()
    with pytest.raises(KeyError, match="step"):
        curriculum.load_state_dict(state)
    np.testing.assert_array_equal(curriculum.probabilities(), before)


def test_evidence_of_the_wrong_type_is_named():
    curriculum = curriculum_over(3)
    with pytest.raises(TypeError, match="evidence must be procurl.Evidence, got dict"):
        curriculum.observe({"values": [0, 0, 0]})
    with pytest.raises(TypeError, match="evidence.values must be 3 numbers"):
        curriculum.observe(Evidence(0, values=["a", "b", "c"]))


def test_time_does_not_run_backwards():
    curriculum = curriculum_over(2)
    curriculum.observe(Evidence(2048, values=[0.5, 0.5]))
    with pytest.raises(ValueError, match="evidence.step must be a finite number of at least 2048"):
        curriculum.observe(Evidence(1024, values=[0.5, 0.5]))


def test_a_task_that_was_not_played_needs_no_score():
    curriculum = curriculum_over(2, "plr")
    curriculum.observe(Evidence(1024, score=[0.5, np.nan], played=[1, 0]))
    with pytest.raises(ValueError, match="evidence.score must be finite, got nan for task 1"):
        curriculum.observe(Evidence(2048, score=[0.5, np.nan], played=[1, 1]))


def test_noise_comes_from_the_curriculum_when_it_is_not_given():
    def success(seed: int):
        curriculum = curriculum_over(4, seed=seed, epsilon=0.3)
        curriculum.observe(Evidence(1024, values=[0.5] * 4))
        return curriculum.success()

    assert (np.abs(success(1) - 0.5) <= 0.3).all()
    assert len(set(success(1))) == 4
    np.testing.assert_array_equal(success(1), success(1))


@dataclass(frozen=True)
class Broken(IID):
    """Returns the given probabilities."""

    given: tuple[float, ...] = ()

    def probabilities(self, state):
        return np.array(self.given)


@pytest.mark.parametrize("given", [[0.5, 0.5], [np.nan] * 3, [1.0] * 3, [1.5, -0.5, 0.0]])
def test_invalid_probabilities_are_refused(given):
    curriculum = Curriculum(Broken(given=tuple(given)), TaskPool.from_seeds(3))
    with pytest.raises(ValueError, match="Broken.probabilities must return one probability"):
        curriculum.next()


@dataclass(frozen=True)
class Named(IID):
    """Has a setting that is called as the success estimates of the strategies here."""

    success: float = 0.5


def test_a_custom_setting_may_have_any_name():
    curriculum = Curriculum(Named(), TaskPool.from_seeds(3))
    curriculum.observe(Evidence(1, values=[9.0, 30.0, 200.0]))
    assert curriculum.step == 1


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("procurl-val", "values"),
        ("procurl-env", "rollout_success"),
        ("procurl-argmax", "values"),
    ],
)
def test_bounds_that_do_not_fit_are_reported_once(name, field, caplog):
    curriculum = curriculum_over(3, name)
    curriculum.observe(Evidence(1, **{field: [0.1, -0.3, 1.2]}))
    assert not caplog.records
    curriculum.observe(Evidence(2, **{field: [9.0, 30.0, 200.0]}))
    curriculum.observe(Evidence(3, **{field: [9.0, 30.0, 200.0]}))
    (message,) = caplog.messages
    assert "around 30, far from v_min=0 to v_max=1" in message
    fitting = curriculum_over(3, name, v_min=None, v_max=None)
    fitting.observe(Evidence(2, **{field: [9.0, 30.0, 200.0]}))
    assert len(caplog.records) == 1


def test_bounds_that_do_not_fit_are_reported_despite_noise(caplog):
    curriculum_over(3, epsilon=0.1).observe(Evidence(1, values=[9.0, 30.0, 200.0]))
    assert "around 30, far from v_min=0 to v_max=1" in caplog.text


def test_a_name_gives_the_strategy_with_its_defaults():
    named = Curriculum("procurl-val", TaskPool.from_seeds(3))
    assert named.strategy == make_strategy("procurl-val")


def test_a_curriculum_names_its_strategy_its_pool_and_its_step():
    curriculum = Curriculum("procurl-val", TaskPool([[0.1], [0.5]], names=["length"]))
    curriculum.observe(Evidence(step=2048, values=[0.0, 0.5]))
    assert repr(curriculum) == (
        "Curriculum(strategy='procurl-val', pool=TaskPool(2 tasks, contexts: length), step=2048)"
    )


def test_metrics_by_hand():
    """Probabilities ½, ½, 0: entropy ln 2, two effective tasks."""
    curriculum = curriculum_over(3, "procurl-argmax")
    curriculum.observe(Evidence(1024, values=[0.5, 0.5, 0.2]))
    metrics = curriculum.metrics(top=2)
    assert metrics.entropy == pytest.approx(np.log(2))
    assert metrics.effective_tasks == pytest.approx(2.0)
    assert metrics.estimated_success == pytest.approx(0.4)
    assert metrics.most_likely.tolist() == [0, 1]
    assert metrics.least_likely.tolist() == [2, 0]
    assert curriculum_over(3, "iid").metrics().estimated_success is None


def test_metrics_name_at_most_the_whole_pool():
    assert curriculum_over(3).metrics(top=10).most_likely.tolist() == [0, 1, 2]


def test_metrics_follow_the_evidence():
    curriculum = curriculum_over(3, "procurl-argmax")
    assert curriculum.metrics().effective_tasks == pytest.approx(3.0)
    curriculum.observe(Evidence(1024, values=[0.5, 0.5, 0.2]))
    assert curriculum.metrics().effective_tasks == pytest.approx(2.0)
    assert len(curriculum.metrics(top=1).most_likely) == 1
    saved = curriculum_over(3, "procurl-argmax").state_dict()
    curriculum.load_state_dict(saved)
    assert curriculum.metrics().effective_tasks == pytest.approx(3.0)


def test_a_loaded_curriculum_has_the_calibration_that_was_saved():
    """Not one of its own, which is of other episodes."""
    one, two = curriculum_over(3, "procurl"), curriculum_over(3, "procurl")
    for step in range(1, 4):
        one.observe(Evidence(step, wins=[9, 5, 0], losses=[1, 5, 10]))
        two.observe(Evidence(step, wins=[2, 5, 6], losses=[8, 5, 4]))
    saved, before = one.state_dict(), one.metrics()
    assert before.calibration is not None
    assert two.metrics().calibration != before.calibration
    two.load_state_dict(saved)
    for each in (one, two):
        found = each.metrics()
        assert found.calibration == before.calibration
        assert found.achieved_success == before.achieved_success
        each.observe(Evidence(4, wins=[1, 1, 1], losses=[0, 0, 0]))
    assert one.metrics().calibration == two.metrics().calibration != before.calibration
    two.load_state_dict(curriculum_over(3, "procurl").state_dict())
    assert two.metrics().calibration is None
    saved["state"]["monitor/achieved"][0] = np.nan
    with pytest.raises(ValueError, match="saved calibration must be sums of at least 0, got"):
        two.load_state_dict(saved)


def test_state_dict_is_plain_data_and_a_copy():
    curriculum = curriculum_over(3)
    curriculum.observe(Evidence(1024, values=[0.2, 0.5, 0.9]))
    saved = curriculum.state_dict()
    before = curriculum.probabilities()
    arrays = saved.pop("state")
    json.dumps(saved)
    for array in arrays.values():
        array[...] = 0.0
    np.testing.assert_array_equal(curriculum.probabilities(), before)


def test_what_is_returned_belongs_to_the_caller():
    even = curriculum_over(4, "iid")
    even.probabilities()[0] = 0.0
    assert even.probabilities().tolist() == [0.25] * 4
    with pytest.raises(ValueError, match="read-only"):
        even.metrics().most_likely[0] = 3
    replay = curriculum_over(2, "plr", robust=True)
    replay.observe(Evidence(1, score=[1.0, 0.0], played=[1, 0]))
    replay.learning_mask()[1] = True
    assert replay.learning_mask().tolist() == [True, False]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: curriculum_over(3, beta=5.0), "strategy.beta = 20.0, this one has 5.0"),
        (lambda: curriculum_over(3, "easy"), "strategy.type = 'ProCuRL', this one has 'Easy'"),
        (lambda: curriculum_over(3, v_max=2.0), "strategy.success.v_min = 'auto'"),
        (lambda: curriculum_over(4), "pool.tasks = 3, this one has 4"),
        (
            lambda: Curriculum(make_strategy("procurl-val"), TaskPool(["a", "b", "c"])),
            "was saved with another pool of",
        ),
    ],
)
def test_saved_state_fits_only_the_same_curriculum(tmp_path, other, message):
    curriculum_over(3).save(tmp_path / "state")
    target = other()
    before = target.state_dict()
    with pytest.raises(ValueError, match=message) as caught:
        target.load(tmp_path / "state")
    assert str(tmp_path / "state") in str(caught.value)
    assert target.state_dict()["rng"] == before["rng"]


def test_saving_replaces_a_file_only_when_the_new_one_is_whole(tmp_path, monkeypatch):
    curriculum = curriculum_over(3)
    path = tmp_path / "state"
    curriculum.save(path)
    first = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", fail)
    curriculum.next()
    with pytest.raises(OSError, match="no space left"):
        curriculum.save(path)
    assert path.read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]


def test_a_curriculum_can_be_copied_and_pickled():
    curriculum = curriculum_over(30)
    curriculum.observe(Evidence(1, values=np.linspace(0, 1, 30)))
    copies = copy.deepcopy(curriculum), pickle.loads(pickle.dumps(curriculum))
    expected = curriculum.next(20).tolist()
    for other in copies:
        assert other.next(20).tolist() == expected
        other.observe(Evidence(2, values=np.linspace(0, 1, 30)))


@pytest.mark.parametrize("name", ["procurl-val", "spdl", "plr"])
def test_a_crafted_file_is_refused_or_can_be_drawn_from(tmp_path, name):
    rng, path = random.Random(0), tmp_path / "state"
    curriculum_over(3, name, seed=1).save(path)
    meta, arrays = read_archive(path)
    refused = 0
    for i in range(300):
        crafted = altered_arrays(arrays, rng) if i % 3 == 0 else arrays
        write_archive(path, mutated(meta, rng) or {}, crafted)
        curriculum = curriculum_over(3, name)
        before = curriculum.state_dict()
        try:
            curriculum.load(path)
        except ValueError as error:
            message = str(error)
            refused += 1
        else:
            message = f"{path}: "
            before = curriculum.state_dict()
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        assert curriculum.state_dict()["rng"] == before["rng"]
        curriculum.next(3)
    assert refused > 200


def test_bad_arguments_are_named():
    pool = TaskPool.from_seeds(3)
    with pytest.raises(TypeError, match=r"strategy must be a Strategy, .* or a name .*got None"):
        Curriculum(None, pool)
    with pytest.raises(ValueError, match="'procurl-vall' is not known. Did you mean"):
        Curriculum("procurl-vall", pool)
    with pytest.raises(TypeError, match="pool must be a TaskPool or a TaskSpace, got list"):
        Curriculum(make_strategy("iid"), [1, 2])
    with pytest.raises(ValueError, match="seed must be an integer of at least 0, got -1"):
        Curriculum(make_strategy("iid"), pool, seed=-1)
    with pytest.raises(ValueError, match="k must be an integer of at least 1, got 0"):
        Curriculum(make_strategy("iid"), pool).next(0)
