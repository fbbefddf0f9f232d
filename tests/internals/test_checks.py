"""Numbers out of range, and suggestions for mistyped names: what is close, and nothing else."""

import math

import pytest

from procurl.internals.checks import count_typos, require_number, suggest

NAMES = ["procurl-val", "procurl-out", "plr", "iid", "spdl", "easy", "learning-progress", "stages"]
VERSIONS = ["CartPole-v0", "CartPole-v1", "CartPoleSwing-v2", "x"]


@pytest.mark.parametrize("number", [10**400, -(10**400), math.nan, math.inf], ids=range(4))
def test_a_number_that_is_not_finite_is_named(number):
    with pytest.raises(ValueError, match=f"beta must be a finite number, got {number}"):
        require_number("beta", number)


@pytest.mark.parametrize(
    ("one", "other", "typos"),
    [
        ("plr", "plr", 0),
        ("", "plr", 3),
        ("prl", "plr", 1),  # swapped
        ("pl", "plr", 1),
        ("plrr", "plr", 1),
        ("plx", "plr", 1),
        ("procrul-vall", "procurl-val", 2),
        ("kitten", "sitting", 3),
    ],
)
def test_typos_by_hand(one, other, typos):
    assert count_typos(one, other) == count_typos(other, one) == typos


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("procurl-vall", "procurl-val"),
        ("procurlvl", "procurl-val"),
        ("prcourl-out", "procurl-out"),
        ("stagse", "stages"),
        ("sages", "stages"),
        ("idi", "iid"),
        ("PLR", "plr"),
        ("esay", "easy"),
        ("learning", "learning-progress"),  # its beginning
        (["iid"], "iid"),
    ],
)
def test_one_or_two_wrong_letters_are_understood(wrong, meant):
    assert suggest(wrong, NAMES) == f" Did you mean {meant!r}?"


@pytest.mark.parametrize(
    "wrong", ["curl", "pool", "ppo", "lazy", "random", "procurl-ucb", "teaching-progress", "x", ""]
)
def test_a_name_of_its_own_is_no_typo_of_another(wrong):
    assert suggest(wrong, NAMES) == ""


def test_a_beginning_means_the_shortest_name_in_its_latest_version():
    assert suggest("CartPole", VERSIONS) == " Did you mean 'CartPole-v1'?"
    assert suggest("y", VERSIONS) == ""  # any single letter would be close to x


def test_a_long_text_is_answered_at_once():
    assert suggest("a" * 1_000_000, NAMES * 1000) == ""
