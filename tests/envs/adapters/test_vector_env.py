"""The native vector environment: equal to single ones, with tasks and resets under control."""

from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from procurl import TaskPool
from procurl.envs.adapters.gym_env import GymEnv
from procurl.envs.adapters.vector_env import GymVectorEnv
from procurl.envs.array_env import ArrayEnv, Transition
from procurl.envs.registry import ENVIRONMENTS

N = 5
STAY = np.zeros((N, 2), dtype=np.float32)
DOWN = np.array([[0.0, -10.0]] * N, dtype=np.float32)


@pytest.fixture
def env():
    made = gymnasium.make_vec(
        "procurl/PointMass-s-v0", num_envs=N, vectorization_mode="vector_entry_point"
    )
    made.reset(seed=0)
    return made


@pytest.fixture
def manual():
    made = GymVectorEnv("pointmass-s", N, autoreset_mode="Disabled")
    made.reset(seed=0)
    return made


class Recorded(gymnasium.Wrapper):
    """A single environment that takes its tasks and its noise from lists."""

    def __init__(self, env, tasks, noise):
        super().__init__(env)
        self.tasks, self.noise = iter(tasks), iter(noise)

    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=seed, options={"task": int(next(self.tasks))})

    def step(self, action):
        return self.env.unwrapped.step_with_noise(action, next(self.noise))


def twins(name, steps, mode):
    """(vector environment, n single ones in Gymnasium's own vector, actions, noise)."""
    rng = np.random.default_rng(11)
    native = GymVectorEnv(name, N, autoreset_mode=mode)
    tasks = rng.integers(len(native.pool), size=(N, steps + 1))
    noise = rng.standard_normal((steps, N, *native.array_env.noise_shape), dtype=np.float32)
    native.push_tasks(tasks)
    singles = SyncVectorEnv(
        [lambda i=i: Recorded(GymEnv(name), tasks[i], noise[:, i]) for i in range(N)],
        autoreset_mode=mode,
    )
    native.action_space.seed(0)
    actions = [native.action_space.sample() for _ in range(steps)]
    return native, singles, actions, noise


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_it_equals_single_environments_step_for_step(name):
    native, singles, actions, noise = twins(name, 300, AutoresetMode.SAME_STEP)
    assert data_equivalence(native.reset(seed=5), singles.reset(seed=5), exact=True)
    ends = 0
    for action, drawn in zip(actions, noise, strict=True):
        ours, theirs = native.step_with_noise(action, drawn), singles.step(action)
        assert data_equivalence(ours, theirs, exact=True)
        ends += ours[2].sum()
    assert ends >= N


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_without_autoreset_it_equals_single_environments_reset_by_mask(name):
    native, singles, actions, noise = twins(name, 200, AutoresetMode.DISABLED)
    assert data_equivalence(native.reset(seed=5), singles.reset(seed=5), exact=True)
    ends = 0
    for action, drawn in zip(actions, noise, strict=True):
        ours, theirs = native.step_with_noise(action, drawn), singles.step(action)
        assert data_equivalence(ours, theirs, exact=True)
        if (done := ours[2]).any():
            ends += done.sum()
            ours, theirs = (
                each.reset(options={"reset_mask": done.copy()}) for each in (native, singles)
            )
            assert data_equivalence(ours, theirs, exact=True)
    assert ends >= N


@pytest.mark.parametrize("spec", ENVIRONMENTS.values(), ids=list(ENVIRONMENTS))
def test_make_vec_takes_the_native_form(spec):
    made = gymnasium.make_vec(spec.gym_id, num_envs=3)
    assert isinstance(made, GymVectorEnv)
    assert made.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    single = gymnasium.make(spec.gym_id)
    assert made.single_observation_space == single.observation_space
    assert made.single_action_space == single.action_space
    observations, _ = made.reset(seed=1)
    assert observations in made.observation_space
    observations, rewards, done, truncated, _ = made.step(made.action_space.sample())
    assert observations in made.observation_space
    assert (rewards.shape, done.shape, truncated.any()) == ((3,), (3,), False)


def test_the_same_seed_gives_the_same_steps(env):
    rng = np.random.default_rng(2)
    actions = rng.uniform(-10, 10, (80, N, 2)).astype(np.float32)
    runs = [(env.reset(seed=seed), [env.step(a) for a in actions]) for seed in (3, 3, 4)]
    assert data_equivalence(runs[0], runs[1], exact=True)
    assert not data_equivalence(runs[0], runs[2], exact=True)


def test_sub_environments_have_noise_of_their_own(env):
    env.reset(options={"task": [0] * N})
    observations = env.step(STAY)[0]
    assert len(np.unique(observations[:, 1])) == N


def test_the_end_of_an_episode_is_in_final_obs_and_final_info(env):
    contexts = [[0.0, 8.0, 4.0], [4.0, 0.5, 4.0], [0.0, 8.0, 0.0], [0.0, 1.0, 4.0], [0, 1, 4]]
    env.reset(options={"context": contexts})
    for _ in range(200):
        observations, rewards, done, _, info = env.step(DOWN * 0.4)
        if done[0] or done[1]:
            break
    first = int(np.argmax(done))
    assert info["_final_obs"].tolist() == info["_final_info"].tolist() == done.tolist()
    assert [given is None for given in info["final_obs"]] == (~done).tolist()
    final = info["final_info"]
    assert final["_is_success"].tolist() == done.tolist()
    assert final["task"][first] == -1
    assert final["friction"][first] == contexts[first][2]
    assert final["is_success"][first] == (rewards[first] == 1.0)
    np.testing.assert_array_equal(observations[first, :4], [0.0, 0.0, 3.0, 0.0])
    assert info["task"][first] in range(100)
    assert "is_success" not in info


def test_tasks_are_chosen_per_sub_environment(env):
    tasks = [3, 1, 4, 1, 5]
    observations, info = env.reset(options={"task": tasks})
    np.testing.assert_array_equal(info["task"], tasks)
    expected = env.pool.contexts[tasks]
    np.testing.assert_array_equal(observations[:, 4:], expected.astype(np.float32))
    np.testing.assert_array_equal(info["gate_width"], expected[:, 1])
    assert info["_task"].all()


def test_contexts_are_chosen_per_sub_environment(env):
    contexts = np.array([[0.5 * i, 1.0, 2.0] for i in range(N)])
    observations, info = env.reset(options={"context": contexts})
    np.testing.assert_array_equal(observations[:, 4:], contexts)
    np.testing.assert_array_equal(info["task"], [-1] * N)


def test_free_contexts_have_their_entries_but_no_features():
    pool = TaskPool([[0.0, 1.0, 1.0], [2.0, 3.0, 1.0]], features={"age": [7, 8]})
    env = GymVectorEnv("pointmass-s", 3, pool=pool)
    _, info = env.reset(seed=0, options={"task": [1, [1.0, 2.0, 0.5], 0]})
    for shown in (info, env.step(STAY[:3])[4]):
        assert shown["task"].tolist() == [1, -1, 0]
        assert shown["gate_width"].tolist() == [3.0, 2.0, 1.0]
        assert shown["_gate_width"].all()
        assert shown["age"].tolist() == [8.0, 0.0, 7.0]
        assert shown["_age"].tolist() == [True, False, True]
    assert env.reset()[1]["_age"].all()


def test_karel_takes_whole_tasks():
    env = GymVectorEnv("basickarel", 2)
    wanted = GymVectorEnv("basickarel", 2).reset(options={"task": [7, 9]})[0]
    given, info = env.reset(options={"task": [env.pool[7], env.pool[9]]})
    np.testing.assert_array_equal(given, wanted)
    assert "solution_length" not in info


def test_automatic_resets_play_the_pushed_tasks_then_draw(env):
    env.push_tasks([[i, 10 + i] for i in range(N)])
    assert env.reset()[1]["task"].tolist() == [0, 1, 2, 3, 4]
    started = [[] for _ in range(N)]
    for _ in range(300):
        _, _, done, _, info = env.step(DOWN)
        for i in np.flatnonzero(done):
            started[i].append(int(info["task"][i]))
    assert [tasks[0] for tasks in started] == [10, 11, 12, 13, 14]
    drawn = [task for tasks in started for task in tasks[1:]]
    assert len(set(drawn)) > 10


def test_pushing_again_drops_what_was_left(env):
    env.push_tasks([[1, 2]] * N)
    env.push_tasks([[3]] * N)
    assert env.reset()[1]["task"].tolist() == [3] * N


def test_pushing_nothing_drops_what_was_left(env):
    env.reset(seed=0)
    drawn = env.reset()[1]["task"].tolist()
    env.reset(seed=0)
    env.push_tasks([[1, 2]] * N)
    env.push_tasks([[]] * N)
    assert env.reset()[1]["task"].tolist() == drawn


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1] * N, r"integers of shape \[5, k\]"),
        ([[1]] * (N - 1), r"integers of shape \[5, k\]"),
        ([[0.5]] * N, r"integers of shape \[5, k\]"),
        ([[100]] * N, "task must be from 0 to 99, got 100"),
    ],
)
def test_bad_pushes_are_refused(env, ids, message):
    with pytest.raises(ValueError, match=message):
        env.push_tasks(ids)


def test_a_mask_resets_some_and_leaves_the_others(manual):
    manual.reset(options={"task": [0] * N})
    before = manual.step(DOWN)[0]
    mask = np.array([True, False, True, False, False])
    observations, info = manual.reset(options={"reset_mask": mask, "task": [8, 0, 9, 0, 0]})
    np.testing.assert_array_equal(observations[~mask], before[~mask])
    np.testing.assert_array_equal(observations[mask, :4], [[0.0, 0.0, 3.0, 0.0]] * 2)
    assert info["task"][mask].tolist() == [8, 9]
    assert info["_task"].tolist() == mask.tolist()


def test_without_autoreset_finished_sub_environments_must_be_reset(manual):
    manual.reset(options={"context": [[4.0, 0.5, 0.0]] + [[0.0, 8.0, 4.0]] * (N - 1)})
    done = np.zeros(N, dtype=bool)
    while not done.any():
        _, _, done, _, info = manual.step(DOWN)
    assert info["_is_success"].tolist() == done.tolist()
    assert "final_obs" not in info
    with pytest.raises(RuntimeError, match=r"sub-environments \[0\] has ended: call reset"):
        manual.step(DOWN)
    manual.reset(options={"reset_mask": done})
    manual.step(DOWN)


@pytest.mark.parametrize("mode", ["NextStep", AutoresetMode.NEXT_STEP, "same_step", None])
def test_an_unknown_autoreset_mode_is_refused(mode):
    with pytest.raises(ValueError, match="must be one of 'SameStep', 'Disabled', got"):
        GymVectorEnv("pointmass-s", N, autoreset_mode=mode)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": [1, 2]}, "'task' must hold one entry for each of the 5"),
        ({"task": 3}, "'task' must be a list with one entry per sub-environment, got 3"),
        ({"task": [0, 1, 2, 3, 100]}, "task must be from 0 to 99, got 100"),
        ({"context": [[0.0, 1.0, 9.0]] * N}, "friction must be"),
        ({"reset_mask": [True] * 4}, "reset_mask must be 5 booleans"),
        ({"reset_mask": np.zeros(N, dtype=bool)}, "at least one of them True"),
        ({"mask": None}, "reset option 'mask' is not known"),
    ],
)
def test_bad_reset_options_are_refused(env, options, message):
    with pytest.raises(ValueError, match=message):
        env.reset(options=options)


def test_bad_actions_are_refused(env):
    with pytest.raises(ValueError, match="numbers of shape"):
        env.step(STAY[:-1])
    with pytest.raises(ValueError, match="finite"):
        env.step(STAY * np.nan)
    karel = GymVectorEnv("basickarel", N)
    karel.reset(seed=0)
    with pytest.raises(ValueError, match="action must be from 0 to 5"):
        karel.step(np.array([0, 1, 2, 3, 6]))


@pytest.mark.parametrize("dtype", ["i1", "u1", "<i4", ">i8", "u8"])
def test_discrete_actions_may_be_integers_of_any_kind(dtype):
    env = GymVectorEnv("basickarel", N)
    actions = np.array([0, 1, 2, 3, 4])
    env.reset(seed=0)
    wanted = env.step(actions)
    env.reset(seed=0)
    assert data_equivalence(env.step(actions.astype(dtype)), wanted, exact=True)


def test_stepping_before_the_first_reset_is_refused():
    env = GymVectorEnv("pointmass-s", N)
    with pytest.raises(RuntimeError, match="has not started: call reset"):
        env.step(STAY)
    with pytest.raises(RuntimeError, match="the first reset must start every episode"):
        env.reset(options={"reset_mask": np.array([True] + [False] * (N - 1))})


def test_what_it_returns_is_not_changed_by_later_steps(env):
    pool = TaskPool(env.pool.contexts, names=env.pool.names, features={"age": range(100)})
    for made in (env, GymVectorEnv("pointmass-s", N, pool=pool)):
        made.reset(seed=0)
        results = [made.step(DOWN) for _ in range(20)]
        copies = deepcopy(results)
        for _ in range(40):
            made.step(DOWN)
        made.reset()
        assert data_equivalence(results, copies, exact=True)


class Places(NamedTuple):
    x: np.ndarray  # [b, 1] float32


@dataclass(frozen=True)
class Walk(ArrayEnv):
    """An environment that shows its state itself, not a copy."""

    horizon = 3
    context_names = ("start",)
    observation_low = np.array([-10.0], dtype=np.float32)
    observation_high = np.array([10.0], dtype=np.float32)
    action_low = None
    action_high = None
    n_actions = 2
    noise_shape = (0,)

    def initial(self, contexts):
        return Places(contexts.astype(np.float32))

    def observe(self, state):
        return state.x

    def step(self, state, actions, noise):
        x = state.x + actions[:, None].astype(np.float32)
        done = x[:, 0] >= 3.0
        return Transition(Places(x), done.astype(np.float32), done, done)

    def check_context(self, context):
        pass


def overwrite(result):
    """Set every number in what an environment returned to another one."""
    for each in result.values() if isinstance(result, dict) else result:
        if isinstance(each, np.ndarray) and each.dtype != object:
            each[:] = np.logical_not(each)
        elif each is not None:
            overwrite(each)


@pytest.mark.parametrize("env", ["basickarel", "pointmass-s", Walk()], ids=str)
def test_what_it_returned_may_be_changed(env):
    pool = TaskPool([[0.0], [1.0]], names=["start"]) if isinstance(env, Walk) else None
    made, twin = GymVectorEnv(env, N, pool=pool), GymVectorEnv(env, N, pool=pool)
    overwrite(made.reset(seed=0))
    twin.reset(seed=0)
    made.action_space.seed(0)
    for _ in range(100):
        actions = made.action_space.sample()
        result = made.step(actions)
        assert data_equivalence(result, twin.step(actions), exact=True)
        overwrite(result)
