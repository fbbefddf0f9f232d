"""Both MuJoCo environments: the same bits from the same seeds, threads or none, saved or not."""

import pickle
from copy import deepcopy

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from procurl import TaskEnv
from procurl.envs import GymEnv, GymVectorEnv, make_pool
from procurl.envs.ant_goal.host import HostAntGoal
from procurl.envs.ball_catching.host import HostBallCatching
from procurl.envs.mujoco.threads import THREADS_VARIABLE, Threads, thread_count
from procurl.internals.archive import read_archive, write_archive

NAMES = ("ballcatching", "antgoal")
HOSTS = {"ballcatching": HostBallCatching, "antgoal": HostAntGoal}
STEPS = {"ballcatching": 130, "antgoal": 12}  # the first pass the end of every first episode
N = 4


def actions_for(env, steps, seed=0):
    env.action_space.seed(seed)
    return [env.action_space.sample() for _ in range(steps)]


def through_a_file(saved, path):
    arrays = saved["state"]
    write_archive(path, {key: value for key, value in saved.items() if key != "state"}, arrays)
    meta, arrays = read_archive(path)
    return meta | {"state": arrays}


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_threads_changes_nothing(name):
    envs = [GymVectorEnv(HOSTS[name](threads=threads), 7) for threads in (1, 2, 3, 9)]
    firsts = [env.reset(seed=1) for env in envs]
    assert all(data_equivalence(first, firsts[0], exact=True) for first in firsts)
    for action in actions_for(envs[0], STEPS[name]):
        steps = [env.step(action) for env in envs]
        assert all(data_equivalence(step, steps[0], exact=True) for step in steps)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_episodes(name):
    env = GymVectorEnv(name, N)
    actions = actions_for(env, STEPS[name])
    runs = [(env.reset(seed=seed), [env.step(a) for a in actions]) for seed in (3, 3, 4)]
    assert data_equivalence(runs[0], runs[1], exact=True)
    assert not data_equivalence(runs[0], runs[2], exact=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_steps_independently(name):
    env = HOSTS[name](threads=2)
    states = env.initial(make_pool(name).contexts[:3])
    actions = np.zeros((3, len(env.action_low)))
    after = env.step(states, actions, None)
    for copy in (deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert copy == env
        assert data_equivalence(copy.step(states, actions, None), after, exact=True)


def test_random_starts_differ_between_sub_environments_and_episodes():
    env = GymVectorEnv("ballcatching", 3)
    seen = [env.reset(seed=0 if i == 0 else None, options={"task": [5] * 3})[0] for i in range(2)]
    assert len(np.unique(np.concatenate(seen)[:, 5])) == 6


@pytest.mark.parametrize("name", NAMES)
def test_a_vector_equals_task_environments_with_the_same_seeds(name):
    pool = make_pool(name)
    native = GymVectorEnv(name, N)
    ours = SyncVectorEnv(
        [lambda: TaskEnv(GymEnv(name), pool)] * N, autoreset_mode=AutoresetMode.SAME_STEP
    )
    tasks = np.random.default_rng(0).integers(len(pool), size=(N, STEPS[name]))
    native.push_tasks(tasks)
    for one, ids in zip(ours.envs, tasks, strict=True):
        one.push_tasks(ids.tolist())
    np.testing.assert_array_equal(native.reset(seed=8)[0], ours.reset(seed=8)[0])
    for action in actions_for(native, STEPS[name]):
        for left, right in zip(native.step(action)[:4], ours.step(action)[:4], strict=True):
            np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_episode_continues_bit_for_bit(name, tmp_path):
    env, other = GymEnv(name), GymEnv(name)
    env.reset(seed=2)
    actions = actions_for(env, 20)
    for action in actions[:10]:
        env.step(action)
    other.reset(seed=99)
    other.load_state_dict(through_a_file(env.state_dict(), tmp_path / "state"))
    for action in actions[10:]:
        assert data_equivalence(env.step(action), other.step(action), exact=True)
    assert data_equivalence(env.reset(), other.reset(), exact=True)


@pytest.mark.parametrize("name", [*NAMES, "pointmass-s"])
def test_saved_vectors_continue_bit_for_bit_with_their_queues_and_random_numbers(name, tmp_path):
    env, other = GymVectorEnv(name, N), GymVectorEnv(name, N)
    env.push_tasks([[1, 2, 3]] * N)
    env.reset(seed=2)
    actions = actions_for(env, 2 * STEPS.get(name, 100))
    half = len(actions) // 2 + 5
    for action in actions[:half]:
        env.step(action)
    other.load_state_dict(through_a_file(env.state_dict(), tmp_path / "state"))
    for action in actions[half:]:
        assert data_equivalence(env.step(action), other.step(action), exact=True)


def test_a_saved_state_is_not_changed_by_further_steps():
    env = GymVectorEnv("antgoal", 2)
    env.reset(seed=0)
    saved = env.state_dict()
    copies = {name: array.copy() for name, array in saved["state"].items()}
    env.step(env.action_space.sample())
    env.load_state_dict(saved)
    env.step(env.action_space.sample())
    assert data_equivalence(saved["state"], copies, exact=True)


def test_a_state_of_something_else_is_refused_and_changes_nothing():
    env = GymVectorEnv("ballcatching", 2)
    env.reset(seed=0)
    before = env.state_dict()
    ants, more = GymVectorEnv("antgoal", 2), GymVectorEnv("ballcatching", 3)
    other_pool = GymVectorEnv("ballcatching", 2, pool=make_pool("ballcatching", seed=9))
    for another, reason in ((ants, "has env"), (more, "3 sub-env"), (other_pool, "has pool")):
        another.reset(seed=0)
        with pytest.raises(ValueError, match=reason):
            env.load_state_dict(another.state_dict())
    damaged = env.state_dict()
    damaged["state"]["state.physics"] = damaged["state"]["state.physics"][:, :-1]
    with pytest.raises(ValueError, match="the saved physics must be float64 of shape"):
        env.load_state_dict(damaged)
    assert data_equivalence(env.state_dict(), before, exact=True)


def test_there_is_nothing_to_save_before_the_first_reset():
    with pytest.raises(RuntimeError, match="nothing to save: call reset"):
        gymnasium.make("procurl/BallCatching-v0").unwrapped.state_dict()


def test_threads_process_every_row_once_and_raise_errors():
    done = []
    for count in (1, 2, 5):
        Threads(count).share(7, lambda thread, rows: done.extend(rows))
    assert sorted(done) == sorted(3 * list(range(7)))

    def fails(thread, rows):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Threads(2).share(2, fails)


def test_the_number_of_threads_is_checked():
    with pytest.raises(ValueError, match="threads must be an integer of at least 1, got 0"):
        thread_count(0)


def test_without_an_argument_the_environment_variable_sets_the_threads(monkeypatch):
    monkeypatch.setenv(THREADS_VARIABLE, "3")
    assert thread_count(None) == 3
    assert thread_count(2) == 2
    monkeypatch.delenv(THREADS_VARIABLE)
    by_cores = thread_count(None)
    assert by_cores >= 1
    monkeypatch.setenv(THREADS_VARIABLE, "")
    assert thread_count(None) == by_cores


@pytest.mark.parametrize("value", ["0", "00", "-1", "2.5", "many"])
def test_threads_of_the_environment_that_are_not_a_number_are_refused(value, monkeypatch):
    monkeypatch.setenv(THREADS_VARIABLE, value)
    sentence = f"{THREADS_VARIABLE} must be an integer of at least 1, got '{value}'"
    with pytest.raises(ValueError, match=sentence):
        thread_count(None)
