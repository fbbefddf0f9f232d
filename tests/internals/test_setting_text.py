"""Settings as text."""

import pytest

from procurl.internals.setting_text import read_settings


def test_a_setting_that_is_given_twice_is_refused():
    with pytest.raises(ValueError, match="PPO: gamma is given twice, as 0.5 and 0.6; keep one"):
        read_settings("gamma=0.5,n_steps=64,gamma=0.6", "PPO")


@pytest.mark.parametrize("text", ["beta", "beta=", "=3"])
def test_text_that_is_no_setting_is_refused(text):
    with pytest.raises(ValueError, match="is not a setting; write NAME=VALUE"):
        read_settings(text, "procurl-val")
