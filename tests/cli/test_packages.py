"""Missing packages: the command line names all of them, and one command that installs them."""

import pytest

from procurl.cli import main, packages
from procurl.internals import extras

TRAINERS = {"jax", "optax", "stable_baselines3", "gymnasium"}


@pytest.fixture
def hide(monkeypatch):
    """Call it with the packages that are to be missing."""

    def hide_packages(missing):
        for module in (extras, packages):
            monkeypatch.setattr(module, "find_spec", lambda name: None if name in missing else True)

    return hide_packages


@pytest.mark.parametrize(
    ("missing", "options", "message"),
    [
        ({"PIL"}, ["pointmass-s"], "pillow is not installed: pip install 'procurl[report]'"),
        (
            {"matplotlib", "PIL", *TRAINERS},
            ["pointmass-s"],
            "matplotlib, pillow, jax and optax are not installed: "
            "pip install 'procurl[report,jax]'",
        ),
        (
            {"matplotlib", *TRAINERS},
            ["CartPole-v1"],
            "matplotlib, stable-baselines3 and gymnasium are not installed: "
            "pip install 'procurl[report,sb3]'",
        ),
        (
            TRAINERS,
            ["CartPole-v1", "--engine", "host"],
            "jax, optax and gymnasium are not installed: pip install 'procurl[jax,sb3]'",
        ),
        (TRAINERS, ["pointmass-s", "--algo", "SAC"], "pip install 'procurl[sb3]'"),
        (
            {"mujoco", "ray"},
            ["antgoal", "--backend", "ray"],
            "mujoco and ray are not installed: pip install 'procurl[mujoco,ray]'",
        ),
        # Our PPO could train it, and so could Stable-Baselines3.
        ({"gymnasium"}, ["CartPole-v1"], "gymnasium is not installed"),
    ],
)
def test_compare_names_everything_that_is_missing_at_once(missing, options, message, hide, capsys):
    hide(missing)
    assert main(["compare", *options]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1


@pytest.mark.parametrize("command", [["report", "x"], ["paper", "metrics-pointmass-s"]])
def test_pages_need_the_packages_for_figures(command, hide, capsys):
    hide({"matplotlib", "PIL"})
    assert main(command) == 2
    assert "matplotlib and pillow are not installed: pip install 'procurl[report]'" in (
        capsys.readouterr().err
    )
