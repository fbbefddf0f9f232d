"""ProCuRL, Easy, Hard, SPaCE-alt and the argmax form against numbers worked by hand."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from procurl import (
    Argmax,
    CriticSuccess,
    Curriculum,
    Easy,
    Evidence,
    Hard,
    Hardness,
    JointSuccess,
    LinearSchedule,
    ProCuRL,
    ProCuRLArgmax,
    RolloutSuccess,
    Scale,
    SPaCEAlt,
    Success,
    SuccessStrategy,
    TaskPool,
    TopRollouts,
    make_strategy,
)


def after(strategy, **evidence):
    n = len(next(iter(evidence.values())))
    given = {name: np.asarray(value, dtype=float) for name, value in evidence.items()}
    return strategy.update(strategy.init(n), Evidence(step=1024, **given))


def test_procurl_is_a_softmax_of_beta_p_times_one_minus_p():
    """β = 10 and PoS 0, 0.5, 0.9: exponents 0, 2.5, 0.9; e^0 + e^2.5 + e^0.9 = 15.6421."""
    strategy = ProCuRL(beta=10.0)
    p = strategy.probabilities(after(strategy, values=[0.0, 0.5, 0.9]))
    assert p == pytest.approx([0.063930, 0.778828, 0.157242], abs=1e-6)


def test_gammas_weigh_the_two_terms():
    """γ1 = 1, γ2 = 0.6, β = 10, PoS 0.5 and 1: potentials 0.5·0.7 = 0.35 and 1·0.4 = 0.4.

    The odds of the second task are e^(10·0.05) = 1.648721 to 1.
    """
    strategy = ProCuRL(beta=10.0, gamma2=0.6)
    p = strategy.probabilities(after(strategy, values=[0.5, 1.0]))
    assert p[1] / p[0] == pytest.approx(1.648721, abs=1e-6)


def test_p_star_per_task_moves_the_zone():
    """p* = 0.6 and 1 with PoS 0.3 and 0.3: potentials 0.3·0.3 = 0.09 and 0.3·0.7 = 0.21."""
    strategy = ProCuRL(beta=20.0, p_star=np.array([0.6, 1.0]))
    state = after(strategy, values=[0.3, 0.3])
    assert strategy.task_potential(state) == pytest.approx([0.09, 0.21])
    p = strategy.probabilities(state)
    assert p[1] / p[0] == pytest.approx(np.exp(20 * 0.12))


def test_p_star_may_be_a_list():
    strategy = make_strategy("procurl-val", p_star=[0.6, 1.0])
    assert strategy.task_potential(after(strategy, values=[0.3, 0.3])) == pytest.approx(
        [0.09, 0.21]
    )


def test_p_star_estimated_is_the_best_seen_so_far():
    """Top rollouts 0.8 then 0.5 on the first task keep 0.8; potential 0.4·(0.8 − 0.4) = 0.16."""
    strategy = ProCuRL(success=RolloutSuccess(), p_star=TopRollouts())
    state = after(strategy, rollout_success=[0.4, 0.0], rollout_top=[0.8, 0.0])
    assert strategy.task_potential(state) == pytest.approx([0.16, 0.0])
    later = Evidence(2048, rollout_success=np.array([0.4, 0.1]), rollout_top=np.array([0.5, 0.5]))
    state = strategy.update(state, later)
    assert state.potential.p_star == pytest.approx([0.8, 0.5])
    assert strategy.task_potential(state) == pytest.approx([0.16, 0.04])


def test_p_star_estimated_is_on_the_scale_of_the_estimate():
    """Returns 30 and 60 with v_max 60 are 0.5 and 1; over the pool's range, 0 and 1."""
    top = np.array([60.0, 60.0])
    for bounds, expected in (((0.0, 120.0), [0.5, 0.5]), ((None, None), [1.0, 1.0])):
        success = RolloutSuccess(v_min=bounds[0], v_max=bounds[1])
        strategy = ProCuRL(success=success, p_star=TopRollouts())
        state = after(strategy, rollout_success=[30.0, 60.0], rollout_top=top)
        assert state.potential.p_star == pytest.approx(expected)


def test_p_star_estimated_follows_the_range_of_returns():
    """A best return of 5 is everything on a range up to 5, and 0.05 on one up to 100."""
    strategy = ProCuRL(success=RolloutSuccess(), p_star=TopRollouts())
    state = strategy.init(3)
    returns = np.array([4.0, 0.0, 0.0])
    for top, high, expected in (
        ([5.0, 0.0, np.nan], 5.0, [1.0, 0.0, 0.0]),
        ([3.0, 50.0, np.inf], 100.0, [0.05, 0.5, 0.0]),
    ):
        scale = Scale(np.float64(0.0), np.float64(high), np.bool_(False))
        evidence = Evidence(1, rollout_success=returns, rollout_top=np.array(top), scale=scale)
        state = strategy.update(state, evidence)
        assert state.potential.p_star == pytest.approx(expected)


def test_beta_may_follow_a_schedule():
    """From 10 to 30 over 2048 steps: 20 at step 1024."""
    strategy = ProCuRL(beta=LinearSchedule(10.0, 30.0, 2048.0))
    p = strategy.probabilities(after(strategy, values=[0.0, 0.5]))
    assert p[1] / p[0] == pytest.approx(np.exp(20 * 0.25))


def test_floor_mixes_in_the_uniform_distribution():
    """With floor 0.2 and two tasks, every task keeps at least 0.1."""
    strategy = ProCuRL(beta=1000.0, floor=0.2)
    p = strategy.probabilities(after(strategy, values=[0.0, 0.5]))
    assert p == pytest.approx([0.1, 0.9])


def test_argmax_puts_all_mass_on_the_best_and_shares_ties():
    """PoS 0.3 and 0.7 have the same potential 0.21; rounding must not part them."""
    strategy = make_strategy("procurl-argmax")
    p = strategy.probabilities(after(strategy, values=[0.3, 0.0, 0.7, 0.95]))
    assert p == pytest.approx([0.5, 0.0, 0.5, 0.0], abs=0)
    assert strategy.probabilities(strategy.init(4)) == pytest.approx([0.25] * 4)


def test_argmax_takes_the_weights_of_the_potential():
    """γ1 = 1, γ2 = 0.5, PoS 0.3, 0.7 and 0.95: potentials 0.255, 0.455 and 0.499."""
    strategy = ProCuRLArgmax(gamma2=0.5)
    p = strategy.probabilities(after(strategy, values=[0.3, 0.7, 0.95]))
    assert p == pytest.approx([0, 0, 1], abs=0)


def test_parts_can_be_combined_freely():
    """The hardest task alone: a potential and a sampler that no named strategy combines."""

    @dataclass(frozen=True)
    class Hardest(SuccessStrategy):
        success: Success = field(default_factory=CriticSuccess)

        @property
        def potential(self) -> Hardness:
            return Hardness()

        @property
        def sampler(self) -> Argmax:
            return Argmax()

    strategy = Hardest()
    strategy.check()
    p = strategy.probabilities(after(strategy, values=[0.3, 0.1, 0.7]))
    assert p == pytest.approx([0, 1, 0], abs=0)


def test_noise_is_added_before_clipping_and_scaled_by_epsilon():
    """0.2·noise on 0.5, −0.1 and 1.5."""
    strategy = ProCuRL(epsilon=0.2)
    state = after(strategy, values=[0.5, -0.1, 1.5], noise=[-1.0, 1.0, -0.5])
    assert strategy.estimated_success(state) == pytest.approx([0.3, 0.1, 1.0])


def test_easy_prefers_success_and_hard_failure():
    """β = 2, PoS 0.25 and 0.75: odds e^(2·0.5) = 2.718282, for Easy one way, for Hard the other."""
    values = [0.25, 0.75]
    for strategy, better in ((Easy(beta=2.0), 1), (Hard(beta=2.0), 0)):
        p = strategy.probabilities(after(strategy, rollout_success=values))
        assert p[better] / p[1 - better] == pytest.approx(2.718282, abs=1e-6)


@pytest.mark.parametrize("name", ["procurl-val", "procurl-env", "easy", "hard", "space-alt"])
def test_is_uniform_before_the_first_evidence(name):
    strategy = make_strategy(name)
    assert strategy.probabilities(strategy.init(5)) == pytest.approx([0.2] * 5)


def test_space_alt_follows_the_rise_of_the_value():
    """β = 10. First rise is from 0: V = 0.2, 0.5. Then V = 0.4, 0.5 rises by 0.2 and 0."""
    strategy = SPaCEAlt(beta=10.0)
    state = after(strategy, values=[0.2, 0.5])
    p = strategy.probabilities(state)
    assert p[1] / p[0] == pytest.approx(np.exp(3.0))
    p = strategy.probabilities(strategy.update(state, Evidence(2048, np.array([0.4, 0.5]))))
    assert p[0] / p[1] == pytest.approx(np.exp(2.0))


def test_space_alt_divides_by_v_max_or_rescales_the_rise():
    """V = 30, 60, 0 with v_max 60: rises 0.5, 1, 0. Over the pool: (V − 0)/60, the same here;
    with V = 20, 60, 40 next, rises −10, 0, 40 become 0, 0.2, 1."""
    fixed = SPaCEAlt(beta=1.0, v_min=0.0, v_max=60.0)
    state = after(fixed, values=[30.0, 60.0, 0.0])
    assert state.progress == pytest.approx([0.5, 1.0, 0.0])
    pooled = SPaCEAlt(beta=1.0, v_min=None, v_max=None)
    state = after(pooled, values=[30.0, 60.0, 0.0])
    state = pooled.update(state, Evidence(2048, np.array([20.0, 60.0, 40.0])))
    assert state.progress == pytest.approx([0.0, 0.2, 1.0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": -1.0}, "beta must be a finite number of at least 0, got -1.0"),
        ({"beta": float("nan")}, "beta must be"),
        ({"beta": LinearSchedule(1.0, 2.0, 0.0)}, "steps must be a finite number above 0"),
        ({"gamma2": -0.1}, "gamma2 must be"),
        ({"floor": 1.5}, "floor must be a finite number of at least 0 and at most 1, got 1.5"),
        ({"p_star": 1.5}, "p_star must be"),
        ({"p_star": [0.5, np.nan]}, "p_star must be"),
        ({"p_star": ["a"]}, r"p_star must be .* got \['a'\]"),
        ({"p_star": [[0.5], [0.5, 1.0]]}, "p_star must be"),
        ({"p_star": TopRollouts()}, "needs rollouts at every refresh: .* not CriticSuccess"),
        (
            {"p_star": TopRollouts(), "success": JointSuccess(budget=2.0)},
            "needs rollouts at every refresh: .* not JointSuccess",
        ),
        (
            {"p_star": TopRollouts(fraction=0.0), "success": RolloutSuccess()},
            "p_star.fraction must be",
        ),
        ({"v_min": None}, "v_min and v_max must both be numbers"),
        ({"v_min": 2.0}, "v_max must be above v_min=2.0, got v_max=1.0"),
        ({"v_min": 0.0, "v_max": np.inf}, "v_max must be a finite number, got inf"),
        ({"refresh_every": 0}, "refresh_every must be an integer of at least 1, got 0"),
        ({"epsilon": -0.1}, "epsilon must be"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        make_strategy("procurl-val", **settings)


def test_p_star_must_fit_the_pool():
    with pytest.raises(ValueError, match="one number per task, got 2 for a pool of 3"):
        Curriculum(make_strategy("procurl-val", p_star=[0.5, 1.0]), TaskPool.from_seeds(3))


def test_settings_of_the_wrong_type_are_named():
    with pytest.raises(TypeError, match="beta must be a finite number of at least 0, got 'high'"):
        make_strategy("procurl-val", beta="high")
    with pytest.raises(TypeError, match="success must be a success estimate, got"):
        make_strategy("procurl-val", success=0.5)


@pytest.mark.parametrize("beta", [1e6, 1e10, 1e20, 1e30])
def test_any_beta_gives_a_distribution_in_compiled_programs_too(beta):
    """A compiler may round β·potential and its maximum apart, by far more than 1."""
    values = jnp.asarray(np.random.default_rng(0).random((50, 100)), dtype=jnp.float32)
    strategy = ProCuRL(beta=beta)
    begun = jax.tree.map(jnp.float32, strategy.init(100))

    @jax.jit
    @jax.vmap
    def likely(values):
        return strategy.probabilities(strategy.update(begun, Evidence(step=1.0, values=values)))

    p = np.asarray(likely(values))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-5)
    assert (p.argmax(axis=1) == np.abs(values - 0.5).argmin(axis=1)).mean() > 0.9


def test_an_endless_potential_is_shared_by_those_that_have_it():
    strategy = ProCuRL(beta=1e308, gamma1=100.0)
    with np.errstate(over="ignore", invalid="ignore"):
        p = strategy.probabilities(after(strategy, values=[0.0, 0.5, 0.9]))
    assert p.tolist() == [0.0, 0.5, 0.5]


def test_a_schedule_has_to_be_one_that_can_be_saved():
    with pytest.raises(TypeError, match=r"beta must be a number or a schedule \(.*lambda"):
        make_strategy("procurl-val", beta=lambda step: 10.0)
    with pytest.raises(TypeError, match=r"schedule \(an instance of .*, got <class .*Linear"):
        make_strategy("procurl-val", beta=LinearSchedule)
