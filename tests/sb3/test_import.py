"""`procurl.sb3` needs Stable-Baselines3 and nothing else."""

import subprocess
import sys

import pytest

pytest.importorskip("stable_baselines3")


def test_only_stable_baselines3_is_needed():
    code = "import sys, procurl.sb3; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"jax", "sbx", "sb3_contrib", "minigrid", "mujoco"} & set(done.stdout.split())


def test_without_it_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['stable_baselines3'] = None\n"
        "try:\n    import procurl.sb3\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "procurl.sb3 needs stable-baselines3: pip install 'procurl[sb3]'\n"
