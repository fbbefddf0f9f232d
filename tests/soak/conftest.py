"""Counts of attacks, printed at the end of the run."""

import pytest

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
