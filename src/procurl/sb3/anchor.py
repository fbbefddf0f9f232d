"""A model that wins nothing wanders, and returns to where it last won."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm


def can_return(model: BaseAlgorithm) -> bool:
    """Whether `model` learns from one rollout at a time, by updates that can be undone."""
    return isinstance(model, OnPolicyAlgorithm) and bool(model.get_parameters())


class ModelAnchor:
    """Where a model returns to; see `Strategy.patience`.

    Args:
        model: for which `can_return`.
        patience: updates in a row without any reward that the model may take.
    """

    def __init__(self, model: BaseAlgorithm, patience: int) -> None:
        self.model = model
        self.patience = patience
        self.idle = 0  # updates without a reward since the last one with a reward, or return
        self.parameters: dict[str, Any] | None = None  # to return to; None if idle is 0
        self.returns = 0  # how often the model has returned
        self._rewarded = False  # whether a reward of the rollout was not 0

    def note_rewards(self, rewards: NDArray[Any]) -> None:
        """Note the rewards [b] of one step, as the environment gave them."""
        self._rewarded = self._rewarded or bool(np.any(rewards != 0.0))

    def end_rollout(self) -> None:
        """Before an update: keep the parameters if the model starts to wander with it."""
        if self._rewarded:
            self.idle, self.parameters = 0, None
        else:
            if self.parameters is None:
                self.parameters = copy.deepcopy(self.model.get_parameters())
            self.idle += 1
        self._rewarded = False

    def end_update(self) -> None:
        """After an update: return if the model has wandered for too long."""
        if self.parameters is not None and self.idle > self.patience:
            self.model.set_parameters(self.parameters)
            self.idle, self.parameters = 0, None
            self.returns += 1
