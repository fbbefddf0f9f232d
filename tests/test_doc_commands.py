"""The commands that pages show: the program accepts them, and those of the guides do what is said.

A command is a line of a ```sh block, or an indented line of a generated page that starts with
`procurl`.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from procurl import make_strategy
from procurl.cli.program import make_parser
from procurl.internals.setting_text import read_settings
from tests.test_docs import PAGES, ROOT, blocks_of

PROGRAM = [sys.executable, "-m", "procurl"]
FEW = {"--seeds": "1", "--steps": "4096"}


def lines_of(page: Path) -> list[str]:
    """The commands of a page, without continuation lines and variables of the shell."""
    blocks = [block.text for block in blocks_of(page) if block.info in ("sh", "bash")]
    text = "\n".join(blocks).replace("\\\n", " ")
    for name, value in re.findall(r'^(\w+)="([^"]+)"', text, flags=re.M):
        text = text.replace(f"${name}", value)
    indented = re.findall(r"^ {4}(procurl .+)$", page.read_text(encoding="utf-8"), flags=re.M)
    return [*text.splitlines(), *indented]


def commands_of(page: Path, program: str) -> list[list[str]]:
    """The arguments of every call of a program on a page."""
    words = [shlex.split(line.partition(" > ")[0], comments=True) for line in lines_of(page)]
    return [line[1:] for line in words if line and Path(line[0]).name == program]


def pages_with(program: str):
    pages = [page for page in PAGES if commands_of(page, program)]
    assert pages
    return pytest.mark.parametrize("page", pages, ids=lambda page: str(page.relative_to(ROOT)))


@pages_with("procurl")
def test_the_program_accepts_the_commands_of_pages(page):
    for arguments in commands_of(page, "procurl"):
        parsed = vars(make_parser().parse_args(arguments))
        for text in parsed.get("strategies") or ():
            name, _, settings = text.partition(":")
            make_strategy(name, **read_settings(settings, name))


@pages_with("make")
def test_the_makefile_has_the_targets_of_pages(page):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target, *_ in commands_of(page, "make"):
        assert re.search(rf"^{re.escape(target)}:", makefile, flags=re.M), target


@pages_with("python")
def test_scripts_of_pages_exist_and_have_the_options(page):
    for script, *arguments in commands_of(page, "python"):
        if script == "mine.py":  # the reader's own
            continue
        source = (ROOT / script).read_text(encoding="utf-8")
        for option in (word for word in arguments if word.startswith("--")):
            assert f'"{option}"' in source, f"{script} has no {option}"


def shortened(arguments: list[str]) -> list[str]:
    """The same command with fewer seeds and steps."""
    before = ["", *arguments]
    return [FEW.get(option, word) for option, word in zip(before, arguments, strict=False)]


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "environment", "pool", "report"),
    [
        ("tutorial.md", "meadow.py", "wells.csv", "results/meadow/report.html"),
        ("own_environment.md", "corridor.py", "tasks.csv", "results/corridor/report.html"),
    ],
)
def test_the_commands_of_a_guide_lead_to_its_report(name, environment, pool, report, tmp_path):
    page = ROOT / "docs" / name
    blocks = blocks_of(page)
    programs = [block.text for block in blocks if block.info == "python"]
    (tmp_path / environment).write_text(programs[0], encoding="utf-8")
    tables = [block.text for block in blocks if block.info == "csv"]
    if tables:
        (tmp_path / pool).write_text(tables[0], encoding="utf-8")
    else:
        subprocess.run([sys.executable, "-c", programs[1]], cwd=tmp_path, check=True)
    shown = ""
    for arguments in commands_of(page, "procurl"):
        if environment in " ".join(arguments):
            command = [*PROGRAM, *shortened(arguments)]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
            shown += done.stdout
    assert (tmp_path / report).exists()
    for block in blocks:  # what `check` prints; the tables of `compare` need all seeds
        if not block.info and not block.text.startswith("strategy"):
            assert block.text in shown
