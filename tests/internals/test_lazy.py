"""Names of a package that load their modules on first use."""

import sys
from types import ModuleType

import pytest

from procurl.internals.lazy import lazy_names


@pytest.fixture
def package(monkeypatch):
    made = ModuleType("made")
    made.here = 1
    monkeypatch.setitem(sys.modules, "made", made)
    made.__getattr__, made.__dir__ = lazy_names("made", {"escape": "html", "Runs": "runs_of_made"})
    return made


def test_a_name_comes_from_its_module(package):
    assert package.escape("<") == "&lt;"


def test_lazy_names_are_listed(package):
    assert {"escape", "here"} <= set(dir(package))


def test_an_unknown_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="module 'made' has no attribute 'other'"):
        _ = package.other


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("optax.losses", "made.Runs needs optax: pip install 'procurl\\[jax\\]'"),
        ("elsewhere", "^import of elsewhere halted"),
    ],
)
def test_a_missing_package_is_named_with_extra(package, missing, message, tmp_path, monkeypatch):
    (tmp_path / "runs_of_made.py").write_text(f"import {missing}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, missing.partition(".")[0], None)
    with pytest.raises(ImportError, match=message):
        _ = package.Runs
