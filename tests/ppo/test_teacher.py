"""The teacher of one run: what it makes of training episodes, values and rollouts."""

from dataclasses import replace
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl import Evidence, TaskPool, make_strategy
from procurl.internals.pytrees import register_settings
from procurl.ppo.collect import draw_tasks
from procurl.ppo.episodes import Episodes
from procurl.ppo.student import RolloutSummary
from procurl.ppo.teacher import Teacher, count_steps
from procurl.strategies import IID, PLR, ProCuRL, ProCuRLArgmax, SPaCE, TopRollouts, strategy_names
from procurl.success import OutcomeSuccess, RolloutPlan, RolloutSuccess

N, B, T = 5, 3, 7
ROLLOUTS = 6
VALUES = jnp.asarray([0.1, 0.9, 0.4, 0.3, 0.7])
KEY = jax.random.key(0)


def teacher_of(strategy, n=N, n_envs=B):
    register_settings(strategy)
    return Teacher.of(strategy, n, n_envs)


@cache
def recorded(seed=0, binary=True):
    """Rollouts of b environments that follow one another, with episodes across their borders."""
    rng = np.random.default_rng(seed)
    tasks = rng.integers(N - 1, size=B)  # the last task is never played
    gained = np.zeros(B)
    rollouts = []
    for _ in range(ROLLOUTS):
        steps = []
        for _ in range(T):
            done = rng.random(B) < 0.3
            reward = done * (rng.random(B) < 0.5) if binary else rng.normal(size=B)
            gained = gained + reward
            advantages = rng.normal(size=B)
            success = done & (reward > 0)
            steps.append((done, success, gained, tasks, advantages))
            tasks = np.where(done, rng.integers(N - 1, size=B), tasks)
            gained = np.where(done, 0.0, gained)
        dones, success, returns, played, advantages = map(np.stack, zip(*steps, strict=True))
        rollouts.append(
            RolloutSummary(
                jnp.asarray(dones),
                jnp.asarray(success),
                jnp.asarray(returns, dtype=jnp.float32),
                jnp.asarray(played, dtype=jnp.int32),
                jnp.asarray(advantages, dtype=jnp.float32),
                jnp.asarray(0.5 - advantages, dtype=jnp.float32),  # values, of no other meaning
            )
        )
    return rollouts


class Recount:
    """What `count_episodes` should know, counted one step after the other in plain Python."""

    def __init__(self, score, outcome):
        self.score_of, self.outcome = score, outcome
        self.wins, self.losses, self.played = [0.0] * N, [0.0] * N, [0] * N
        self.score = [0.0] * N
        self.best = [-np.inf] * N
        self.open = [[] for _ in range(B)]  # scores of the steps of each environment's episode
        self.steps = 0

    def add(self, rollout):
        for t in range(T):
            for b in range(B):
                self.steps += 1
                self.open[b].append(self.score_of(float(rollout.advantages[t, b])))
                if rollout.dones[t, b]:
                    task = int(rollout.tasks[t, b])
                    won = self.outcome(float(rollout.returns[t, b]))
                    self.wins[task] += won
                    self.losses[task] += 1.0 - won
                    self.played[task] += 1
                    self.best[task] = max(self.best[task], float(rollout.returns[t, b]))
                    self.score[task] = sum(self.open[b]) / len(self.open[b])
                    self.open[b] = []


def binary(gained):
    return gained


def between(low, high):
    return lambda gained: min(max((gained - low) / (high - low), 0.0), 1.0)


CASES = {
    "value_l1": (PLR(), abs, binary, True),
    "gae": (PLR(score="gae"), lambda a: a, binary, True),
    "positive_value_loss": (
        PLR(score="positive_value_loss"),
        lambda a: max(a, 0.0),
        binary,
        True,
    ),
    "maxmc": (PLR(score="maxmc"), lambda a: a - 0.5, binary, True),
    "outcome": (ProCuRL(success=OutcomeSuccess()), abs, binary, True),
    "outcome of any return": (
        ProCuRL(success=OutcomeSuccess(v_min=-2.0, v_max=3.0)),
        abs,
        between(-2.0, 3.0),
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_counts_equal_a_scalar_recount(name):
    strategy, score, outcome, is_binary = CASES[name]
    teacher = teacher_of(strategy)
    assert teacher.counts_episodes
    count = jax.jit(teacher.count_episodes)
    teaching = jax.jit(teacher.begin)(strategy)
    recount = Recount(score, outcome)
    for rollout in recorded(binary=is_binary):
        teaching = count(strategy, teaching, rollout)
        recount.add(rollout)
        got = teaching.episodes
        np.testing.assert_allclose(got.wins, recount.wins, atol=1e-5)
        np.testing.assert_allclose(got.losses, recount.losses, atol=1e-5)
        np.testing.assert_array_equal(got.played, recount.played)
        np.testing.assert_allclose(got.score, recount.score, atol=1e-5)
        np.testing.assert_allclose(got.open_score, list(map(sum, recount.open)), atol=1e-5)
        np.testing.assert_array_equal(got.open_length, list(map(len, recount.open)))
        assert (got.best is not None) == (name == "maxmc")
        if got.best is not None:
            np.testing.assert_array_equal(got.best, recount.best)
    assert recount.steps == ROLLOUTS * T * B
    assert min(recount.played[: N - 1]) > 2


def one_step(dones, tasks, advantages):
    """A rollout of one step in b environments."""
    row = jnp.asarray([dones], dtype=bool)
    nothing = jnp.zeros((1, B))
    return RolloutSummary(
        row,
        nothing > 0,
        nothing,
        jnp.asarray([tasks]),
        jnp.asarray([advantages], dtype=float),
        nothing,
    )


def test_an_episode_across_rollouts_scores_by_all_its_steps():
    """1, −2, 3 over three rollouts: (1 + 2 + 3) / 3, the last transition included."""
    strategy = PLR()
    teacher = teacher_of(strategy)
    teaching = teacher.begin(strategy)
    for advantage, done in ((1.0, False), (-2.0, False), (3.0, True)):
        played = one_step([done, False, False], [2, 0, 0], [advantage, 9.0, 9.0])
        teaching = teacher.count_episodes(strategy, teaching, played)
    assert teaching.episodes.score.tolist() == [0.0, 0.0, 2.0, 0.0, 0.0]
    assert teaching.episodes.open_length.tolist() == [0.0, 3.0, 3.0]
    assert teaching.episodes.open_score.tolist() == [0.0, 27.0, 27.0]


def test_the_latest_episode_of_a_task_wins_whichever_environment_played_it():
    """Environment 2 ends task 1 first, then environment 0, then nobody."""
    strategy = PLR()
    teacher = teacher_of(strategy)
    none = [False, False, False]
    steps = [
        one_step([False, False, True], [1, 0, 1], [4.0, 0.0, 8.0]),
        one_step([True, False, False], [1, 0, 3], [6.0, 0.0, 0.0]),
        one_step(none, [3, 0, 3], [7.0, 0.0, 0.0]),
    ]
    rollout = RolloutSummary(*map(jnp.concatenate, zip(*steps, strict=True)))
    teaching = teacher.begin(strategy)
    at_once = teacher.count_episodes(strategy, teaching, rollout).episodes
    assert at_once.score.tolist() == [0.0, 5.0, 0.0, 0.0, 0.0]
    assert at_once.played.tolist() == [0.0, 2.0, 0.0, 0.0, 0.0]
    for step in steps:
        teaching = teacher.count_episodes(strategy, teaching, step)
    jax.tree.map(np.testing.assert_array_equal, teaching.episodes, at_once)


def test_refresh_hands_over_counts_and_starts_them_again():
    """The open episodes and the scores stay, so that an episode counts where it ends."""
    strategy = PLR()
    teacher = teacher_of(strategy)
    count, refresh = jax.jit(teacher.count_episodes), jax.jit(teacher.refresh)
    teaching = teacher.begin(strategy)
    age, seen = np.zeros(N), np.zeros(N, dtype=bool)
    latest = [0.0] * N
    recount = Recount(abs, binary)
    for update, rollout in enumerate(recorded()):
        recount.add(rollout)
        counted = count(strategy, teaching, rollout)
        teaching = refresh(strategy, counted, jnp.int32(64 * (update + 1)), VALUES, KEY, None)
        played = np.asarray(recount.played) > 0
        age = np.where(played, 0.0, age + sum(recount.played))
        seen |= played
        latest = np.where(played, recount.score, latest)
        np.testing.assert_array_equal(teaching.strategy.age, age)
        np.testing.assert_array_equal(teaching.strategy.seen, seen)
        np.testing.assert_allclose(teaching.strategy.score, latest, atol=1e-5)
        for counts in (teaching.episodes.wins, teaching.episodes.losses, teaching.episodes.played):
            assert not np.any(counts)
        np.testing.assert_array_equal(teaching.episodes.open_score, counted.episodes.open_score)
        assert int(teaching.step) == 64 * (update + 1)
        recount.wins, recount.losses, recount.played = [0.0] * N, [0.0] * N, [0] * N
    assert not seen[N - 1]
    np.testing.assert_allclose(
        np.diff(teaching.cumulative, prepend=0.0),
        strategy.probabilities(jax.tree.map(np.asarray, teaching.strategy)),
        atol=1e-6,
    )


RETURNS = np.array(
    [
        [0.0, 0.5, 1.0, 0.25, 0.0],
        [1.0, 1.0, 1.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.5, 0.5, 0.75, 0.5, 0.5],
    ]
)
EPISODES = Episodes(jnp.asarray(RETURNS), jnp.asarray(RETURNS == 1.0), jnp.int32(1234))


@pytest.mark.parametrize("measure", ["return", "success"])
@pytest.mark.parametrize(("fraction", "best"), [(0.01, 1), (0.2, 1), (0.4, 2), (0.7, 4), (1.0, 5)])
def test_rollout_evidence_equals_a_recount(measure, fraction, best):
    success = RolloutSuccess(c_rollouts=5, measure=measure)
    strategy = ProCuRL(success=success, p_star=TopRollouts(fraction))
    teacher = teacher_of(strategy)
    assert teacher.plan == RolloutPlan(5, measure, fraction)
    teaching = teacher.begin(strategy)
    after = teacher.refresh(strategy, teaching, jnp.int32(64), VALUES, KEY, EPISODES)
    for task in range(N):
        row = [float(r) if measure == "return" else float(r == 1.0) for r in RETURNS[task]]
        top = sorted(row, reverse=True)[:best]
        got = float(after.strategy.success.estimate[task])
        assert got == pytest.approx(sum(row) / 5)
        assert float(after.strategy.potential.p_star[task]) == pytest.approx(sum(top) / best)


def test_teacher_steps_are_counted_beyond_the_integers_of_jax():
    strategy = make_strategy("procurl-env", c_rollouts=5)
    teacher = teacher_of(strategy)
    teaching = teacher.begin(strategy)
    assert int(teaching.teacher_steps) == 0
    for steps, total in (
        (1234, 1234),
        (17, 1251),
        (2**31 - 1, 2**31 + 1250),
        (2**31 - 1, 2**32 + 1249),
    ):
        episodes = EPISODES._replace(steps=jnp.int32(steps))
        teaching = teacher.refresh(strategy, teaching, jnp.int32(64), VALUES, KEY, episodes)
        assert int(count_steps(teaching.rollout_steps)) == total
        assert float(teaching.teacher_steps) == pytest.approx(total)


@pytest.mark.parametrize("name", ["procurl-val", "space", "spdl", "procurl-argmax"])
def test_a_critic_costs_no_steps(name):
    strategy = make_strategy(name)
    teacher = teacher_of(strategy)
    teaching = teacher.begin(strategy)
    after = teacher.refresh(strategy, teaching, jnp.int32(64), VALUES, KEY, None)
    assert int(after.teacher_steps) == 0
    expected = strategy.update(strategy.init(N), Evidence(step=64, values=np.asarray(VALUES)))
    np.testing.assert_allclose(
        np.diff(after.cumulative, prepend=0.0), strategy.probabilities(expected), atol=1e-5
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_evidence_that_is_not_finite_is_remembered(bad):
    strategy = make_strategy("procurl-val")
    teacher = teacher_of(strategy)
    teaching = teacher.begin(strategy)
    assert bool(teaching.sound)
    spoilt = teacher.refresh(strategy, teaching, jnp.int32(1), VALUES.at[2].set(bad), KEY, None)
    assert not bool(spoilt.sound)
    healed = teacher.refresh(strategy, spoilt, jnp.int32(2), VALUES, KEY, None)
    assert not bool(healed.sound)


def test_a_distribution_that_is_not_finite_is_remembered():
    strategy = make_strategy("procurl-val", beta=4e38)  # infinite in single precision
    teacher = teacher_of(strategy)
    spoilt = jax.jit(lambda beta: teacher.begin(replace(strategy, beta=beta)).sound)
    assert not bool(spoilt(jnp.float32(np.inf)))
    assert bool(spoilt(jnp.float32(20.0)))


def test_what_a_strategy_does_not_use_cannot_stop_it():
    strategy = make_strategy("plr")
    teacher = teacher_of(strategy)
    teaching = teacher.begin(strategy)
    after = teacher.refresh(strategy, teaching, jnp.int32(1), VALUES * np.nan, KEY, None)
    assert bool(after.sound)


def test_noise_comes_from_the_key():
    strategy = make_strategy("procurl-val", epsilon=0.3)
    teacher = teacher_of(strategy, n=200)
    values = jnp.linspace(0.0, 1.0, 200)
    teaching = teacher.begin(strategy)
    refresh = jax.jit(teacher.refresh)
    one, other = (
        refresh(strategy, teaching, jnp.int32(1), values, jax.random.key(seed), None).strategy
        for seed in (0, 1)
    )
    noise = np.asarray(one.noise)
    assert not np.array_equal(noise, other.noise)
    assert np.abs(noise).max() <= 1.0
    assert np.abs(noise.mean()) <= 4.0 / np.sqrt(3 * 200)
    estimate = strategy.estimated_success(one)
    np.testing.assert_allclose(estimate, np.clip(values + 0.3 * noise, 0.0, 1.0), atol=1e-6)


@pytest.mark.parametrize("name", strategy_names())
def test_begins_with_the_strategys_own_distribution(name):
    pool = TaskPool(np.arange(N)[:, None], features={"target": np.arange(N) % 2})
    strategy = make_strategy(name).bind(pool)
    teaching = teacher_of(strategy).begin(strategy)
    expected = np.cumsum(strategy.probabilities(strategy.init(N)))
    np.testing.assert_allclose(teaching.cumulative, expected, atol=1e-6)
    assert int(teaching.step) == int(teaching.teacher_steps) == 0
    floats = [x for x in jax.tree.leaves(teaching) if jnp.issubdtype(x.dtype, jnp.floating)]
    assert {x.dtype for x in floats} == {jnp.dtype("float32")}


@pytest.mark.parametrize(
    "strategy", [SPaCE(kappa=400, eta=1e9), ProCuRLArgmax()], ids=["space", "argmax"]
)
def test_a_task_of_probability_zero_is_never_drawn(strategy):
    """In a pool so large that sums are rounded: 24,000 tasks, as many as Karel has."""
    n = 24_000
    rng = np.random.default_rng(0)
    teacher = teacher_of(strategy, n=n)
    teaching = jax.jit(teacher.begin)(strategy)
    refresh = jax.jit(teacher.refresh)
    draw = jax.jit(partial(draw_tasks, shape=(2_000_000,)))
    for update in range(3):
        values = jnp.asarray(np.round(rng.random(n), 1))  # many share a value
        step = jnp.int32(64 * (update + 1))
        teaching = refresh(strategy, teaching, step, values, KEY, None)
        p = np.asarray(strategy.probabilities(teaching.strategy))
        assert 0 < np.sum(p > 0) < n / 2
        tasks = draw(jax.random.key(update), teaching.cumulative)
        assert not np.any(p[tasks] == 0.0)
        np.testing.assert_allclose(teaching.cumulative, np.cumsum(p, dtype=float), atol=1e-5)


def test_iid_counts_nothing_and_plans_nothing():
    teacher = teacher_of(IID())
    assert not teacher.counts_episodes
    assert teacher.plan is None


def due(strategy, teaching, *steps):
    """Whether a refresh would be due at each of `steps`."""
    return [bool(strategy.due(step, teaching.step, teaching.teacher_steps)) for step in steps]


def test_budgets_are_kept_by_the_teachers_own_count():
    """Due once the interval has passed and x − 1 times the training steps have paid for all."""
    strategy = make_strategy("procurl-env-2", refresh_every=100, c_rollouts=5)
    teacher = teacher_of(strategy)
    teaching = teacher.begin(strategy)
    assert due(strategy, teaching, 99, 100) == [False, True]
    dear = EPISODES._replace(steps=jnp.int32(250))
    after = teacher.refresh(strategy, teaching, jnp.int32(100), VALUES, KEY, dear)
    assert due(strategy, after, 200, 249, 250) == [False, False, True]
    cheap = EPISODES._replace(steps=jnp.int32(50))
    later = teacher.refresh(strategy, after, jnp.int32(250), VALUES, KEY, cheap)
    assert due(strategy, later, 300, 349, 350) == [False, False, True]
    free = replace(strategy, success=replace(strategy.success, budget=None))
    assert due(free, after, 199, 200) == [False, True]
