"""How the callback goes about its work: when it asks, what it pushes, what it leaves alone."""

from dataclasses import dataclass
from typing import ClassVar

import gymnasium
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize

from procurl import PLR, TaskEnv, make_strategy
from procurl.sb3 import CurriculumCallback
from procurl.strategies import refreshing
from tests.sb3.recording import Picks
from tests.sb3.toy import guess_env
from tests.sb3.walk import LENGTHS, LIMIT, Walk, walk_env
from tests.strategies.own_rule import AtMultiples

VAL = make_strategy("procurl-val", beta=20)


def ppo(env, **changes):
    settings = {"n_steps": 32, "batch_size": 32, "seed": 3, "device": "cpu"} | changes
    return PPO("MlpPolicy", env, **settings)


def picked(env, strategy, steps=320, **settings):
    picks = Picks()
    ppo(env).learn(steps, callback=[CurriculumCallback(strategy, **settings), picks])
    return picks.tasks


def made():
    return TaskEnv(gymnasium.make("tests/Walk-v0", noise=0.5), LENGTHS)


@pytest.fixture(scope="module")
def processes():
    """Two environments in processes of their own."""
    env = SubprocVecEnv([made] * 2)
    yield env
    env.close()


@pytest.mark.parametrize("name", ["procurl-val", "procurl-out", "plr"])
def test_environments_in_processes_play_the_same_tasks(name, processes):
    here = picked(DummyVecEnv([made] * 2), make_strategy(name))
    assert len(here) > 50
    assert picked(processes, make_strategy(name)) == here


def test_environments_are_built_again_for_rollouts(processes):
    strategy = make_strategy("procurl-env", refresh_every=96, c_rollouts=2)
    here = picked(DummyVecEnv([made] * 2), strategy, steps=256)
    assert picked(processes, strategy, steps=256) == here
    assert picked(processes, strategy, steps=256, eval_env=DummyVecEnv([made] * 16)) == here


def test_an_environment_without_tasks_gets_them_for_rollouts():
    strategy = make_strategy("procurl-env", refresh_every=96, c_rollouts=2)
    tasks = picked(DummyVecEnv([walk_env]), strategy, eval_env=walk_env)
    assert picked(DummyVecEnv([walk_env]), strategy, eval_env=Walk) == tasks
    one = picked(DummyVecEnv([walk_env]), strategy, eval_env=walk_env())
    assert picked(DummyVecEnv([walk_env]), strategy, eval_env=Walk()) == one


def test_what_is_built_again_is_the_same():
    callback = CurriculumCallback(make_strategy("procurl-env", refresh_every=32, c_rollouts=2))
    ppo(DummyVecEnv([made])).learn(96, callback=callback)
    again = callback.teacher.eval_workers.env.envs[0]
    assert again.unwrapped.noise == 0.5
    assert again.get_wrapper_attr("pool").fingerprint == LENGTHS.fingerprint
    assert callback.teacher_steps > 0


@pytest.mark.parametrize("name", ["procurl-val", "procurl-env", "procurl-out", "plr", "space"])
def test_scoring_never_touches_a_training_episode(name):
    settings = {"refresh_every": 64, "c_rollouts": 2} if name == "procurl-env" else {}
    env = DummyVecEnv([lambda: walk_env(guarded=True)] * 2)
    model = ppo(env)
    callback = CurriculumCallback(make_strategy(name, **settings), eval_env=walk_env)
    model.learn(256, callback=callback)
    model.learn(128, callback=callback, reset_num_timesteps=False)
    assert callback.curriculum.step == 384 - 64


@pytest.mark.parametrize("algorithm", [DQN, SAC])
def test_scoring_never_touches_an_off_policy_episode(algorithm):
    env = DummyVecEnv([lambda: walk_env(guarded=True, continuous=algorithm is SAC)] * 2)
    model = algorithm("MlpPolicy", env, learning_starts=20, seed=0, device="cpu")
    callback = CurriculumCallback(VAL, refresh_every=50)
    model.learn(200, callback=callback)
    assert callback.curriculum.step == 200


def test_the_student_sees_the_current_episode():
    seen = []

    class Watch(Picks):
        def _on_rollout_start(self):
            base = self.training_env.unwrapped.envs
            seen.append((self.model._last_obs.copy(), [env.unwrapped.seen() for env in base]))

    model = ppo(DummyVecEnv([walk_env] * 3))
    model.learn(96 * 2, callback=[CurriculumCallback(VAL), Watch()])
    assert len(seen) == 2
    for shown, real in seen:
        assert np.array_equal(shown, real)


def test_the_first_episode_is_the_curriculums():
    pushed = []

    class Spy(CurriculumCallback):
        def _on_rollout_start(self):
            super()._on_rollout_start()
            pushed.append([env.get_wrapper_attr("queue") for env in self.training_env.envs])

    picks = Picks()
    ppo(DummyVecEnv([walk_env] * 2)).learn(64, callback=[Spy(make_strategy("iid")), picks])
    first = {queue[0] for queue in pushed[0]}
    assert picks.tasks[0] in first
    assert [len(queue) for queue in pushed[0]] == [33, 33]  # as many as may begin, and one more


@pytest.mark.parametrize(("algorithm", "settings"), [(PPO, {}), (DQN, {"learning_starts": 10})])
def test_a_queue_never_runs_dry(algorithm, settings):
    class Check(Picks):
        def _on_step(self):
            assert all(env.get_wrapper_attr("queue") for env in self.training_env.envs)
            return True

    # Episodes of one step use up tasks as fast as can be.
    model = algorithm("MlpPolicy", DummyVecEnv([guess_env] * 3), seed=0, device="cpu", **settings)
    if algorithm is PPO:
        model = ppo(DummyVecEnv([guess_env] * 3), n_steps=32)
    model.learn(600, callback=[CurriculumCallback(VAL, refresh_every=100), Check()])


def test_a_callback_names_its_strategy_and_then_its_curriculum():
    callback = CurriculumCallback("procurl-val")
    assert repr(callback) == "CurriculumCallback(strategy='procurl-val', not started)"
    ppo(walk_env()).learn(32, callback=callback)
    assert repr(callback) == f"CurriculumCallback({callback.curriculum!r})"


def test_a_name_gives_the_strategy_with_its_defaults():
    assert CurriculumCallback("procurl-val").settings.strategy == make_strategy("procurl-val")
    env = DummyVecEnv([walk_env] * 2)
    assert picked(env, "procurl-val") == picked(env, make_strategy("procurl-val"))


def test_refreshes_come_after_updates_and_no_more_often_than_requested():
    model = ppo(DummyVecEnv([walk_env]))
    for callback, last in [
        (CurriculumCallback(VAL), 160 - 32),
        (CurriculumCallback(VAL, refresh_every=50), 160 - 32),
        (CurriculumCallback(make_strategy("procurl-val", refresh_every=90)), 96),
        (CurriculumCallback(VAL, refresh_every=1000), 0),
        (CurriculumCallback(AtMultiples(every=96.0)), 96),
        (CurriculumCallback(AtMultiples(every=64.0), refresh_every=80), 128),
        (CurriculumCallback(AtMultiples(every=1000.0)), 0),
    ]:
        model.learn(160, callback=callback)
        assert callback.teacher.refreshed_at == last


def test_the_values_are_those_of_the_new_critic():
    callback = CurriculumCallback(VAL)
    model = ppo(DummyVecEnv([walk_env]))
    agree = []

    class After(Picks):
        def _on_rollout_start(self):
            start = np.array([[0.0, length, 0.0] for length in range(1, 7)], dtype=np.float32)
            tensor = model.policy.obs_to_tensor(start)[0]
            if callback.teacher.refreshed_at:
                now = model.policy.predict_values(tensor).detach().numpy().reshape(-1)
                agree.append(np.allclose(callback.teacher.values.values, now, atol=1e-6))

    model.learn(160, callback=[callback, After()])
    assert agree == [True] * 4


def test_values_are_computed_on_normalized_observations():
    env = VecNormalize(DummyVecEnv([walk_env] * 2), norm_reward=True)
    calls = []

    def value_fn(observations):
        calls.append((observations, env.normalize_obs(np.array([[0.0, 1.0, 0.0]]))))
        return np.zeros(len(observations))

    model = ppo(env)
    model.learn(192, callback=CurriculumCallback(VAL, value_fn=value_fn))
    assert len(calls) == 2
    for observations, first in calls:
        assert np.allclose(observations[0], first[0])
    assert not np.allclose(calls[0][0], calls[1][0])  # the statistics have moved on


def test_a_strategy_receives_evidence_once_per_step():
    calls = []

    def value_fn(observations):
        calls.append(len(observations))
        return np.zeros(len(observations))

    callback = CurriculumCallback(VAL, value_fn=value_fn)
    ppo(DummyVecEnv([walk_env])).learn(64, callback=callback)
    before = len(calls)
    callback.refresh()
    callback.refresh()
    assert len(calls) == before + 1
    assert callback.teacher.refreshed_at == 64


def test_values_are_in_the_rewards_of_the_environment():
    env = VecNormalize(DummyVecEnv([walk_env] * 2), norm_reward=True)
    callback = CurriculumCallback(VAL)
    model = ppo(env)
    model.learn(192, callback=callback)
    callback.refresh()
    start = np.array([[0.0, length, 0.0] for length in range(1, 7)])
    tensor = model.policy.obs_to_tensor(env.normalize_obs(start))[0]
    values = model.policy.predict_values(tensor).detach().numpy().reshape(-1)
    scaled = values * np.sqrt(env.ret_rms.var + env.epsilon)
    assert not np.allclose(scaled, values, rtol=0.1)
    assert np.allclose(callback.teacher.values.values, scaled, rtol=1e-4)


def test_random_starts_are_averaged():
    sizes = []

    def value_fn(observations):
        sizes.append(len(observations))
        return observations[:, 2]  # what is drawn at a reset

    callback = CurriculumCallback(
        make_strategy("procurl-val", v_min=-1, v_max=1), value_fn=value_fn, reset_samples=200
    )
    ppo(DummyVecEnv([lambda: walk_env(noise=1.0)] * 4)).learn(256, callback=callback)
    assert sizes == [6 * 200]
    values = callback.teacher.values.values
    assert np.abs(values).max() < 0.4
    assert np.unique(values).size == 6


@pytest.mark.parametrize("set_by", ["callback", "strategy", "default"])
def test_large_pools_are_refreshed_in_slices(set_by, monkeypatch):
    calls = []

    def value_fn(observations):
        calls.append(observations[:, 1].astype(int).tolist())
        return observations[:, 1] / 10 + 0.01 * len(calls)

    strategy, settings = VAL, {}
    if set_by == "callback":
        settings = {"tasks_per_refresh": 4}
    elif set_by == "strategy":
        strategy = make_strategy("procurl-val", tasks_per_refresh=4)
    else:
        monkeypatch.setattr(refreshing, "SLICE", 4)
    callback = CurriculumCallback(strategy, value_fn=value_fn, **settings)
    ppo(DummyVecEnv([walk_env])).learn(32 * 5, callback=callback)
    assert calls == [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4], [5, 6], [1, 2, 3, 4]]
    expected = [0.14, 0.24, 0.34, 0.44, 0.53, 0.63]
    assert np.allclose(callback.teacher.values.values, expected, atol=1e-6)


def test_outcomes_reach_the_strategy():
    strategy = make_strategy("procurl-out", decay=1.0, decay_steps=1.0)
    callback, counts = CurriculumCallback(strategy, seed=5), []

    class Counted(Picks):
        def _on_rollout_start(self):
            state = callback.curriculum.state_dict()["state"]
            counted = state["success.counts.wins"] + state["success.counts.losses"]
            counts.append((counted.tolist(), np.bincount(self.tasks, minlength=6).tolist()))

    ppo(DummyVecEnv([walk_env] * 2)).learn(256, callback=[callback, Counted()])
    assert len(counts) == 4
    for counted, played in counts:
        assert counted == pytest.approx(played)


def test_scores_and_outcomes_reach_a_strategy_that_uses_both():
    received = []

    @dataclass(frozen=True)
    class Both(PLR):
        needs: ClassVar[tuple[str, ...]] = ("score", "played", "wins", "losses")

        def update(self, state, evidence):
            received.append((evidence.wins + evidence.losses, evidence.played))
            return super().update(state, evidence)

    ppo(DummyVecEnv([walk_env] * 2)).learn(256, callback=CurriculumCallback(Both()))
    assert len(received) == 3
    for ended, played in received:
        assert ended.tolist() == pytest.approx(played.tolist())
        assert ended.sum() > 0


def test_a_budget_is_kept():
    """Rollouts come after `refresh_every` steps, and again once training has paid for all."""
    strategy = make_strategy("procurl-env-2", refresh_every=32, c_rollouts=4)
    callback, spent = CurriculumCallback(strategy, eval_env=walk_env), []

    class Spent(Picks):
        def _on_rollout_start(self):
            spent.append(callback.teacher_steps)

    ppo(DummyVecEnv([walk_env])).learn(640, callback=[callback, Spent()])
    assert spent[0] == 0 < spent[1]
    refreshed = [int(before <= 32 * k) for k, before in enumerate(spent[:-1], start=1)]
    assert np.sign(np.diff(spent)).tolist() == refreshed
    assert 5 < sum(refreshed) < 15  # neither always nor never stretched
    assert 600 < spent[-1] <= 640 + 6 * 4 * LIMIT


def test_learning_again_begins_new_episodes():
    env = DummyVecEnv([lambda: walk_env(noise=1.0)] * 2)
    model, tasks = ppo(env), []
    for _ in range(2):
        callback, picks = CurriculumCallback(make_strategy("plr"), seed=0), Picks()
        model.set_random_seed(3)
        model.learn(64, callback=[callback, picks])
        tasks.append(picks.tasks)
    assert tasks[0][:3] == tasks[1][:3]  # the same seed, whatever was played before


def test_metrics_are_logged():
    from stable_baselines3.common.logger import Logger

    model = ppo(DummyVecEnv([walk_env]))
    logger = Logger(None, [])
    model.set_logger(logger)
    seen = {}

    class Look(Picks):
        def _on_rollout_end(self):
            seen.update(logger.name_to_value)

    model.learn(320, callback=[CurriculumCallback(VAL), Look()])
    assert 0.0 <= seen["curriculum/calibration"] <= 1.0
    assert {
        "curriculum/entropy",
        "curriculum/effective_tasks",
        "curriculum/estimated_success",
        "curriculum/achieved_success",
        "curriculum/teacher_steps",
    } <= seen.keys()


def test_the_same_seed_gives_the_same_run_and_another_another():
    one, same = (picked(DummyVecEnv([walk_env] * 2), VAL, seed=4) for _ in range(2))
    assert one == same
    assert picked(DummyVecEnv([walk_env] * 2), VAL, seed=5) != one
