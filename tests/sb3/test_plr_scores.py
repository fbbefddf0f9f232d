"""PLR's scores of a model's training episodes."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from procurl import make_strategy
from procurl.sb3 import CurriculumCallback
from tests.sb3.recording import Picks
from tests.sb3.walk import walk_env


@pytest.mark.parametrize("kind", ["value_l1", "gae", "positive_value_loss", "maxmc"])
def test_scores_are_means_over_the_whole_episode(kind):
    strategy = make_strategy("plr", score=kind)
    callback = CurriculumCallback(strategy)
    advantages, values, ended = [], [], []

    class Watch(Picks):
        def _on_step(self):
            dones, infos = self.locals["dones"], self.locals["infos"]
            ended.append([infos[i]["task"] if dones[i] else None for i in range(2)])
            return True

        def _on_rollout_end(self):
            advantages.append(self.model.rollout_buffer.advantages.copy())
            values.append(self.model.rollout_buffer.values.copy())

    model = PPO("MlpPolicy", DummyVecEnv([walk_env] * 2), n_steps=20, batch_size=40, device="cpu")
    model.learn(160, callback=[callback, Watch()])
    together = strategy.transition_score(np.concatenate(advantages), np.concatenate(values))
    expected, latest = {}, {}
    for env in range(2):
        begun = 0
        for step, tasks in enumerate(ended):
            if (task := tasks[env]) is None:
                continue
            if step >= latest.get(task, -1):  # of two that end together the later environment's
                expected[task] = together[begun : step + 1, env].mean()
                latest[task] = step
            begun = step + 1
    assert len(expected) > 2
    for task, score in expected.items():
        assert callback.teacher.totals.score[task] == pytest.approx(score, rel=1e-5)


def test_values_are_on_the_scale_of_the_rewards():
    """`VecNormalize` divides rewards by their spread; values are multiplied by it again."""
    env = VecNormalize(DummyVecEnv([walk_env]), norm_obs=False, gamma=0.9)
    callback = CurriculumCallback(make_strategy("plr", score="maxmc"))
    values = []

    class Watch(Picks):
        def _on_rollout_end(self):
            spread = np.sqrt(env.ret_rms.var + env.epsilon)
            values.append(self.model.rollout_buffer.values[:, 0] * spread)

    model = PPO("MlpPolicy", env, n_steps=61, batch_size=61, device="cpu", seed=0)
    model.learn(61, callback=[callback, Watch()])
    totals = callback.teacher.totals
    length = int(totals.open_length[0])
    assert length > 0
    assert abs(np.sqrt(env.ret_rms.var + env.epsilon) - 1) > 0.1
    assert totals.open_score[0] == pytest.approx(-values[0][-length:].sum(), rel=1e-5)


def test_best_returns_are_those_of_the_episodes():
    callback = CurriculumCallback(make_strategy("plr", score="maxmc"))
    model = PPO("MlpPolicy", DummyVecEnv([walk_env] * 2), n_steps=64, batch_size=64, device="cpu")
    model.learn(512, callback=callback)
    best = callback.teacher.totals.best
    seen = callback.curriculum._state.seen
    assert seen.sum() > 2
    assert np.isfinite(best[seen]).all()
    assert set(best[seen]) <= {0.0, 1.0}
    assert best[0] == 1.0  # one step to the right
