"""Spaces in `TaskEnv` and `CurriculumVectorEnv`: candidates and their outcomes stay together."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from procurl import Curriculum, CurriculumVectorEnv, TaskEnv, TaskSpace
from tests.sb3.walk import Walk

SPACE = TaskSpace([1.0], [6.0], ["length"], size=12, fresh=0.5)


def guarded_walk():
    """An environment that raises if a training episode is broken off."""
    return TaskEnv(Walk(guarded=True), SPACE)


def walks(count=3):
    return SyncVectorEnv([guarded_walk] * count)


def walks_in_processes(count=3):
    return AsyncVectorEnv([guarded_walk] * count, context="forkserver")


def test_a_task_env_plays_the_candidates_it_is_given():
    env = TaskEnv(Walk(), SPACE)
    pool = SPACE.pool(seed=9)
    env.change_candidates(pool, np.arange(12))
    observation, _ = env.reset(options={"task": 4})
    assert observation[1] == pytest.approx(pool[4][0])


def test_episodes_on_candidates_that_are_gone_are_dropped():
    env = TaskEnv(Walk(), SPACE)
    for task in (4, 5):
        env.reset(options={"task": task})
        while not any(env.step(1)[2:4]):
            pass
    env.change_candidates(SPACE.pool(seed=9), [4])
    assert env.collect().tasks.tolist() == [5]


def test_a_fixed_pool_has_no_candidates_to_change():
    with pytest.raises(ValueError, match="the tasks are those of a fixed pool"):
        TaskEnv(Walk(), SPACE.pool()).change_candidates(SPACE.pool(), [0])


def test_a_vector_environment_plays_what_the_curriculum_has_drawn():
    curriculum = Curriculum("procurl", SPACE, seed=3)
    envs = CurriculumVectorEnv(walks(), curriculum)
    observations, info = envs.reset(seed=0)
    tasks = info["task"]
    seen = {curriculum.pool.fingerprint}
    for step in range(1, 201):
        np.testing.assert_allclose(observations[:, 1], shown(curriculum, tasks), rtol=1e-6)
        if step % 20 == 0:
            curriculum.observe(envs.evidence(3 * step))
        playing = curriculum.pool.contexts[tasks]
        observations, *_, info = envs.step(np.ones(3, dtype=int))
        if step % 20 == 0:  # tasks in play have stayed
            np.testing.assert_array_equal(curriculum.pool.contexts[tasks], playing)
        tasks = np.where(info["_task"], info["task"], tasks)
        seen.add(curriculum.pool.fingerprint)
    assert len(seen) == 11


def shown(curriculum, tasks):
    return curriculum.pool.contexts[tasks, 0]


def play_with_critic(make_env, rounds=4):
    """Train with `procurl-val` beside a second environment; what was seen, and the candidates."""
    curriculum = Curriculum("procurl-val", SPACE, seed=3)
    training = CurriculumVectorEnv(make_env(), curriculum)
    starts = CurriculumVectorEnv(make_env(), curriculum)
    observations, _ = training.reset(seed=0)
    seen, first = [observations], []
    for step in range(1, 20 * rounds + 1):
        if step % 20 == 0:
            first.append(starts.first_observations(seed=step))
            np.testing.assert_allclose(first[-1][:, 1], curriculum.pool.contexts[:, 0], rtol=1e-6)
            values = first[-1][:, 1] / 6.0
            curriculum.observe(training.evidence(3 * step, values=values))
        observations, *_ = training.step(np.ones(3, dtype=int))
        seen.append(observations)
    training.close()
    starts.close()
    return np.stack(seen), np.stack(first), curriculum.pool.fingerprint


def test_first_observations_are_those_of_the_candidates_at_the_time():
    """Half of the candidates change between two calls; training episodes go on meanwhile."""
    _, first, _ = play_with_critic(walks)
    changed = (first[1:, :, 1] != first[:-1, :, 1]).sum(axis=1)
    assert changed.tolist() == [6, 6, 6]


@pytest.mark.soak
def test_subprocesses_play_the_same_candidates():
    ours, theirs = play_with_critic(walks), play_with_critic(walks_in_processes)
    for here, there in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(here, there)


def test_pools_and_spaces_are_not_mixed_up():
    for tasks in (SPACE.pool(), TaskSpace([1.0], [5.0], ["length"], size=12)):
        with pytest.raises(ValueError, match="task ids would not match"):
            CurriculumVectorEnv(walks(), Curriculum("procurl", tasks))
