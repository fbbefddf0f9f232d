"""The settings of PPO: the paper's table, what is refused, and no JAX."""

import subprocess
import sys
from dataclasses import fields, replace

import pytest

from procurl.ppo.learning.settings import COMPILED_IN, TRACED, PPOSettings, paper_settings

ENVIRONMENTS = ("pointmass-s", "pointmass-d", "basickarel", "ballcatching", "antgoal", "sgr")
TABLE = {
    "n_steps": (1024, 1024, 2048, 5120, 1024, 5120),
    "gamma": (0.99, 0.95, 0.99, 0.99, 0.99, 0.99),
    "n_epochs": (10, 10, 10, 10, 10, 10),
    "learning_rate": (3e-4, 3e-4, 3e-4, 3e-4, 2e-5, 3e-4),
    "batch_size": (64, 64, 64, 64, 32, 256),
    "ent_coef": (0, 0, 0, 0, 5e-7, 0),
    "clip_range": (0.2, 0.2, 0.2, 0.2, 0.1, 0.2),
    "gae_lambda": (0.95, 0.95, 0.95, 0.95, 0.8, 0.95),
    "max_grad_norm": (0.5, 0.5, 0.5, 0.5, 0.6, 0.5),
    "vf_coef": (0.5, 0.5, 0.5, 0.5, 0.7, 0.5),
    "shared_layers": ((64,), (64,), (), (64,), (), (64,)),
    "policy_layers": ((64,), (64,), (512, 256), (64,), (512, 512), (32,)),
    "value_layers": ((64,), (64,), (256, 128), (64,), (512, 512), (32,)),
}


@pytest.mark.parametrize("column", range(6))
def test_paper_settings_are_those_of_the_appendix(column):
    settings = paper_settings(ENVIRONMENTS[column])
    settings.check()
    assert {name: getattr(settings, name) for name in TABLE} == {
        name: row[column] for name, row in TABLE.items()
    }


def test_every_field_is_either_traced_or_compiled_in():
    assert {*TRACED} ^ {*COMPILED_IN} == {field.name for field in fields(PPOSettings)}


def test_an_unknown_environment_is_refused_with_a_suggestion():
    with pytest.raises(ValueError, match="'pointmas-s' has no .* Did you mean 'pointmass-s'"):
        paper_settings("pointmas-s")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_steps": 100}, "batch_size must divide n_steps.* batch_size=64 and n_steps=100"),
        ({"batch_size": 1}, "batch_size must be an integer of at least 2, got 1"),
        ({"n_steps": 32}, "batch_size must be at most n_steps, .* batch_size=64 and n_steps=32"),
        ({"n_epochs": 0}, "n_epochs must be"),
        ({"learning_rate": 0.0}, "learning_rate must be a finite number above 0, got 0.0"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"gamma": 1.01}, "gamma must be a finite number of at least 0 and at most 1"),
        ({"gae_lambda": -0.1}, "gae_lambda"),
        ({"clip_range": 0.0}, "clip_range"),
        ({"ent_coef": -1.0}, "ent_coef"),
        ({"vf_coef": -1.0}, "vf_coef"),
        ({"max_grad_norm": 0.0}, "max_grad_norm"),
        ({"policy_layers": (64, 0)}, "every width in policy_layers must be"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        replace(PPOSettings(), **change).check()


def test_settings_need_no_jax():
    code = "import sys, procurl.ppo.learning.settings; sys.exit('jax' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("widths", [64, [64, 64]])
def test_widths_that_are_no_tuple_are_refused(widths):
    with pytest.raises(TypeError, match=r"policy_layers must be a tuple of widths, .* \(64, 64\)"):
        PPOSettings(policy_layers=widths).check()
