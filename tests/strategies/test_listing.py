"""Settings as a user would write them, and strategies made from that text."""

import re

import numpy as np
import pytest

from procurl import (
    PLR,
    Anneal,
    Mix,
    NoProgress,
    ProCuRL,
    Stage,
    Stages,
    Steps,
    Strategy,
    SuccessAbove,
    Switch,
    make_strategy,
)
from procurl.records.experiment import Contender
from tests.strategies.own_rule import AtMultiples


@pytest.mark.parametrize(
    ("strategy", "label"),
    [
        (Mix(), "mix"),
        (
            Mix((ProCuRL(beta=10.0, floor=0.25), PLR(rho=0.3)), (0.5, 0.5)),
            "mix:strategies=procurl-val[beta=10,floor=0.25]+plr[rho=0.3],weights=0.5+0.5",
        ),
        (
            Mix((Switch(second=Stages(keep=0.0)), Mix()), (2, 1)),
            "mix:strategies=switch[second=stages[keep=0]]+mix,weights=2+1",
        ),
        (
            Switch(PLR(), make_strategy("procurl-env-2"), Steps(5.0) | SuccessAbove(0.9)),
            "switch:first=plr,second=procurl-env-2,when=steps:5/above:0.9",
        ),
        (Stages(by="-width", until=NoProgress(400.0)), "stages:by=-width,until=no-progress:400"),
        (
            Stages(stages=(Stage({"a": (0.0, 1.5), "b": (2.0, 2.0)}), Stage())),
            "stages:stages=a:0:1.5+b:2:2/all",
        ),
        (Anneal(start={"a": (1.0, 1.0)}, steps=300), "anneal:start=a:1:1,steps=300"),
    ],
)
def test_a_label_holds_what_is_inside_and_can_be_parsed(strategy, label):
    contender = Contender.of(strategy)
    assert contender.label == label
    parsed = Contender.parse(label)
    assert make_strategy(parsed.strategy, **parsed.settings()) == strategy


def test_settings_without_a_text_still_tell_labels_apart():
    def labels(*strategies: Strategy) -> set[str]:
        return {Contender.of(strategy).label for strategy in strategies}

    ids = [Stages(stages=(Stage([0, i]), Stage())) for i in (1, 2)]
    masks = [Stages(stages=(Stage(np.arange(4) < i), Stage())) for i in (1, 2)]
    own = [Mix((AtMultiples(every=every), AtMultiples()), (0.5, 0.5)) for every in (2.0, 3.0)]
    both = [Switch(when=(Steps(1.0) | Steps(n)) & Steps(3.0)) for n in (7.0, 8.0)]
    assert len(labels(*ids, *masks, *own, *both)) == 8
    best = [make_strategy("procurl-val", p_star=np.array([0.5, last])) for last in (0.6, 0.7)]
    assert len(labels(*best)) == 2
    assert labels(best[0]) == labels(make_strategy("procurl-val", p_star=[0.5, 0.6]))


def test_parts_may_be_names_objects_or_both():
    expected = Mix((ProCuRL(beta=5.0), PLR()))
    assert make_strategy("mix", strategies=["procurl-val[beta=5]", PLR()]) == expected
    assert make_strategy("switch", first=PLR(), second="iid").first == PLR()


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("mix", {"strategies": "procurl-vall+iid"}, "Did you mean 'procurl-val'?"),
        ("mix", {"strategies": "plr[rho=0.3+iid"}, "'plr[rho=0.3+iid' is not a strategy: write"),
        ("mix", {"strategies": "plr[roh=1]+iid"}, "setting 'roh' is not one of 'plr'. Did you"),
        ("mix", {"strategies": "plr[rho]+iid"}, "'rho' is not a setting; write NAME=VALUE"),
        ("mix", {"beta": 5}, "setting 'beta' is not one of 'mix'. Its settings: strategies"),
        ("switch", {"beta": 5}, "setting 'beta' is not one of 'switch'."),
        ("switch", {"first": "plr[rho=7]"}, "rho must be a finite number of at least 0 and"),
        (
            "switch",
            {"when": "step:5"},
            "condition 'step' is not known. Did you mean 'steps'?",
        ),
    ],
)
def test_text_that_is_no_strategy_is_refused(name, settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make_strategy(name, **settings)
