"""JAX keeps what it compiles for the tests, so that running them again is quick, and PyTorch takes
one thread: with small networks on a busy machine, more only wait for each other.
"""

import os
from pathlib import Path

CACHE = Path(__file__).parent.parent / ".pytest_cache" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
os.environ.setdefault("OMP_NUM_THREADS", "1")
