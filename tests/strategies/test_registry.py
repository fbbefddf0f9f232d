"""Strategies by name, their settings, and a user's own."""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from procurl import (
    Curriculum,
    Evidence,
    ProCuRL,
    RolloutSuccess,
    Strategy,
    SuccessStrategy,
    TaskPool,
    TopRollouts,
    make_strategy,
    register_strategy,
    strategy_names,
)
from procurl.internals.settings import describe, flat_settings
from procurl.strategies import registry
from procurl.strategies.listing import listed_settings
from procurl.strategies.registry import strategy_name


@pytest.fixture
def empty_slot(monkeypatch):
    """The registry as it is, restored afterwards."""
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))


def test_every_strategy_of_the_paper_has_its_name():
    paper = "procurl-env procurl-env-2 procurl-env-4 procurl-val space space-alt spdl plr iid easy"
    assert {*paper.split(), "hard", "procurl-out"} <= set(strategy_names())


def test_settings_reach_the_strategy_and_the_estimate_inside():
    strategy = make_strategy("procurl-env", beta=10, c_rollouts=5, refresh_every=10240)
    assert strategy == ProCuRL(success=RolloutSuccess(c_rollouts=5, refresh_every=10240), beta=10)
    argmax: Any = make_strategy("procurl-argmax", v_max=60.0, gamma2=0.6)
    assert (argmax.success.v_max, argmax.gamma2) == (60.0, 0.6)


def test_settings_reach_the_estimate_whatever_the_hash_seed():
    strategy: Any = make_strategy("procurl-env", p_star=TopRollouts(), v_max=300.0)
    assert strategy.success.v_max == 300.0


def test_epsilon_adds_noise_to_the_estimate():
    strategy: Any = make_strategy("procurl-val", epsilon=0.05, v_max=2.0)
    assert strategy.epsilon == 0.05
    assert strategy.success.v_max == 2.0
    assert strategy.needs == ("values", "noise")
    assert make_strategy("procurl-val").needs == ("values",)


@pytest.mark.parametrize("name", strategy_names())
def test_a_strategy_knows_its_name_whatever_its_settings(name):
    strategy = make_strategy(name)
    assert strategy_name(strategy) == name
    settings = {"refresh_every": 7} if "refresh_every" in listed_settings(strategy) else {}
    assert strategy_name(make_strategy(name, **settings)) == name


def test_a_strategy_of_no_name_is_called_by_its_class():
    budget: Any = make_strategy("procurl-env", budget=3.0)
    assert strategy_name(budget) == "procurl-env"
    assert strategy_name(LeastPlayed()) == "LeastPlayed"


def test_budgets_are_in_the_names():
    for name, budget in (("procurl-env", None), ("procurl-env-2", 2.0), ("procurl-env-4", 4.0)):
        strategy: Any = make_strategy(name)
        assert strategy.success.budget == budget


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("procurl-vall", {}, "'procurl-vall' is not known. Did you mean 'procurl-val'?"),
        ("nonsense", {}, "Known strategies: procurl, procurl-group"),
        ("PLR", {}, "'PLR' is not known. Did you mean 'plr'?"),
        (["iid"], {}, "is not known. Did you mean 'iid'?"),
        (
            "easy",
            {"bta": 1},
            "refresh_every, v_min, v_max, measure, budget",
        ),
        ("procurl-val", {"bta": 1}, "'bta' is not one of 'procurl-val'. Did you mean 'beta'?"),
        ("procurl-val", {"c_rollouts": 5}, "'c_rollouts' is not one of 'procurl-val'"),
        ("iid", {"beta": 5}, "Its settings: patience"),
        ("spdl", {"epsilon": 5}, "'epsilon' is not one of 'spdl'"),
    ],
)
def test_unknown_names_are_answered_with_what_is_near(name, settings, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?").replace(".", r"\.")):
        make_strategy(name, **settings)


def test_settings_after_a_name_belong_to_make_strategy():
    with pytest.raises(ValueError, match="must be a name without settings") as error:
        make_strategy("procurl-val:beta=10,measure=success")
    assert str(error.value).endswith(
        "pass make_strategy('procurl-val', beta=10, measure='success')"
    )


@pytest.mark.parametrize("name", strategy_names())
def test_every_setting_that_is_listed_is_taken(name):
    strategy = make_strategy(name)
    listed = listed_settings(strategy)
    assert ("epsilon" in listed) == isinstance(strategy, SuccessStrategy)
    assert make_strategy(name, **listed) == strategy


def test_noise_that_is_there_is_listed_as_it_is():
    assert flat_settings(make_strategy("procurl-val", epsilon=0.2))["epsilon"] == 0.2


def test_argmax_has_no_setting_without_effect():
    for name in ("beta", "floor"):
        with pytest.raises(ValueError, match=f"'{name}' is not one of 'procurl-argmax'"):
            make_strategy("procurl-argmax", **{name: 0.5})


class LeastPlayedState(NamedTuple):
    played: Any  # [n] episodes so far


@dataclass(frozen=True)
class LeastPlayed(Strategy):
    """P(s) ∝ 1 / (1 + episodes played on s)^power."""

    power: float = 1.0

    @property
    def needs(self) -> tuple[str, ...]:
        return ("played",)

    def init(self, n: int) -> LeastPlayedState:
        return LeastPlayedState(np.zeros(n))

    def update(self, state: LeastPlayedState, evidence: Evidence) -> LeastPlayedState:
        return LeastPlayedState(state.played + evidence.played)

    def probabilities(self, state: LeastPlayedState) -> Any:
        weights = (1.0 + state.played) ** -self.power
        return weights / weights.sum()


def test_a_custom_strategy_works_like_the_others(empty_slot, tmp_path):
    register_strategy("least-played", LeastPlayed)
    assert "least-played" in strategy_names()
    curriculum = Curriculum(make_strategy("least-played", power=2.0), TaskPool.from_seeds(2))
    curriculum.observe(Evidence(10, played=[1, 0]))
    assert curriculum.probabilities() == pytest.approx([0.2, 0.8])
    curriculum.save(tmp_path / "state")
    again = Curriculum(make_strategy("least-played", power=2.0), TaskPool.from_seeds(2))
    assert again.load(tmp_path / "state").probabilities() == pytest.approx([0.2, 0.8])


def test_a_strategy_without_settings_says_that_it_has_none(empty_slot):
    @dataclass(frozen=True)
    class Plain(Strategy):
        needs = ("played",)

        def init(self, n: int) -> LeastPlayedState:
            return LeastPlayedState(np.zeros(n))

        def update(self, state: LeastPlayedState, evidence: Evidence) -> LeastPlayedState:
            return state

        def probabilities(self, state: LeastPlayedState) -> Any:
            return np.full(len(state.played), 1.0 / len(state.played))

    register_strategy("plain", Plain)
    with pytest.raises(ValueError, match="'beta' is not one of 'plain'. Its settings: it has none"):
        make_strategy("plain", beta=5)


def test_registering_refuses_a_taken_name_and_other_objects(empty_slot):
    with pytest.raises(ValueError, match="'iid' is registered already"):
        register_strategy("iid", LeastPlayed)
    with pytest.raises(TypeError, match="must be a dataclass derived from procurl.Strategy"):
        register_strategy("mine", dict)


@pytest.mark.parametrize("name", [5, "", "a b", "mine:beta", "a,b", "a=b", "a+b", "a[b]"])
def test_names_that_the_command_line_could_not_use_are_refused(empty_slot, name):
    with pytest.raises(ValueError, match="the name of a strategy must be text, not empty, and not"):
        register_strategy(name, LeastPlayed)


@pytest.mark.parametrize(
    ("needs", "error", "message"),
    [
        ("played", TypeError, "must be a property that returns a tuple of fields of Evidence"),
        (("playd",), ValueError, "Evidence has no field 'playd'. Did you mean 'played'?"),
        (("step",), ValueError, "Evidence has no field 'step'"),
    ],
)
def test_evidence_that_does_not_exist_is_refused_before_it_is_needed(
    monkeypatch, empty_slot, needs, error, message
):
    monkeypatch.setattr(LeastPlayed, "needs", needs)
    with pytest.raises(error, match=re.escape(message)):
        register_strategy("mine", LeastPlayed)
    with pytest.raises(error, match=re.escape(message)):
        Curriculum(LeastPlayed(), TaskPool([[0.0], [1.0]]))


def test_a_description_is_plain_json_with_types():
    described = describe(make_strategy("procurl-val", p_star=np.array([0.5, 1.0]), epsilon=0.1))
    assert described["type"] == "ProCuRL"
    assert described["p_star"] == [0.5, 1.0]
    assert described["success"]["type"] == "CriticSuccess"
    assert "kernel" not in describe(make_strategy("procurl-out"))["success"]
