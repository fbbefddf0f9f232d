"""Seeds of environments."""

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm


def episode_seed(model: BaseAlgorithm) -> int:
    """The seed of the training environments: the model's, as without a callback.

    A model that continues training gets a different one, since the first has been used. Without a
    seed NumPy draws one, as elsewhere in Stable-Baselines3.
    """
    if model.seed is None:
        return int(np.random.randint(2**31))  # noqa: NPY002
    return model.seed if model.num_timesteps == 0 else seed_of(model.seed, model.num_timesteps)


def later_seed(model: BaseAlgorithm) -> int:
    """The seed of episodes that start after resuming; does not use any shared generator."""
    if model.seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    return seed_of(model.seed, model.num_timesteps)


def seed_of(*numbers: int) -> int:
    """A seed derived from `numbers`."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])
