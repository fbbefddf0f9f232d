"""TaskEnv: what is played next, how the environment learns of it, what is remembered."""

import pickle

import cloudpickle  # type: ignore[import-untyped]
import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.wrappers import FlattenObservation
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

from procurl import TaskPool
from procurl.envs.adapters.task_env import TaskEnv


class Countdown(gymnasium.Env):
    """Ends after as many steps as its task says; the observation is what it was reset with."""

    observation_space = Box(-np.inf, np.inf, (2,), np.float64)
    action_space = Discrete(2)

    def __init__(self, says_success=True):
        self.says_success = says_success
        self.resets = []  # (seed, options) as they came
        self.level = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.resets.append((seed, options))
        chosen = (options or {}).get("context", (options or {}).get("task", self.level))
        if isinstance(chosen, dict):
            chosen = chosen["steps"]
        self.left = int(np.ravel(chosen)[0]) if chosen is not None else int(seed or 0) % 3 + 1
        return self._observation(), {"task": "the environment's own"}

    def step(self, action):
        self.left -= 1
        done = self.left == 0
        info = {"is_success": bool(action)} if done and self.says_success else {}
        return self._observation(), float(action), done, False, info

    def _observation(self):
        return np.array([self.left, self.np_random.random()])


LENGTHS = TaskPool([[1.0], [2.0], [3.0], [4.0]])


def set_level(env, task):
    env.unwrapped.level = task["steps"]


def make_worker():
    return Monitor(TaskEnv(Countdown(), LENGTHS))


def played_ids(env, episodes):
    ids = []
    for _ in range(episodes):
        ids.append(env.reset()[1]["task"])
        while not env.step(1)[2]:
            pass
    return ids


def test_pushed_tasks_are_played_in_order():
    env = TaskEnv(Countdown(), LENGTHS)
    env.push_tasks([3, 0, 2])
    assert played_ids(env, 3) == [3, 0, 2]
    assert env.collect().tasks.tolist() == [3, 0, 2]


def test_pushing_again_drops_what_was_queued():
    env = TaskEnv(Countdown(), LENGTHS)
    env.push_tasks(np.array([3, 3, 3]))
    assert played_ids(env, 1) == [3]
    env.push_tasks([1])
    assert played_ids(env, 1) == [1]
    env.push_tasks([])
    env.reset(seed=0)


def test_an_empty_queue_falls_back_to_a_seeded_uniform_draw():
    env = TaskEnv(Countdown(), LENGTHS)

    def drawn(seed):
        first = env.reset(seed=seed)[1]["task"]
        return [first, *played_ids(env, 400)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert np.bincount(drawn(1), minlength=4).min() > 60


def test_the_user_can_pick_a_task_and_the_queue_stays():
    env = TaskEnv(Countdown(), LENGTHS)
    env.push_tasks([2])
    observation, info = env.reset(options={"task": 3})
    assert (info["task"], observation[0]) == (3, 4.0)
    assert env.reset()[1]["task"] == 2


def test_contexts_are_passed_as_rows():
    env = TaskEnv(Countdown(), LENGTHS)
    env.reset(seed=5, options={"task": 2, "extra": "kept"})
    seed, options = env.unwrapped.resets[-1]
    assert seed == 5
    assert options["context"].tolist() == [3.0]
    assert options["extra"] == "kept"
    options["context"][:] = 0.0  # the environment may do what it likes with its copy
    assert LENGTHS.contexts[2].tolist() == [3.0]


def test_opaque_tasks_are_passed_as_they_are():
    tasks = [{"steps": 2}, {"steps": 1}]
    env = TaskEnv(Countdown(), TaskPool(tasks))
    observation, _ = env.reset(options={"task": 1})
    assert env.unwrapped.resets[-1] == (None, {"task": {"steps": 1}})
    assert observation[0] == 1.0


def test_seeds_are_passed_as_seeds():
    env = TaskEnv(Countdown(), TaskPool.from_seeds([10, 20, 30]))
    env.reset(options={"task": 1})
    assert env.unwrapped.resets[-1] == (20, None)
    first = [env.reset(seed=9)[1]["task"] for _ in range(3)]
    assert len(set(first)) == 1  # the caller's seed decides which of the levels is drawn
    assert env.unwrapped.resets[-1][0] == [10, 20, 30][first[0]]


def test_set_task_comes_before_a_plain_reset():
    env = TaskEnv(Countdown(), TaskPool([{"steps": 2}, {"steps": 4}]), set_task=set_level)
    observation, info = env.reset(seed=3, options={"task": 1})
    assert env.unwrapped.resets == [(3, None)]
    assert (observation[0], info["task"]) == (4.0, 1)


def test_a_seed_seeds_the_environment_too():
    env = TaskEnv(Countdown(), LENGTHS)
    first, again, other = (env.reset(seed=seed)[0][1] for seed in (1, 1, 2))
    assert first == again != other


def test_every_info_names_the_task():
    env = TaskEnv(Countdown(), LENGTHS)
    _, info = env.reset(options={"task": 3})
    infos = [info, *(env.step(0)[4] for _ in range(4))]
    assert [info["task"] for info in infos] == [3] * 5


def test_what_was_played_is_collected_once():
    env = TaskEnv(Countdown(), LENGTHS)
    env.push_tasks([2, 0])
    env.reset()
    for action in (1, 1, 0):
        env.step(action)
    env.reset()
    env.step(1)
    played = env.collect()
    assert played.tasks.tolist() == [2, 0]
    assert played.returns.tolist() == [2.0, 1.0]
    assert played.lengths.tolist() == [3, 1]
    assert played.success.tolist() == [0.0, 1.0]
    assert [len(column) for column in env.collect()] == [0, 0, 0, 0]


def test_an_episode_that_is_cut_short_is_not_recorded_and_the_running_one_continues():
    env = TaskEnv(Countdown(), LENGTHS)
    env.reset(options={"task": 3})
    env.step(1)
    env.reset(options={"task": 1})
    env.step(1)
    assert len(env.collect().tasks) == 0
    env.step(1)
    assert [column.tolist() for column in env.collect()] == [[1], [2.0], [2], [1.0]]


def test_success_is_unknown_where_the_environment_does_not_say():
    env = TaskEnv(Countdown(says_success=False), LENGTHS)
    played_ids(env, 2)
    assert np.isnan(env.collect().success).all()


class Says(gymnasium.Wrapper):
    """Says what it was given of an episode's success."""

    def __init__(self, env, success):
        super().__init__(env)
        self.success = success

    def step(self, action):
        *seen, _ = self.env.step(action)
        return (*seen, {"is_success": self.success})


@pytest.mark.parametrize("success", [True, np.True_, 1, 1.0, np.array([True]), np.array(1.0)])
def test_success_may_be_any_truth_value(success):
    env = TaskEnv(Says(Countdown(), success), LENGTHS)
    played_ids(env, 1)
    assert env.collect().success.tolist() == [1.0]


@pytest.mark.parametrize("success", ["yes", None, 0.5, np.array([True, False]), {}])
def test_success_that_is_not_a_truth_value_is_refused(success):
    env = TaskEnv(Says(Countdown(), success), LENGTHS)
    env.reset(options={"task": 0})
    with pytest.raises(ValueError, match=r"info\['is_success'\] must be True .* on task 0"):
        env.step(1)


def play_in(workers):
    """(tasks of the first episodes, tasks step by step, records) of two SB3 workers."""
    try:
        workers.seed(0)
        first = workers.reset()
        workers.env_method("push_tasks", [3, 1], indices=0)
        workers.env_method("push_tasks", np.array([0, 0, 2]), indices=1)
        tasks = []
        for _ in range(14):
            *_, infos = workers.step(np.array([1, 1]))
            tasks.append([info["task"] for info in infos])
        return [int(length) - 1 for length in first[:, 0]], tasks, workers.env_method("collect")
    finally:
        workers.close()


@pytest.mark.soak
def test_vectors_of_sb3_take_tasks_and_give_records_by_env_method():
    drawn, tasks, (left, right) = play_in(DummyVecEnv([make_worker, make_worker]))
    assert left.tasks[:3].tolist() == [drawn[0], 3, 1]
    assert right.tasks[:4].tolist() == [drawn[1], 0, 0, 2]
    assert left.lengths.tolist() == [int(LENGTHS.contexts[task, 0]) for task in left.tasks]
    in_processes = play_in(SubprocVecEnv([make_worker, make_worker]))
    assert in_processes[:2] == (drawn, tasks)
    np.testing.assert_equal(in_processes[2], [left, right])


def test_it_survives_pickling_with_its_queue():
    env = TaskEnv(Countdown(), TaskPool([{"steps": 2}, {"steps": 1}]), set_task=set_level)
    env.push_tasks([1, 0])
    assert played_ids(pickle.loads(pickle.dumps(env)), 2) == [1, 0]
    closure = TaskEnv(Countdown(), LENGTHS, set_task=lambda env, task: setattr(env, "level", task))
    closure.push_tasks([3])
    assert played_ids(cloudpickle.loads(cloudpickle.dumps(closure)), 1) == [3]


@pytest.mark.parametrize("name", ["PointMass-s", "BasicKarel"])
def test_it_serves_our_own_environments(name):
    inner = gymnasium.make(f"procurl.envs:procurl/{name}-v0")
    pool = inner.unwrapped.pool.subset([5, 6, 7])
    env = TaskEnv(inner, pool)
    env.push_tasks([2])
    observation, info = env.reset()
    expected, _ = inner.reset(options={"task": 7})
    np.testing.assert_array_equal(observation, expected)
    assert info["task"] == 2
    env.reset()
    _, _, terminated, _, info = env.step(5 if name == "BasicKarel" else np.zeros(2))
    assert terminated == (name == "BasicKarel")
    assert len(env.collect().tasks) == terminated


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([4], ValueError, "task must be from 0 to 3, got 4"),
        ([-1], ValueError, "task must be from 0 to 3, got -1"),
        ([0.5], ValueError, "ids must be a list of task ids"),
        (3, ValueError, "ids must be a list of task ids"),
        ([[1, 2]], ValueError, "ids must be a list of task ids"),
    ],
)
def test_bad_pushes_are_refused_and_the_queue_stays(ids, error, message):
    env = TaskEnv(Countdown(), LENGTHS)
    env.push_tasks([1])
    with pytest.raises(error, match=message):
        env.push_tasks(ids)
    assert env.reset()[1]["task"] == 1


def test_a_step_after_the_end_is_refused_and_not_counted():
    env = TaskEnv(Countdown(), LENGTHS)
    env.reset(options={"task": 0})
    while not env.step(0)[2]:
        pass
    with pytest.raises(RuntimeError, match="the episode has ended: call reset before step"):
        env.step(0)
    assert env.collect().tasks.tolist() == [0]
    env.reset(options={"task": 1})
    env.step(0)


def test_bad_use_is_refused():
    with pytest.raises(TypeError, match="pool must be a TaskPool or a TaskSpace, got ndarray"):
        TaskEnv(Countdown(), LENGTHS.contexts)
    with pytest.raises(TypeError, match="set_task must be a function"):
        TaskEnv(Countdown(), LENGTHS, set_task="level")
    env = TaskEnv(Countdown(), LENGTHS)
    with pytest.raises(TypeError, match="env has tasks already: wrap the environment itself"):
        TaskEnv(gymnasium.wrappers.TimeLimit(env, 5), LENGTHS)
    with pytest.raises(RuntimeError, match="the episode has not started: call reset before step"):
        env.step(0)
    with pytest.raises(TypeError, match="task must be the id of a task"):
        env.reset(options={"task": "first"})
    with pytest.raises(ValueError, match="reset option 'context' is set by TaskEnv"):
        env.reset(options={"context": [1.0]})


IS = "; this is the content of task 1: pass {'task': 1}"


@pytest.mark.parametrize(
    ("pool", "task", "message"),
    [
        (
            TaskPool([{"map": "a"}, {"map": "b"}]),
            {"map": "b"},
            "task must be the id of a task, an integer from 0 to 1, not the task itself, got "
            "{'map': 'b'} of type dict" + IS,
        ),
        (TaskPool(["a", "b"]), "c", "not the task itself, got 'c' of type str"),
        (TaskPool(["a", "b"]), None, "not the task itself, got None of type NoneType"),
        (TaskPool([[1.0, 2.0], [3.0, 4.0]]), np.array([3.0, 4.0]), "of type ndarray" + IS),
        (TaskPool([[1.0, 2.0], [3.0, 4.0]]), (3.0, 4.0), "got (3.0, 4.0) of type tuple" + IS),
        (TaskPool([[1.0, 1.0], [3.0, 4.0]]), 1.0, "got 1.0 of type float"),
        (TaskPool.from_seeds([7, 8]), 8, "from 0 to 1, got 8: the pool has 2 tasks" + IS),
        (TaskPool.from_seeds([7, 8]), 9, "from 0 to 1, got 9: the pool has 2 tasks"),
        (TaskPool(["a", "b"]), "x" * 1000, "…" + " of type str"),
    ],
)
def test_a_task_in_place_of_its_id_is_recognized(pool, task, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        TaskEnv(Countdown(), pool).reset(options={"task": task})
    assert str(caught.value).endswith(message)


gymnasium.register("tests/Countdown-v0", entry_point="tests.envs.adapters.test_task_env:Countdown")


def test_it_can_be_built_again_from_its_spec():
    env = TaskEnv(gymnasium.make("tests/Countdown-v0", says_success=False), LENGTHS, set_level)
    again = gymnasium.make(FlattenObservation(env).spec, disable_env_checker=True)
    assert isinstance(again, FlattenObservation)
    assert again.get_wrapper_attr("pool").fingerprint == LENGTHS.fingerprint
    assert not again.unwrapped.says_success
    assert again.unwrapped is not env.unwrapped


def test_a_spec_is_picklable_unless_a_lambda_is_in_it():
    made = gymnasium.make("tests/Countdown-v0")
    assert TaskEnv(made, LENGTHS, set_level).spec_is_picklable
    assert not TaskEnv(made, LENGTHS, lambda env, task: None).spec_is_picklable


def test_an_environment_without_state_dict_cannot_be_restored():
    env = TaskEnv(Countdown(), LENGTHS)
    env.reset(seed=0)
    saved = env.state_dict()
    assert saved["env"] is None
    with pytest.raises(ValueError, match="the environment cannot be restored"):
        env.load_state_dict(saved)
