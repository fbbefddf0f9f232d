"""What every strategy must do, whatever its rule; a new registered strategy is tested here too."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl import (
    CriticSuccess,
    Curriculum,
    Evidence,
    LinearSchedule,
    OutcomeSuccess,
    ProCuRL,
    ProCuRLArgmax,
    RolloutSuccess,
    Strategy,
    TaskPool,
    TopRollouts,
    make_strategy,
    strategy_names,
)
from procurl.internals.pytrees import register_settings
from procurl.internals.settings import traced_fields
from tests.strategies.evidence import full_evidence

VARIANTS: dict[str, Strategy] = {
    "noise": ProCuRL(epsilon=0.2),
    "schedule": ProCuRL(beta=LinearSchedule(5.0, 25.0, 4096.0), floor=0.1),
    "p* per task": ProCuRL(p_star=np.linspace(0.2, 1.0, 7)),
    "p* estimated": ProCuRL(success=RolloutSuccess(), p_star=TopRollouts()),
    "pool range": ProCuRL(success=CriticSuccess(v_min=None, v_max=None)),
    "outcomes without sharing": ProCuRL(success=OutcomeSuccess()),
    "argmax of outcomes": ProCuRLArgmax(success=OutcomeSuccess(v_min=None, v_max=None)),
    "space-alt over the pool range": make_strategy("space-alt", v_min=None, v_max=None),
    "space with a cap": make_strategy("space", kappa=3, max_size=4),
    "spdl in full steps": make_strategy("spdl", full_step=True),
    "spdl with a floor": make_strategy("spdl", floor=0.1),
}
NAMES = [*strategy_names(), *VARIANTS]
N = 7
UNUSUAL = [np.nan, np.inf, -np.inf, -3.0, 0.5, 7.0, 1e30]


@cache
def strategy_of(name: str, n: int = N) -> Strategy:
    strategy = VARIANTS[name] if name in VARIANTS else make_strategy(name)
    if name == "p* per task" and n != N:
        strategy = replace(strategy, p_star=np.linspace(0.2, 1.0, n))  # type: ignore[type-var]
    pool = TaskPool(np.random.default_rng(5).random((n, 2)))
    return strategy if name == "outcomes without sharing" else strategy.bind(pool)


def to_jax(tree):
    """Leaves as JAX arrays, numbers as float32."""
    return jax.tree.map(
        lambda leaf: (
            jnp.asarray(leaf, "float32" if np.asarray(leaf).dtype.kind in "fi" else None)
            if np.asarray(leaf).dtype != np.int32
            else jnp.asarray(leaf)
        ),
        tree,
    )


def assert_distribution(p, n: int, tolerance: float = 1e-12) -> None:
    p = np.asarray(p, dtype=np.float64)
    assert p.shape == (n,)
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    assert abs(p.sum() - 1) < tolerance


def leaves_of(state) -> list:
    return [np.array(leaf) for leaf in jax.tree.leaves(state)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_gives_a_distribution_at_the_start_and_after_evidence(name, n):
    strategy = strategy_of(name, n)
    state = strategy.init(n)
    for i in range(4):
        assert_distribution(strategy.probabilities(state), n)
        state = strategy.update(state, full_evidence(n, seed=i, step=1024 * (i + 1)))
    assert_distribution(strategy.probabilities(state), n)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [-2.0, 0.0, 0.4, 1.0, 50.0])
def test_gives_a_distribution_when_all_values_are_equal(name, value):
    strategy = strategy_of(name)
    same = np.full(N, value)
    evidence = full_evidence(N, 0, values=same, rollout_success=same, rollout_top=same, score=same)
    state = strategy.update(strategy.init(N), evidence)
    assert_distribution(strategy.probabilities(state), N)
    assert_distribution(strategy.probabilities(strategy.update(state, evidence)), N)


@pytest.mark.parametrize("name", NAMES)
def test_a_non_finite_entry_keeps_what_was_known_of_its_task(name):
    strategy = strategy_of(name)
    first = full_evidence(N, 0, played=np.ones(N), score=np.arange(N))
    state = strategy.update(strategy.init(N), first)
    with_gaps, filled = {}, {}
    for field in ("values", "rollout_success", "rollout_top", "score"):
        new = np.array(getattr(full_evidence(N, 1), field))
        old = getattr(first, field)
        with_gaps[field] = np.where(np.arange(N) < 3, UNUSUAL[:N], new)
        filled[field] = np.where(np.arange(N) < 3, old, new)
    if "pool range" in name:  # the range comes from the finite entries, so it is another one
        assert_distribution(
            strategy.probabilities(strategy.update(state, first._replace(**with_gaps))), N
        )
        return
    got = strategy.update(state, first._replace(**with_gaps))
    expected = strategy.update(state, first._replace(**filled))
    np.testing.assert_allclose(
        strategy.probabilities(got), strategy.probabilities(expected), rtol=1e-12
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_survives_evidence_without_a_single_finite_entry(name, bad):
    strategy = strategy_of(name)
    broken = np.full(N, bad)
    evidence = Evidence(1024, broken, broken, broken, broken, broken, broken, broken, broken)
    state = strategy.init(N)
    for _ in range(2):
        state = strategy.update(state, evidence)
        assert_distribution(strategy.probabilities(state), N)


@pytest.mark.parametrize("name", NAMES)
def test_survives_values_far_outside_the_unit_interval(name):
    strategy = strategy_of(name)
    odd = np.array(UNUSUAL)
    state = strategy.init(N)
    for i in range(3):
        evidence = full_evidence(
            N, i, values=np.roll(odd, i), rollout_success=odd, rollout_top=odd, score=odd
        )
        state = strategy.update(state, evidence)
        assert_distribution(strategy.probabilities(state), N)


@pytest.mark.parametrize("name", NAMES)
def test_leaves_state_and_evidence_untouched(name):
    strategy = strategy_of(name)
    state, evidence = strategy.init(N), full_evidence(N, 0)
    before = leaves_of((state, evidence))
    strategy.probabilities(strategy.update(state, evidence))
    for old, new in zip(before, leaves_of((state, evidence)), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("name", NAMES)
def test_jit_equals_eager_numpy_and_compiles_once(name):
    strategy = strategy_of(name)
    register_settings(strategy)
    traces = 0

    def advance(strategy, state, evidence):
        nonlocal traces
        traces += 1
        state = strategy.update(state, evidence)
        return state, strategy.probabilities(state)

    compiled = jax.jit(advance)
    state, traced = strategy.init(N), to_jax(strategy.init(N))
    for i in range(3):
        evidence = full_evidence(N, seed=i, step=1024 * (i + 1))
        state, p = advance(strategy, state, evidence)
        traced, q = compiled(to_jax(strategy), traced, to_jax(evidence))
        np.testing.assert_allclose(q, p, rtol=2e-4, atol=2e-6)
    assert traces == 3 + 1
    assert jax.tree.structure(traced) == jax.tree.structure(to_jax(strategy.init(N)))


@pytest.mark.parametrize("name", NAMES)
def test_never_gives_nan_under_jit(name):
    strategy = strategy_of(name)
    register_settings(strategy)
    update, probabilities = jax.jit(type(strategy).update), jax.jit(type(strategy).probabilities)
    settings, state = to_jax(strategy), to_jax(strategy.init(N))
    odd = np.array(UNUSUAL)
    for i, values in enumerate([odd, np.full(N, np.nan), np.full(N, np.inf), np.full(N, 0.3)]):
        fields = ("values", "rollout_success", "rollout_top", "score")
        evidence = full_evidence(N, i, **dict.fromkeys(fields, values))
        state = update(settings, state, to_jax(evidence))
        assert_distribution(probabilities(settings, state), N, tolerance=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_vmaps_over_runs_and_numeric_settings_without_a_second_compilation(name):
    strategy = strategy_of(name)
    register_settings(strategy)
    runs = 4
    traces = 0

    def one_run(strategy, state, evidence):
        nonlocal traces
        traces += 1
        return strategy.probabilities(strategy.update(state, evidence))

    batched = jax.jit(jax.vmap(one_run))
    seeds = [to_jax(full_evidence(N, seed)) for seed in range(runs)]
    evidence = jax.tree.map(lambda *leaves: jnp.stack(leaves), *seeds)
    state = jax.tree.map(lambda leaf: jnp.stack([leaf] * runs), to_jax(strategy.init(N)))
    for scale in (1.0, 0.5):
        settings = [to_jax(_scaled(strategy, scale * (1.0 - 0.1 * run))) for run in range(runs)]
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *settings)
        got = batched(stacked, state, evidence)
        for run in range(runs):
            expected = one_run(settings[run], to_jax(strategy.init(N)), seeds[run])
            np.testing.assert_allclose(got[run], expected, rtol=1e-4, atol=1e-6)
            assert_distribution(got[run], N, tolerance=1e-5)
    assert traces == 1 + 2 * runs


def _scaled(strategy, factor: float):
    """`strategy` with its first numeric setting that is a plain number multiplied by `factor`."""
    for field in traced_fields(type(strategy))[0]:
        value = getattr(strategy, field)
        if isinstance(value, float):
            return replace(strategy, **{field: value * factor})
    return strategy


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("space", "space with a cap")])
def test_relabeling_tasks_relabels_probabilities(name):
    """Not SPaCE: its first set is task 0, whichever task that is."""
    if name in VARIANTS and "p* per task" in name:
        relabel = lambda s, order: replace(s, p_star=s.p_star[order])  # noqa: E731
    else:
        relabel = lambda s, order: s  # noqa: E731
    contexts = np.random.default_rng(5).random((N, 2))
    order = np.random.default_rng(11).permutation(N)
    strategy = strategy_of(name)
    shuffled = relabel(strategy, order)
    if name != "outcomes without sharing":
        shuffled = shuffled.bind(TaskPool(contexts[order]))
    state, other = strategy.init(N), shuffled.init(N)
    for i in range(3):
        evidence = full_evidence(N, seed=i, step=1024 * (i + 1), played=np.ones(N))
        moved = Evidence(evidence.step, *(np.asarray(field)[order] for field in evidence[1:]))
        state, other = strategy.update(state, evidence), shuffled.update(other, moved)
    np.testing.assert_allclose(
        shuffled.probabilities(other), strategy.probabilities(state)[order], rtol=1e-9
    )


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_tasks_and_another_seed_others(name):
    def picks(seed: int) -> list[int]:
        pool = TaskPool(np.random.default_rng(5).random((N, 2)))
        curriculum = Curriculum(strategy_of(name), pool, seed=seed)
        picked = []
        for i in range(5):
            picked += curriculum.next(10).tolist()
            curriculum.observe(full_evidence(N, seed=i, step=1024 * (i + 1)))
        return picked

    assert picks(3) == picks(3)
    # SPaCE and the argmax form may leave no choice but one task.
    if "space" not in name and "argmax" not in name:
        assert picks(3) != picks(4)


@pytest.mark.parametrize("name", NAMES)
def test_goes_on_identically_after_save_and_load(name, tmp_path):
    pool = TaskPool(np.random.default_rng(5).random((N, 2)))
    one = Curriculum(strategy_of(name), pool, seed=3)
    for i in range(2):
        one.next(3)
        one.observe(full_evidence(N, seed=i, step=1024 * (i + 1)))
    one.save(tmp_path / "curriculum")
    two = Curriculum(strategy_of(name), pool, seed=99).load(tmp_path / "curriculum")
    for i in range(2, 5):
        np.testing.assert_array_equal(one.next(20), two.next(20))
        for curriculum in (one, two):
            curriculum.observe(full_evidence(N, seed=i, step=1024 * (i + 1), noise=None))
    np.testing.assert_array_equal(one.probabilities(), two.probabilities())


@pytest.mark.parametrize("name", NAMES)
def test_declares_only_evidence_that_exists_and_works_with_nothing_else(name):
    strategy = strategy_of(name)
    assert set(strategy.needs) <= set(Evidence._fields)
    evidence = full_evidence(N, 0)
    least = Evidence(step=1024, **{field: getattr(evidence, field) for field in strategy.needs})
    state = strategy.update(strategy.init(N), least)
    assert_distribution(strategy.probabilities(state), N)
