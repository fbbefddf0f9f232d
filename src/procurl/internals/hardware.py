"""The cores and the GPU that this process may use."""

import os
import shutil
from importlib.util import find_spec


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux only
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def has_gpu() -> bool:
    """Whether JAX would find an NVIDIA GPU.

    Does not start JAX, which would reserve the GPU's memory for this process.
    """
    plugin = any(find_spec(name) for name in ("jax_cuda12_plugin", "jax_cuda13_plugin"))
    platforms = os.environ.get("JAX_PLATFORMS", "cuda")
    return plugin and "cuda" in platforms and shutil.which("nvidia-smi") is not None
