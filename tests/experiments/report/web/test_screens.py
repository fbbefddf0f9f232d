"""How the page of a report looks: all kinds of results, widths, themes, the keyboard."""

import re

import numpy as np
import pytest

from procurl.envs import make_pool
from procurl.experiments.analysis.labels import step_label
from procurl.records.results import RunId
from procurl.tasks.pool import TaskPool
from tests.experiments.report.browser import show
from tests.experiments.report.report_results import report_results

CASES = {
    "no evaluation": lambda: report_results(evaluations=0),
    "one run, one evaluation": lambda: report_results(["iid"], seeds=1, evaluations=1),
    "nothing kept of the curriculum": lambda: report_results(snapshots=False, picks=0),
    "a pool of seeds": lambda: report_results(pool=TaskPool.from_seeds(40), env="my own"),
    "one task": lambda: report_results(pool=TaskPool([[1.0]], names=["size"]), env="my own"),
    "a stopped run": lambda: report_results(stopped={RunId("iid", "", 1): 20_000}),
    "many strategies": lambda: report_results(
        [f"procurl-val:beta={b}" for b in range(30)], seeds=2, evaluations=3, picks=20
    ),
    "Karel": lambda: report_results(
        env="basickarel", pool=make_pool("basickarel"), followed=500, seeds=1, picks=600
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_results_gives_a_sound_page(browser, tmp_path, case):
    show(browser, CASES[case](), tmp_path)
    assert browser.complaints == []
    assert browser.js("document.documentElement.dataset.ready") == ""
    assert "NaN" not in browser.js("document.querySelector('main').innerHTML")
    assert "undefined" not in browser.js("document.body.innerText")


@pytest.mark.parametrize("width", [340, 390, 768, 1280])
def test_nothing_sticks_out_on_any_screen(browser, width):
    browser.resize(width)
    browser.settle()
    browser.settle()
    assert browser.js("document.documentElement.scrollWidth") <= width
    wide = browser.js("document.querySelector('#curve-chart svg').viewBox.baseVal.width")
    assert wide <= width


@pytest.mark.parametrize("width", [1280, 1920])
def test_the_results_need_no_scrolling_on_a_desktop(browser, tmp_path, width):
    results = report_results(["procurl-val", "procurl-env-2", "iid"], seeds=4, steps=400_000)
    for evaluations in results.evaluations.values():
        evaluations[:] = [at._replace(test_performance=at.performance) for at in evaluations]
    show(browser, results, tmp_path)
    browser.resize(width)
    browser.settle()
    room = "document.querySelector('#final .scroll')"
    assert "test at 0.4M" in browser.texts("#final thead th")
    ticks = browser.texts("#curve-chart text[text-anchor=middle]")
    assert [step_label(step) for step in range(0, 400_001, 100_000)] == ticks[:-2:2]
    assert browser.js(f"{room}.scrollWidth") <= browser.js(f"{room}.clientWidth")


@pytest.mark.parametrize("names", [["size"], None])
def test_tasks_are_counted_in_integers(browser, tmp_path, names):
    pool = TaskPool([[0.1], [0.5]], names=names) if names else TaskPool.from_seeds(2)
    show(browser, report_results(pool=pool, env="my own"), tmp_path)
    ticks = browser.js(
        "[...document.querySelectorAll('#distribution-chart text[text-anchor=middle]')]"
        ".map(t => t.textContent)"
    )
    assert ticks[:-2] == ["0", "1", "2"]  # then the names of the axes


def contrast(browser, selector):
    """The ratio of an element's color to the page's, as in the accessibility guidelines."""
    colors = browser.js(
        f"[getComputedStyle(document.querySelector('{selector}')).color,"
        " getComputedStyle(document.body).backgroundColor]"
    )
    light = []
    for color in colors:
        rgb = np.array([float(part) for part in re.findall(r"[\d.]+", color)[:3]]) / 255
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        light.append(float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05)
    return max(light) / min(light)


def test_both_themes_can_be_read_and_the_button_switches_between_them(browser):
    background = "getComputedStyle(document.body).backgroundColor"
    bright = browser.js(background)
    for _ in range(2):
        for selector in (".lead", ".about", ".caption", "nav a", "footer p", "#final td small"):
            assert contrast(browser, selector) >= 4.5, selector
        browser.click("#theme")
    assert browser.js(background) == bright
    browser.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    browser.js("delete document.documentElement.dataset.theme")
    dark = browser.js(background)
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    printed = browser.js(background)
    shown = browser.js("getComputedStyle(document.querySelector('nav')).display")
    browser.call("Emulation.setEmulatedMedia", media="", features=[])
    assert dark != bright
    assert printed == bright
    assert shown == "none"


def test_everything_that_takes_the_focus_has_a_name(browser):
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    focusable = [
        node
        for node in nodes
        if not node["ignored"]
        and any(
            p["name"] == "focusable" and p["value"]["value"] for p in node.get("properties", [])
        )
        and node["role"]["value"] not in ("RootWebArea", "option", "MenuListPopup")
    ]
    assert len(focusable) > 20
    nameless = [node["role"]["value"] for node in focusable if not node["name"]["value"].strip()]
    assert nameless == []


def test_the_tab_key_comes_to_every_control(browser):
    browser.js("document.body.focus()")
    reached = set()
    for _ in range(60):
        browser.press("Tab")
        reached.add(browser.js("document.activeElement.id || document.activeElement.className"))
    wanted = {"theme", "single-runs", "curve-chart", "run-strategy", "run-seed", "play", "moment"}
    assert wanted | {"map-chart"} <= reached
