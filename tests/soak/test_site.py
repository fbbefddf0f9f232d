"""The documentation site as built: strict, whole, and readable in a real browser from disk."""

import re
import time
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.experiments.report.browser import Browser, chromium
from tests.test_site import build_site

pytestmark = pytest.mark.soak
DESKTOP, PHONE = 1280, 390
# Pages of every kind. All pages are opened on a phone, where space is short.
KINDS = (
    "index.html",
    "tutorial.html",
    "strategies/procurl.html",
    "reference/strategies.html",
    "reference/command_line.html",
    "results/index.html",
    "examples/own_loop.html",
)
# What a newcomer looks for, by a part of its address and, if needed, its place there.
TWO_CLICKS = (
    "own_environment.html",
    "strategies/index.html#how-to-choose",
    "performance.html",
    "reliability.html",
    "index.html#how-to-cite",
)


class Page(HTMLParser):
    """The anchors of a page, and the files that it links to or shows."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif value and ((tag == "a" and name == "href") or (tag == "img" and name == "src")):
                self.links.append(unescape(value))

    def targets(self) -> list[tuple[str, Path, str]]:
        """Every link inside the site: as written, its file and its anchor."""
        found = []
        for link in self.links:
            parts = urlsplit(link)
            if not parts.scheme and not parts.netloc:
                file = self.file.parent / unquote(parts.path) if parts.path else self.file
                found.append((link, file.resolve(), unquote(parts.fragment)))
        return found


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site with a space").resolve()
    build_site(folder)
    (folder / "404.html").unlink()  # for servers: its links start at the root
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {file: Page(file) for file in sorted(site.rglob("*.html"))}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = chromium()
    if program is None:
        pytest.skip("Chromium is not installed; Debian: apt-get install chromium")
    with Browser(program, tmp_path_factory.mktemp("profile")) as started:
        yield started


def test_links_and_pictures_exist(pages):
    assert len(pages) > 80
    broken = []
    for page in pages.values():
        for link, file, anchor in page.targets():
            known = file in pages and (not anchor or anchor in pages[file].anchors)
            if not known and not (file.suffix != ".html" and file.is_file()):
                broken.append(f"{page.file.name}: {link}")
    assert broken == []


def test_what_newcomers_look_for_is_two_clicks_away(site, pages):
    def linked(files):
        return {(file, anchor) for page in files for _, file, anchor in pages[page].targets()} & {
            (file, anchor) for file in pages for anchor in {"", *pages[file].anchors}
        }

    first = linked([site / "index.html"])
    second = first | linked({file for file, _ in first})
    for wanted in TWO_CLICKS:
        path, _, anchor = wanted.partition("#")
        assert (site / path, anchor) in second, wanted


def test_the_site_holds_no_records_and_asks_no_other_server(site, pages):
    assert {file.name for file in site.rglob("*.gz")} <= {"sitemap.xml.gz"}
    outside = re.compile(r'<(?:script|link|img)[^>]+(?:src|href)="(?:https?:)?//')
    assert [file.name for file in pages if outside.search(file.read_text("utf-8"))] == []


def complaints(browser, file, width):
    """What is wrong with a page at a width."""
    browser.open(file, width=width)
    wide = browser.js("document.documentElement.scrollWidth - innerWidth")
    missing = browser.js("[...document.images].filter(i => !i.naturalWidth).map(i => i.src)")
    return [*browser.complaints, *missing, *([f"{wide} px too wide"] if wide > 0 else [])]


@pytest.mark.parametrize("kind", KINDS)
def test_pages_fit_a_desktop(browser, site, kind):
    assert complaints(browser, site / kind, DESKTOP) == []


def test_every_page_fits_a_phone(browser, pages):
    found = {file.name: complaints(browser, file, PHONE) for file in pages}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_the_search_works_from_disk(browser, site):
    browser.open(site / "index.html")
    browser.js("document.querySelector('label[for=__search]').click()")
    browser.focus("[data-md-component=search-query]")
    browser.call("Input.insertText", text="learning-progress")
    end = time.monotonic() + 30
    while not browser.js("document.querySelectorAll('.md-search-result__item').length"):
        assert time.monotonic() < end, "the search found nothing"
        browser.press("End")
        time.sleep(0.2)
    assert any("learning-progress" in text for text in browser.texts(".md-search-result__item h1"))
