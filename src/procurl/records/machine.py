"""The machine that runs were trained on, and the package versions."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LEARNING = ("jax", "jaxlib", "optax", "stable-baselines3", "torch")
PACKAGES = ("procurl", "numpy", *LEARNING, "gymnasium", "mujoco", "ray")


def machine() -> dict[str, str | int]:
    """Processor, number of cores, operating system, and the GPU if there is one."""
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    model = text.partition("model name\t: ")[2].partition("\n")[0]
    facts: dict[str, str | int] = {
        "processor": model or platform.processor() or platform.machine(),
        "cores": os.cpu_count() or 1,
        "system": platform.platform(terse=True),
    }
    return facts | ({"gpu": name} if (name := _gpu()) else {})


def _gpu() -> str | None:
    """The name of the first NVIDIA GPU, if any."""
    if shutil.which("nvidia-smi") is None:
        return None
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    return answer.stdout.partition("\n")[0].strip() or None


def versions() -> dict[str, str]:
    """The versions of Python and of the installed packages, without importing them."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
