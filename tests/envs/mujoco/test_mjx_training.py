"""The MuJoCo environments inside the JAX engine: runs train, are the same again, and resume."""

import subprocess
import sys

import jax
import numpy as np
import pytest

from procurl import TaskPool, make_strategy
from procurl.envs.ant_goal.mjx import MjxAntGoal
from procurl.envs.ball_catching.mjx import MjxBallCatching
from procurl.ppo.checkpoints import checkpoint_of, restore
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.learning.settings import PPOSettings
from procurl.ppo.runs import Runs
from tests.ppo.toy import same

TINY = PPOSettings(n_steps=64, batch_size=32, n_epochs=1, policy_layers=(8,), value_layers=(8,))
VAL = make_strategy("procurl-val", v_min=0.0, v_max=60.0)


def tiny_runs(env, eval_every):
    """One run in four environments, evaluated on two tasks."""
    pool = TaskPool(env.contexts_of(env.default_pool())[:2])
    plan = EvaluationPlan(every=eval_every)
    return Runs(env, pool, [VAL], [TINY], seeds=[0], n_envs=4, evaluation=plan)


@pytest.mark.soak  # each compiles a program with MJX in it
@pytest.mark.parametrize(
    ("env", "eval_every"),
    [
        (MjxBallCatching(), 128),  # with the second update
        (MjxAntGoal(), 10_000),  # never, as this would compile another program with MJX in it
    ],
    ids=["ball", "ant"],
)
def test_a_run_trains_and_resumes_bit_for_bit(env, eval_every):
    runs = tiny_runs(env, eval_every)
    before = jax.tree.map(np.asarray, runs.state.training.student.params)
    runs.advance()
    meta, arrays = checkpoint_of(runs)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    runs.advance()
    assert bool(runs.state.alive[0])
    assert not same(before, runs.state.training.student.params)
    assert np.isfinite(np.asarray(runs.state.training.lanes.observations)).all()

    again = tiny_runs(env, eval_every)
    restore(again, meta, arrays)
    again.advance()
    assert same(runs.state, again.state)
    performance, resumed = ([e.performance for e in r.evaluations[0]] for r in (runs, again))
    assert len(performance) == (eval_every == 128)
    assert np.isfinite(performance).all()
    assert performance == resumed


def test_settings_of_the_environments_are_there_without_jax():
    """Pools are read and contexts checked where neither JAX nor MuJoCo is needed."""
    program = (
        "import sys\n"
        "from procurl.envs.ant_goal.mjx import MjxAntGoal\n"
        "from procurl.envs.ball_catching.mjx import MjxBallCatching\n"
        "for env in (MjxAntGoal(), MjxBallCatching()):\n"
        "    env.contexts_of(env.default_pool())\n"
        "assert not {'jax', 'mujoco'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_missing_mjx_names_the_extra(monkeypatch):
    from procurl.envs.mujoco.physics import load_mjx

    monkeypatch.setitem(sys.modules, "mujoco.mjx", None)
    with pytest.raises(ImportError, match=r"procurl\[mujoco\]"):
        load_mjx()
