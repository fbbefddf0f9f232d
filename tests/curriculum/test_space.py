"""A curriculum over a space: which candidates are replaced, and what is known of new ones."""

import numpy as np
import pytest

from procurl import (
    ALPGMM,
    CURROT,
    SPDL,
    Curriculum,
    Evidence,
    ProCuRLTarget,
    SPaCE,
    Target,
    TaskSpace,
    make_strategy,
)
from tests.strategies.cases import CASES, pool_of
from tests.strategies.evidence import full_evidence

FIXED = (ALPGMM, SPaCE, SPDL)  # their states fit only the pool that they were made on
TARGETED = (CURROT, ProCuRLTarget, Target)  # they need a feature that marks targets


def line(size=20, fresh=0.1, **settings):
    return TaskSpace([0.0], [1.0], ["x"], size=size, fresh=fresh, **settings)


def draw_objects(rng, count):
    return [{"level": int(level)} for level in rng.integers(1_000_000, size=count)]


def test_the_least_likely_are_replaced_after_a_refresh_and_no_others():
    """β = 20: the two values far from 0.5 have the smallest p · (1 − p)."""
    curriculum = Curriculum("procurl-val", line(), seed=0)
    before, values = curriculum.pool.contexts.copy(), np.full(20, 0.5)
    values[[3, 11]] = [0.01, 0.99]
    curriculum.next(50)
    assert (curriculum.pool.contexts == before).all()
    curriculum.observe(Evidence(step=1, values=values))
    assert (curriculum.pool.contexts == before).all()  # ids stay valid until the next draw
    curriculum.next()
    changed = np.flatnonzero((curriculum.pool.contexts != before).any(axis=1))
    assert changed.tolist() == [3, 11]
    after = curriculum.pool.contexts.copy()
    curriculum.next(50)
    assert (curriculum.pool.contexts == after).all()


def test_tasks_in_play_stay_and_the_next_least_likely_go():
    curriculum = Curriculum("procurl-val", line(), seed=0)
    values = np.full(20, 0.5)
    values[[3, 11, 12]] = [0.01, 0.02, 0.04]
    curriculum.observe(Evidence(step=1, values=values))
    assert curriculum.renew(playing=[3]).tolist() == [11, 12]
    assert curriculum.renew().size == 0  # until the next refresh


def test_the_oldest_go_first_among_equals():
    """Without evidence all are alike: four rounds of a quarter each replace every candidate."""
    curriculum = Curriculum("iid", line(size=8, fresh=0.25), seed=0)
    replaced = []
    for step in range(1, 5):
        curriculum.observe(Evidence(step=step))
        replaced += curriculum.renew().tolist()
    assert sorted(replaced) == list(range(8))


def test_records_lead_to_renewals_too():
    for strategy in ("procurl", "iid"):
        curriculum = Curriculum(strategy, line(), seed=0)
        before = curriculum.pool.contexts.copy()
        curriculum.record(curriculum.next(4), [1, 0, 1, 0])
        curriculum.next()
        assert (curriculum.pool.contexts != before).sum() == 2


def test_new_candidates_start_from_what_is_known_around_them():
    """Tasks right of 0.5 are won, all others lost: fresh ones are judged by where they are.

    Those that are won are worth least. Half of them stay and tell of the fresh ones beside them.
    """
    curriculum = Curriculum("procurl", line(size=200, fresh=0.25), seed=0)
    for _ in range(3):
        x = curriculum.pool.contexts[:, 0]
        curriculum.record(np.arange(200), (x > 0.5).astype(float))
    ids = curriculum.renew()
    x, p = curriculum.pool.contexts[ids, 0], curriculum.success()[ids]
    assert p[x > 0.6].mean() > 0.7
    assert p[x < 0.4].mean() < 0.3


def test_a_new_candidate_has_no_outcomes_of_the_task_before_it():
    space = TaskSpace.from_seeds(size=10, fresh=0.1)
    curriculum = Curriculum(make_strategy("procurl-out", decay_steps=1e9), space, seed=0)
    curriculum.record([4] * 8, [0] * 8)
    before = curriculum.pool.seeds.copy()
    assert curriculum.success()[4] < 0.1
    assert curriculum.renew().tolist() == [4]
    assert curriculum.success()[4] == 0.5
    assert curriculum.pool.seeds[4] not in before


def test_outcomes_that_wait_for_a_refresh_count_before_their_task_goes():
    n = 10_000  # two records per refresh
    space = TaskSpace.from_seeds(size=n, fresh=1.0)
    curriculum = Curriculum("procurl-out", space, seed=0)
    for _ in range(3):
        curriculum.record([0], [1])
    curriculum.next()
    assert (curriculum.success() == curriculum.success()[0]).all()
    curriculum.record([1], [1])
    assert curriculum.success().max() == curriculum.success().min()  # it waits
    curriculum.refresh()
    assert curriculum.success().argmax() == 1


@pytest.mark.parametrize(
    "space",
    [line(), TaskSpace.from_seeds(size=20), TaskSpace(sample=draw_objects, size=20)],
    ids=["contexts", "seeds", "objects"],
)
def test_a_saved_curriculum_continues_with_the_same_candidates_and_draws(space, tmp_path):
    luck = np.random.default_rng(5)

    def play(curriculum, rounds):
        for _ in range(rounds):
            ids = curriculum.next(6)
            curriculum.record(ids, (luck.random(6) < 0.5).astype(float))
        return [curriculum.pool[task] for task in curriculum.next(10)]

    curriculum = Curriculum("procurl", space, seed=1)
    play(curriculum, 7)
    curriculum.save(tmp_path / "saved")
    other = Curriculum("procurl", space, seed=2).load(tmp_path / "saved")
    assert other.pool.fingerprint == curriculum.pool.fingerprint
    luck = np.random.default_rng(6)
    first = play(curriculum, 5)
    luck = np.random.default_rng(6)
    assert play(other, 5) == first
    np.testing.assert_array_equal(other.probabilities(), curriculum.probabilities())


def test_the_seed_decides_the_candidates():
    pools = [Curriculum("procurl", line(), seed=seed).pool.fingerprint for seed in (1, 1, 2)]
    assert pools[0] == pools[1] != pools[2]


def test_the_fixed_pool_of_a_space_holds_other_tasks_than_the_candidates():
    curriculum = Curriculum("iid", line(), seed=0)
    fixed = line().pool(500, seed=0).contexts
    for _ in range(20):
        assert not np.isin(curriculum.pool.contexts, fixed).any()
        curriculum.record(curriculum.next(4), [1, 0, 1, 0])


def test_another_space_is_not_loaded(tmp_path):
    Curriculum("procurl", line(), seed=0).save(tmp_path / "saved")
    other = Curriculum("procurl", line(fresh=0.2), seed=0)
    with pytest.raises(ValueError, match=r"pool\.space\.fresh = 0\.1, this one has 0\.2"):
        other.load(tmp_path / "saved")


@pytest.mark.parametrize("name", CASES)
def test_every_strategy_renews_its_candidates_or_refuses_a_space(name):
    """On the contexts of the cases, with whatever columns and features they need."""
    pool = pool_of(30)
    space = TaskSpace(
        sample=lambda rng, count: pool.contexts[rng.integers(len(pool), size=count)],
        names=pool.names,
        size=len(pool),
    )
    strategy = CASES[name].make(30)
    if isinstance(strategy, (*FIXED, *TARGETED)):
        with pytest.raises(ValueError, match="needs a fixed pool|is not a feature of the pool"):
            Curriculum(strategy, space, seed=0)
        return
    curriculum = Curriculum(strategy, space, seed=0)
    for step in (1, 2, 3):
        curriculum.observe(full_evidence(30, seed=step, step=step))
        assert curriculum.renew().size == 3
        assert curriculum.probabilities().sum() == pytest.approx(1)
        curriculum.next(3)


def test_strategies_of_one_pool_say_so():
    for name in ("alp-gmm", "space", "spdl"):
        with pytest.raises(ValueError, match=f"{name} needs a fixed pool, such as space.pool"):
            Curriculum(name, line(), seed=0)
    for name in ("target", "procurl-target", "currot"):
        with pytest.raises(ValueError, match=r"no features: use a fixed pool, such as space.pool"):
            Curriculum(name, line(), seed=0)


def test_a_space_has_no_prior_and_no_other_pool():
    with pytest.raises(ValueError, match="prior is for a fixed pool"):
        Curriculum("procurl", line(), prior=[0.5] * 20)
    with pytest.raises(ValueError, match="pool changes on its own"):
        Curriculum("procurl", line()).change_pool(line().pool())


@pytest.mark.parametrize("task", [object(), ("maze", 3), {"doors": (1, 2)}, {3: "doors"}])
def test_objects_that_json_cannot_express_are_not_saved(task, tmp_path):
    """Tuples would come back as lists, and numbers as keys of a dictionary as text."""
    space = TaskSpace(sample=lambda rng, count: [task] * count, size=3)
    with pytest.raises(ValueError, match="the candidates cannot be saved: JSON cannot express"):
        Curriculum("procurl", space).save(tmp_path / "saved")


@pytest.mark.parametrize(
    ("playing", "error"), [([50], ValueError), ([-1], ValueError), ([0.5], TypeError)]
)
def test_tasks_that_stay_are_candidates(playing, error):
    curriculum = Curriculum("iid", TaskSpace([0.0], [1.0], size=20), seed=0)
    with pytest.raises(error, match="from 0 to 19"):
        curriculum.renew(playing)
