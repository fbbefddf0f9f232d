"""What a run of Stable-Baselines3 says when its algorithm fails."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from procurl import TaskPool
from procurl.envs import resolve_environment
from procurl.experiments.algorithms import AlgorithmSettings
from procurl.experiments.batches import Job, RunBatch
from procurl.experiments.engines.sb3_trainer import make_sb3_trainer
from procurl.internals.settings import describe
from procurl.records.experiment import Contender, Experiment
from tests.experiments.corridor import Corridor, lengths

HERE = "tests.experiments.engines.test_sb3_run"


class Blind(Corridor):
    """Shows NaN in the middle of the longest corridor."""

    def seen(self):
        return super().seen() * (np.nan if self.length == 6 and self.steps == 2 else 1)


class Broken(Corridor):
    def step(self, action):
        raise ArithmeticError("in physics")


def trainer(env, arguments, strategy="iid"):
    """PPO in an environment of this file or of `corridor`."""
    student = describe(AlgorithmSettings("PPO", "MlpPolicy", arguments))
    experiment = Experiment(env, "sb3", 256, n_envs=2, student=student)
    pool = TaskPool(lengths().contexts[1:], names=["length"])
    job = Job(experiment, pool, None, False, resolve_environment(env))
    return make_sb3_trainer(job, RunBatch(Contender(strategy), 0, 1))


def test_an_error_while_it_learns_lists_the_settings():
    run = trainer("tests.experiments.corridor:Corridor", {"n_steps": 32, "ent_coef": "auto"})
    message = "PPO cannot be trained with n_steps=32, ent_coef=auto: it raised TypeError: "
    with pytest.raises(ValueError, match=message):
        run.advance()


def test_an_observation_that_is_not_finite_is_named_instead_of_the_settings():
    run = trainer(f"{HERE}:Blind", {"n_steps": 32})
    message = r"an observation of task 1 \(length=6\) is not finite: look for a division by zero"
    with pytest.raises(ValueError, match=message):
        run.advance()


def test_an_error_of_the_environment_is_not_put_down_to_the_settings():
    run = trainer(f"{HERE}:Broken", {"n_steps": 32})
    with pytest.raises(ArithmeticError, match="in physics"):
        run.advance()
