"""The packages that documents import from: every name they list exists, and heavy ones wait."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("package", ["procurl.envs", "procurl.ppo"])
def test_every_listed_name_exists(package):
    module = importlib.import_module(package)
    assert len(set(module.__all__)) == len(module.__all__) > 0
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        module.Nothing  # noqa: B018


@pytest.mark.parametrize(
    ("package", "heavy"),
    [
        ("procurl.envs", ("jax", "torch", "stable_baselines3", "PIL", "mujoco", "scipy")),
        ("procurl.ppo", ("jax", "optax", "torch", "gymnasium", "mujoco")),
    ],
)
def test_importing_a_package_loads_no_heavy_one(package, heavy):
    code = f"import {package}, sys; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


ROOT = Path(__file__).parents[1]
DOCS = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/strategies").glob("*.md")]
TEXTS = [ROOT / "README.md", *DOCS, *(ROOT / "examples").glob("*.py")]


def modules_in(text: str) -> set[str]:
    """The modules of procurl that a text imports from."""
    return set(re.findall(r"^\s*(?:from|import) (procurl[\w.]*)", text, flags=re.MULTILINE))


def test_documents_and_examples_import_from_packages_and_never_deeper():
    modules = {module: path.name for path in TEXTS for module in modules_in(path.read_text())}
    assert {"procurl", "procurl.envs", "procurl.sb3"} <= modules.keys()
    assert {module: page for module, page in modules.items() if module.count(".") > 1} == {}
