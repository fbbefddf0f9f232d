"""Pictures without a screen, and the error if they cannot be made."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest

from procurl.envs.mujoco import picture as mujoco_picture
from tests.envs.drawing import DRAWN_BY_MUJOCO, skip_unless_drawn


def drawn(env):
    frame = env.render()
    assert frame is not None
    return frame


def nearly_equal(left, right):
    """Whether pictures are the same but for how OpenGL rounds colors."""
    return bool(np.abs(left.astype(int) - right).max() <= 4)


@pytest.mark.parametrize("gym_id", DRAWN_BY_MUJOCO)
def test_two_environments_draw_the_same_and_in_turn(gym_id):
    skip_unless_drawn(gym_id)
    envs = [gymnasium.make(gym_id, render_mode="rgb_array") for _ in range(2)]
    for env in envs:
        env.reset(seed=3, options={"task": 1})
    first = [drawn(env) for env in envs]
    assert nearly_equal(*first)
    assert first[0].shape == (480, 480, 3)
    envs[0].step(envs[0].action_space.high)
    assert not nearly_equal(drawn(envs[0]), first[0])
    assert nearly_equal(drawn(envs[1]), first[1])


def test_the_ball_and_its_target_can_be_seen():
    skip_unless_drawn("procurl/BallCatching-v0")
    env = gymnasium.make("procurl/BallCatching-v0", render_mode="rgb_array")
    env.reset(seed=0, options={"context": [1.0, 0.9, 1.0]})
    red, green, blue = np.moveaxis(drawn(env).astype(int), 2, 0)
    assert ((red > green + 60) & (red > blue + 60)).sum() > 5
    assert ((green > red + 20) & (green > blue + 10)).sum() > 50


def test_where_nothing_can_draw_the_error_says_what_to_install(monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(mujoco_picture, "PROBE", "raise OSError('no {0} here')")
    with pytest.raises(OSError, match="libegl1.*libosmesa6.*no egl here.*no osmesa here"):
        mujoco_picture.drawing_backend.__wrapped__()


def test_the_setting_of_mujoco_is_respected(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    monkeypatch.setattr(mujoco_picture, "PROBE", "assert '{0}' == 'osmesa'")
    assert mujoco_picture.drawing_backend.__wrapped__() == "osmesa"


def test_without_mujoco_the_error_names_the_extra_and_pools_still_load():
    code = (
        "import sys; sys.modules['mujoco'] = None\n"
        "import gymnasium, procurl.envs\n"
        "print(len(procurl.envs.make_pool('ballcatching')))\n"
        "for name in ('BallCatching', 'AntGoal'):\n"
        "    try: gymnasium.make(f'procurl/{name}-v0').reset()\n"
        "    except ImportError as error: print(error)\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("100")
    assert shown.stdout.count("pip install 'procurl[mujoco]'") == 2
