"""Runs that step on the host continue from a checkpoint as if nothing had happened."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

from procurl import TaskEnv, make_strategy
from procurl.evidence import without_open_episodes
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.host.checkpoints import host_checkpoint, restore_host
from tests.ppo.host.host_runs import (
    NUMBERS,
    POOL,
    Counter,
    after,
    host_run,
    native,
    task_env,
    vector_of,
)
from tests.ppo.toy import SMALL, PushCorridor, same

SLIPPERY = PushCorridor(slip=1.0)


def slippery_run(strategy):
    env, eval_env = native(env=SLIPPERY), native(5, SLIPPERY)
    return host_run(
        env, make_strategy(strategy), eval_env=eval_env, evaluation=EvaluationPlan(every=96)
    )


@cache
def uninterrupted_run(strategy):
    return after(5, slippery_run(strategy))


def everything(run):
    evaluations = [e._replace(seconds=0.0) for e in run.evaluations]
    return run.state, evaluations, run.lanes, run.picks.peek(), run.updates


@pytest.mark.parametrize(
    "strategy", ["procurl-val", "procurl-env", "plr", "alp-gmm", "stages", "mix"]
)
@pytest.mark.parametrize("cut", [1, 3])
def test_a_resumed_run_equals_one_that_was_not_interrupted(strategy, cut):
    whole = uninterrupted_run(strategy)
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


def test_environments_with_state_resume_in_the_middle_of_their_episodes():
    def run():
        return host_run(vector_of(lambda: task_env(SLIPPERY)))

    whole = after(4, run())
    resumed = run()
    restore_host(resumed, *host_checkpoint(after(2, run())))
    assert same(everything(after(2, resumed)), everything(whole))


@pytest.mark.parametrize("wrapped", [False, True])
def test_environments_without_state_start_new_episodes_always_the_same(wrapped):
    """A wrapper around `TaskEnv` may have a state of its own, so it counts as one without."""

    def run():
        make = (lambda: TimeLimit(task_env(SLIPPERY), 9)) if wrapped else long_counter
        return host_run(vector_of(make), pool=POOL if wrapped else NUMBERS)

    trained = after(2, run())
    meta, arrays = host_checkpoint(trained)
    assert meta["env"] is None
    first, second = run(), run()
    for resumed in (first, second):
        restore_host(resumed, json.loads(json.dumps(meta)), arrays)
        assert same(without_open(resumed.state), without_open(trained.state))
        assert resumed.train_steps == trained.train_steps
        assert (resumed.lanes.gained == 0.0).all()
        after(2, resumed)
    assert same(everything(first), everything(second))


def long_counter():
    return TaskEnv(Counter(end=7, noise=1.0), NUMBERS)


def without_open(state):
    """`state` without the scores of episodes that have not ended, which are lost."""
    teaching = state.teaching
    episodes = without_open_episodes(teaching.episodes)
    return state._replace(teaching=teaching._replace(episodes=episodes))


def test_scores_of_lost_episodes_do_not_count_for_new_ones():
    def run():
        return host_run(
            vector_of(long_counter), make_strategy("plr"), replace(SMALL, n_steps=32), pool=NUMBERS
        )

    trained = after(1, run())
    assert (trained.state.teaching.episodes.open_length == 1.0).all()  # 8 steps, episodes of 7
    resumed = run()
    restore_host(resumed, *host_checkpoint(trained))
    assert (resumed.state.teaching.episodes.open_length == 0.0).all()
    assert (resumed.state.teaching.episodes.open_score == 0.0).all()


class Savable(Counter):
    """Its state is all JSON, without arrays."""

    def __init__(self):
        super().__init__(end=7, noise=1.0)

    def state_dict(self):
        return {"seen": self.seen.tolist(), "rng": self.np_random.bit_generator.state}

    def load_state_dict(self, saved):
        assert saved.keys() == {"seen", "rng"}
        self.seen = np.array(saved["seen"])
        self.np_random.bit_generator.state = saved["rng"]


def test_the_state_of_an_environment_needs_no_arrays():
    def run():
        return host_run(vector_of(lambda: TaskEnv(Savable(), NUMBERS)), pool=NUMBERS)

    whole = after(3, run())
    meta, arrays = host_checkpoint(after(1, run()))
    resumed = run()
    restore_host(resumed, json.loads(json.dumps(meta)), arrays)
    assert same(everything(after(2, resumed)), everything(whole))
