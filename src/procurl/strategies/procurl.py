"""ProCuRL: tasks that are neither too easy nor too hard for the agent as it is now."""

from dataclasses import dataclass, field

from procurl.internals.arrays import Array, by_blocks
from procurl.internals.checks import require_patience
from procurl.internals.settings import AUTO
from procurl.strategies.potentials import Gain, Proximal, TopRollouts
from procurl.strategies.samplers import Argmax, Proportional, Softmax
from procurl.strategies.schedules import Scheduled
from procurl.strategies.success_strategy import SuccessState, SuccessStrategy
from procurl.success import CriticSuccess, JointSuccess, Success


@dataclass(frozen=True)
class ProCuRL(SuccessStrategy):
    """P(s) ∝ exp(β · PoS(s) · (γ1 · PoS*(s) − γ2 · PoS(s))), Eqs. 4 to 7 of the paper.

    Args:
        success: the estimate of PoS; the critic makes this ProCuRL-val, rollouts ProCuRL-env.
        beta: how strongly the best tasks are preferred, a constant or a schedule over steps.
        gamma1, gamma2: weights of the two terms; 1 and 1 except in the paper's ablation.
        p_star: PoS*, the success of the best policy: a number, one per task `[n]`, or estimated by
            `TopRollouts`. The paper takes 1.
        floor: share of the mass that is always spread evenly over the pool.
        epsilon: ε, the noise of the paper's ablation; None for none.
    """

    success: Success = field(default_factory=CriticSuccess)
    beta: Scheduled = 20.0
    gamma1: float = 1.0
    gamma2: float = 1.0
    p_star: Array | TopRollouts = 1.0
    floor: float = 0.0
    epsilon: float | None = None

    @property
    def potential(self) -> Proximal:
        return Proximal(self.gamma1, self.gamma2, self.p_star)

    @property
    def sampler(self) -> Softmax:
        return Softmax(self.beta, self.floor)


@dataclass(frozen=True)
class AutoProCuRL(SuccessStrategy):
    """P(s) ∝ Var(s)² · (1 − PoS(s)): ProCuRL without a scale to know or a sharpness to tune.

    Var is the variance of an episode's outcome; for outcomes of 0 and 1 it is PoS · (1 − PoS).
    Under a logistic model of success, an episode of policy gradient raises PoS in proportion to
    Var², and so lowers the squared shortfall ½(1 − PoS)² of its task in proportion to P.

    Only ratios count, so that the first sign of success is followed at once. Until there is one,
    the agent wanders, and returns to where it last had a reward before it gets lost.

    Args:
        success: the estimate of PoS and of the variance.
        floor: share of the mass that is always spread evenly over the pool.
        patience: updates in a row without any reward after which the agent returns; 0: it learns
            nothing from them, None: it never returns.
        epsilon: size of the noise on the estimate, for robustness tests; None: no noise.
    """

    success: JointSuccess = field(default_factory=JointSuccess)
    floor: float = 0.1
    patience: int | None = 10
    epsilon: float | None = None

    @property
    def potential(self) -> Gain:
        return Gain()

    @property
    def sampler(self) -> Proportional:
        return Proportional(self.floor)

    def task_potential(self, state: SuccessState) -> Array:
        spread = self.success.spread(state.success)
        return by_blocks(
            lambda worth, spread: worth * spread**2, super().task_potential(state), spread
        )

    def check(self) -> None:
        super().check()
        _require_variance(self.success)
        require_patience(self.patience)


@dataclass(frozen=True)
class GroupProCuRL(SuccessStrategy):
    """P(s) ∝ Var(s)² · (1 − PoS(s)) with the variance within a group of episodes on the task.

    Algorithms such as GRPO compare the episodes of a group with each other: if all of them end
    alike, nothing is learned. Under what is known of a task, its probability of success p has a
    mean, PoS, and a variance of its own, and by the law of total variance

        PoS · (1 − PoS) = E[p · (1 − p)] + variance of p.

    A group shows the first part alone. If N episodes are known and the prior counts as a more,

        E[p · (1 − p)] = PoS · (1 − PoS) · (N + a) / (N + a + 1).

    So of two tasks with equal PoS, one that has shown both outcomes comes before one of which
    nothing is known.

    Args:
        success: the estimate of PoS, of the variance, and of how much it knows.
        floor: share of the mass that is always spread evenly over the pool.
        epsilon: size of the noise on the estimate, for robustness tests; None: no noise.
    """

    success: JointSuccess = field(default_factory=lambda: JointSuccess(prior_weight=AUTO))
    floor: float = 0.02
    epsilon: float | None = None

    @property
    def potential(self) -> Gain:
        return Gain()

    @property
    def sampler(self) -> Proportional:
        return Proportional(self.floor)

    def task_potential(self, state: SuccessState) -> Array:
        def within_groups(worth: Array, spread: Array, known: Array) -> Array:
            return worth * (spread * known / (known + 1.0)) ** 2

        spread, known = self.success.spread(state.success), self.success.known(state.success)
        return by_blocks(within_groups, super().task_potential(state), spread, known)

    def check(self) -> None:
        super().check()
        _require_variance(self.success)


@dataclass(frozen=True)
class ProCuRLArgmax(SuccessStrategy):
    """All mass on the tasks with the largest PoS(s) · (γ1 · PoS*(s) − γ2 · PoS(s)), Eq. 1.

    Args:
        success: the estimate of PoS.
        gamma1, gamma2: weights of the two terms.
        p_star: PoS*, as for `ProCuRL`.
        epsilon: ε, the noise of the paper's ablation; None for none.
    """

    success: Success = field(default_factory=CriticSuccess)
    gamma1: float = 1.0
    gamma2: float = 1.0
    p_star: Array | TopRollouts = 1.0
    epsilon: float | None = None

    @property
    def potential(self) -> Proximal:
        return Proximal(self.gamma1, self.gamma2, self.p_star)

    @property
    def sampler(self) -> Argmax:
        return Argmax()


def _require_variance(success: Success) -> None:
    """Raise unless the estimate `success` is also one of the variance of outcomes."""
    if not hasattr(success, "spread"):
        raise TypeError(
            "success must estimate the variance of outcomes as well, as JointSuccess does, got "
            f"{type(success).__name__}: use ProCuRL, the rule of the paper, with this estimate, as "
            "in make_strategy('procurl-val', success=…)"
        )
