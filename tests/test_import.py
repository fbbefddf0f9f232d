"""`import procurl` is light: NumPy and the standard library, in a fraction of a second."""

import subprocess
import sys

HEAVY = {"jax", "torch", "scipy", "gymnasium", "mujoco", "ray", "matplotlib", "pandas"}


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_import_loads_only_numpy_and_the_standard_library():
    code = (
        "import sys, numpy; before = set(sys.modules); import procurl; "
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before}))"
    )
    loaded = set(run(code).split())
    assert not loaded & HEAVY
    assert loaded - set(sys.stdlib_module_names) <= {"procurl", "numpy"}


def test_every_public_name_exists():
    run("import procurl; [getattr(procurl, name) for name in (*procurl.__all__, *dir(procurl))]")


def test_a_star_import_needs_numpy_alone():
    code = (
        "import sys; sys.modules |= dict.fromkeys(['gymnasium', 'jax', 'torch'])\n"
        "from procurl import *\n"
        "print(Curriculum('procurl-val', TaskPool.from_seeds(4)).probabilities())"
    )
    assert run(code).split() == ["[0.25", "0.25", "0.25", "0.25]"]


def test_names_that_need_more_are_loaded_when_used():
    code = (
        "import sys, procurl; assert 'gymnasium' not in sys.modules; "
        "print(procurl.TaskEnv.__name__, procurl.load_policy.__name__)\n"
        "print(procurl.CurriculumVectorEnv.__name__)"
    )
    assert run(code).split() == ["TaskEnv", "load_policy", "CurriculumVectorEnv"]
