"""Seeds of environments."""

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm


def episode_seed(model: BaseAlgorithm) -> int:
    """For the training environments: the model's own, so that a callback changes nothing in it.

    A model that goes on gets another one, as its random numbers were used before. Without a seed
    NumPy decides, as elsewhere in Stable-Baselines3.
    """
    if model.seed is None:
        return int(np.random.randint(2**31))  # noqa: NPY002
    return model.seed if model.num_timesteps == 0 else seed_of(model.seed, model.num_timesteps)


def later_seed(model: BaseAlgorithm) -> int:
    """For episodes that begin when the model goes on; draws nothing from anybody's numbers."""
    if model.seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    return seed_of(model.seed, model.num_timesteps)


def seed_of(*numbers: int) -> int:
    """A seed that these numbers decide."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])
