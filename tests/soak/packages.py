"""The package built as a wheel and installed into environments of its own, outside the checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")


def run(*command, cwd, status=0, **variables):
    """What a command prints, without this checkout on any path; its errors if it is to fail."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stderr if status else done.stdout


def build_wheel(folder):
    """A wheel of a copy without its history, so that nothing here is written or left over."""
    copy = folder / "copy"
    copy.mkdir()
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.egg-info"))
    for name in BUILT_FROM:
        shutil.copy(ROOT / name, copy)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "."]
    run(*build, copy, cwd=folder)
    (built,) = folder.glob("procurl-*.whl")
    return built


def download_torch(folder):
    """Copy PyTorch's wheel from pip's cache: the build without CUDA, if that is installed here."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
    run(*pip, "--constraint", ROOT / "constraints.txt", "torch", cwd=folder)
    return folder


class Uv:
    """Makes environments with uv, which keeps packages in a cache and links them.

    Args:
        folder: where environments are made.
        wheels: a folder of wheels to prefer to those of the index.
    """

    def __init__(self, folder, wheels):
        self.folder, self.wheels = folder, wheels

    def __call__(self, *command):
        links = {"UV_FIND_LINKS": str(self.wheels), "UV_NO_CONFIG": "1"}
        return run(sys.executable, "-m", "uv", "--quiet", *command, cwd=self.folder, **links)

    def environment(self, name, *requirements, python=sys.executable):
        """A new environment with these requirements; returns its folder of programs."""
        folder = self.folder / f"with {name}"
        self("venv", "--python", python, folder)
        self("pip", "install", "--python", folder / "bin/python", *requirements)
        return folder / "bin"
