"""CurriculumVectorEnv: who plays which task, and what the curriculum learns from it."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from procurl import Curriculum, TaskEnv, TaskPool, make_strategy
from procurl.envs import CurriculumVectorEnv, GymVectorEnv
from procurl.envs.adapters.curriculum_env import QUEUE

POOL = TaskPool([[1.0], [2.0], [3.0], [1.0], [2.0]], names=["steps"])
AUTORESET = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]


class Countdown(gymnasium.Env):
    """Lasts as many steps as its context says; the last reward and success are the action."""

    observation_space = Box(-10.0, 10.0, (2,), np.float64)
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = int(options["context"][0])
        return self._observation(), {}

    def step(self, action):
        self.left -= 1
        done = self.left == 0
        info = {"is_success": bool(action)} if done else {}
        return self._observation(), float(done and action), done, False, info

    def _observation(self):
        return np.array([self.left, self.np_random.random()])


class DictCountdown(Countdown):
    observation_space = Dict({"left": Countdown.observation_space})  # type: ignore[assignment]

    def _observation(self):
        return {"left": super()._observation()}


def make_env():
    return TaskEnv(Countdown(), POOL)


def in_processes(env_fns, **options):
    # Not forked: other tests of this process may have started JAX's threads.
    return AsyncVectorEnv(env_fns, context="forkserver", **options)


def build(strategy="procurl-out", mode=AutoresetMode.NEXT_STEP, b=3, make_env=make_env, cls=None):
    inside = (cls or SyncVectorEnv)([make_env] * b, autoreset_mode=mode)
    curriculum = Curriculum(strategy, POOL, seed=5)
    return CurriculumVectorEnv(inside, curriculum), curriculum


def play(envs, steps, seed=0):
    """The tasks of the episodes in each sub-environment, with random actions."""
    rng = np.random.default_rng(seed)
    _, info = envs.reset(seed=seed)
    started = [[int(task)] for task in info["task"]]
    same_step = envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    before = np.zeros(envs.num_envs, dtype=bool)
    for _ in range(steps):
        _, _, terminated, _, info = envs.step(rng.integers(2, size=envs.num_envs))
        for i in np.flatnonzero(terminated if same_step else before):
            started[i].append(int(info["task"][i]))
        before = terminated
    return started


@pytest.mark.parametrize("mode", AUTORESET)
def test_every_reset_plays_the_next_task_of_the_curriculum(mode):
    envs, _ = build(mode=mode)
    drawn = Curriculum("procurl-out", POOL, seed=5).next(3 * QUEUE).reshape(3, QUEUE)
    for tasks, expected in zip(play(envs, 40), drawn.tolist(), strict=True):
        assert len(tasks) > 8
        assert tasks == expected[: len(tasks)]


@pytest.mark.parametrize("mode", AUTORESET)
def test_tasks_keep_coming_from_the_curriculum_when_a_queue_runs_out(mode):
    strategy = make_strategy("procurl-argmax", v_min=0.0, v_max=1.0)
    envs, curriculum = build(strategy, mode)
    values = [0.5, 0.0, 0.0, 0.0, 0.0]  # so that only task 0 is played, which lasts one step
    curriculum.observe(envs.evidence(1, values=values))
    assert {task for tasks in play(envs, 3 * QUEUE) for task in tasks} == {0}


@pytest.mark.parametrize("mode", AUTORESET)
def test_resets_after_new_evidence_play_the_new_distribution(mode):
    envs, curriculum = build(make_strategy("procurl-argmax", v_min=0.0, v_max=1.0), mode)
    assert len({task for tasks in play(envs, 30) for task in tasks}) == 5
    curriculum.observe(envs.evidence(90, values=[0.0, 0.0, 0.5, 0.0, 0.0]))
    later = []
    for _ in range(12):
        *_, info = envs.step(np.zeros(3, dtype=np.int64))
        later.append(info["task"])
    assert set(np.ravel(later[6:]).tolist()) == {2}


@pytest.mark.parametrize("mode", AUTORESET)
def test_evidence_counts_the_episodes_since_the_last_call(mode):
    envs, _ = build(mode=mode)
    rng, won, lost = np.random.default_rng(1), np.zeros(5), np.zeros(5)
    _, info = envs.reset(seed=0)
    tasks = info["task"]
    for step in range(40):
        if step == 20:
            envs.evidence(60)
            won[:] = lost[:] = 0
        actions = rng.integers(2, size=3)
        _, _, terminated, _, info = envs.step(actions)
        for i in np.flatnonzero(terminated):
            (won if actions[i] else lost)[tasks[i]] += 1
        tasks = info["task"]
    evidence = envs.evidence(120)
    assert evidence.step == 120
    assert min(won.sum(), lost.sum()) > 3
    assert evidence.wins.tolist() == won.tolist()
    assert evidence.losses.tolist() == lost.tolist()
    assert len(envs.episodes.tasks) == won.sum() + lost.sum()
    assert envs.evidence(130).wins.tolist() == [0] * 5


class Costly(Countdown):
    """Costs 1 per step; whether success is reported is a choice."""

    def __init__(self, says_success):
        self.says_success = says_success

    def step(self, action):
        observation, _, done, cut, info = super().step(action)
        return observation, -1.0, done, cut, info if self.says_success else {}


def test_reported_success_decides_whatever_the_rewards_are():
    envs, _ = build(make_env=lambda: TaskEnv(Costly(says_success=True), POOL))
    play(envs, 40)
    evidence = envs.evidence(120)
    assert evidence.wins.sum() == envs.episodes.success.sum() > 3
    assert (evidence.scale.low, evidence.scale.high) == (0, 1)


def test_returns_are_judged_on_their_range_if_success_is_not_reported():
    envs, _ = build(make_env=lambda: TaskEnv(Costly(says_success=False), POOL))
    play(envs, 40)
    evidence = envs.evidence(120)
    assert (evidence.scale.low, evidence.scale.high) == (-3, -1)
    share = evidence.wins / (evidence.wins + evidence.losses)
    assert share.tolist() == [1.0, 0.5, 0.0, 1.0, 0.5]  # of tasks of 1, 2, 3, 1 and 2 steps


def test_evidence_holds_what_the_strategy_uses():
    envs, curriculum = build("iid")
    play(envs, 10)
    evidence = envs.evidence(30, values=np.zeros(5))
    assert all(field is None for field in evidence[1:])
    curriculum.observe(evidence)
    envs, curriculum = build("procurl-val")
    evidence = envs.evidence(30, values=[0.0, 0.1, 0.2, 0.3, 0.4])
    assert evidence.values.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]


@pytest.mark.parametrize("mode", AUTORESET)
def test_sync_and_async_give_the_same_results(mode):
    found = []
    for cls in (SyncVectorEnv, in_processes):
        envs, curriculum = build(mode=mode, cls=cls)
        first = envs.first_observations(seed=3)
        parts = [play(envs, 30), envs.evidence(90, values=first[:, 1])]
        curriculum.observe(parts[1])
        parts += [play(envs, 30, seed=1), envs.evidence(180)]
        found.append((first.tolist(), [np.asarray(x, object).tolist() for x in parts]))
        envs.close()
    assert repr(found[0]) == repr(found[1])
    assert "array" in repr(found[0])  # the evidence is compared number by number


@pytest.mark.parametrize("b", [1, 2, 7])
def test_first_observations_are_in_the_order_of_the_pool(b):
    envs, _ = build(b=b)
    first = envs.first_observations(seed=0)
    assert first.shape == (5, 2)
    assert first[:, 0].tolist() == POOL.contexts[:, 0].tolist()
    assert (first == envs.first_observations(seed=0)).all()
    assert not (first == envs.first_observations(seed=1)).all()


def test_first_observations_of_a_dictionary_space():
    envs, _ = build(make_env=lambda: TaskEnv(DictCountdown(), POOL))
    assert envs.first_observations()["left"][:, 0].tolist() == POOL.contexts[:, 0].tolist()


def test_first_observations_may_share_one_array():
    inside = SyncVectorEnv([make_env] * 2, copy=False)
    envs = CurriculumVectorEnv(inside, Curriculum("procurl-out", POOL, seed=5))
    assert envs.first_observations()[:, 0].tolist() == POOL.contexts[:, 0].tolist()


def test_first_observations_end_the_episodes():
    envs, _ = build()
    with pytest.raises(RuntimeError, match="call reset before step"):
        envs.step([0, 0, 0])
    envs.reset(seed=0)
    envs.first_observations()
    with pytest.raises(RuntimeError, match="call reset before step"):
        envs.step([0, 0, 0])
    assert envs.evidence(1).wins.sum() == 0


@pytest.mark.parametrize("mode", AUTORESET)
def test_scores_are_means_over_the_steps_of_the_latest_episode(mode):
    envs, _ = build("plr", mode, b=1)
    _, info = envs.reset(seed=0)
    task, expected, counted, parts, total = int(info["task"][0]), {}, 0, [], 0.0
    skip = False
    for step in range(30):
        parts.append([float(step)])
        _, _, terminated, _, info = envs.step([1])
        if not skip:
            counted, total = counted + 1, total + step
        if terminated[0]:
            expected[task] = total / counted
            counted, total = 0, 0.0
        skip = bool(terminated[0]) and mode == AutoresetMode.NEXT_STEP
        task = int(info["task"][0])
        if step == 13:  # in the middle of an episode
            evidence = envs.evidence(14, advantages=parts)
            assert {t: s for t, s in enumerate(evidence.score) if t in expected} == expected
            parts = []
    evidence = envs.evidence(30, advantages=parts)
    assert len(expected) == 5
    assert evidence.score.tolist() == [expected[t] for t in range(5)]
    assert evidence.played.sum() == len(envs.episodes.tasks) > 0


def test_the_best_return_score_takes_the_values_of_the_steps():
    """Every episode is won: R_max = 1, and the evidence holds −mean V."""
    envs, curriculum = build(make_strategy("plr", score="maxmc"), b=1)
    while envs.reset()[1]["task"][0] != 1:  # lasts two steps
        pass
    for _ in range(2):
        envs.step([1])
    advantages = np.zeros((2, 1))
    with pytest.raises(ValueError, match="values must hold the critic's value of every step"):
        envs.evidence(2, advantages=advantages)
    with pytest.raises(
        ValueError, match=r"step_values must have the shape of advantages, \(2, 1\)"
    ):
        envs.evidence(2, advantages=advantages, step_values=np.zeros((3, 1)))
    evidence = envs.evidence(2, advantages=advantages, step_values=[[0.25], [0.5]])
    assert evidence.score.tolist() == [0, -0.375, 0, 0, 0]
    assert evidence.best_return.tolist() == [0, 1, 0, 0, 0]
    curriculum.observe(evidence)


def test_a_reset_cuts_the_scored_episode():
    envs, _ = build("plr", b=1)
    while envs.reset()[1]["task"][0] != 2:  # lasts three steps
        pass
    envs.step([1])
    while envs.reset()[1]["task"][0] != 1:  # lasts two steps
        pass
    envs.step([1])
    envs.step([1])
    evidence = envs.evidence(3, advantages=[[100.0], [1.0], [3.0]])
    assert evidence.score.tolist() == [0, 2, 0, 0, 0]


def test_without_autoreset_the_user_resets():
    envs, _ = build(mode=AutoresetMode.DISABLED, b=2)
    drawn = Curriculum("procurl-out", POOL, seed=5).next(2 * QUEUE).reshape(2, QUEUE)
    _, info = envs.reset(seed=0)
    seen = [[int(task)] for task in info["task"]]
    for _ in range(20):
        _, _, terminated, _, _ = envs.step([1, 1])
        if terminated.any():
            options = {"reset_mask": terminated}
            _, info = envs.reset(options=options)
            assert options["reset_mask"] is terminated
            for i in np.flatnonzero(terminated):
                seen[i].append(int(info["task"][i]))
    for i in range(2):
        assert seen[i] == drawn[i, : len(seen[i])].tolist()
    assert envs.evidence(40).wins.sum() == sum(map(len, seen)) - 2


def test_other_vector_wrappers_may_lie_inside():
    inside = RecordEpisodeStatistics(SyncVectorEnv([make_env] * 2))
    envs = CurriculumVectorEnv(inside, Curriculum("procurl-out", POOL))
    play(envs, 10)
    assert envs.evidence(20).wins.sum() > 0


@pytest.mark.parametrize("cls", [SyncVectorEnv, in_processes])
def test_environments_without_tasks_are_refused(cls):
    envs = cls([lambda: gymnasium.make("CartPole-v1")] * 2)
    with pytest.raises(ValueError, match="wrap every sub-environment in procurl.TaskEnv"):
        CurriculumVectorEnv(envs, Curriculum("iid", POOL))
    envs.close()


def test_wrong_arguments_are_refused():
    envs = SyncVectorEnv([make_env])
    with pytest.raises(TypeError, match="curriculum must be a Curriculum, got str"):
        CurriculumVectorEnv(envs, "procurl-out")
    with pytest.raises(ValueError, match="pool of the curriculum, TaskPool.7 seeds.*not"):
        CurriculumVectorEnv(envs, Curriculum("iid", TaskPool.from_seeds(7)))
    with pytest.raises(TypeError, match="SyncVectorEnv or an AsyncVectorEnv, got GymVectorEnv"):
        CurriculumVectorEnv(GymVectorEnv("pointmass-s", 2), Curriculum("iid", POOL))


def test_scores_need_one_advantage_per_step():
    envs, _ = build("plr")
    play(envs, 4)
    with pytest.raises(ValueError, match=r"advantages must have shape \(4, 3\).*got None: PLR"):
        envs.evidence(12)
    with pytest.raises(ValueError, match=r"shape \(4, 3\).*got \(3, 3\)"):
        envs.evidence(12, advantages=np.zeros((3, 3)))
    assert envs.evidence(12, advantages=np.zeros((4, 3))).played.sum() > 0  # nothing was lost
