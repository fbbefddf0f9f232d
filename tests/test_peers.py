"""The benchmark of peers: tables of made-up numbers, and a short turn of our own contenders."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import peers
from contenders import choosing
from contenders.choosing import CHOOSERS, turn_of
from contenders.table import cost, longer, markdown, multiple_of, rate, ratios
from contenders.training import N_STEPS, TRAINERS
from turns import Seconds

OWN = [name for name, chooser in CHOOSERS.items() if chooser.package in ("procurl", "numpy")]


def test_numbers_are_medians_over_turns_of_processor_time():
    turns = [Seconds(100, 1.0, 9.0), Seconds(100, 4.0, 9.0), Seconds(100, 2.0, 9.0)]
    assert rate(turns) == 50.0
    assert cost(turns) == 0.02
    base = [Seconds(100, 1.0, 9.0), Seconds(200, 4.0, 9.0), Seconds(100, 1.0, 9.0)]
    assert longer(turns, base) == 1.0  # rounds are 0%, 100% and 100% longer


def test_a_table_has_multiples_of_its_base_and_dashes_for_what_did_not_run():
    columns = {"one": {"ours": 90.0, "base": 2.0}, "many": {"base": 4.0, "other": 1.0}}
    rows = ratios(columns, "base", lambda number: f"{number:.0f}")
    assert rows == [
        ["ours", "90 (45×)", "–"],
        ["base", "2 (1.0×)", "4 (1.0×)"],
        ["other", "–", "1 (0.25×)"],
    ]
    assert markdown(["", *columns], rows).splitlines()[:3] == [
        "|  | one | many |",
        "| --- | ---: | ---: |",
        "| ours | 90 (45×) | – |",
    ]


def test_a_table_without_its_base_has_no_multiples():
    assert ratios({"one": {"ours": 90.0}}, "base", str) == [["ours", "90.0"]]


def test_multiples_have_two_digits():
    shown = [multiple_of(ratio) for ratio in (1234.6, 10.0, 1.26, 0.0532)]
    assert shown == ["1,235×", "10×", "1.3×", "0.053×"]


def test_a_failure_is_told_by_the_line_that_names_the_error():
    text = (
        "warning: x\nTraceback:\n  File y\nKeyError: 'k'\n----\nFor simplicity, JAX has removed\n"
    )
    assert peers.last_error(text) == "KeyError: 'k'"
    assert peers.last_error("") == "no message"


def test_a_peer_that_is_not_installed_is_skipped_and_named():
    session = peers.Session(sys.executable, skip=[])
    absent = TRAINERS["rejax"]._replace(package="no_such_package")
    assert session.measure("training", {"rejax": absent}, 1, 1) == {}
    assert session.failed == {"rejax": "no_such_package is not installed"}


@pytest.mark.parametrize("name", OWN)
def test_curricula_of_our_own_play_one_and_many_episodes_at_a_time(name, monkeypatch):
    monkeypatch.setattr(choosing, "TURN", 0.01)
    turn = turn_of(CHOOSERS[name], 20)
    assert turn() >= 1
    assert turn() % 64 == 0


def test_our_engine_trains_for_one_update():
    pytest.importorskip("jax")
    assert TRAINERS["procurl-iid"].make(16, 1)() == N_STEPS


@pytest.mark.parametrize("name", ["none", "procurl", "by-hand"])
def test_curricula_in_stable_baselines_train_for_one_update(name):
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("jax")
    from contenders import callbacks

    assert callbacks.turn_of(callbacks.TEACHINGS[name], 20)() == N_STEPS
