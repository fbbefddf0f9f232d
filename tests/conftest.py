"""Settings for fast tests.

JAX caches compiled programs on disk and compiles them without optimization: the programs of the
tests are small, and compiling takes longer than running them. Without fusion emitters XLA compiles
an update of PPO in a quarter of the time. PyTorch uses one thread, because the threads of small
networks only wait for each other.
"""

import os
from pathlib import Path

CACHE = Path(__file__).parent.parent / ".pytest_cache" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
)
