"""Compile a fused update, once per shape and machine, and make it known to JAX."""

import atexit
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

from procurl.internals.files import user_cache
from procurl.ppo.gpu.shape import Shape

logger = logging.getLogger(__name__)

SYMBOL, PROBLEM = "procurl_update", "procurl_problem"  # functions of the library
CACHE = "updates"
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

    If a compiler is missing or anything fails, a warning says so.

    Args:
        shape: of the update.
        platform: `CPU` or `GPU`.
    """
    if not shape.fits(block_memory(platform)):
        return None
    try:
        path = _library(shape, platform)
        library = ctypes.CDLL(str(path))
        _require_device(library)
    except (_KernelError, OSError) as error:
        logger.warning(
            "PPO's updates run XLA's program, which takes about twice as long on small networks, "
            "because their kernel cannot be used: %s",
            error,
        )
        return None
    name = f"{SYMBOL}_{path.stem}"
    handler = jax.ffi.pycapsule(getattr(library, SYMBOL))  # type: ignore[no-untyped-call]
    jax.ffi.register_ffi_target(name, handler, platform=platform)
    return name


class _KernelError(Exception):
    """Why there is no kernel."""


def _require_device(library: ctypes.CDLL) -> None:
    """Raise unless the GPU and its driver can run the kernel; both may be older than nvcc."""
    problem = getattr(library, PROBLEM)
    problem.restype = ctypes.c_char_p
    found = problem()
    if found is not None:
        raise _KernelError(found.decode())


def _library(shape: Shape, platform: str) -> Path:
    """The shared library, compiled unless it is in the cache."""
    compiler = find_compiler(platform)
    if compiler is None:
        name = COMPILERS[platform]
        raise _KernelError(f"{name} was not found; install CUDA's compiler or set CUDA_HOME")
    package = files("procurl.ppo.gpu")
    sources = {name: package.joinpath(name).read_text(encoding="utf-8") for name in SOURCES}
    sources["shape.h"] = shape.header(block_memory(platform))
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    device = jax.devices()[0].device_kind if platform == GPU else "cpu"
    parts = (sources, version, jax.__version__, device, *FLAGS[platform])
    name = f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}.so"
    cache = user_cache(CACHE)
    if cache is None or not (cache / name).exists():
        cache = _writable(cache)
        _compile([compiler, *FLAGS[platform]], sources, cache / name)
    return cache / name


def _writable(folder: Path | None) -> Path:
    """`folder`, or one for this process alone if there is none or it cannot be written."""
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
    except OSError:
        pass
    own = Path(tempfile.mkdtemp(prefix="procurl-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return own


def _compile(compiler: list[str], sources: dict[str, str], library: Path) -> None:
    """Write `library`, whole or not at all.

    Args:
        compiler: with its flags.
        sources: texts by file name.
        library: where to.
    """
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        for name, text in sources.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        command = [*compiler, "-std=c++17", "-shared", "-w"]
        command += [f"-I{folder}", f"-I{jax.ffi.include_dir()}"]
        command += [str(Path(folder, "update.cu")), "-o", str(Path(folder, "update.so"))]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise _KernelError(f"{' '.join(command)} ended with: {done.stderr.strip()[-2000:]}")
        os.replace(Path(folder, "update.so"), library)
