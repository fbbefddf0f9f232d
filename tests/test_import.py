"""`import procurl` is light: NumPy and the standard library, in a fraction of a second."""

import subprocess
import sys

HEAVY = {"jax", "torch", "scipy", "gymnasium", "mujoco", "ray", "matplotlib", "pandas", "flax"}


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_import_loads_nothing_but_numpy_and_the_standard_library():
    code = (
        "import sys, numpy; before = set(sys.modules); import procurl; "
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before}))"
    )
    loaded = set(run(code).split())
    assert not loaded & HEAVY
    assert loaded - set(sys.stdlib_module_names) <= {"procurl", "numpy"}


def test_every_public_name_exists():
    run("import procurl; [getattr(procurl, name) for name in procurl.__all__]")
