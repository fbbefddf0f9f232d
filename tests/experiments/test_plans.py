"""What is run: contenders, batches, and directories that go on or refuse."""

from dataclasses import replace

import pytest

from procurl.experiments.plans import (
    Contender,
    Experiment,
    Request,
    batches_of,
    open_experiment,
    read_experiment,
)

EXPERIMENT = Experiment(
    env="pointmass-s",
    engine="jax",
    steps=1000,
    n_envs=1,
    width=4,
    pool=None,
    pool_hash="abc",
)


def asked(**seeds: int) -> Request:
    return Request({name.replace("_", "-"): count for name, count in seeds.items()})


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
    with pytest.raises(ValueError, match="is no setting; write NAME:key=value"):
        Contender.parse(text)


def test_batches_have_a_fixed_width_and_take_turns():
    batches = batches_of(asked(procurl_val=6, iid=3), width=4)
    assert [(b.contender.label, list(b.seeds)) for b in batches] == [
        ("procurl-val", [0, 1, 2, 3]),
        ("iid", [0, 1, 2, 3]),
        ("procurl-val", [4, 5, 6, 7]),
    ]


def test_batches_keep_their_composition_when_more_is_asked_for():
    few, many = batches_of(asked(iid=3), 4), batches_of(asked(iid=9), 4)
    assert many[: len(few)] == few


def test_every_batch_has_a_folder_of_its_own():
    labels = ["procurl-val", "procurl-val:beta=10", "procurl-val:beta=10,floor=0.1", "iid"]
    batches = batches_of(Request(dict.fromkeys(labels, 9)), 4)
    assert len({batch.folder for batch in batches}) == len(batches) == 12


def test_a_directory_remembers_and_is_extended(tmp_path):
    open_experiment(tmp_path, EXPERIMENT, asked(iid=4))
    _, request = open_experiment(tmp_path, EXPERIMENT, asked(iid=2, easy=8))
    assert request.seeds == {"iid": 4, "easy": 8}
    assert read_experiment(tmp_path) == (EXPERIMENT, request)


def test_the_width_is_that_of_the_first_time(tmp_path):
    open_experiment(tmp_path, EXPERIMENT, asked(iid=4))
    experiment, _ = open_experiment(tmp_path, replace(EXPERIMENT, width=8), asked(iid=9))
    assert experiment.width == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 2000}, "steps is 1000, not 2000"),
        ({"pool_hash": "xyz"}, "pool_hash is 'abc', not 'xyz'"),
        ({"env": "pointmass-d"}, "env is 'pointmass-s', not 'pointmass-d'"),
        ({"n_envs": 4}, "n_envs is 1, not 4"),
    ],
)
def test_another_experiment_is_refused_and_nothing_changes(tmp_path, change, message):
    open_experiment(tmp_path, EXPERIMENT, asked(iid=4))
    before = (tmp_path / "experiment.json").read_text()
    with pytest.raises(ValueError, match=message):
        open_experiment(tmp_path, replace(EXPERIMENT, **change), asked(iid=4))
    assert (tmp_path / "experiment.json").read_text() == before


def test_a_directory_without_or_with_a_damaged_experiment_is_named(tmp_path):
    with pytest.raises(ValueError, match="holds no experiment"):
        read_experiment(tmp_path)
    (tmp_path / "experiment.json").write_text('{"experiment": {')
    with pytest.raises(ValueError, match="experiment.json is damaged"):
        read_experiment(tmp_path)
