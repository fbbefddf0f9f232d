"""Playback: whole episodes, the same for the same seed, and a GIF that says how they ended."""

import math

import numpy as np
import pytest
from PIL import Image

from procurl.envs import make_array_env, make_host_env
from procurl.envs.karel.search import shortest_solutions
from procurl.envs.rendering import playback
from procurl.envs.rendering.playback import (
    BAR,
    FAILED,
    GAP,
    RUNNING,
    SUCCEEDED,
    WIDTH,
    play,
    write_gif,
)
from procurl.policy import make_policy

POINT_MASS = make_array_env("pointmass-s")
KAREL = make_array_env("basickarel")
OPEN, CLOSED = (0.0, 4.0, 1.0), (3.0, 1.0, 1.0)  # the straight way leads through the gate, or not
# A row of free cells: two moves to the east; the avatar faces east, direction 3.
EASY_KAREL = (0, 4, 3, 0, 6, 3, 0)


class Recorded:
    """Plays a list of actions, whatever it sees."""

    def __init__(self, actions):
        self.actions = list(actions)

    def act(self, obs):
        return self.actions.pop(0)


class Still:
    """Keeps all five joints of BallCatching's arm still."""

    def act(self, obs):
        return np.zeros(5)


def straight():
    """A linear policy that goes straight to the goal: a = −k·(position − goal) − d·velocity."""
    kernel = np.zeros((7, 2))
    kernel[[0, 1], 0] = -3.0, -2.0
    kernel[[2, 3], 1] = -1.0, -1.0
    head = {"output": {"kernel": kernel, "bias": [0.0, -3.0]}, "log_std": np.zeros(2)}
    params = {"head": head, "value": {"kernel": np.zeros((7, 1)), "bias": np.zeros(1)}}
    env = POINT_MASS
    return make_policy(params, "pointmass-s", env.action_low, env.action_high)


def solver():
    solution = shortest_solutions(np.array([EASY_KAREL], dtype=np.int32))
    return Recorded(solution.actions[0][: solution.lengths[0]])


def rgb(color):
    return tuple(int(color[k : k + 2], 16) for k in (1, 3, 5))


def test_an_episode_has_all_its_states_and_its_outcome():
    won, lost = (play(POINT_MASS, context, straight(), seed=1) for context in (OPEN, CLOSED))
    assert (won.success, won.total_reward) == (True, 1.0)
    assert (lost.success, lost.total_reward) == (False, 0.0)
    for episode in (won, lost):
        assert [int(state.steps[0]) for state in episode.states] == [*range(len(episode.states))]
        assert (episode.states[0].x[0], episode.states[0].y[0]) == (0.0, 3.0)
    assert abs(won.states[-1].y[0] + 3.0) < 0.3
    assert lost.states[-1].y[0] == 0.0


def test_the_seed_makes_the_episode():
    same, again, other = (play(POINT_MASS, OPEN, straight(), seed) for seed in (1, 1, 2))
    assert [s.x[0] for s in same.states] == [s.x[0] for s in again.states]
    assert [s.x[0] for s in same.states] != [s.x[0] for s in other.states]


def test_random_starts_are_drawn_from_the_seed():
    env = make_host_env("ballcatching")
    context = env.default_pool()[0]
    same, again, other = (play(env, context, Still(), seed) for seed in (1, 1, 2))
    first, second, third = (episode.states[0].physics for episode in (same, again, other))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, third)
    assert not np.array_equal(first, env.initial(np.array([context])).physics)
    assert same.total_reward == again.total_reward


def test_rewards_add_up_where_every_step_has_one():
    dense = make_array_env("pointmass-d")
    episode = play(dense, OPEN, straight(), seed=0)
    x, y = (np.array([getattr(s, name)[0] for s in episode.states[1:]]) for name in "xy")
    assert len(episode.states) == dense.horizon + 1
    np.testing.assert_allclose(
        episode.total_reward, np.exp(-0.6 * np.hypot(x, y + 3.0)).sum(), rtol=1e-5
    )


def test_karel_is_played_with_discrete_actions():
    episode = play(KAREL, EASY_KAREL, solver())
    assert episode.success
    assert len(episode.states) == 4
    assert not play(KAREL, EASY_KAREL, Recorded([5])).success


def test_a_policy_of_another_environment_is_refused():
    with pytest.raises(ValueError, match="the policy was trained on 7 numbers"):
        play(KAREL, EASY_KAREL, straight())
    with pytest.raises(ValueError, match="action must be from 0 to 5"):
        play(KAREL, EASY_KAREL, Recorded([6]))
    with pytest.raises(ValueError, match="action must be finite"):
        play(POINT_MASS, OPEN, Recorded([[np.nan, 0.0]]))
    with pytest.raises(ValueError, match="gate_width"):
        play(POINT_MASS, (0.0, 99.0, 1.0), straight())


def test_a_gif_shows_every_step_and_how_each_episode_ended(tmp_path):
    path = tmp_path / "out.gif"
    won, lost = write_gif(path, POINT_MASS, [OPEN, CLOSED], straight(), seed=3)
    assert (won.success, lost.success) == (True, False)
    assert path.stat().st_size < 500_000
    with Image.open(path) as image:
        assert image.width <= WIDTH
        assert image.n_frames == len(won.states)
        at = (GAP + 20, GAP + BAR // 2), (image.width - GAP - 20, GAP + BAR // 2)
        bars = []
        for frame in (0, len(lost.states) - 1, len(won.states) - 1):
            image.seek(frame)
            bars.append([image.convert("RGB").getpixel(place) for place in at])
    assert bars == [
        [rgb(RUNNING), rgb(RUNNING)],
        [rgb(RUNNING), rgb(FAILED)],
        [rgb(SUCCEEDED), rgb(FAILED)],
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["out.gif"]


def test_the_last_frame_is_the_last_picture_of_the_episode(tmp_path):
    (episode,) = write_gif(tmp_path / "k.gif", KAREL, [EASY_KAREL], solver())
    picture = KAREL.draw(episode.states).astype(int)
    with Image.open(tmp_path / "k.gif") as image:
        image.seek(image.n_frames - 1)
        shown = np.asarray(image.convert("RGB")).astype(int)
    shown = shown[GAP + BAR :, GAP:][: picture.shape[0], : picture.shape[1]]
    assert np.abs(shown - picture).max() <= 24
    assert np.abs(shown - picture).mean() < 0.5


def test_the_same_seed_writes_the_same_file(tmp_path):
    for name in ("a", "b"):
        write_gif(tmp_path / name, POINT_MASS, [CLOSED], straight(), seed=3)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("tasks", "columns", "rows"), [(1, None, 1), (3, None, 1), (4, None, 2), (4, 1, 4), (2, 9, 1)]
)
def test_episodes_are_placed_in_rows(tmp_path, tasks, columns, rows):
    class Finish:
        def act(self, obs):
            return 5

    write_gif(tmp_path / "k.gif", KAREL, [EASY_KAREL] * tasks, Finish(), columns=columns)
    with Image.open(tmp_path / "k.gif") as image:
        image.seek(image.n_frames - 1)
        bars = np.asarray(image.convert("RGB"))[:, GAP + 20] == rgb(FAILED)
    starts = np.diff(bars.all(axis=1).astype(int)) == 1
    assert starts.sum() == rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"contexts": []}, r"contexts must be 1 to 16 rows of numbers, got shape \[0\]"),
        ({"contexts": OPEN}, r"contexts must be 1 to 16 rows of numbers, got shape \[3\]"),
        ({"contexts": [OPEN] * 17}, r"got shape \[17, 3\]"),
        ({"columns": 0}, "columns must be an integer of at least 1"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"frames_per_second": 0.0}, "frames_per_second must be a finite number above 0"),
        ({"frames_per_second": 99.0}, "frames_per_second must be .* at most 50"),
    ],
)
def test_bad_arguments_write_nothing(tmp_path, arguments, message):
    given = {"contexts": [OPEN], **arguments}
    with pytest.raises(ValueError, match=message):
        write_gif(tmp_path / "out.gif", POINT_MASS, policy=straight(), **given)
    assert not list(tmp_path.iterdir())


def test_a_long_episode_is_drawn_in_few_frames_up_to_its_last(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(playback, "MAX_FRAMES", 12)
    caplog.set_level("INFO", "procurl.envs.rendering.playback")
    won, lost = write_gif(
        tmp_path / "out.gif", POINT_MASS, [OPEN, CLOSED], straight(), seed=3, frames_per_second=10
    )
    longest = max(len(won.states), len(lost.states)) - 1
    stride = math.ceil(longest / 11)
    count = math.ceil(longest / stride) + 1
    with Image.open(tmp_path / "out.gif") as image:
        assert image.n_frames == count <= 12
        image.seek(1)
        assert image.info["duration"] == 100 * stride
        image.seek(count - 1)
        assert image.convert("RGB").getpixel((GAP + 20, GAP + BAR // 2)) == rgb(SUCCEEDED)
    assert caplog.messages[0] == f"drawing frame 1 of {count}"
    assert len(caplog.messages) <= playback.PROGRESS_MESSAGES
