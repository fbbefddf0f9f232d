"""Compile a fused update, once per shape and machine, and make it known to JAX."""

import ctypes
import functools
import hashlib
import logging
import os
import shutil
import subprocess
import tempfile
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import jax

from procurl.ppo.gpu.shape import Shape

logger = logging.getLogger(__name__)

SYMBOL = "procurl_update"
SOURCES = ("update.cu", "learning.cuh", "network.cuh", "products.cuh")
CPU, GPU = "cpu", "CUDA"
FLAGS = {
    CPU: ("-x", "c++", "-O2", "-fPIC"),
    # Code for the GPU at hand, and no fast mathematics except where the source says so.
    GPU: ("-x", "cu", "-O3", "-Xcompiler", "-fPIC", "-arch=native", "--expt-relaxed-constexpr"),
}
COMPILERS = {CPU: "g++", GPU: "nvcc"}
KIB = 1024
# Shared memory that a block may take, by the compute capability of NVIDIA's GPUs: its first number,
# or both where they differ.
MEMORY = {"7": 64, "8": 99, "8.0": 163, "8.7": 163, "9": 227, "10": 227, "11": 227, "12": 99}
CUDA_FOLDERS = ("CUDA_HOME", "CUDA_PATH")


def find_compiler(platform: str) -> str | None:
    """The compiler for a platform of JAX: `nvcc`, or `g++` for a CPU; None if it is not found."""
    name = COMPILERS[platform]
    folders = [os.environ[key] for key in CUDA_FOLDERS if key in os.environ]
    spec = find_spec("nvidia")  # the parts of CUDA that pip installs
    packages = [] if spec is None else spec.submodule_search_locations or []
    wheels = [str(folder) for package in packages for folder in sorted(Path(package).glob("*"))]
    places = [str(Path(folder, "bin")) for folder in (*folders, "/usr/local/cuda", *wheels)]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(places))


def block_memory(platform: str) -> int:
    """Bytes of shared memory that a block of threads may take; 0 if the device is not known."""
    if platform == CPU:
        return MEMORY["9"] * KIB
    capability = str(getattr(jax.devices()[0], "compute_capability", ""))
    known = MEMORY.get(capability, MEMORY.get(capability.partition(".")[0], 0))
    return known * KIB


@functools.cache
def target(shape: Shape, platform: str) -> str | None:
    """The name under which JAX calls the compiled update; None if there is none.

    A warning says so if a compiler is missing or fails.

    Args:
        shape: of the update.
        platform: `CPU` or `GPU`.
    """
    if not shape.fits(block_memory(platform)):
        return None
    compiler = find_compiler(platform)
    if compiler is None:
        logger.warning(
            "%s was not found, so PPO's updates run XLA's program, which takes about twice as long "
            "on small networks; install CUDA's compiler or set CUDA_HOME",
            COMPILERS[platform],
        )
        return None
    library = _library(shape, platform, compiler)
    if library is None:
        return None
    name = f"{SYMBOL}_{library.stem}"
    function = getattr(ctypes.CDLL(str(library)), SYMBOL)
    handler = jax.ffi.pycapsule(function)  # type: ignore[no-untyped-call]
    jax.ffi.register_ffi_target(name, handler, platform=platform)
    return name


def cache_folder() -> Path:
    """Where compiled updates are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "procurl", "updates")


def _writable(folder: Path) -> Path:
    """`folder`, or one for this process alone if it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="procurl-"))


def _library(shape: Shape, platform: str, compiler: str) -> Path | None:
    """The shared library, compiled unless it is in the cache."""
    package = files("procurl.ppo.gpu")
    sources = {name: package.joinpath(name).read_text(encoding="utf-8") for name in SOURCES}
    sources["shape.h"] = shape.header(block_memory(platform))
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    device = jax.devices()[0].device_kind if platform == GPU else "cpu"
    parts = (sources, version, jax.__version__, device, *FLAGS[platform])
    library = (
        _writable(cache_folder()) / f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}.so"
    )
    if library.exists():
        return library
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        for name, text in sources.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        command = [compiler, "-std=c++17", "-shared", "-w", *FLAGS[platform]]
        command += [f"-I{folder}", f"-I{jax.ffi.include_dir()}"]
        command += [str(Path(folder, "update.cu")), "-o", str(Path(folder, "update.so"))]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            logger.warning(
                "the kernel for PPO's update could not be compiled, so updates run XLA's slower "
                "program; %s ended with: %s",
                " ".join(command),
                done.stderr.strip()[-2000:],
            )
            return None
        os.replace(Path(folder, "update.so"), library)
    return library
