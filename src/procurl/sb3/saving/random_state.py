"""The random states of PyTorch, NumPy and Python, which Stable-Baselines3 uses."""

import random
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray


class RandomState(NamedTuple):
    """The state of all global generators of a process."""

    meta: dict[str, Any]  # JSON values
    arrays: dict[str, NDArray[Any]]


def random_state() -> RandomState:
    """The current state of the global generators."""
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002
    version, numbers, gauss_next = random.getstate()
    arrays: dict[str, NDArray[Any]] = {
        "torch": torch.get_rng_state().numpy(),
        "numpy": np.asarray(keys),
        "python": np.array(numbers, dtype=np.uint64),
    }
    for i, part in enumerate(torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []):
        arrays[f"cuda-{i:03d}"] = part.numpy()
    return RandomState({"numpy": [kind, *rest], "python": [version, gauss_next]}, arrays)


def restore_random_state(state: RandomState) -> None:
    """Restore the global generators; those of the GPUs only if their number is the same."""
    arrays = state.arrays
    try:
        torch.set_rng_state(torch.from_numpy(arrays["torch"]))
    except RuntimeError as error:
        raise ValueError(f"the saved random state of PyTorch is not one: {error}") from error
    cuda = [torch.from_numpy(arrays[name]) for name in sorted(arrays) if name.startswith("cuda-")]
    if cuda and torch.cuda.device_count() == len(cuda):
        torch.cuda.set_rng_state_all(cuda)
    kind, position, has_gauss, gauss = state.meta["numpy"]
    np.random.set_state((kind, arrays["numpy"], position, has_gauss, gauss))  # noqa: NPY002
    version, gauss_next = state.meta["python"]
    random.setstate((version, tuple(arrays["python"].tolist()), gauss_next))
