"""Collect the packages that MuJoCo's environments need on a machine without a package index.

    python benchmarks/gpu_packages.py [--folder build/gpu_packages] [--python 3.12]

The folder holds unpacked wheels without files that are never imported (tests, viewers, headers).
Copy it to the machine, which needs JAX, Optax and SciPy already, and add it to PYTHONPATH.
"""

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGES = (
    "mujoco==4.0.0",
    "mujoco-core==4.0.0",
    "mujoco-mjx==3.17.0",
    "etils==1.14.0",
    "absl-py==2.5.1",
    "trimesh==5.2.0",
    "gymnasium==1.4.0",
    "cloudpickle==3.1.2",
    "farama-notifications==0.0.6",
    "typing-extensions",
    "fsspec",
    "importlib-resources",
    "zipp",
)
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64", "any")
LEFT_OUT = (
    "_test.py",
    ".dist-info/licenses",
    "gymnasium/envs/box2d",
    "gymnasium/envs/phys2d",
    "gymnasium/envs/tabular",
    "gymnasium/envs/toy_text/img",
    "gymnasium/envs/classic_control/assets",
    "mujoco/_render",
    "mujoco/_simulate",
    "mujoco/include",
    "mujoco/mjx/benchmark/",
    "mujoco/mjx/test_data",
    "mujoco/mjx/third_party",
    "mujoco/plugin",
    "mujoco/rendering",
    "mujoco/studio",
    "mujoco/sysid",
    "mujoco/testdata",
    "mujoco/usd",
)


def download(into: Path, python: str) -> list[Path]:
    """Download the wheels of `PACKAGES` for the other machine's Python."""
    platforms = [f"--platform={platform}" for platform in PLATFORMS]
    target = [f"--python-version={python}", "--only-binary=:all:", "--no-deps", *platforms]
    command = [sys.executable, "-m", "pip", "download", "--quiet", f"--dest={into}", *target]
    subprocess.run([*command, *PACKAGES], check=True)
    return sorted(into.glob("*.whl"))


def unpack(wheel: Path, folder: Path) -> None:
    """Write the importable files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not any(part in name for part in LEFT_OUT)]
        archive.extractall(folder, names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--folder", type=Path, default=Path("build/gpu_packages"))
    parser.add_argument("--python", default="3.12", help="version on the machine")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as wheels:
        for wheel in download(Path(wheels), given.python):
            unpack(wheel, given.folder)
    size = sum(path.stat().st_size for path in given.folder.rglob("*") if path.is_file())
    print(f"{given.folder}: {size / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
