"""A report in a real browser, headless Chromium, from disk."""

import pytest

from procurl.experiments.report.page import report_html
from tests.experiments.report.browser import Browser, chromium
from tests.experiments.report.report_results import LABELS, report_results


@pytest.fixture(scope="module")
def results():
    return report_results(LABELS, seeds=3, evaluations=6)


@pytest.fixture(scope="module")
def page(results, tmp_path_factory):
    path = tmp_path_factory.mktemp("report with a space & <sign>") / "report.html"
    path.write_text(report_html(results), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    program = chromium()
    if program is None:
        pytest.skip("Chromium is not installed; Debian: apt-get install chromium")
    with Browser(program, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(started, page):
    """The report, just opened; nothing may have been complained about in the end."""
    started.open(page)
    yield started
    assert started.complaints == []
