"""What every strategy must do, whatever its rule; a new registered strategy is tested here too."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl import Curriculum, Evidence, Scale, Strategy
from procurl.internals.pytrees import register_settings
from procurl.internals.settings import describe
from tests.strategies.cases import CASES, N, pool_of, scaled
from tests.strategies.evidence import full_evidence

UNUSUAL = [np.nan, np.inf, -np.inf, -3.0, 0.5, 7.0, 1e30]
FIELDS = set(Evidence._fields) - {"step"}

every_strategy = pytest.mark.parametrize("name", CASES)


def cases(**properties):
    """Parametrize a test by the cases that have these properties, of which there must be some."""
    names = [
        name
        for name, case in CASES.items()
        if all(getattr(case, key) == value for key, value in properties.items())
    ]
    assert names
    return pytest.mark.parametrize("name", names)


@cache
def strategy_of(name: str, n: int = N) -> Strategy:
    return CASES[name].strategy(n)


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


@every_strategy
@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_gives_a_distribution_at_the_start_and_after_evidence(name, n):
    strategy = strategy_of(name, n)
    state = strategy.init(n)
    for i in range(4):
        assert_distribution(strategy.probabilities(state), n)
        state = strategy.update(state, full_evidence(n, seed=i, step=1024 * (i + 1)))
    assert_distribution(strategy.probabilities(state), n)


@every_strategy
@pytest.mark.parametrize("value", [-2.0, 0.0, 0.4, 1.0, 50.0])
def test_gives_a_distribution_when_all_values_are_equal(name, value):
    strategy = strategy_of(name)
    same = np.full(N, value)
    evidence = full_evidence(N, 0, values=same, rollout_success=same, rollout_top=same, score=same)
    state = strategy.update(strategy.init(N), evidence)
    assert_distribution(strategy.probabilities(state), N)
    assert_distribution(strategy.probabilities(strategy.update(state, evidence)), N)


def with_and_without_gaps():
    """(first evidence, a second with entries that are not finite, the same with the first's)."""
    first = full_evidence(N, 0, played=np.ones(N), score=np.arange(N))
    with_gaps, filled = {}, {}
    for field in ("values", "rollout_success", "rollout_top", "score"):
        new = np.array(getattr(full_evidence(N, 1), field))
        old = getattr(first, field)
        with_gaps[field] = np.where(np.arange(N) < 3, UNUSUAL[:N], new)
        filled[field] = np.where(np.arange(N) < 3, old, new)
    return first, first._replace(**with_gaps), first._replace(**filled)


@cases(keeps_range=False)
def test_entries_that_are_not_finite_do_not_count_for_the_range(name):
    """The range comes from the finite entries, so it differs from that of the filled evidence."""
    strategy = strategy_of(name)
    first, with_gaps, _ = with_and_without_gaps()
    state = strategy.update(strategy.init(N), first)
    assert_distribution(strategy.probabilities(strategy.update(state, with_gaps)), N)


@cases(keeps_range=True)
def test_a_non_finite_entry_keeps_what_was_known_of_its_task(name):
    strategy = strategy_of(name)
    first, with_gaps, filled = with_and_without_gaps()
    state = strategy.update(strategy.init(N), first)
    got = strategy.update(state, with_gaps)
    expected = strategy.update(state, filled)
    np.testing.assert_allclose(
        strategy.probabilities(got), strategy.probabilities(expected), rtol=1e-12
    )


@every_strategy
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_survives_evidence_without_a_single_finite_entry(name, bad):
    strategy = strategy_of(name)
    broken = np.full(N, bad)
    evidence = Evidence(1024, **dict.fromkeys(FIELDS - {"scale"}, broken))
    state = strategy.init(N)
    for _ in range(2):
        state = strategy.update(state, evidence)
        assert_distribution(strategy.probabilities(state), N)


@every_strategy
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


@every_strategy
def test_leaves_state_and_evidence_untouched(name):
    strategy = strategy_of(name)
    state, evidence = strategy.init(N), full_evidence(N, 0)
    before = leaves_of((state, evidence))
    strategy.probabilities(strategy.update(state, evidence))
    for old, new in zip(before, leaves_of((state, evidence)), strict=True):
        np.testing.assert_array_equal(old, new)


def advance(strategy, state, evidence):
    state = strategy.update(state, evidence)
    return state, strategy.probabilities(state)


@cache
def compiled_advance(name: str):
    """`advance` compiled for a case, and a list with an entry per trace.

    Compiling takes longer than all else here, so the tests of a case share the program.
    """
    register_settings(strategy_of(name))
    traces = []

    def traced_advance(strategy, state, evidence):
        traces.append(name)
        return advance(strategy, state, evidence)

    return jax.jit(traced_advance), traces


@every_strategy
def test_jit_equals_eager_numpy_and_compiles_once(name):
    strategy = strategy_of(name)
    compiled, traces = compiled_advance(name)
    state, traced = strategy.init(N), to_jax(strategy.init(N))
    for i in range(3):
        evidence = full_evidence(N, seed=i, step=1024 * (i + 1))
        state, p = advance(strategy, state, evidence)
        traced, q = compiled(to_jax(strategy), traced, to_jax(evidence))
        np.testing.assert_allclose(q, p, rtol=2e-4, atol=2e-6)
    assert len(traces) == 1
    assert jax.tree.structure(traced) == jax.tree.structure(to_jax(strategy.init(N)))


@every_strategy
def test_never_gives_nan_under_jit(name):
    strategy = strategy_of(name)
    compiled, _ = compiled_advance(name)
    settings, state = to_jax(strategy), to_jax(strategy.init(N))
    odd = np.array(UNUSUAL)
    for i, values in enumerate([odd, np.full(N, np.nan), np.full(N, np.inf), np.full(N, 0.3)]):
        fields = ("values", "rollout_success", "rollout_top", "score")
        evidence = full_evidence(N, i, **dict.fromkeys(fields, values))
        state, p = compiled(settings, state, to_jax(evidence))
        assert_distribution(p, N, tolerance=1e-5)


@every_strategy
def test_vmaps_over_runs_and_numeric_settings_without_a_second_compilation(name):
    strategy, numeric = strategy_of(name), CASES[name].numeric
    single, single_traces = compiled_advance(name)
    assert bool(numeric) == bool(jax.tree.leaves(strategy))  # a setting differs if there is one
    runs = 4
    traces = 0

    def one_run(strategy, state, evidence):
        nonlocal traces
        traces += 1
        return strategy.probabilities(strategy.update(state, evidence))

    batched = jax.jit(jax.vmap(one_run))
    seeds = [to_jax(full_evidence(N, seed)) for seed in range(runs)]
    evidence = jax.tree.map(lambda *leaves: np.stack(leaves), *seeds)
    start = to_jax(strategy.init(N))
    state = jax.tree.map(lambda leaf: np.stack([leaf] * runs), start)
    for scale in (1.0, 0.5):
        factors = [scale * (1.0 - 0.1 * run) for run in range(runs)]
        settings = [
            to_jax(scaled(strategy, numeric, factor) if numeric else strategy) for factor in factors
        ]
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *settings)
        got = np.asarray(batched(stacked, state, evidence))
        for run in range(runs):
            _, expected = single(settings[run], start, seeds[run])
            np.testing.assert_allclose(got[run], expected, rtol=1e-4, atol=1e-6)
            assert_distribution(got[run], N, tolerance=1e-5)
    assert traces == len(single_traces) == 1


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.relabel])
def test_relabeling_tasks_relabels_probabilities(name):
    case, order = CASES[name], np.random.default_rng(11).permutation(N)
    assert case.relabel is not None
    strategy = strategy_of(name)
    shuffled = case.relabel(strategy, order)
    contexts = pool_of().contexts
    assert contexts is not None
    if case.bound:
        shuffled = shuffled.bind(pool_of(N, contexts[order]))
    state, other = strategy.init(N), shuffled.init(N)
    for i in range(3):
        evidence = full_evidence(N, seed=i, step=1024 * (i + 1), played=np.ones(N))
        fields = (np.asarray(field)[order] for field in evidence[1:-1])
        moved = Evidence(evidence.step, *fields, scale=evidence.scale)
        state, other = strategy.update(state, evidence), shuffled.update(other, moved)
    np.testing.assert_allclose(
        shuffled.probabilities(other), strategy.probabilities(state)[order], rtol=1e-9
    )


def picks(name: str, seed: int) -> list[int]:
    curriculum = Curriculum(strategy_of(name), pool_of(), seed=seed)
    picked = []
    for i in range(5):
        picked += curriculum.next(10).tolist()
        curriculum.observe(full_evidence(N, seed=i, step=1024 * (i + 1)))
    return picked


@every_strategy
def test_the_same_seed_gives_the_same_tasks(name):
    assert picks(name, 3) == picks(name, 3)


@cases(chooses=True)
def test_another_seed_gives_other_tasks(name):
    assert picks(name, 3) != picks(name, 4)


@every_strategy
def test_goes_on_identically_after_save_and_load(name, tmp_path):
    pool = pool_of()
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


@every_strategy
def test_declares_the_evidence_that_it_needs_and_uses(name):
    """It works with what it needs alone, and nothing beyond what it uses changes the result."""
    strategy = strategy_of(name)
    assert set(strategy.needs) <= set(strategy.uses) <= FIELDS
    assert len(set(strategy.uses)) == len(strategy.uses)
    evidence = full_evidence(N, 0)
    least = Evidence(step=1024, **{field: getattr(evidence, field) for field in strategy.needs})
    state = strategy.update(strategy.init(N), least)
    assert_distribution(strategy.probabilities(state), N)
    other = full_evidence(N, 1)._replace(
        **{field: getattr(evidence, field) for field in strategy.uses}
    )
    one, two = (strategy.update(strategy.init(N), given) for given in (evidence, other))
    np.testing.assert_array_equal(strategy.probabilities(one), strategy.probabilities(two))


@every_strategy
def test_due_is_a_rule_for_single_runs_and_for_batches(name):
    """Due at last, not before the interval has passed, and alike on NumPy and under JAX."""
    strategy = strategy_of(name)
    register_settings(strategy)
    interval = strategy.refresh_every or 1
    assert strategy.due(10**6, 0, 0)
    assert strategy.due(interval, 0, 0)
    assert strategy.refresh_every is None or not strategy.due(interval - 1, 0, 0)
    steps = np.array([0, 1, interval - 1, interval, 2 * interval, 10**6])
    refreshed_at, spent = np.minimum(steps, interval), np.array([0, 0, 10, 10**9, 0, 10**5])
    here = np.broadcast_to(strategy.due(steps, refreshed_at, spent), steps.shape)
    there = jax.jit(jax.vmap(type(strategy).due, in_axes=(None, 0, 0, 0)))(
        to_jax(strategy), jnp.asarray(steps), jnp.asarray(refreshed_at), jnp.asarray(spent)
    )
    assert here.dtype == bool
    np.testing.assert_array_equal(here, there)


@every_strategy
def test_outcomes_are_shares_of_wins_and_losses(name):
    strategy = strategy_of(name)
    register_settings(strategy)
    returns = np.array([-3.0, 0.0, 0.25, 0.5, 1.0, 60.0])
    assert strategy.outcome_measure in ("auto", "return", "success")
    for low, high in ((0.0, 1.0), (-2.0, 50.0)):
        scale = Scale(np.float64(low), np.float64(high), np.bool_(False))
        wins, losses = strategy.outcomes(returns, scale)
        assert wins.shape == losses.shape == returns.shape
        assert ((wins >= 0) & (wins <= 1)).all()
        np.testing.assert_allclose(wins + losses, 1.0)
        assert (np.diff(wins) >= 0).all()
        assert (wins[0], wins[-1]) == (0.0, 1.0)
        compiled = jax.jit(type(strategy).outcomes)(to_jax(strategy), *to_jax((returns, scale)))
        np.testing.assert_allclose(compiled, (wins, losses), atol=1e-6)
    assert [part.shape for part in strategy.outcomes(np.zeros(0), scale)] == [(0,), (0,)]


@every_strategy
def test_transitions_have_a_score_each(name):
    strategy = strategy_of(name)
    register_settings(strategy)
    advantages = np.random.default_rng(0).normal(size=(5, 3))
    values = np.random.default_rng(1).normal(size=(5, 3))
    scores = strategy.transition_score(advantages, values)
    assert scores.shape == advantages.shape
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) > 1
    np.testing.assert_array_equal(strategy.transition_score(np.zeros(2), np.zeros(2)), [0.0, 0.0])
    compiled = jax.jit(type(strategy).transition_score)(
        to_jax(strategy), *to_jax((advantages, values))
    )
    np.testing.assert_allclose(compiled, scores, atol=1e-6)


@every_strategy
def test_learns_from_all_tasks_or_says_from_which(name):
    strategy = strategy_of(name)
    register_settings(strategy)
    mask = jax.jit(type(strategy).learning_mask)
    state = strategy.init(N)
    for i in range(3):
        here, there = strategy.learning_mask(state), mask(to_jax(strategy), to_jax(state))
        assert (here is None) == (there is None)
        if here is not None:
            assert here.shape == (N,)
            assert here.dtype == bool
            np.testing.assert_array_equal(here, there)
        state = strategy.update(state, full_evidence(N, seed=i, step=1024 * (i + 1)))


@every_strategy
def test_plans_rollouts_if_it_needs_them(name):
    strategy = strategy_of(name)
    plan = strategy.rollout_plan()
    assert (plan is not None) == any(field.startswith("rollout_") for field in strategy.uses)
    if plan is not None:
        assert plan.optional or any(field.startswith("rollout_") for field in strategy.needs)
        assert plan.episodes >= 1
        assert plan.measure in ("auto", "return", "success")
        assert 0 < plan.top_fraction <= 1
        assert plan.budget is None or plan.budget > 1
        assert 1 <= plan.tasks_of(N) <= N


@pytest.mark.parametrize(
    "name", [name for name in CASES if getattr(strategy_of(name).rollout_plan(), "optional", False)]
)
def test_does_without_optional_rollouts(name):
    strategy = strategy_of(name)
    state = strategy.update(strategy.init(N), full_evidence(N, 0))
    rest = full_evidence(N, 1, step=2048)._replace(
        rollout_success=None, rollout_top=None, rollouts=None
    )
    assert_distribution(strategy.probabilities(strategy.update(state, rest)), N)


@pytest.mark.parametrize(
    "name", [name for name in CASES if strategy_of(name).rollout_plan() is not None]
)
def test_rolls_out_is_a_rule_for_single_runs_and_for_batches(name):
    """At once, however much was spent unless rollouts are optional, and alike under JAX."""
    strategy = strategy_of(name)
    plan = strategy.rollout_plan()
    assert plan is not None
    register_settings(strategy)
    assert strategy.rolls_out(1, 0)
    assert bool(strategy.rolls_out(1000, 10**9)) is not plan.optional
    steps, spent = np.array([1, 1000, 1000, 10**6]), np.array([0, 400, 10**6, 10**5])
    here = np.broadcast_to(strategy.rolls_out(steps, spent), steps.shape)
    there = jax.vmap(type(strategy).rolls_out, in_axes=(None, 0, 0), out_axes=0)
    np.testing.assert_array_equal(
        here, np.broadcast_to(there(to_jax(strategy), jnp.asarray(steps), jnp.asarray(spent)), 4)
    )


@every_strategy
def test_weighs_tasks_for_rollouts_if_it_plays_part_of_the_pool(name):
    """The weights are finite, not negative and not all 0, alike on NumPy and under JAX."""
    strategy = strategy_of(name)
    register_settings(strategy)
    weigh = jax.jit(type(strategy).rollout_weights)
    state = strategy.init(N)
    for i in range(3):
        weights = strategy.rollout_weights(state)
        compiled = weigh(to_jax(strategy), to_jax(state))
        assert (weights is None) == (compiled is None)
        if weights is not None:
            assert weights.shape == (N,)
            assert np.isfinite(weights).all()
            assert (weights >= 0).all()
            assert weights.any()
            np.testing.assert_allclose(compiled, weights, rtol=2e-4, atol=2e-6)
        state = strategy.update(state, full_evidence(N, seed=i, step=1024 * (i + 1)))


@every_strategy
def test_binding_changes_no_setting_and_is_the_same_twice(name):
    strategy, pool = CASES[name].make(N), pool_of()
    before = describe(strategy)
    once = strategy.bind(pool)
    twice = once.bind(pool)
    assert describe(strategy) == describe(once) == describe(twice) == before
    assert type(once) is type(strategy)
    once.check()
    evidence = full_evidence(N, 0)
    one, two = (bound.update(bound.init(N), evidence) for bound in (once, twice))
    np.testing.assert_array_equal(once.probabilities(one), twice.probabilities(two))


@every_strategy
def test_estimated_success_is_a_probability_of_every_task_or_none(name):
    strategy = strategy_of(name)
    register_settings(strategy)
    state = strategy.init(N)
    estimates = [strategy.estimated_success(state)]
    for i in range(3):
        odd = full_evidence(N, i, values=np.linspace(-3.0, 3.0, N), step=1024 * (i + 1))
        state = strategy.update(state, odd)
        estimates.append(strategy.estimated_success(state))
    compiled = jax.jit(type(strategy).estimated_success)(to_jax(strategy), to_jax(state))
    assert len({estimate is None for estimate in [*estimates, compiled]}) == 1
    shown = [np.asarray(estimate) for estimate in estimates if estimate is not None]
    for estimate in shown:
        assert estimate.shape == (N,)
        assert ((estimate >= 0) & (estimate <= 1)).all()
    if shown:
        np.testing.assert_allclose(compiled, shown[-1], atol=1e-5)


@every_strategy
def test_default_settings_pass_their_check(name):
    CASES[name].make(N).check()
