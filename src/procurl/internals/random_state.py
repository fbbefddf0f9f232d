"""Keep the global random generators as they are."""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def kept_random_state() -> Iterator[None]:
    """Restore the generators of Python, NumPy and, if it is loaded, PyTorch on the CPU."""
    python, numbers = random.getstate(), np.random.get_state()  # noqa: NPY002
    torch = sys.modules.get("torch")
    tensor = None if torch is None else torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numbers)  # noqa: NPY002
        if torch is not None:
            torch.set_rng_state(tensor)
