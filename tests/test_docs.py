"""The documentation is correct: examples run and print what pages show, settings and links match.

Every block that starts with ```python is run. The blocks of a page run in order, in one namespace
and in an empty folder. If a ```text block follows, it must equal the printed output. A comment
<!-- python ... --> is a block that readers do not see: it makes what the next one takes for
granted. Calls of `learn` are cut from 1_000_000 steps to 2_048.

Blocks that need TRL start with ```python soak, and `make soak` runs them. Those that need a cluster
start with ```python no-run.
"""

import ast
import re
import sys
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from procurl import make_strategy, strategy_names
from procurl.strategies import registry
from procurl.strategies.listing import listed_settings

ROOT = Path(__file__).parents[1]
STRATEGIES = ROOT / "docs" / "strategies"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
HEADINGS = [
    "Idea",
    "Equation",
    "When to use",
    "Settings",
    "Evidence it needs",
    "Example",
    "Differences from the original and why",
]
BUILT_IN = strategy_names()
# The packages that users import from. `cli` is here for its `main`, `theory` for its learners.
PUBLIC = {
    f"procurl.{name}" for name in ("cli", "envs", "experiments", "ppo", "sb3", "theory", "trl")
}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
HIDDEN = "<!-- "
OPENING = re.compile(rf"(```|{HIDDEN}(?=python))(.*?) *")
LONG_TRAINING = re.compile(r"\.learn\(1_000_000\b")


class Block(NamedTuple):
    """A fenced block of a page."""

    info: str  # the text after the opening fence
    line: int  # number of its first line, counted from 1
    text: str
    follows: bool  # whether only blank lines separate it from the previous block


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    blocks: list[Block] = []
    inside: list[str] | None = None
    info, closing, follows, start = "", "", False, 0
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        opening = OPENING.fullmatch(line)
        if inside is None and opening:
            inside, info, start = [], opening[2], number + 1
            closing = "-->" if opening[1] == HIDDEN else "```"
        elif inside is not None and line == closing:
            blocks.append(Block(info, start, "".join(f"{text}\n" for text in inside), follows))
            inside, follows = None, True
        elif inside is not None:
            inside.append(line)
        elif line.strip():
            follows = False
    assert inside is None, f"{page}: the block before line {start} is not closed"
    return blocks


def prose_of(page: Path) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def headings_of(page: Path, level: int) -> list[str]:
    return re.findall(rf"^{'#' * level} (.+)$", prose_of(page), flags=re.M)


def section_of(page: Path, heading: str) -> str:
    text = page.read_text(encoding="utf-8")
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows_of(table: str) -> list[list[str]]:
    """The cells of a Markdown table, without its header."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def index() -> dict[str, list[str]]:
    """Rows of the table of strategies by name: link, idea, evidence, extra steps."""
    rows = rows_of(prose_of(STRATEGIES / "README.md"))
    names = (re.match(r"\[`([^`]+)`\]", row[0]) for row in rows)
    return {name[1]: row for name, row in zip(names, rows, strict=True) if name}


def page_of(name: str) -> Path:
    link = re.search(r"\]\(([^)]+)\)", index()[name][0])
    assert link, f"the index of strategies has no link for {name}"
    return STRATEGIES / link[1]


@pytest.fixture
def namespace(monkeypatch, tmp_path):
    """Of a module, in an empty folder and with a registry of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    module = ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)
    return module.__dict__


def run_blocks(page, kind, namespace, capsys):
    """Run the blocks of one kind, and compare what they print with what the page shows."""
    blocks = blocks_of(page)
    for block, following in zip_longest(blocks, blocks[1:]):
        if block.info != kind:
            continue
        text = LONG_TRAINING.sub(".learn(2_048", block.text)
        code = compile("\n" * (block.line - 1) + text, str(page), "exec")
        capsys.readouterr()
        exec(code, namespace)
        printed = capsys.readouterr().out
        if following is not None and following.info == "text" and following.follows:
            assert printed == following.text, f"{page}, line {block.line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run_and_print_what_the_page_shows(page, namespace, capsys):
    run_blocks(page, "python", namespace, capsys)


@pytest.mark.soak
@pytest.mark.filterwarnings("default")  # of TRL and what it imports
@pytest.mark.parametrize("page", [page for page in PAGES if "```python soak" in page.read_text()])
def test_examples_with_heavy_packages_run(page, namespace, capsys):
    run_blocks(page, "python soak", namespace, capsys)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run_or_are_marked_no_run(page):
    kinds = {block.info for block in blocks_of(page) if block.info.startswith("py")}
    assert kinds <= {"python", "python soak", "python no-run"}


def test_only_what_needs_a_cluster_does_not_run():
    kinds = [(page.name, block.info) for page in PAGES for block in blocks_of(page)]
    assert [name for name, kind in kinds if kind == "python no-run"] == ["language_models.md"]


def code_of(file: Path) -> list[str]:
    """The Python programs in a page or a script, including those that are not run."""
    if file.suffix == ".py":
        return [file.read_text(encoding="utf-8")]
    return [block.text for block in blocks_of(file) if block.info.startswith("python")]


def imports_of(code: str) -> list[str]:
    """The modules that a program imports, or imports from."""
    nodes = list(ast.walk(ast.parse(code)))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return plain + [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]


@pytest.mark.parametrize("file", [*PAGES, *EXAMPLES], ids=lambda file: str(file.relative_to(ROOT)))
def test_documents_and_examples_import_public_packages_only(file):
    imports = [name for code in code_of(file) for name in imports_of(code)]
    assert {name for name in imports if name.startswith("procurl.")} <= PUBLIC


def test_the_examples_are_found():
    assert EXAMPLES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_point_to_existing_files_and_headings(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page}: {target} does not exist"
        assert file.is_relative_to(ROOT), f"{page}: {target} is outside the project"
        if anchor:
            headings = [heading for level in range(1, 5) for heading in headings_of(file, level)]
            slugs = [re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings]
            assert anchor in slugs, f"{page}: {target} is not a heading"


def test_the_index_lists_every_strategy_and_no_other():
    assert sorted(index()) == sorted(BUILT_IN)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_decision_table_says_when_to_use_every_strategy(name):
    table = rows_of(section_of(STRATEGIES / "README.md", "How to choose"))
    assert all(len(row) == 3 and all(row) for row in table)
    assert any(f"`{name}`" in strategies for _, strategies, _ in table)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_index_lists_evidence_and_cost(name):
    _, _, evidence, extra_steps = index()[name]
    needed = evidence.partition(";")[0]
    assert tuple(re.findall(r"`(\w+)`", needed)) == make_strategy(name).needs
    assert extra_steps == ("yes" if "rollout_success" in make_strategy(name).needs else "no")


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_strategy_has_a_page_with_the_standard_headings(name):
    page = page_of(name)
    assert f"`{name}`" in headings_of(page, 1)[0]
    assert headings_of(page, 2) == HEADINGS
    for field in make_strategy(name).needs:
        assert f"`{field}`" in section_of(page, "Evidence it needs")
    shown = [block.text for block in blocks_of(page) if block.info == "python"]
    assert any(f'make_strategy("{name}"' in text for text in shown)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_setting_is_listed_with_its_default(name):
    """On a page for several strategies a default may be written `2.0` for `procurl-env-2`."""
    listed = {row[0].strip("`"): row[1] for row in rows_of(section_of(page_of(name), "Settings"))}
    settings = listed_settings(make_strategy(name))
    assert sorted(listed) == sorted(settings)
    for setting, default in settings.items():
        cell = listed[setting]
        assert cell == f"`{default!r}`" or f"`{default!r}` for `{name}`" in cell


def test_the_architecture_page_names_functions_where_they_are_defined():
    """Checks every "`name` in [`file.py`](…)" on the page."""
    page = ROOT / "docs" / "architecture.md"
    named = re.findall(r"`([\w.]+)` in \[`[^`]+`\]\(([^)]+\.py)\)", prose_of(page))
    assert len(named) > 10
    for name, link in named:
        file = (page.parent / link).resolve()
        nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        defined = {getattr(node, "name", None) for node in nodes}
        assert set(name.split(".")) <= defined, f"{link} does not define {name}"
