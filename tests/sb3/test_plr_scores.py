"""PLR's scores of a model's training episodes."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

from procurl import make_strategy
from procurl.sb3 import CurriculumCallback
from tests.sb3.recording import Picks
from tests.sb3.walk import walk_env


@pytest.mark.parametrize("kind", ["value_l1", "gae", "positive_value_loss"])
def test_scores_are_means_over_the_whole_episode(kind):
    strategy = make_strategy("plr", score=kind)
    callback = CurriculumCallback(strategy)
    advantages, ended = [], []

    class Watch(Picks):
        def _on_step(self):
            dones, infos = self.locals["dones"], self.locals["infos"]
            ended.append([infos[i]["task"] if dones[i] else None for i in range(2)])
            return True

        def _on_rollout_end(self):
            advantages.append(self.model.rollout_buffer.advantages.copy())

    model = PPO("MlpPolicy", DummyVecEnv([walk_env] * 2), n_steps=20, batch_size=40, device="cpu")
    model.learn(160, callback=[callback, Watch()])
    together = strategy.transition_score(np.concatenate(advantages))
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
