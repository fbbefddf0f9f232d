"""An environment whose `close` fails."""

import sys

import pytest

from procurl.envs.adapters.closing import close_env, closing_error
from tests.envs.checking.toy import Corridor


class Unclosable(Corridor):
    def close(self):
        raise RuntimeError("no window\nto close")


class Ending(Corridor):
    def close(self):
        sys.exit(3)


@pytest.mark.parametrize(
    ("env", "kind"), [(Unclosable, "RuntimeError: no window"), (Ending, "SystemExit: 3")]
)
def test_an_error_of_close_is_one_line_with_its_place(env, kind):
    close_env(env())
    error = closing_error(env())
    assert error.startswith(f"close() of the environment raised {kind} ({__file__}, line ")
    assert "\n" not in error


def test_an_environment_that_closes_has_no_error():
    assert closing_error(Corridor()) is None
