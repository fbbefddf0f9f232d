"""ProCuRL-Target: tasks that the agent can learn now and that lead to the targets."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from procurl.internals.arrays import Array, namespace
from procurl.strategies.samplers import Softmax
from procurl.strategies.schedules import Scheduled
from procurl.strategies.success_strategy import SuccessState, SuccessStrategy
from procurl.strategies.targeted.correlation import Correlation, Places
from procurl.success import CriticSuccess, Success
from procurl.tasks.targets import TARGET


@dataclass(frozen=True)
class ProCuRLTarget(SuccessStrategy):
    """Play what is neither too easy nor too hard and near a target of the same kind.

    From Tzannetos et al. 2024, with u(s) = PoS(s) · (1 − PoS(s)):

        P(s) ∝ exp(β · max over targets c of u(s) · u(c) · exp(−‖s − c‖ / h)).

    Targets are tasks of the pool, marked by a feature. While no target has any success, all tasks
    are equally likely; with `relative`, those are preferred that can be learned near any target.

    Args:
        success: the estimate of PoS.
        beta: how strongly the best tasks are preferred, a constant or a schedule over steps.
        bandwidth: h, the distance between contexts over which success carries over.
        relative: whether only ratios of potentials count: they are divided by the largest of the
            pool and multiplied by 1/16, the largest possible.
        targets: the feature of the pool that is not 0 on targets.
        samples: largest number of targets to compare with, spread evenly over all of them.
        floor: share of the mass that is always spread evenly over the pool.
        epsilon: size of the noise on the estimate, for robustness tests; None: no noise.
    """

    success: Success = field(default_factory=CriticSuccess)
    beta: Scheduled = 110.0
    bandwidth: float = 1.0
    relative: bool = False
    targets: str = TARGET
    samples: int = 400
    floor: float = 0.0
    epsilon: float | None = None
    # Not a setting: `bind` finds it in the pool. None before that.
    places: Places | None = field(default=None, repr=False, compare=False)

    @property
    def potential(self) -> Correlation:
        return Correlation(self.bandwidth, self.relative, self.targets, self.samples, self.places)

    @property
    def sampler(self) -> Softmax:
        return Softmax(self.beta, self.floor)

    def metrics(self, state: SuccessState) -> Mapping[str, Array]:
        """`target_success`: the mean estimate of success on the targets."""
        if self.places is None:
            return {}
        success = self.estimated_success(state)
        return {"target_success": namespace(success).mean(success[self.places.targets])}
