"""Let a model learn from some of its steps only, if the strategy says so."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from procurl.strategies.kept_steps import kept_steps
from procurl.strategies.registry import strategy_name
from procurl.strategies.strategy import Strategy


def require_maskable(model: BaseAlgorithm, strategy: Strategy) -> None:
    """Raise unless steps of `model` can be excluded from learning."""
    name, algorithm = strategy_name(strategy), type(model).__name__
    remedy = "use PPO or A2C of Stable-Baselines3, or plr with robust=False"
    if not isinstance(model, OnPolicyAlgorithm):
        raise ValueError(
            f"{name} excludes tasks from learning, but {algorithm} learns from a replay buffer, "
            f"which mixes the steps of all tasks: {remedy}"
        )
    if hasattr(model.policy, "lstm_actor"):
        raise ValueError(
            f"{name} excludes tasks from learning, but {algorithm} learns from whole sequences of "
            f"steps: {remedy}"
        )
    if not model.get_parameters():
        raise ValueError(
            f"{name} excludes tasks from learning, but {algorithm} does not let procurl undo an "
            f"update without any step to learn from: {remedy}"
        )


class StepFilter:
    """Replaces the steps of a rollout on excluded tasks by copies of the others.

    Args:
        model: checked by `require_maskable`.
    """

    def __init__(self, model: BaseAlgorithm) -> None:
        self._model = model
        self._before: dict[str, Any] | None = None  # parameters to restore after the update

    def apply(self, learning_mask: NDArray[np.bool_], tasks: NDArray[Any]) -> None:
        """Change the rollout buffer; if nothing is left, the coming update will be undone.

        Args:
            learning_mask: [n] the tasks to learn from.
            tasks: [T, b] the task of each step.
        """
        kept, some = kept_steps(learning_mask, tasks.reshape(-1))
        if some:
            buffer: Any = self._model.rollout_buffer  # type: ignore[attr-defined]
            _copy_steps(dict(vars(buffer)), kept, tasks.shape)
        else:
            self._before = copy.deepcopy(self._model.get_parameters())

    def undo(self) -> None:
        """Restore the parameters if the latest update had nothing to learn from."""
        if self._before is not None:
            self._model.set_parameters(self._before)
            self._before = None


def _copy_steps(arrays: dict[str, Any], kept: NDArray[Any], shape: tuple[int, ...]) -> None:
    """Put the steps `kept` [T·b] in place of all, in every array [T, b, …] of a rollout buffer."""
    for array in arrays.values():
        if isinstance(array, dict):  # observations in several parts
            _copy_steps(array, kept, shape)
        elif isinstance(array, np.ndarray) and array.shape[:2] == shape:
            array[:] = array.reshape(-1, *array.shape[2:])[kept].reshape(array.shape)
