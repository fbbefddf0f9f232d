"""Where something was run: the machine and the versions of what took part."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LEARNING = ("jax", "jaxlib", "flax", "optax", "stable-baselines3", "torch")
PACKAGES = ("procurl", "numpy", *LEARNING, "gymnasium", "mujoco", "ray")


def machine() -> dict[str, str | int]:
    """Processor, cores, operating system, and the GPU where there is one."""
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
    """The name of the first NVIDIA GPU."""
    if shutil.which("nvidia-smi") is None:
        return None
    asked = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    return told.stdout.partition("\n")[0].strip() or None


def versions() -> dict[str, str]:
    """Of Python and of the packages that are installed, which are not imported for it."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
