"""A saved run continues: bit for bit if the environment can, otherwise the same every time."""

import random
import shutil

import gymnasium
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import procurl.envs  # noqa: F401  (registers the environments)
from procurl import TaskEnv, TaskPool, make_strategy
from procurl.envs import make_pool
from procurl.envs.adapters.task_env import join_episodes
from procurl.internals.archive import read_archive, write_archive
from procurl.sb3 import CurriculumCallback
from procurl.sb3.saving.runs import read_run
from tests.crafted import altered_arrays, mutated
from tests.sb3.recording import Dies, Picks
from tests.sb3.walk import walk_env

POOL = make_pool("pointmass-s", size=6)
EARLY = "procurl-env-2, early"
ROLLING = ("procurl-env", EARLY, "sfl")  # take a few seconds each
STRATEGIES = {
    "procurl-val": {"beta": 20.0},
    "procurl-out": {},
    "procurl-env": {"refresh_every": 128, "c_rollouts": 1},
    EARLY: {
        "refresh_every": 128,
        "c_rollouts": 1,
        "spending": "early",
        "training_steps": 640,
    },
    "plr": {},
    "plr, robust": {"score": "maxmc", "robust": True},
    "sfl": {"c_rollouts": 2, "refresh_every": 128, "rollout_tasks": 3},
    "space": {},
    "learning-progress": {},
    "alp-gmm": {"fit_every": 8, "buffer": 16, "memory": 32},
    "stages": {"until": "steps:150/above:0.5"},
    "anneal": {"episodes": 4},
    "mix": {"strategies": "procurl-val+plr+stages[until=no-progress:200]"},
    "switch": {"second": "procurl-out", "when": "steps:200"},
}


def point_masses(n_envs=2):
    """Environments that can continue in the middle of an episode."""
    return make_vec_env(
        lambda: TaskEnv(gymnasium.make("procurl/PointMass-s-v0", pool=POOL), POOL), n_envs=n_envs
    )


def new_model(env):
    # A few large steps: weights that differ at all differ visibly.
    return PPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=4, seed=1, device="cpu")


def weights(model):
    return [part.numpy() for part in model.policy.state_dict().values()]


def resumed(folder, env, strategy, steps, algorithm=PPO, **settings):
    callback = CurriculumCallback(strategy, **settings).load(folder)
    model = algorithm.load(callback.model_file, env=env, device="cpu")
    picks = Picks()
    model.learn(steps, callback=[callback, picks], reset_num_timesteps=False)
    return model, callback, picks.tasks


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.soak if name in ROLLING else ()) for name in STRATEGIES],
)
def test_a_resumed_run_is_exact_in_our_environments(name, tmp_path):
    strategy = make_strategy(name.partition(",")[0], **STRATEGIES[name])
    whole, picks = new_model(point_masses()), Picks()
    uninterrupted = CurriculumCallback(strategy)
    whole.learn(640, callback=[uninterrupted, picks])

    half, before = new_model(point_masses()), Picks()
    callback = CurriculumCallback(strategy)
    half.learn(256, callback=[callback, before])
    callback.save(tmp_path)
    np.random.default_rng(0)
    after, there, later = resumed(tmp_path, point_masses(), strategy, 384)

    assert before.tasks + later == picks.tasks
    assert len(later) > 3
    for ours, theirs in zip(weights(after), weights(whole), strict=True):
        assert np.array_equal(ours, theirs)
    assert there.teacher_steps == uninterrupted.teacher_steps
    assert np.array_equal(
        there.curriculum.probabilities(), uninterrupted.curriculum.probabilities()
    )


def test_a_run_saves_itself_between_rollouts(tmp_path):
    strategy = make_strategy("procurl-val", beta=20)
    whole = new_model(point_masses())
    whole.learn(640, callback=CurriculumCallback(strategy))
    saving = CurriculumCallback(strategy, save_to=tmp_path, save_every=300)
    with pytest.raises(KeyboardInterrupt):
        new_model(point_masses()).learn(640, callback=[saving, Dies(at=600)])
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["curriculum.safetensors", "model-000000000384.zip", "starts.safetensors"]
    after, _, _ = resumed(tmp_path, point_masses(), strategy, 256)
    for ours, theirs in zip(weights(after), weights(whole), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("algorithm", [PPO, DQN])
def test_a_run_saves_itself_when_it_ends(algorithm, tmp_path):
    strategy = make_strategy("procurl-val")
    folder = tmp_path / "runs" / "mine"
    steps = {"n_steps": 64, "batch_size": 64} if algorithm is PPO else {"learning_starts": 10}
    model = algorithm("MlpPolicy", walk_env(), seed=0, device="cpu", **steps)
    model.learn(128, callback=CurriculumCallback(strategy, save_to=folder))
    after, callback, _ = resumed(folder, walk_env(), strategy, 64, algorithm)
    assert callback.model_file == folder / "model-000000000128.zip"
    assert after.num_timesteps == 192


@pytest.mark.parametrize("inside", ["", "runs/mine"])
def test_a_folder_that_cannot_be_written_is_refused_before_training(inside, tmp_path):
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / inside
    model = new_model(walk_env())
    callback = CurriculumCallback(make_strategy("iid"), save_to=folder)
    refused = f"save_to must be a writable folder, got '{folder}': "
    with pytest.raises(ValueError, match=refused):
        model.learn(64, callback=callback)
    assert model.num_timesteps == 0


@pytest.mark.parametrize("algorithm", [PPO, DQN])
def test_two_resumes_agree_in_any_environment(algorithm, tmp_path):
    strategy = make_strategy("procurl-val", beta=20)
    steps = {"n_steps": 64, "batch_size": 64} if algorithm is PPO else {"learning_starts": 10}

    def env():
        return VecNormalize(DummyVecEnv([lambda: walk_env(noise=1.0)] * 2), norm_reward=False)

    model = algorithm("MlpPolicy", env(), device="cpu", **steps)
    callback = CurriculumCallback(strategy, refresh_every=64)
    model.learn(256, callback=callback)
    callback.save(tmp_path)
    (one, first, tasks), (other, second, again) = (
        resumed(tmp_path, env(), strategy, 256, algorithm, refresh_every=64) for _ in range(2)
    )
    assert tasks == again
    assert first.curriculum.step > 256
    assert np.array_equal(first.curriculum.probabilities(), second.curriculum.probabilities())
    for ours, theirs in zip(weights(one), weights(other), strict=True):
        assert np.array_equal(ours, theirs)


def test_given_equal_evidence_the_curriculum_continues_identically(tmp_path):
    strategy = make_strategy("procurl-val", beta=20)
    options = {"value_fn": lambda seen: seen[:, 1] / 10}
    env = DummyVecEnv([walk_env] * 2)
    whole = CurriculumCallback(strategy, **options)
    new_model(env).learn(512, callback=whole)

    callback = CurriculumCallback(strategy, **options)
    new_model(env).learn(256, callback=callback)
    callback.save(tmp_path)
    _, there, _ = resumed(tmp_path, DummyVecEnv([walk_env] * 2), strategy, 256, **options)
    ours, theirs = there.curriculum.state_dict(), whole.curriculum.state_dict()
    assert ours["rng"] == theirs["rng"]
    assert ours["step"] == theirs["step"]
    assert np.array_equal(there.curriculum.next(50), whole.curriculum.next(50))


def test_episodes_restart_inside_wrappers_without_state(tmp_path):
    def env():
        inside = TaskEnv(gymnasium.make("procurl/PointMass-s-v0", pool=POOL), POOL)
        return DummyVecEnv([lambda: gymnasium.wrappers.TimeLimit(inside, 20)])

    strategy = make_strategy("procurl-val", beta=20)
    callback = CurriculumCallback(strategy)
    new_model(env()).learn(64, callback=callback)
    callback.save(tmp_path)
    assert read_archive(tmp_path / "curriculum.safetensors")[0]["episodes"] is None
    (one, _, tasks), (other, _, again) = (resumed(tmp_path, env(), strategy, 128) for _ in range(2))
    assert tasks == again
    for ours, theirs in zip(weights(one), weights(other), strict=True):
        assert np.array_equal(ours, theirs)


def episode_count(callback):
    """The number of episodes that the strategy has received, without decay."""
    state = callback.curriculum.state_dict()["state"]
    return float((state["success.counts.wins"] + state["success.counts.losses"]).sum())


def test_no_episode_is_lost_where_episodes_restart(tmp_path):
    strategy = make_strategy("procurl-out", decay=1.0, decay_steps=1.0)
    callback = CurriculumCallback(strategy)
    new_model(DummyVecEnv([walk_env] * 2)).learn(256, callback=callback)
    callback.save(tmp_path)
    in_last_rollout = len(join_episodes(callback.teacher.episodes).tasks)
    assert in_last_rollout > 0
    played = episode_count(callback) + in_last_rollout
    _, after, _ = resumed(tmp_path, DummyVecEnv([walk_env] * 2), strategy, 128)
    assert episode_count(after) == pytest.approx(played)


def test_a_run_saves_the_episodes_of_the_rollout_before(tmp_path):
    callback = CurriculumCallback(make_strategy("procurl-out"), save_to=tmp_path, save_every=128)
    with pytest.raises(KeyboardInterrupt):
        new_model(DummyVecEnv([walk_env] * 2)).learn(640, callback=[callback, Dies(at=140)])
    assert read_archive(tmp_path / "curriculum.safetensors")[1]["ended.tasks"].size > 0


def teachers_of(name, **settings):
    """The teachers of a run before and after its environments are replaced."""
    callback = CurriculumCallback(make_strategy(name, **settings))
    model = new_model(DummyVecEnv([walk_env] * 2))
    model.learn(256, callback=callback)
    before = callback.teacher
    model.set_env(DummyVecEnv([walk_env] * 2))
    model.learn(0, callback=callback, reset_num_timesteps=False)
    assert callback.teacher is not before
    return before, callback.teacher


@pytest.mark.parametrize("name", ["procurl-out", "plr"])
def test_no_episode_is_lost_with_other_environments(name):
    before, after = teachers_of(name)
    both = [join_episodes(teacher.episodes) for teacher in (before, after)]
    assert len(both[0].tasks) > 0  # of the last rollout
    for saved, restored in zip(*both, strict=True):
        np.testing.assert_array_equal(saved, restored)


def test_no_score_is_lost_with_other_environments():
    before, after = teachers_of("plr", score="maxmc")
    assert before.totals.score.any()
    assert np.array_equal(after.totals.score, before.totals.score)
    assert np.isfinite(before.totals.best).any()
    assert np.array_equal(after.totals.best, before.totals.best)


def test_a_folder_takes_the_latest_run(tmp_path):
    strategy = make_strategy("procurl-val", beta=20)
    for noise in (0.5, 1.0):
        callback = CurriculumCallback(strategy)
        new_model(DummyVecEnv([lambda noise=noise: walk_env(noise=noise)])).learn(64, callback)
        callback.save(tmp_path)
    starts = callback.teacher.values.observations
    assert np.array_equal(read_run(tmp_path).starts, starts)


def test_a_run_continues_with_another_number_of_environments(tmp_path):
    strategy = make_strategy("plr")
    callback = CurriculumCallback(strategy)
    new_model(point_masses(2)).learn(256, callback=callback)
    callback.save(tmp_path)
    loaded = CurriculumCallback(strategy).load(tmp_path)
    model = PPO.load(loaded.model_file, env=point_masses(2), device="cpu")
    other = PPO("MlpPolicy", point_masses(4), n_steps=32, batch_size=64, device="cpu")
    other.policy.load_state_dict(model.policy.state_dict())
    other.num_timesteps, other._n_updates = model.num_timesteps, model._n_updates
    other.learn(256, callback=loaded, reset_num_timesteps=False)
    assert loaded.teacher.totals.open_score.shape == (4,)
    assert loaded.curriculum.step == 384


def test_the_state_is_free_of_pickled_code(tmp_path):
    callback = CurriculumCallback(make_strategy("plr"))
    new_model(point_masses()).learn(256, callback=callback)
    callback.save(tmp_path)
    meta, arrays = read_archive(tmp_path / "curriculum.safetensors")
    assert meta["step"] == 256
    assert all(part.dtype.kind in "fiub" for part in arrays.values())


def test_another_model_pool_or_strategy_is_refused(tmp_path):
    strategy = make_strategy("procurl-val", beta=20)
    callback = CurriculumCallback(strategy)
    new_model(point_masses()).learn(256, callback=callback)
    callback.save(tmp_path)

    def taken_up(strategy, env, model=None):
        callback = CurriculumCallback(strategy).load(tmp_path)
        model = model or PPO.load(callback.model_file, env=env, device="cpu")
        model.learn(128, callback=callback, reset_num_timesteps=False)

    with pytest.raises(ValueError, match="saved with strategy.beta = 20"):
        taken_up(make_strategy("procurl-val", beta=10), point_masses())
    with pytest.raises(
        ValueError, match="saved at step 256, but the model is at step 0: load .*zip"
    ):
        taken_up(strategy, None, new_model(point_masses()))
    other = TaskPool(POOL.contexts[:5], names=POOL.names)
    env = TaskEnv(gymnasium.make("procurl/PointMass-s-v0"), other)
    with pytest.raises(ValueError, match="saved with pool.tasks = 6, this one has 5"):
        taken_up(strategy, env)
    with pytest.raises(RuntimeError, match="this callback has already started"):
        callback.load(tmp_path)


@pytest.mark.parametrize("inside", ["", "nothing"])
def test_a_folder_without_a_saved_run_is_named(tmp_path, inside):
    with pytest.raises(FileNotFoundError) as error:
        CurriculumCallback("iid").load(tmp_path / inside)
    assert str(error.value) == (
        f"{tmp_path / inside} holds no saved run, there is no curriculum.safetensors in it: pass "
        "the folder to which CurriculumCallback.save or save_to wrote"
    )


def test_a_damaged_file_is_refused(tmp_path):
    callback = CurriculumCallback(make_strategy("procurl-val"))
    new_model(point_masses()).learn(128, callback=callback)
    callback.save(tmp_path)
    path = tmp_path / "curriculum.safetensors"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ValueError, match="truncated or altered"):
        CurriculumCallback(make_strategy("procurl-val")).load(tmp_path)


@pytest.mark.parametrize("model", ["../model-000000000064.zip", "/etc/passwd", "a.zip", None, 3])
def test_a_model_outside_the_folder_is_refused(tmp_path, model):
    folder = tmp_path / "run"
    callback = CurriculumCallback(make_strategy("iid"), save_to=folder)
    new_model(walk_env()).learn(64, callback=callback)
    shutil.copy(folder / "model-000000000064.zip", tmp_path)
    meta, arrays = read_archive(folder / "curriculum.safetensors")
    write_archive(folder / "curriculum.safetensors", meta | {"model": model}, arrays)
    with pytest.raises(ValueError, match=r"the model must be a file model-STEP\.zip in the same"):
        CurriculumCallback(make_strategy("iid")).load(folder)


def test_a_crafted_run_is_refused_in_one_sentence(tmp_path):
    strategy = make_strategy("procurl-val")
    env = point_masses()
    callback = CurriculumCallback(strategy)
    new_model(env).learn(128, callback=callback)
    callback.save(tmp_path)
    path = tmp_path / "curriculum.safetensors"
    meta, arrays = read_archive(path)
    rng, refused = random.Random(0), 0
    for i in range(60):
        crafted = altered_arrays(arrays, rng) if i % 3 == 0 else arrays
        write_archive(path, mutated(meta, rng) or {}, crafted)
        try:
            loaded = CurriculumCallback(strategy).load(tmp_path)
            model = PPO.load(loaded.model_file, env=env, device="cpu")
            model.learn(0, callback=loaded, reset_num_timesteps=False)
        except ValueError as error:
            message = str(error)
            refused += 1
        else:
            message = f"{path}: "
        assert message.startswith(str(tmp_path)), message
    assert refused > 25


def test_a_damaged_or_missing_model_is_refused(tmp_path):
    callback = CurriculumCallback(make_strategy("iid"), save_to=tmp_path)
    new_model(walk_env()).learn(64, callback=callback)
    path = tmp_path / "model-000000000064.zip"
    whole = path.read_bytes()
    middle = len(whole) // 2
    altered = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    inner = whole.rindex(b"PK\x05\x06", 0, -22) + 22  # where the last archive inside ends
    for damaged in (whole[:-3], whole[:inner], whole[:middle], altered, b""):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=f"{path.name}: the model is truncated or altered"):
            CurriculumCallback(make_strategy("iid")).load(tmp_path)
    path.unlink()
    with pytest.raises(ValueError, match=f"{path.name} is missing: it is the model that"):
        CurriculumCallback(make_strategy("iid")).load(tmp_path)
