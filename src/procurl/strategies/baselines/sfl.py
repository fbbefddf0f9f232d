"""SFL: play the tasks that the agent sometimes solves and sometimes does not."""

from dataclasses import dataclass, field

from procurl.strategies.potentials import Learnability
from procurl.strategies.samplers import TopTasks
from procurl.strategies.success_strategy import SuccessStrategy
from procurl.success import RolloutSuccess, Success


@dataclass(frozen=True)
class SFL(SuccessStrategy):
    """Sampling for learnability (Rutherford et al. 2024) on a fixed pool.

    Each refresh plays rollouts on N tasks, drawn uniformly, and keeps the K of them with the
    largest p·(1 − p):

        P(s) = ρ/K + (1 − ρ)/n  for a task that was kept,   (1 − ρ)/n  for any other.

    Tasks that are equal at the edge of the K share the places that are left. Before the first
    refresh the distribution is uniform.

    Args:
        success: the estimate of p; its `rollout_tasks` is N and its `c_rollouts` L.
        keep: K, at most N; None: 100, but at most a tenth of N, rounded up.
        floor: 1 − ρ, share of the mass that is always spread evenly over the pool.
        epsilon: noise on the estimate, for robustness tests; None for none.
    """

    success: Success = field(
        default_factory=lambda: RolloutSuccess(c_rollouts=10, rollout_tasks=5_000)
    )
    keep: int | None = None
    floor: float = 0.5
    epsilon: float | None = None

    @property
    def potential(self) -> Learnability:
        return Learnability()

    @property
    def sampler(self) -> TopTasks:
        plan = self.rollout_plan()
        return TopTasks(self.keep, None if plan is None else plan.tasks, self.floor)

    def check(self) -> None:
        super().check()
        plan = self.rollout_plan()
        if self.keep is None or plan is None or plan.tasks is None:
            return
        if self.keep > plan.tasks:
            raise ValueError(
                f"keep must be at most rollout_tasks={plan.tasks}, the tasks played per refresh, "
                f"got {self.keep}"
            )
