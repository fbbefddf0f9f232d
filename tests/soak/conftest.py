"""Counts of attacks, printed at the end of the run, and the package as users install it."""

import pytest

from tests.soak.packages import Uv, build_wheel, download_torch

COUNTS: list[str] = []


@pytest.fixture
def report_counts():
    """Call it with the name of an attack and how often it ended in which way."""

    def report(attack, counts):
        numbers = ", ".join(f"{number:,} {ending}" for ending, number in sorted(counts.items()))
        COUNTS.append(f"{attack}: {sum(counts.values()):,} tried, {numbers}")

    return report


def pytest_terminal_summary(terminalreporter):
    if COUNTS:
        terminalreporter.section("attacks")
        for line in COUNTS:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def outside(tmp_path_factory):
    """A folder outside the checkout."""
    return tmp_path_factory.mktemp("outside the checkout")


@pytest.fixture(scope="session")
def wheel(outside):
    return build_wheel(outside)


@pytest.fixture(scope="session")
def uv(tmp_path_factory):
    pytest.importorskip("uv")
    return Uv(tmp_path_factory.mktemp("uv"), download_torch(tmp_path_factory.mktemp("wheels")))
