"""`procurl strategies` as a user sees it."""

import re

import pytest

from procurl import Evidence, make_strategy, register_strategy, strategy_names
from procurl.cli import main
from procurl.cli.strategies import CRITIC, FIELDS, NOTHING, OUTCOMES, PARTS, ROLLOUTS
from procurl.strategies import registry
from procurl.strategies.registry import when_to_use
from tests.strategies.own_rule import AtMultiples


def printed_blocks(capsys, *names) -> dict[str, str]:
    """Blocks by name, in order; headings end with a colon."""
    assert main(["strategies", *names]) == 0
    blocks = re.split(r"\n(?=\S)", capsys.readouterr().out)
    named = (block.partition("\n") for block in blocks)
    return {name: text for name, _, text in named if not name.endswith(":")}


def printed_groups(capsys) -> dict[str, list[str]]:
    """Names under each heading."""
    assert main(["strategies"]) == 0
    groups: dict[str, list[str]] = {}
    for line in capsys.readouterr().out.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            names = groups.setdefault(line.removesuffix(":"), [])
        elif line and not line.startswith(" "):
            names.append(line)
    return groups


def test_every_name_is_listed_once_with_settings(capsys):
    blocks = printed_blocks(capsys)
    assert sorted(blocks) == sorted(strategy_names())
    assert "beta=20.0" in blocks["procurl-val"]
    assert "epsilon=" in blocks["procurl-val"]


def test_names_limit_the_list(capsys):
    everything = printed_blocks(capsys)
    some = printed_blocks(capsys, "space", "plr", "plr")
    assert sorted(some) == ["plr", "space"]
    assert all(text.strip() == everything[name].strip() for name, text in some.items())


def test_an_unknown_name_is_an_error_with_a_near_one(capsys):
    assert main(["strategies", "plr", "spce"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "'spce' is not known. Did you mean 'space'?" in printed.err


def test_variants_of_procurl_say_how_they_differ(capsys):
    blocks = printed_blocks(capsys)
    without_settings = [block.partition("  settings:")[0] for block in blocks.values()]
    assert len(set(without_settings)) == len(strategy_names())
    assert "PoS: The critic's value" in blocks["procurl-val"]
    assert "PoS: Wins and losses of the training episodes" in blocks["procurl-out"]
    assert "rollouts take 4 times the training steps" in blocks["procurl-env-4"]
    assert "PoS" not in blocks["iid"]


def test_strategies_are_grouped_by_what_they_need(capsys):
    groups = printed_groups(capsys)
    assert list(groups) == [OUTCOMES, CRITIC, ROLLOUTS, NOTHING, PARTS]
    assert next(iter(groups[OUTCOMES])) == "procurl"  # the default comes first
    assert {"procurl-val", "procurl-argmax", "space", "spdl", "plr"} <= set(groups[CRITIC])
    assert "procurl-out" in groups[OUTCOMES]
    assert {"procurl-env", "procurl-env-2", "easy", "hard"} <= set(groups[ROLLOUTS])
    assert groups[NOTHING] == ["iid", "target"]
    assert groups[PARTS] == ["mix", "switch"]


@pytest.mark.parametrize("name", strategy_names())
def test_a_line_says_when_to_use_each(name, capsys):
    when = when_to_use(name)
    assert 20 < len(when) <= 100
    assert when[0].isupper()
    assert when.endswith(".")
    assert printed_blocks(capsys)[name].startswith(f"  when: {when}\n")


def test_the_fields_of_the_groups_exist_and_cover_what_strategies_need():
    fields = set().union(*FIELDS.values())
    assert fields <= set(Evidence._fields)
    for name in strategy_names():
        assert set(make_strategy(name).needs) <= fields | {"noise"}


def test_a_custom_strategy_brings_its_own_line(capsys, monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    register_strategy("mine", AtMultiples, when="Only for tests.")
    register_strategy("mine-too", AtMultiples)
    blocks = printed_blocks(capsys)
    assert blocks["mine"].startswith("  when: Only for tests.\n")
    assert "when:" not in blocks["mine-too"]
