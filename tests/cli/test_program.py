"""The command line as a user sees it."""

import logging
import signal

import pytest

from procurl.cli import main
from procurl.cli import program as cli
from procurl.cli.training import integer
from procurl.envs import environment_names, make_array_env, make_pool
from procurl.envs.karel.pool import KINDS
from procurl.experiments.comparison import Summary


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["strategies", "--nonsense"]])
def test_bad_input_ends_with_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_pool_does_not_replace_a_file(tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text("mine")
    assert main(["pool", "pointmass-s", "--size", "2", "--out", str(path)]) == 2
    assert path.read_text() == "mine"


def test_an_empty_directory_name_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["compare", "pointmass-s", "--out", ""])
    assert "--out: the name of the directory is empty" in capsys.readouterr().err


def test_strategies_may_be_given_one_by_one():
    given = ["compare", "x", "--strategies", "iid", "--strategies", "procurl", "plr"]
    assert cli.make_parser().parse_args(given).strategies == ["iid", "procurl", "plr"]


def test_version_is_printed(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.startswith("procurl ")


@pytest.mark.parametrize("env", ["pointmass-s", "pointmass-d", "basickarel"])
def test_a_pool_that_was_written_is_read_back(env, tmp_path, capsys):
    path = tmp_path / "pool.csv"
    assert (
        main(["pool", env, "--size", "12", "--kind", "hard", "--seed", "5", "--out", str(path)])
        == 0
    )
    assert capsys.readouterr().out == f"{path}: 12 tasks\n"
    pool = make_array_env(env).read_pool(path)
    assert pool.fingerprint == make_pool(env, "hard", 12, 5).fingerprint


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pool", "pointmas-s", "--out", "x"], "Did you mean 'pointmass-s'?"),
        (["pool", "pointmass-s", "--kind", "odd", "--out", "x"], "kind must be one of uniform"),
        (["pool", "pointmass-s", "--size", "0", "--out", "x"], "size must be an integer"),
        (["pool", "pointmass-s", "--out", "/nowhere/x"], "No such file or directory"),
    ],
)
def test_a_bad_pool_is_one_sentence_and_status_2(arguments, message, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_envs_lists_every_environment_with_its_id(capsys):
    assert main(["envs"]) == 0
    printed = capsys.readouterr().out
    for name in environment_names():
        assert f"\n{name}\n" in "\n" + printed
    assert "procurl/BasicKarel-v0" in printed
    assert printed.lower().count("reward") == len(environment_names())


def test_a_mistyped_command_is_answered_with_the_nearest(capsys):
    with pytest.raises(SystemExit):
        main(["strategie"])
    assert "Did you mean 'strategies'?" in capsys.readouterr().err


COMMANDS = ("check", "compare", "train", "paper", "report", "export", "pool", "envs", "strategies")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"usage: procurl {command}")
    body = printed.partition("\n\n")[2]
    assert body[0].isupper()


@pytest.mark.parametrize("command", ["export", "report"])
def test_a_directory_without_results_is_named(command, tmp_path, capsys):
    assert main([command, str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert f"{tmp_path} holds no experiment: there is no results.sqlite in it" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "pointmass-s", "--stepz", "3"], "unknown: --stepz 3. Did you mean '--steps'?"),
        (["compare", "pointmass-s", "--seed", "3"], "Did you mean '--seeds'?"),
        (["train", "pointmass-s", "--strateg=iid", "--strategy", "iid"], "mean '--strategy'?"),
        (["compare", "pointmass-s", "--seeds", "many"], "--seeds: 'many' is not an integer"),
        (
            ["compare", "pointmass-s", "--steps", "1.5"],
            "'1.5' is not an integer. See",
        ),
        (
            ["compare", "pointmass-s", "--steps", "inf"],
            "argument --steps: 'inf' is not an integer",
        ),
        (["paper", "--steps", "1e-1"], "argument --steps: '1e-1' is not an integer"),
        (["compare"], "the following arguments are required: ENV"),
        (["expor"], "Did you mean 'export'?"),
        (["envs", "extra"], "unknown: extra."),
    ],
)
def test_a_bad_command_line_is_one_sentence_with_the_nearest_name(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert "--help" in error


@pytest.mark.parametrize("text", ["1000000", "1_000_000", "1e6", "1E+6", "1000000.0"])
def test_integers_may_be_written_in_several_ways(text):
    assert integer(text) == 1_000_000


def test_large_integers_keep_every_digit():
    assert integer(str(2**62 + 1)) == 2**62 + 1


def test_every_kind_of_pool_is_listed(capsys):
    with pytest.raises(SystemExit):
        main(["pool", "--help"])
    printed = "".join(capsys.readouterr().out.split())  # help wraps at hyphens
    assert all(kind in printed for kind in KINDS)


@pytest.fixture
def untrained(monkeypatch):
    """A `compare` that fails the test where it is called."""

    def compare(request):
        raise AssertionError("training has begun")

    monkeypatch.setattr("procurl.experiments.comparison.compare", compare)


TRAIN = ["train", "pointmass-s", "--strategy", "iid"]


@pytest.mark.parametrize(
    ("render", "message"),
    [
        ("a.png", "--render must be a file name ending in .gif, got {}"),
        ("folder.gif", "--render must be a file, got {}, which is a directory"),
        ("file/a.gif", "--render {} cannot be written: cannot create its directory (File exists)"),
    ],
)
def test_a_picture_that_cannot_be_written_is_refused_before_training(
    render, message, tmp_path, untrained, capsys
):
    (tmp_path / "folder.gif").mkdir()
    (tmp_path / "file").touch()
    path = tmp_path / render
    assert main([*TRAIN, "--out", str(tmp_path / "out"), "--render", str(path)]) == 2
    assert capsys.readouterr().err == f"procurl train: {message.format(path)}\n"
    assert not (tmp_path / "out").exists()


def test_a_picture_of_another_algorithm_is_refused_before_training(tmp_path, untrained, capsys):
    pytest.importorskip("stable_baselines3")
    out = ["--out", str(tmp_path / "out"), "--render", str(tmp_path / "a.gif")]
    assert main([*TRAIN, "--algo", "A2C", *out]) == 2
    assert "got --algo A2C: omit --render, and load the models with A2C.load" in (
        capsys.readouterr().err
    )


def test_a_picture_in_a_folder_without_permission_is_refused_before_training(
    tmp_path, untrained, capsys, monkeypatch
):
    monkeypatch.setattr("os.access", lambda path, mode: False)  # for root, all is writable
    path = tmp_path / "a.gif"
    assert main([*TRAIN, "--out", str(tmp_path / "out"), "--render", str(path)]) == 2
    assert (
        f"--render {path} cannot be written: no write permission in its directory"
        in capsys.readouterr().err
    )


def test_the_folder_of_a_picture_is_made_and_drawing_says_how_far_it_is(
    tmp_path, monkeypatch, capsys
):
    path = tmp_path / "new" / "folder" / "a.gif"

    def render(out, picture, strategy):
        assert picture.parent.is_dir()
        assert strategy == "iid"
        logging.getLogger("procurl.envs.rendering.playback").info("drawing frame 10 of 20")

    monkeypatch.setattr(
        "procurl.experiments.comparison.compare", lambda request: Summary("table", "sketch", None)
    )
    monkeypatch.setattr("procurl.experiments.comparison.render", render)
    assert main([*TRAIN, "--out", str(tmp_path / "out"), "--render", str(path)]) == 0
    assert capsys.readouterr().err == "drawing frame 10 of 20\n"
    assert not logging.getLogger("procurl.envs.rendering.playback").handlers


@pytest.mark.parametrize("command", [TRAIN, ["compare", "pointmass-s"], ["paper", "all"]])
@pytest.mark.parametrize("inside", ["", "deeper"])
def test_a_file_in_place_of_the_directory_is_reported(command, inside, tmp_path, untrained, capsys):
    file = tmp_path / "file"
    file.touch()
    assert main([*command, "--out", str(file / inside)]) == 2
    error = capsys.readouterr().err
    assert f"--out must be a directory, got {file / inside}: {file} is a file" in error


@pytest.mark.parametrize("env", ["pointmass-s", "basickarel"])
def test_a_directory_in_place_of_a_pool_is_reported(env, tmp_path, capsys):
    out = str(tmp_path / "out")
    assert main(["compare", env, "--pool", str(tmp_path), "--out", out]) == 2
    assert f"{tmp_path} is a directory: a pool is read from a CSV file" in capsys.readouterr().err


def test_the_exit_status_tells_that_every_run_stopped(tmp_path, monkeypatch, capsys):
    summary = Summary("table", "sketch", None, trained=False)
    monkeypatch.setattr("procurl.experiments.comparison.compare", lambda request: summary)
    assert main([*TRAIN, "--out", str(tmp_path)]) == 1
    assert "models" not in capsys.readouterr().out


def test_the_pictures_of_targets_are_listed(tmp_path, monkeypatch, capsys):
    summary = Summary("table", "sketch", tmp_path / "report.html")
    monkeypatch.setattr("procurl.experiments.comparison.compare", lambda request: summary)
    for name in ("curves-train", "curves-targets", "curves-env"):
        (tmp_path / f"{name}.png").touch()
    assert main(["compare", "pointmass-s", "--out", str(tmp_path)]) == 0
    pictures = f"{tmp_path / 'curves-train.png'}, {tmp_path / 'curves-targets.png'}"
    assert f"\npictures: {pictures}\n" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--pool", "--test-pool", "--target-pool"])
def test_a_pool_with_other_columns_is_refused_before_training(option, tmp_path, capsys):
    path = tmp_path / "pool.csv"
    path.write_text("foo,bar,baz\n0,1,1\n")
    out = str(tmp_path / "out")
    assert main(["compare", "pointmass-s", option, str(path), "--out", out]) == 2
    error = capsys.readouterr().err
    assert f"{path}: the pool's context columns must be gate_position, gate_width" in error
    assert "missing: gate_position, gate_width, friction; unknown: foo, bar, baz" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_kill_and_a_closing_terminal_end_a_command_as_ctrl_c_does(number, monkeypatch, capsys):
    before = signal.signal(number, signal.SIG_DFL)  # `nohup make test` ignores SIGHUP
    try:
        monkeypatch.setattr(cli, "_envs", lambda _: signal.raise_signal(number))
        assert main(["envs"]) == 130
        assert "run the same command to resume" in capsys.readouterr().err
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_nohup_ignores_a_closing_terminal(monkeypatch):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        monkeypatch.setattr(cli, "_envs", lambda _: signal.raise_signal(signal.SIGHUP) or 0)
        assert main(["envs"]) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_argument_that_is_not_text_is_refused(tmp_path, untrained, capsys):
    """As a name in bytes that are not UTF-8 arrives."""
    out = f"{tmp_path}/\udcff"
    assert main([*TRAIN, "--out", out]) == 2
    error = capsys.readouterr().err
    assert "\\xff' cannot be decoded as utf-8: rename the file or directory" in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())
