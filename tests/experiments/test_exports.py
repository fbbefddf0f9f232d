"""The public names of `procurl.experiments`: all are there, and none costs anything until used."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from procurl import experiments

ROOT = Path(__file__).parents[2]
HEAVY = "{'jax', 'torch', 'scipy', 'gymnasium', 'mujoco', 'ray', 'matplotlib', 'sqlite3'}"


@pytest.mark.parametrize("name", experiments.__all__)
def test_every_public_name_is_there(name):
    assert getattr(experiments, name).__name__ == name
    assert name in dir(experiments)


def test_names_are_listed_once():
    assert sorted(experiments.__all__) == sorted(experiments._MODULE_OF)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'comparee'"):
        experiments.comparee  # noqa: B018


def test_importing_the_package_imports_nothing_heavy():
    code = f"import procurl.experiments, sys; assert not {HEAVY} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_documents_import_from_the_package_alone():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.py")]
    assert len(pages) > 10
    deep = re.compile(r"^(?:from|import) procurl\.(?:experiments\.|records).*$", re.MULTILINE)
    found = {page.name: deep.findall(page.read_text(encoding="utf-8")) for page in pages}
    assert {name: lines for name, lines in found.items() if lines} == {}
