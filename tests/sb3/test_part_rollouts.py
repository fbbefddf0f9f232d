"""Rollouts on part of the pool with a Stable-Baselines3 model."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

from procurl import make_strategy
from procurl.sb3 import CurriculumCallback
from tests.sb3.walk import LENGTHS, walk_env
from tests.strategies.few_rollouts import EvenTasks


def trained(strategy, steps=160):
    """The callback after training, and the evidence that it passed on."""
    callback = CurriculumCallback(strategy, eval_env=walk_env)
    model = PPO("MlpPolicy", DummyVecEnv([walk_env]), n_steps=32, batch_size=32, seed=0)
    seen = []

    class Watched(CurriculumCallback):
        def _on_training_start(self):
            super()._on_training_start()
            observe = self.curriculum.observe
            self.curriculum.observe = lambda given: (seen.append(given), observe(given))

    callback.__class__ = Watched
    model.learn(steps, callback=callback)
    return callback, seen


def test_each_refresh_plays_other_tasks_and_reports_which():
    strategy = make_strategy("procurl-env", c_rollouts=3, refresh_every=32, rollout_tasks=2)
    callback, seen = trained(strategy)
    assert len(seen) == 4
    for evidence in seen:
        assert sorted(evidence.rollouts) == [0, 0, 0, 0, 3, 3]
        assert np.isfinite(evidence.rollout_success).all()
        assert (evidence.rollout_success[evidence.rollouts == 0] == 0).all()
    assert len({evidence.rollouts.tobytes() for evidence in seen}) > 1
    assert 0 < callback.teacher_steps <= 4 * 2 * 3 * 8


def test_rollouts_go_where_the_strategy_puts_weight():
    _, seen = trained(EvenTasks())
    assert seen
    for evidence in seen:
        assert np.flatnonzero(evidence.rollouts).tolist() == [2, 4]


def test_a_whole_pool_is_played_in_order():
    callback, seen = trained(make_strategy("procurl-env", c_rollouts=2, refresh_every=64))
    assert callback.curriculum.rollout_tasks().tolist() == list(range(len(LENGTHS)))
    assert (seen[0].rollouts == 2).all()


def test_sfl_keeps_tasks_of_its_sample():
    settings = {"c_rollouts": 4, "refresh_every": 32, "rollout_tasks": 3, "keep": 1, "floor": 0.1}
    callback, seen = trained(make_strategy("sfl", **settings))
    measured = np.flatnonzero(seen[-1].rollouts)
    kept = np.flatnonzero(callback.curriculum.probabilities() > 0.1 / len(LENGTHS) + 1e-9)
    assert len(measured) == 3
    assert 1 <= len(kept) <= 3
    assert set(kept) <= set(measured)


def test_optional_rollouts_stop_while_the_budget_is_spent_and_refreshes_do_not():
    """Budget 1.2: a fifth of the training steps so far, passed by one refresh at most."""
    callback, seen = trained(make_strategy("procurl", budget=1.2), steps=320)
    assert [evidence.step for evidence in seen] == [32 * update for update in range(1, 10)]
    played = [evidence.rollouts is not None for evidence in seen]
    assert played[0]
    assert not all(played)
    assert sum(played) > 1
    for evidence, rolled in zip(seen, played, strict=True):
        assert (evidence.rollout_success is not None) == rolled
        assert not rolled or (evidence.rollouts == 1).all()
    allowed, one_refresh = 0.2 * seen[-1].step, len(LENGTHS) * 8
    assert allowed - one_refresh <= callback.teacher_steps <= allowed + one_refresh


def test_an_early_budget_is_spent_at_the_beginning_of_the_training_that_learn_asks_for():
    """Budget 1.2 of 320 steps: 64 for rollouts, passed by one refresh at most."""
    settings = {"c_rollouts": 1, "refresh_every": 32, "budget": 1.2, "spending": "early"}
    callback, seen = trained(make_strategy("procurl-env", **settings), steps=320)
    assert callback.curriculum.strategy.rollout_plan().training_steps == 320
    played = [evidence.rollouts is not None for evidence in seen]
    assert len(played) == 9
    assert played == sorted(played, reverse=True)
    assert 1 < sum(played) < 9
    assert 64 <= callback.teacher_steps < 64 + len(LENGTHS) * 8
    assert callback.curriculum.probabilities() == pytest.approx(np.full(6, 1 / 6))
