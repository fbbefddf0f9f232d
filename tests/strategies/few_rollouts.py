"""A strategy that wants rollouts on some tasks only."""

from dataclasses import dataclass, field
from typing import Any

from procurl import Ease, RolloutSuccess, Softmax, Success, SuccessStrategy, namespace


@dataclass(frozen=True)
class EvenTasks(SuccessStrategy):
    """Prefers easy tasks, and plays rollouts on tasks of even number, task 0 excluded."""

    success: Success = field(
        default_factory=lambda: RolloutSuccess(c_rollouts=2, refresh_every=64, rollout_tasks=2)
    )

    @property
    def potential(self) -> Ease:
        return Ease()

    @property
    def sampler(self) -> Softmax:
        return Softmax(1.0)

    def rollout_weights(self, state: Any) -> Any:
        estimate = state.success.estimate
        tasks = namespace(estimate).arange(estimate.shape[0])
        return 1.0 * ((tasks % 2 == 0) & (tasks > 0))
