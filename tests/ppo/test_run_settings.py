"""What a batch of runs is given is checked before anything is compiled."""

from typing import Any

import numpy as np
import pytest

from procurl import make_strategy
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.run_settings import LAST_SEED, require_seed
from procurl.ppo.runs import Runs
from tests.ppo.toy import CONTEXTS, POOL, SMALL, StepCorridor

VAL = make_strategy("procurl-val")
PLAN: Any = EvaluationPlan  # that takes anything


def make(strategies=(VAL, VAL), ppo=(SMALL, SMALL), seeds=(0, 1), **others):
    given = {"env": StepCorridor(), "pool": POOL} | others
    return Runs(strategies=strategies, ppo=ppo, seeds=seeds, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seeds": [0]}, "one entry per run, .* got 2 strategies, 2 ppo, 1 seeds"),
        ({"ppo": [SMALL] * 3}, "got 2 strategies, 3 ppo, 2 seeds"),
        ({"strategies": [], "ppo": [], "seeds": []}, "at least one run, got 0 strategies"),
        ({"seeds": [0, -1]}, "every seed must be an integer of at least 0, got -1"),
        ({"seeds": [0, 2**32]}, f"every seed must be at most {LAST_SEED}, got 4294967296"),
        ({"n_envs": 0}, "n_envs must be an integer of at least 1, got 0"),
        ({"n_envs": -4}, "n_envs must be an integer of at least 1, got -4"),
    ],
)
def test_a_batch_with_bad_numbers_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        make(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"strategies": VAL}, "strategies must be a list with one entry per run, got ProCuRL"),
        ({"strategies": "procurl"}, "strategies must be a list with one entry per run"),
        ({"strategies": [VAL, 3]}, "strategy must be a Strategy, .* or a name"),
        ({"ppo": SMALL}, "ppo must be a list with one entry per run, got PPOSettings"),
        ({"ppo": [SMALL, None]}, "every entry of ppo must be PPOSettings, .* got None"),
        ({"seeds": 2}, "seeds must be a list with one entry per run, got 2"),
        ({"seeds": [0, 0.5]}, "every seed must be an integer of at least 0, got 0.5"),
        ({"env": "pointmass-s"}, "env must be an ArrayEnv, as from make_array_env, got 'pointmass"),
        ({"pool": [POOL, CONTEXTS]}, "every entry of pool must be a TaskPool, got ndarray"),
        ({"evaluation": None}, "evaluation must be an EvaluationPlan, got None"),
        (
            {"evaluation": PLAN(test_pool=CONTEXTS)},
            r"evaluation\.test_pool must be a TaskPool, got ndarray",
        ),
        (
            {"evaluation": PLAN(whole_at=64)},
            r"evaluation\.whole_at must be a list of training steps, got 64",
        ),
        (
            {"evaluation": PLAN(whole_at=[0.5])},
            r"every step of evaluation\.whole_at must be an integer of at least 0, got 0\.5",
        ),
    ],
)
def test_a_batch_with_entries_of_another_kind_is_refused(given, message):
    with pytest.raises(TypeError, match=message):
        make(**given)


def test_seeds_may_be_integers_of_numpy():
    require_seed("seed", np.int64(LAST_SEED))
    with pytest.raises(ValueError, match="seed must be at most"):
        require_seed("seed", np.int64(LAST_SEED + 1))


class Idle(StepCorridor):
    """Without actions of any kind."""

    n_actions: Any = None


def test_an_environment_without_actions_is_refused():
    with pytest.raises(ValueError, match="Idle must have n_actions, or action_low and action_high"):
        make(env=Idle())


def test_strategies_may_be_names():
    assert make(["iid", "iid"]).strategies == [make_strategy("iid")] * 2
