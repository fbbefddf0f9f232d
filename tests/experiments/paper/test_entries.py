"""The entries of the paper: complete, valid, and found by name."""

import dataclasses
import re
from pathlib import Path

import pytest

from procurl.envs import environment_names
from procurl.experiments.paper.entries import ENTRIES, contenders_by_sweep, find_entries
from procurl.experiments.paper.sweeps import HARD, POINT_MASS
from procurl.experiments.presets import paper_strategy
from procurl.ppo.learning.settings import PPOSettings
from procurl.records.experiment import Contender


def test_the_paper_is_whole():
    sources = {entry.source for entry in ENTRIES.values()}
    assert {f"Figure {i}" for i in range(1, 13)} <= sources
    assert {"Theorem 1", "Theorem 2"} <= sources


def test_the_guide_lists_every_entry():
    page = (Path(__file__).parents[3] / "docs" / "paper.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`.+?) \|", page, flags=re.M)
    listed = [
        name.replace("…", ".+").replace("ENV", ".+")
        for name in re.findall(r"`([^`]+)`", " ".join(cells))
    ]
    assert not [name for name in ENTRIES if not any(re.fullmatch(each, name) for each in listed)]


def test_every_contender_is_a_strategy_with_settings_that_exist():
    for sweep, contenders in contenders_by_sweep(ENTRIES.values()).items():
        assert sweep.env in environment_names()
        for text in contenders:
            contender = Contender.parse(text)
            paper_strategy(sweep.env, contender.strategy, **contender.settings()).check()


def test_settings_of_ppo_exist():
    names = {field.name for field in dataclasses.fields(PPOSettings)}
    assert HARD.ppo == ("ent_coef=0.002",)
    assert {setting.partition("=")[0] for setting in HARD.ppo} <= names


def test_entries_share_their_runs():
    wanted = contenders_by_sweep(find_entries(["metrics-pointmass-s", "ablation-beta-pointmass-s"]))
    assert list(wanted) == [POINT_MASS]
    assert len(wanted[POINT_MASS]) == 13 + 4  # procurl-val is in both


def test_a_wrong_name_suggests_the_right_one():
    with pytest.raises(ValueError, match="Did you mean 'metrics-pointmass-s'"):
        find_entries(["metrics-pointmas-s"])


def test_the_beginning_of_names_is_answered_with_them():
    with pytest.raises(ValueError, match="start with it: theorem-1, theorem-2. `procurl"):
        find_entries(["theorem"])


def test_all_is_everything():
    assert [entry.name for entry in find_entries(["all"])] == list(ENTRIES)
