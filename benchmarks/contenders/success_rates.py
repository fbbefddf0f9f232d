"""A curriculum as one writes it by hand: success rates in an array, and a weighted draw."""

import numpy as np
from numpy.typing import NDArray

RATE = 0.1  # how far an outcome moves the success rate of its task
FLOOR = 0.01  # so that every task stays possible


class SuccessRates:
    """Prefers tasks of medium success: p ∝ s·(1 − s) + 0.01, computed anew for every draw."""

    def __init__(self, n: int, seed: int = 0) -> None:
        self.rates = np.full(n, 0.5)
        self.rng = np.random.default_rng(seed)

    def next(self, k: int) -> NDArray[np.int64]:
        weights = self.rates * (1.0 - self.rates) + FLOOR
        return self.rng.choice(len(weights), size=k, p=weights / weights.sum())

    def record(self, task: int, outcome: float) -> None:
        self.rates[task] += RATE * (outcome - self.rates[task])
