"""Runs that step on the host continue from a checkpoint as if nothing had happened."""

import json

import pytest

from procurl import make_strategy
from procurl.ppo.evaluation_plan import EvaluationPlan
from procurl.ppo.host.checkpoints import host_checkpoint, restore_host
from tests.ppo.host.host_runs import after, host_run, native, task_env, vector_of
from tests.ppo.toy import PushCorridor, same

SLIPPERY = PushCorridor(slip=1.0)


def slippery_run(strategy):
    env, eval_env = native(env=SLIPPERY), native(5, SLIPPERY)
    return host_run(
        env, make_strategy(strategy), eval_env=eval_env, evaluation=EvaluationPlan(every=96)
    )


def everything(run):
    evaluations = [e._replace(seconds=0.0) for e in run.evaluations]
    return run.state, evaluations, run.lanes, run.picks.peek(), run.updates


@pytest.mark.parametrize("strategy", ["procurl-val", "procurl-env", "plr"])
@pytest.mark.parametrize("cut", [1, 3])
def test_a_resumed_run_equals_one_that_was_not_interrupted(strategy, cut):
    whole = after(5, slippery_run(strategy))
    meta, arrays = host_checkpoint(after(cut, slippery_run(strategy)))
    meta = json.loads(json.dumps(meta))  # plain values only
    resumed = slippery_run(strategy)
    restore_host(resumed, meta, arrays)
    after(5 - cut, resumed)
    assert same(everything(resumed), everything(whole))


def test_a_checkpoint_is_not_changed_by_training_on():
    run = after(2, slippery_run("procurl-val"))
    _, arrays = host_checkpoint(run)
    kept = {name: array.copy() for name, array in arrays.items()}
    after(1, run)
    assert same(arrays, kept)


def test_an_environment_without_state_dict_is_named():
    run = host_run(vector_of(task_env))
    with pytest.raises(TypeError, match="SyncVectorEnv does not: save only the weights"):
        host_checkpoint(run)
