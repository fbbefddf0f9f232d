"""The Gymnasium environments: contracts of Gymnasium and SB3, tasks, errors, pictures."""

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as sb3_check_env

import procurl.envs
from procurl import TaskPool
from procurl.envs.adapters.gym_env import GymEnv
from procurl.envs.point_mass.dynamics import SparsePointMass
from procurl.envs.registry import ENVIRONMENTS
from tests.envs.drawing import skip_unless_drawn

IDS = [spec.gym_id for spec in ENVIRONMENTS.values()]
CONTINUOUS = "procurl/PointMass-s-v0"
DISCRETE = "procurl/BasicKarel-v0"
STAY = np.zeros(2, dtype=np.float32)


@pytest.fixture
def env():
    return gymnasium.make(CONTINUOUS).unwrapped


def play(env, actions, seed=0, **options):
    """Observations and rewards of one episode, with the info of its end."""
    observation, info = env.reset(seed=seed, options=options or None)
    seen, rewards = [observation], []
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        assert not truncated
        seen.append(observation)
        rewards.append(reward)
        if terminated:
            break
    return np.stack(seen), rewards, info


def is_action_range(warning):
    return "symmetric and normalized" in str(warning.message)


@pytest.mark.parametrize("gym_id", IDS)
@pytest.mark.parametrize("check", [check_env, sb3_check_env], ids=["gymnasium", "sb3"])
def test_the_checkers_recommend_only_another_action_range(gym_id, check):
    skip_unless_drawn(gym_id)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check(gymnasium.make(gym_id, render_mode="rgb_array").unwrapped)
    assert [warning for warning in caught if not is_action_range(warning)] == []


@pytest.mark.parametrize("gym_id", IDS)
def test_the_module_form_of_an_id_registers_it(gym_id):
    code = f"import gymnasium; print(gymnasium.make('procurl.envs:{gym_id}').spec.id)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == gym_id


@pytest.mark.parametrize("gym_id", IDS)
def test_no_time_limit_stands_between_the_user_and_the_horizon(gym_id):
    wrapped = gymnasium.make(gym_id)
    assert wrapped.spec.max_episode_steps is None
    while isinstance(wrapped, gymnasium.Wrapper):
        assert not isinstance(wrapped, gymnasium.wrappers.TimeLimit)
        wrapped = wrapped.env


def test_the_horizon_terminates(env):
    env.reset(seed=0)
    ends = [env.step(STAY)[2:4] for _ in range(100)]
    assert ends == [(False, False)] * 99 + [(True, False)]


def test_the_same_seed_gives_the_same_episode(env):
    actions = np.random.default_rng(0).uniform(-10, 10, (30, 2)).astype(np.float32)
    first, again, other = (play(env, actions, seed=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(first[0], again[0])
    assert first[1:] == again[1:]
    assert not np.array_equal(first[0], other[0])


def test_noise_moves_the_mass_and_differs_from_step_to_step(env):
    env.reset(seed=0)
    speeds = [env.step(STAY)[0][1] for _ in range(3)]
    assert len(set(np.diff([0.0, *speeds]))) == 3


def test_tasks_are_drawn_uniformly_from_the_pool():
    env = GymEnv(SparsePointMass(), pool=TaskPool(np.array([[0, 1, 1], [1, 1, 1], [2, 1, 1]])))
    env.reset(seed=0)
    counts = np.bincount([env.reset()[1]["task"] for _ in range(900)], minlength=3)
    assert counts.min() > 250


@pytest.mark.parametrize("task", [0, np.int64(41), 99])
def test_a_task_is_picked_by_its_id(env, task):
    observation, info = env.reset(options={"task": task})
    context = env.pool.contexts[task]
    np.testing.assert_array_equal(observation[4:], context.astype(np.float32))
    assert info == {
        "task": int(task),
        "gate_position": context[0],
        "gate_width": context[1],
        "friction": context[2],
    }


def test_a_free_context_is_task_minus_1(env):
    observation, info = env.reset(options={"context": [1.0, 0.5, 4.0]})
    np.testing.assert_array_equal(observation[4:], [1.0, 0.5, 4.0])
    assert info == {"task": -1, "gate_position": 1.0, "gate_width": 0.5, "friction": 4.0}


def test_info_says_at_the_end_whether_the_goal_was_reached(env):
    through_the_gate = [np.array([0.0, -4.0], dtype=np.float32)] * 100
    _, rewards, info = play(env, through_the_gate, context=[0.0, 8.0, 4.0])
    assert rewards[:-1] == [0.0] * (len(rewards) - 1)
    assert (rewards[-1], info["is_success"]) == (1.0, True)
    _, rewards, info = play(env, through_the_gate, context=[4.0, 0.5, 4.0])
    assert (rewards[-1], info["is_success"]) == (0.0, False)
    env.reset(seed=0)
    assert "is_success" not in env.step(STAY)[4]


def test_the_features_of_a_pool_are_in_info_for_its_tasks_only():
    pool = TaskPool([[0.0, 1.0, 1.0], [2.0, 1.0, 1.0]], features={"age": [7, 8]})
    env = GymEnv(SparsePointMass(), pool=pool)
    assert env.reset(options={"task": 1})[1]["age"] == 8.0
    assert env.step(STAY)[4]["age"] == 8.0
    assert "age" not in env.reset(options={"context": [0.0, 1.0, 1.0]})[1]


def test_karel_reports_the_features_of_its_tasks():
    env = gymnasium.make(DISCRETE).unwrapped
    _, info = env.reset(options={"task": 5})
    assert info == {"task": 5} | {name: col[5] for name, col in env.pool.features.items()}
    assert env.reset(options={"task": env.pool[5]})[1] == {"task": -1}


def test_a_pool_may_be_a_file(tmp_path):
    pool = TaskPool([[0.5, 1.0, 2.0]], names=["gate_position", "gate_width", "friction"])
    pool.to_csv(tmp_path / "pool.csv")
    env = gymnasium.make(CONTINUOUS, pool=tmp_path / "pool.csv").unwrapped
    assert env.pool.fingerprint == pool.fingerprint


def test_actions_beyond_the_box_are_clipped(env):
    far = [np.array([50.0, -50.0])] * 5
    edge = [np.array([10.0, -10.0])] * 5
    np.testing.assert_array_equal(play(env, far)[0], play(env, edge)[0])


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (np.zeros(3), "must be numbers of shape"),
        (1.0, "must be numbers of shape"),
        (np.array(["a", "b"]), "must be numbers of shape"),
        (np.array([0.0, np.nan]), "must be finite"),
        (np.array([np.inf, 0.0]), "must be finite"),
    ],
)
def test_a_bad_continuous_action_is_refused_and_the_episode_continues(env, action, message):
    env.reset(seed=0)
    with pytest.raises(ValueError, match=f"action {message}"):
        env.step(action)
    env.step(STAY)


@pytest.mark.parametrize("action", [-1, 6, 1.0, [1], "move", None])
def test_a_bad_discrete_action_is_refused(action):
    env = gymnasium.make(DISCRETE).unwrapped
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action must be"):
        env.step(action)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": 100}, "task must be from 0 to 99, got 100"),
        ({"task": -1}, "task must be from 0 to 99, got -1"),
        (
            {"task": "wide"},
            "task must be the id of a task, an integer from 0 to 99, or a task itself, got str: "
            "a task must be 3 numbers .*, got 'wide'",
        ),
        ({"context": [0.0, 0.0, 1.0]}, "gate_width must be .* got 0.0"),
        ({"context": [9.0, 1.0, 1.0]}, "gate_position must be"),
        ({"context": [0.0, 1.0]}, "context must hold 3 numbers"),
        ({"context": "wide"}, "context must be numbers, got 'wide'"),
        ({"context": [0.0, 1.0, float("nan")]}, "friction must be"),
        ({"taks": 3}, "'taks' is not known. Did you mean 'task'"),
        ({"task": 3, "context": [0.0, 1.0, 1.0]}, "exclude each other"),
    ],
)
def test_bad_reset_options_are_refused_by_name(env, options, message):
    with pytest.raises(ValueError, match=message):
        env.reset(options=options)


def test_stepping_outside_an_episode_is_refused(env):
    with pytest.raises(RuntimeError, match="has not started: call reset before step"):
        env.step(STAY)
    env.reset(options={"context": [0.0, 8.0, 0.0]})
    while not env.step(np.array([0.0, -4.0]))[2]:
        pass
    with pytest.raises(RuntimeError, match="has ended: call reset before step"):
        env.step(STAY)
    env.reset()
    env.step(STAY)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="render_mode must be None or one of rgb_array"):
        GymEnv("pointmass-s", render_mode="human")
    with pytest.raises(ValueError, match=r"'pointmas-s' is not known. Did you mean 'pointmass-s'"):
        GymEnv("pointmas-s")
    with pytest.raises(TypeError, match="pool must be a TaskPool or the path"):
        GymEnv("pointmass-s", pool=[[0.0, 1.0, 1.0]])


@pytest.mark.parametrize("gym_id", IDS)
def test_pictures_are_rgb_and_show_progress(gym_id):
    skip_unless_drawn(gym_id)
    env = gymnasium.make(gym_id, render_mode="rgb_array").unwrapped
    with pytest.raises(RuntimeError, match="call reset before render"):
        env.render()
    env.reset(seed=0)
    before = env.render()
    assert before.dtype == np.uint8
    assert before.ndim == 3
    assert before.shape[2] == 3
    assert before.flags.writeable  # to draw on it
    env.step(env.action_space.high if gym_id != DISCRETE else 1)
    assert not np.array_equal(env.render(), before)
    assert env.metadata["render_fps"] > 0


def test_the_columns_of_a_pool_file_are_matched_by_name(tmp_path):
    path = tmp_path / "pool.csv"
    path.write_text("Friction,Gate_Width,Gate_Position\n0.5,1.0,1.5\n")
    env = GymEnv("pointmass-s", pool=path)
    names = ["gate_position", "gate_width", "friction"]
    assert env.pool.fingerprint == TaskPool([[1.5, 1.0, 0.5]], names=names).fingerprint
    path.write_text("context_0,context_1,context_2\n1.5,1.0,0.5\n")
    assert env.array_env.contexts_of(GymEnv("pointmass-s", pool=path).pool).tolist() == [
        [1.5, 1.0, 0.5]
    ]
    for header, fault in (
        ("foo,bar,baz", "missing: gate_position, gate_width, friction; unknown: foo, bar, baz"),
        ("friction,gate_width,Friction", "missing: gate_position; more than once: friction, Fri"),
        ("gate_position,gate_width,friction,note", r"order; unknown: note\. Rename"),
    ):
        path.write_text(f"{header}\n{','.join(['1'] * (header.count(',') + 1))}\n")
        with pytest.raises(ValueError, match=fault) as caught:
            GymEnv("pointmass-s", pool=path)
        assert str(caught.value).startswith(f"{path}: the pool's context columns must be")


def test_without_gymnasium_the_array_environments_load_and_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import procurl.envs, procurl.envs.point_mass.dynamics\n"
        "try: procurl.envs.TaskEnv\n"
        "except ImportError as error: print(error)\n"
        "try: procurl.envs.GymVectorEnv\n"
        "except ImportError as error: print(error)\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.count("pip install 'procurl[sb3]'") == 2


def test_the_package_names_what_it_offers():
    assert procurl.envs.GymEnv is GymEnv
    with pytest.raises(AttributeError, match="no attribute 'Gym'"):
        procurl.envs.Gym  # noqa: B018
