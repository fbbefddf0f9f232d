"""PLR's scores, worked by hand."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

from procurl import make_strategy
from procurl.sb3 import CurriculumCallback
from procurl.sb3.scores import Ended, EpisodeScores
from tests.sb3.recording import Picks
from tests.sb3.walk import walk_env


def test_an_episode_is_scored_when_it_ends_and_carried_over_until_then():
    scores = EpisodeScores(n=4, n_envs=2)
    first = np.array([[1.0, 10.0], [3.0, 20.0], [5.0, 30.0]])
    scores.add(first, [Ended(1, 0, task=2), Ended(2, 1, task=0)])
    assert scores.score.tolist() == [20.0, 0.0, 2.0, 0.0]
    assert scores.played.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert scores.open_score.tolist() == [5.0, 0.0]
    assert scores.open_length.tolist() == [1.0, 0.0]
    second = np.array([[7.0, 1.0], [0.0, 1.0]])
    scores.add(second, [Ended(0, 0, task=1), Ended(1, 0, task=2)])
    assert scores.score.tolist() == [20.0, 6.0, 0.0, 0.0]  # (5 + 7) / 2; the latest of task 2
    assert scores.played.tolist() == [1.0, 1.0, 2.0, 0.0]
    assert scores.open_score.tolist() == [0.0, 2.0]
    assert scores.open_length.tolist() == [0.0, 2.0]
    scores.forget_played()
    scores.forget_open()
    assert not scores.played.any()
    assert not scores.open_length.any()


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
        assert callback.teacher.scores.score[task] == pytest.approx(score, rel=1e-5)
