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
    made.__getattr__, made.__dir__ = lazy_names("made", {"escape": "html"})
    return made


def test_a_name_comes_from_its_module(package):
    assert package.escape("<") == "&lt;"


def test_lazy_names_are_listed(package):
    assert {"escape", "here"} <= set(dir(package))


def test_an_unknown_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="module 'made' has no attribute 'other'"):
        _ = package.other
