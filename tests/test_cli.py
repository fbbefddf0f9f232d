"""The command line as a user sees it."""

import pytest

from procurl import strategy_names
from procurl.cli import main


def test_strategies_lists_every_name_with_settings(capsys):
    assert main(["strategies"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == list(strategy_names())
    assert any("beta=20.0" in line for line in lines)


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["strategies", "--nonsense"]])
def test_bad_input_ends_with_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_version_is_told(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.startswith("procurl ")
