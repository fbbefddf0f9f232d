"""The documentation site: it builds, and has every page and every public name."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import procurl

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGES = ("", "envs", "experiments", "ppo", "sb3", "theory", "trl")
# Made by `website/hooks.py`.
MADE = {"changelog.md", "contributing.md", "security.md", "reference/command_line.md"}


def navigation() -> list[str]:
    """The files and folders of the navigation, in order."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = text.partition("\nnav:")[2].partition("\n\n")[0]
    return re.findall(r"^ +- (?:.+: )?([^:\n]+)$", nav, flags=re.M)


def public_names(package: str) -> set[str]:
    """`__all__` of a package, without importing it: some need heavy packages."""
    source = ROOT / "src" / "procurl" / package / "__init__.py"
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return set(ast.literal_eval(node.value))
    raise AssertionError(f"{source} has no __all__")


def documented() -> list[str]:
    """The names that the reference shows, with their packages."""
    pages = [page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md")]
    return [name for page in pages for name in re.findall(r"^::: (\S+)$", page, flags=re.M)]


def test_the_navigation_has_every_page_once():
    entries = navigation()
    assert len(entries) == len(set(entries))
    folders = tuple(entry for entry in entries if entry.endswith("/"))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    single = {page for page in pages if not page.startswith(folders)}
    assert set(entries) - set(folders) - MADE == single


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reference_has_every_public_name(package):
    names = public_names(package)
    if not package:
        names |= set(procurl._LAZY) - {"__version__"}
    assert names <= {name.rpartition(".")[2] for name in documented()}


def test_the_reference_shows_public_names_once():
    names = documented()
    assert len({name.rpartition(".")[2] for name in names}) == len(names)
    for name in names:
        package, _, last = name.removeprefix("procurl").lstrip(".").rpartition(".")
        assert last in public_names(package) | set(procurl._LAZY), f"{name} is not public"


def build_site(folder: Path) -> None:
    """Build the site into `folder`; warnings are errors."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    command += ["--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr


def test_the_site_builds_strictly_and_hides_what_only_tests_run(tmp_path):
    build_site(tmp_path)
    landing = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "CurriculumCallback" in landing
    assert "<!-- python" not in landing


def test_figures_of_examples_have_their_example_and_are_small():
    figures = list((DOCS / "figures" / "examples").iterdir())
    assert figures
    for figure in figures:
        assert (ROOT / "examples" / f"{figure.stem}.py").exists()
        assert figure.stat().st_size < 100_000
