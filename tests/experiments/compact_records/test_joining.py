"""Records of several programs as one: what is taken, what is refused, where runs came from."""

import pytest

from procurl.envs import make_pool
from procurl.experiments.compact_records.joining import (
    join_records,
    setting_differences,
    settings_of,
    shared_settings,
)
from procurl.experiments.compact_records.record import Part
from procurl.records.results import RunId
from tests.experiments.compact_records.recorded import HERE, THERE, recorded, unfinished


def test_all_contenders_with_where_they_came_from():
    stopped = {RunId("hard", "", 1): 1024}
    joined = join_records(
        [recorded("iid"), recorded("hard", seeds=3, facts=THERE, stopped=stopped)]
    )
    assert joined.results.labels == ("iid", "hard")
    assert len(joined.results.runs) == 5
    assert joined.parts == [Part(("iid",), HERE), Part(("hard",), THERE)]
    assert joined.facts_of("hard")["width"] == 100
    assert joined.results.stopped == stopped
    assert [trend.label for trend in joined.trends] == ["iid"] * 2 + ["hard"] * 3
    for label, seeds in (("iid", 2), ("hard", 3)):
        alone = recorded(label, seeds=seeds).results.evaluations
        for run, measured in alone.items():
            assert str(joined.results.evaluations[run]) == str(measured)


def test_only_what_all_agree_on_is_said_of_the_whole():
    joined = join_records([recorded("iid"), recorded("hard", facts=THERE)])
    machine = {"processor": "a CPU"}
    assert joined.results.facts == {"machine": machine, "commands": ("here", "there")}


def test_parts_with_equal_facts_are_one():
    joined = join_records([recorded("iid"), recorded("spdl", facts=THERE), recorded("hard")])
    assert joined.parts == [Part(("iid", "hard"), HERE), Part(("spdl",), THERE)]


@pytest.mark.parametrize(("seeds", "taken"), [(1, HERE), (2, THERE), (3, THERE)])
def test_the_most_finished_runs_are_taken_and_of_equal_ones_the_last(seeds, taken):
    joined = join_records([recorded("iid"), recorded("iid", seeds=seeds, facts=THERE)])
    assert joined.parts == [Part(("iid",), taken)]
    assert len(joined.results.runs) == max(seeds, 2)


def test_unfinished_runs_do_not_count():
    more = unfinished(unfinished(recorded("iid", seeds=3, facts=THERE), "iid", 0), "iid", 1)
    assert join_records([recorded("iid"), more]).parts == [Part(("iid",), HERE)]


def test_one_joins_to_itself_and_none_is_an_error():
    one = recorded("iid", "hard")
    assert join_records([one, one]).results.runs == one.results.runs
    with pytest.raises(ValueError, match="there are no records to join"):
        join_records([])


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"env": "pointmass-d"}, "env is 'pointmass-d', not 'pointmass-s'"),
        ({"engine": "sb3"}, "engine is 'sb3', not 'jax'"),
        ({"steps": 50_000}, "steps is 50000, not 100000"),
        ({"n_envs": 4}, "n_envs is 4, not 1"),
        ({"pool": make_pool("pointmass-s", "hard")}, "pool_hash is"),
        ({"facts": {"test_hash": None}}, "test_hash is None, not 'abc'"),
        ({"facts": {"student": {"ent_coef": 0.002}}}, "PPO's ent_coef is 0.002, not 0.0"),
        ({"facts": {"eval_every": 50_000}}, "eval_every is 50000, not 25000"),
        ({"facts": {"eval_episodes": 4}}, "eval_episodes is 4, not 1"),
    ],
)
def test_other_experiments_are_refused(changed, named):
    facts = {"test_hash": "abc", "student": {"ent_coef": 0.0}}
    known = recorded("iid", facts={**facts, "eval_every": None, "eval_episodes": None})
    with pytest.raises(ValueError, match=f"cannot be joined: {named}.*its own --out"):
        join_records([known, recorded("hard", **changed)])


def test_unknown_settings_are_not_differences():
    settings = settings_of(recorded("iid"))
    assert not setting_differences(settings, settings | {"test_hash": "abc"})
    assert not setting_differences(settings | {"PPO's gamma": 0.9}, settings)


def test_none_means_the_papers_evaluations():
    def settings(**facts):
        return shared_settings("antgoal", "host", 5_000_000, 16, "abc", facts)

    assert settings(eval_every=None, eval_episodes=None)["eval_every"] == 100_000
    assert settings(eval_episodes=None) == settings(eval_episodes=10)
    assert setting_differences(settings(eval_episodes=4), settings(eval_episodes=None)) == (
        "eval_episodes is 4, not 10"
    )


def test_a_custom_environment_has_no_paper():
    settings = shared_settings("mine", "sb3", 1, 1, "abc", {"eval_every": None})
    assert settings["eval_every"] is None
