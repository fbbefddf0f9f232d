"""What is run: contenders, and batches of fixed width."""

import pytest

from procurl.experiments.batches import RunBatch, batches_of, costly_first
from procurl.records.experiment import Contender, Experiment, RunPlan


def plan_of(**seeds: int) -> RunPlan:
    return RunPlan({name.replace("_", "-"): count for name, count in seeds.items()})


def test_a_contender_carries_its_settings():
    contender = Contender.parse("procurl-val:beta=10,v_max=none,score=gae,full_step=true,eta=0.5")
    assert contender.strategy == "procurl-val"
    assert contender.settings() == {
        "beta": 10,
        "v_max": None,
        "score": "gae",
        "full_step": True,
        "eta": 0.5,
    }
    assert Contender.parse("iid").settings() == {}
    assert Contender.parse(contender.label) == contender


@pytest.mark.parametrize("text", ["procurl-val:beta", "procurl-val:=3", "procurl-val:beta="])
def test_a_malformed_setting_is_named(text):
    with pytest.raises(ValueError, match="is not a setting; write NAME=VALUE$"):
        Contender.parse(text)


def test_batches_have_a_fixed_width_and_take_turns():
    batches = batches_of(plan_of(procurl_val=6, iid=3), width=4)
    assert [(b.contender.label, list(b.seeds)) for b in batches] == [
        ("procurl-val", [0, 1, 2, 3]),
        ("iid", [0, 1, 2, 3]),
        ("procurl-val", [4, 5, 6, 7]),
    ]


def test_batches_keep_their_composition_when_more_is_requested():
    few, many = batches_of(plan_of(iid=3), 4), batches_of(plan_of(iid=9), 4)
    assert many[: len(few)] == few


def test_every_batch_has_a_folder_of_its_own():
    labels = ["procurl-val", "procurl-val:beta=10", "procurl-val:beta=10,floor=0.1", "iid"]
    batches = batches_of(RunPlan(dict.fromkeys(labels, 9)), 4)
    assert len({batch.folder for batch in batches}) == len(batches) == 12


@pytest.mark.parametrize("name", ["steps", "n_envs", "eval_every", "eval_episodes"])
def test_an_experiment_out_of_range_is_named(name):
    given = {"env": "corridor", "engine": "jax", "steps": 10}
    Experiment(**given).check()
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, got 0"):
        Experiment(**(given | {name: 0})).check()


def test_a_request_is_extended_and_nothing_is_taken_back():
    more = plan_of(iid=4).extend([Contender("iid"), Contender("easy")], 2)
    assert more.seeds == {"iid": 4, "easy": 2}


def test_costly_batches_begin_first_and_equal_ones_keep_their_order():
    batches = batches_of(plan_of(iid=8, easy=8, hard=4), 4)
    ordered = costly_first(batches, lambda contender: 1.0 if contender.label == "iid" else 5.0)
    assert [(batch.contender.label, batch.first_seed) for batch in ordered] == [
        ("easy", 0),
        ("hard", 0),
        ("easy", 4),
        ("iid", 0),
        ("iid", 4),
    ]


def test_a_long_contender_has_a_folder_of_its_own():
    """A file system allows 255 bytes in a name; whatever fits keeps its name."""
    fitting, longer, other = (f"procurl-val:beta={'0' * n}1" for n in (236, 400, 401))
    assert batch_of(fitting).folder.split("/")[1] == fitting.replace(":", "--")
    names = {batch_of(label).folder.split("/")[1] for label in (fitting, longer, other)}
    assert len(names) == 3
    assert all(len(name.encode()) == 255 for name in names)
    assert len(batch_of(f"iid:{'ä' * 300}").folder.split("/")[1].encode()) <= 255


def batch_of(label):
    strategy, _, setting = label.partition(":")
    return RunBatch(Contender(strategy, setting), 0, 1)
