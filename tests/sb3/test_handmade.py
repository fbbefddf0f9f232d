"""Hand-made curricula move on while a Stable-Baselines3 agent learns."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv

from procurl import make_strategy
from procurl.sb3 import CurriculumCallback
from tests.sb3.recording import Picks
from tests.sb3.walk import walk_env


def lengths_played(strategy, steps):
    """The length of the walk in every training episode, in order."""
    env = DummyVecEnv([walk_env] * 2)
    model = PPO("MlpPolicy", env, n_steps=64, batch_size=64, seed=3, device="cpu")
    picks = Picks()
    model.learn(steps, callback=[CurriculumCallback(strategy, seed=0), picks])
    return 1 + np.array(picks.tasks)


def test_stages_go_from_short_walks_to_long_ones():
    """Three stages of two lengths; a random walk wins the short ones soon enough."""
    lengths = lengths_played(make_strategy("stages", parts=3, until="above:0.6:10", keep=0), 2048)
    first, last = lengths[:30], lengths[-30:]
    assert set(first) <= {1, 2}
    assert last.max() == 6
    reached = [int(np.argmax(lengths > 2 * stage)) for stage in (1, 2)]
    assert 0 < reached[0] < reached[1]
    assert lengths[: reached[1]].max() <= 4


def test_a_box_grows_by_schedule():
    """From length 1, all lengths after 1024 steps: half of the way, 3.5, is at most 3."""
    lengths = lengths_played(make_strategy("anneal", start="length:1", share=0, steps=1024), 2048)
    early = len(lengths) // 8
    assert lengths[:early].max() <= 3
    assert lengths[-60:].max() == 6


def test_the_stage_is_logged_and_a_first_one_without_end_is_reported(caplog):
    model = PPO("MlpPolicy", walk_env(), n_steps=64, batch_size=64, seed=3, device="cpu")
    model.set_logger(logger := Logger(None, []))
    strategy = make_strategy("stages", parts=3, until="steps:1000000")
    seen = []

    class Look(Picks):
        def _on_rollout_end(self):
            seen.append(logger.name_to_value.get("curriculum/stage"))

    model.learn(192, callback=[CurriculumCallback(strategy, seed=0), Look()])
    assert seen[-1] == 0.0
    [message] = [text for text in caplog.messages if "at the end of training" in text]
    assert "the first of 4 stages was never left, so only its 2 tasks were played" in message


def test_a_switch_changes_what_is_played():
    first = "stages[stages=length:1:1]"
    strategy = make_strategy("switch", first=first, second="iid", when="steps:512")
    lengths = lengths_played(strategy, 1024)
    changed = int(np.argmax(lengths > 1))
    assert changed > 50
    assert set(lengths[changed:]) == {1, 2, 3, 4, 5, 6}
