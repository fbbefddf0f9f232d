"""Settings for fast tests.

JAX caches compiled programs on disk and compiles them without optimization: the programs of the
tests are small, and compiling takes longer than running them. Without fusion emitters XLA compiles
an update of PPO in a quarter of the time, and without splitting it for several threads and without
XNNPACK a sixth faster still. JAX uses one thread, as in the processes that commands start: programs
are shared through the cache only if they are compiled with the same flags. PyTorch uses one thread
too, because the threads of small networks only wait for each other.
"""

import os
from pathlib import Path

CACHE = Path(__file__).parent.parent / ".pytest_cache" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("OMP_NUM_THREADS", "1")
FAST_COMPILATION = (
    "--xla_backend_optimization_level=0",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
    "--xla_cpu_use_xnnpack=false",
)
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ.setdefault("XLA_FLAGS", " ".join((*FAST_COMPILATION, ONE_THREAD)))
