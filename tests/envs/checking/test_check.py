"""The doctor finds every fault, and none where there is none."""

import time

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from procurl import TaskEnv, TaskPool
from procurl.envs import check_environment
from tests.envs.checking.findings import check, found
from tests.envs.checking.toy import LIMIT, POOL, Corridor


def test_a_sound_environment_has_no_notes():
    result = check(reports=1.0)
    assert {finding.level for finding in result.findings} == {"ok"}
    assert result.usable
    assert found(result, "tasks") == [
        ("ok", "all 8 first observations differ: the critic can tell tasks apart")
    ]
    assert found(result, "resets") == [("ok", "a task always starts in the same way")]
    assert result.strategy == "procurl"
    assert result.alternative == "procurl-val"
    assert "first observations" in result.reason
    assert result.reset_samples == 1
    assert result.policy == "MlpPolicy"


def test_a_task_that_changes_nothing_is_a_problem():
    result = check(uses=False)
    ((level, text),) = found(result, "tasks")
    assert level == "problem"
    assert text.startswith("the task changes nothing: with one seed and the same actions")
    assert "options['context']" in text
    assert "--set-task" in text
    assert not result.usable


def test_a_forgotten_task_is_explained_by_how_it_is_passed():
    objects = check(TaskPool(["short", "long"]), uses=False)
    assert "options['task']" in found(objects, "tasks")[0][1]
    seeds = check(TaskPool.from_seeds(5), uses=False, noise=0.0)
    assert "super().reset(seed=seed)" in found(seeds, "tasks")[0][1]

    assert not objects.usable
    assert not seeds.usable


@pytest.mark.parametrize("name", ["size", "length"])
def test_a_task_set_in_the_wrong_place_is_a_problem(name):
    def set_attribute(env, task):
        setattr(env, name, float(task[0]))

    inside = Corridor(uses=False)
    env = inside if name == "size" else gymnasium.wrappers.TimeLimit(inside, 20)
    result = check_environment(env, POOL, set_attribute, steps=500, seconds=60.0)
    ((level, text),) = found(result, "tasks")
    assert level == "problem"
    assert "env.unwrapped" in text


def test_a_task_that_only_matters_far_away_is_a_note():
    far = TaskPool([[50.0 + task] for task in range(4)], names=["length"])
    result = check(far, shows=False)
    ((level, text),) = found(result, "tasks")
    assert level == "note"
    assert text.startswith("the task changes the attribute 'length' of the environment, but in ")
    assert result.usable
    assert result.alternative == "procurl-out"


def test_a_set_task_that_works_is_no_problem():
    def set_length(env, task):
        env.unwrapped.length = task[0]

    result = check(set_task=set_length, uses=False)
    assert result.usable
    assert result.alternative == "procurl-val"


def test_tasks_that_look_alike_but_differ_want_a_strategy_without_a_critic():
    result = check(shows=False)
    note, later = found(result, "tasks")
    assert note[0] == "note"
    assert note[1].startswith("all 8 first observations are the same The critic cannot")
    assert later == ("ok", "those that look alike at first differ later")
    assert result.usable
    assert result.alternative == "procurl-out"


def test_some_tasks_that_look_alike_are_named():
    pool = TaskPool([[1.0], [2.0], [2.0], [3.0]], names=["length"])
    result = check(pool)
    note, twins = found(result, "tasks")
    assert "3 different first observations in 4 tasks (tasks 1, 2 look alike)" in note[1]
    assert twins[0] == "note"
    assert "1 of 1 pairs that look alike never differed (tasks 1, 2)" in twins[1]
    assert (
        found(result, "pool")[0][0],
        found(result, "pool")[0][1].partition(" Repeated")[0],
    ) == ("note", "1 of 4 tasks repeat an earlier row (task 2)")
    assert result.alternative == "procurl-val"


def test_a_constant_column_and_a_single_task_are_found():
    pool = TaskPool([[1.0, 9.8], [2.0, 9.8]], names=["length", "gravity"])
    assert "the same number in every task: gravity" in found(check(pool), "pool")[0][1]
    single = check(TaskPool([[1.0]]))
    assert found(single, "pool")[0][0] == "problem"
    assert not single.usable


def test_random_resets_want_several_samples():
    result = check(noise=0.5)
    ((level, text),) = found(result, "resets")
    assert level == "note"
    assert text.startswith("random: one task starts in different ways")
    assert "reset_samples=5" in text
    assert result.reset_samples == 5
    blind = check(noise=0.5, shows=False)
    assert found(blind, "resets") == [("ok", "random: one task starts in different ways")]
    assert blind.reset_samples == 1


def test_random_numbers_without_the_seed_hide_whether_tasks_differ():
    result = check(noise=0.5, seeded=False, shows=False)
    ((level, text),) = found(result, "resets")
    assert level == "note"
    assert "two resets to one task with one seed differ" in text
    assert "self.np_random" in text
    assert result.usable
    assert result.alternative == "procurl-out"
    assert found(result, "tasks") == []


def test_a_pool_of_seeds_that_do_not_repeat_is_a_problem():
    result = check(TaskPool.from_seeds(5), uses=False, noise=0.5, seeded=False)
    ((level, text),) = found(result, "resets")
    assert level == "problem"
    assert "so a seed is not a task" in text
    repeated = check(TaskPool.from_seeds(5), uses=False, noise=0.5)
    assert repeated.usable
    assert found(repeated, "resets") == [("ok", "a task always starts in the same way")]


def test_an_episode_that_never_ends_is_named(monkeypatch):
    monkeypatch.setattr("procurl.envs.checking.measure.EPISODE_LIMIT", 400)
    result = check(ends=False, steps=2000)
    ((level, text),) = found(result, "episodes")
    assert level == "problem"
    assert "did not end within 400 steps" in text
    assert "return gymnasium.wrappers.TimeLimit(env, max_episode_steps=…) from the func" in text
    assert result.measurements.play.steps == 800  # two are enough


def test_lengths_are_of_whole_episodes():
    play = check().measurements.play
    assert play.lengths.max() == LIMIT
    assert (play.lengths >= np.minimum(play.tasks + 1, LIMIT)).all()
    ((level, text),) = found(check(), "episodes")
    assert level == "ok"
    assert text.startswith(f"{len(play.lengths)} ended, at a median length of ")


def test_success_is_judged_by_what_is_reported():
    ((level, text),) = found(check(reports=1.0), "success")
    assert level == "ok"
    assert "reported in info['is_success']" in text
    ((level, text),) = found(check(reports=0.5), "success")
    assert level == "note"
    assert "of the episodes only" in text
    assert found(check(), "success") == [("ok", "returns are 0 or 1 and serve as success")]
    far = TaskPool([[50.0 + task] for task in range(4)], names=["length"])
    assert found(check(far), "success") == [("ok", "returns serve as success; all were 0")]
    ((level, text),) = found(check(cost=0.01), "success")
    assert level == "note"
    assert text.startswith("not reported: judged by the return")
    lines = str(check(cost=0.01)).splitlines()
    assert any("procurl-val:v_min=…,v_max=…" in line for line in lines)  # in one piece


def test_returns_that_never_differ_are_noted():
    far = TaskPool([[50.0 + task] for task in range(4)], names=["length"])
    ((level, text),) = found(check(far), "returns")
    assert level == "note"
    assert text.startswith("0 in every episode of a random policy")
    ((level, text),) = found(check(cost=0.01), "returns")
    assert level == "ok"
    assert text.startswith("90% of returns from ")
    assert "tasks average" in text
    assert "chance" not in text


def test_rare_rewards_are_seen():
    rare = TaskPool([[8.5], [9.0]], names=["length"])
    result = check(rare, steps=4000)
    returns = result.measurements.play.returns
    assert 0 < returns.mean() < 0.05
    assert found(result, "returns")[0][1].startswith(
        "all returns from 0 to 1 for a random policy, median 0"
    )


def test_tasks_that_are_equally_hard_are_noted():
    class Coin(Corridor):
        """Every task is a coin toss."""

        def step(self, action):
            seen, _, _, _, info = super().step(action)
            return seen, float(self.np_random.integers(2)), True, False, info

    result = check_environment(Coin(), POOL, steps=1000, seconds=60.0)
    ((level, text),) = found(result, "returns")
    assert level == "note"
    assert "which is no more than chance" in text


def test_an_environment_without_a_visible_end_is_checked_in_time():
    class Slow(Corridor):
        def step(self, action):
            time.sleep(0.01)
            return super().step(action)

    start = time.perf_counter()
    result = check_environment(Slow(ends=False), POOL, seconds=0.5)
    assert time.perf_counter() - start < 10
    ((level, text),) = found(result, "episodes")
    assert level == "note"
    assert "--seconds" in text
    speed = result.measurements.play.steps_per_second
    assert 1 < speed < 100
    assert found(result, "speed")[0][1].endswith("for 1,000,000 steps without learning")


def test_a_large_pool_is_sampled():
    pool = TaskPool([[1.0 + task / 1000] for task in range(1000)], names=["length"])
    starts = check(pool).measurements.starts
    assert len(starts.tasks) == 200
    assert starts.distinct == 200
    assert starts.tasks.max() > 900


def test_an_environment_with_tasks_needs_no_pool():
    env = gymnasium.wrappers.TimeLimit(TaskEnv(Corridor(), POOL), 5)
    result = check_environment(env, steps=500)
    assert len(result.pool) == 8
    assert result.measurements.play.lengths.max() == 5
    with pytest.raises(ValueError, match="pool is required: env is not a TaskEnv"):
        check_environment(Corridor())
    with pytest.raises(TypeError, match="env must be a Gymnasium environment, got <class"):
        check_environment(Corridor, POOL)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="steps must be an integer of at least 1, got 0"):
        check_environment(Corridor(), POOL, steps=0)
    with pytest.raises(ValueError, match="seconds must be a finite number above 0, got 0"):
        check_environment(Corridor(), POOL, seconds=0)


def test_masked_actions_are_not_played():
    class Masked(Corridor):
        def action_masks(self):
            return np.array([False, True])

        def step(self, action):
            assert action == 1
            return super().step(action)

    result = check_environment(Masked(), POOL, steps=200)
    assert result.usable
    assert (result.measurements.play.returns == 1).all()


def test_dictionaries_and_images_have_policies_of_their_own():
    class Framed(gymnasium.ObservationWrapper):
        def __init__(self, env):
            super().__init__(env)
            box = env.observation_space
            self.observation_space = spaces.Dict({"corridor": box, "goal": spaces.Discrete(9)})

        def observation(self, observation):
            return {"corridor": observation, "goal": np.int64(observation[0])}

    result = check_environment(Framed(Corridor()), POOL, steps=200)
    assert result.policy == "MultiInputPolicy"
    assert result.usable
    assert result.measurements.starts.distinct == 8
    assert "corridor: Box of shape (2,), float32; goal: Discrete(9)" in str(result)


class Declared(Corridor):
    """Other spaces than those that are played."""

    def __init__(self, observations=None, actions=None):
        super().__init__()
        self.observation_space = observations or self.observation_space
        self.action_space = actions or self.action_space

    def step(self, action):
        return super().step(0)


BOX = spaces.Box(-10.0, 10.0, (2,), dtype=np.float32)


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ({"observations": spaces.Tuple([BOX])}, "does not take Tuple observations Flatten them"),
        ({"observations": spaces.Sequence(BOX)}, "take Sequence observations Convert them in a"),
        ({"observations": spaces.Dict({"a": spaces.Dict({"b": BOX})})}, "take the Dict 'a' in"),
        ({"actions": spaces.Tuple([BOX])}, "does not take Tuple actions"),
        ({"actions": spaces.Discrete(2, start=5)}, "counts actions from 0, got Discrete(2, start"),
    ],
)
def test_spaces_that_training_refuses_are_problems(declared, text):
    result = check_environment(Declared(**declared), POOL, steps=50)
    level, words = found(result, "spaces")[-1]
    assert level == "problem"
    assert text in words
    assert not result.usable


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        ([-np.inf, -np.inf], [np.inf, np.inf], "actions are unbounded Stable-Baselines3 refuses"),
        ([0.0, -np.inf], [np.inf, 1.0], "2 of the 4 bounds of the actions are infinite Stable-"),
    ],
)
def test_infinite_bounds_of_actions_are_noted(low, high, text):
    actions = spaces.Box(np.float32(low), np.float32(high))
    result = check_environment(Declared(actions=actions), POOL, steps=50)
    ((level, words),) = found(result, "spaces")
    assert level == "note"
    assert words.startswith(text)
    assert result.usable


def test_a_task_is_not_blamed_after_a_few_steps():
    class Slow(Corridor):
        def reset(self, *, seed=None, options=None):
            time.sleep(0.05)
            return super().reset(seed=seed, options=options)

    result = check_environment(Slow(uses=False), POOL, seconds=0.2)
    ((level, text),) = found(result, "tasks")
    assert level == "note"
    assert text.startswith("the task changed nothing in the ")
    assert "--seconds" in text


def test_the_table_is_at_most_80_columns_wide():
    for result in (check(), check(uses=False), check(noise=0.5, cost=0.1, fails="step")):
        lines = str(result).splitlines()
        assert max(len(line) for line in lines) <= 80
        assert lines[0] == f"tasks              {POOL}"
    assert "problem  tasks     the task changes nothing" in str(check(uses=False))
    assert "                   -> " in str(check(uses=False))


def test_a_check_can_be_repeated():
    one, other = check(noise=0.5), check(noise=0.5)
    assert one.measurements.play.returns.tolist() == other.measurements.play.returns.tolist()
    assert one.measurements.starts.groups.tolist() == other.measurements.starts.groups.tolist()
