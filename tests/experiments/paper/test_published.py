"""The paper's numbers ship whole, and a bad file is refused with line and reason."""

import math

import pytest

from procurl.experiments.paper.published import (
    ENVIRONMENTS,
    Key,
    published_number,
    published_numbers,
    published_settings,
    read_numbers,
)
from procurl.strategies import strategy_names

HEAD = "table,env,row,quantity,step,mean,ci95,seeds\n"
GOOD = "metrics,pointmass-s,iid,performance,250000,0.27,0.15,20\n"


def test_every_table_is_whole():
    keys = list(published_numbers())
    strategies = {key.row for key in keys if key.table == "metrics"}
    assert len(strategies) == 11
    assert strategies < set(strategy_names())
    for env in ("pointmass-s", "basickarel"):
        metrics = [key for key in keys if key.table == "metrics" and key.env == env]
        assert len(metrics) == 11 * (3 + 1 + 1)
        for table in ("beta", "noise", "gamma"):
            assert len([key for key in keys if (key.table, key.env) == (table, env)]) == 15
        assert len([key for key in keys if (key.table, key.env) == ("test", env)]) == 14
    assert len([key for key in keys if key.table == "hard"]) == 10


def test_some_numbers_as_printed():
    assert published_number("metrics", "pointmass-s", "procurl-env", 1_000_000) == (0.84, 0.14, 20)
    assert published_number("metrics", "basickarel", "plr", 500_000) == (0.23, 0.05, 10)
    assert (
        published_number("metrics", "basickarel", "hard", 1_000_000, "env_steps").mean == 35_200_000
    )
    assert published_number("metrics", "pointmass-s", "hard", 1_000_000, "minutes").mean == 332
    assert published_number("test", "basickarel", "space", 2_000_000, "best_test").mean == 0.64
    assert published_number("hard", "pointmass-s", "iid", 2_000_000) == (0.03, 0.03, 20)
    assert str(published_number("metrics", "pointmass-s", "procurl-out", 1_000_000)) == "–"


def test_the_plain_strategy_is_the_same_in_every_table():
    for env, beta in (("pointmass-s", "20"), ("basickarel", "10")):
        for step in (250_000, 500_000, 1_000_000):
            plain = published_number("metrics", env, "procurl-val", step)
            assert published_number("beta", env, beta, step) == plain
            assert published_number("noise", env, "0", step) == plain
            assert published_number("gamma", env, "1", step) == plain


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1: the columns must be"),
        (HEAD + "metrics,iid\n", "line 2: a row must have 8 cells, got 2"),
        (HEAD + GOOD + GOOD, "line 3: .* appears twice"),
        (HEAD + GOOD.replace("metrics", "metric"), "line 2: table must be one of"),
        (HEAD + GOOD.replace("pointmass-s", "pointmass"), "line 2: env must be one of"),
        (HEAD + GOOD.replace("0.27", "x"), "line 2: could not convert"),
        (HEAD + GOOD.replace("0.27", "nan"), "line 2: mean and ci95 must not be negative"),
        (HEAD + GOOD.replace("0.15", "-1"), "line 2: mean and ci95 must not be negative"),
        (HEAD + GOOD.replace(",20\n", ",0\n"), "line 2: step and seeds must be positive"),
    ],
)
def test_a_bad_file_is_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        read_numbers(text)


def test_a_missing_interval_is_nan():
    key = Key("metrics", "pointmass-s", "iid", "performance", 250_000)
    assert math.isnan(read_numbers(HEAD + GOOD.replace("0.15", ""))[key].half_width)


def test_settings_are_listed_for_every_environment():
    listed = published_settings()
    assert {key.env for key in listed} == set(ENVIRONMENTS)
    assert len([key for key in listed if key.owner == "ppo"]) == 13 * 5
    assert listed["antgoal", "spdl", "threshold"] == "100"
