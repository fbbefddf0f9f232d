"""The report in a real browser: headless Chromium, from disk."""

import re

import numpy as np
import pytest

from procurl.envs import make_pool
from procurl.experiments.report import report_html
from procurl.experiments.results import RunId
from procurl.pool import TaskPool
from tests.experiments.browser import Browser, chromium
from tests.experiments.report_results import report_results

PROGRAM = chromium()
pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="Chromium is not installed; Debian: apt-get install chromium"
)

LABELS = ("procurl-val", "iid", "procurl-env", "plr")
MARKUP = '"<script>window.caught = 1</script>\'&</script><img src=x onerror="window.caught = 2">'
CURVES = "#curve-chart path[data-strategy]"
NAMES = "#final tbody .name"


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
    assert PROGRAM is not None
    with Browser(PROGRAM, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(started, page):
    """The report, just opened; nothing may have been complained about in the end."""
    started.open(page)
    yield started
    assert started.complaints == []


def show(browser, results, tmp_path):
    """Open the report of other results."""
    path = tmp_path / "report.html"
    path.write_text(report_html(results), encoding="utf-8")
    browser.open(path)


def choose(browser, list_id, value):
    """Choose from a list as a user does."""
    browser.js(
        f"(() => {{ const list = document.getElementById('{list_id}'); list.value = '{value}';"
        " list.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    browser.settle()


def moved(browser):
    """The x at which every curve ends."""
    ends = browser.js(f"[...document.querySelectorAll('{CURVES}')].map(c => c.getAttribute('d'))")
    return [float(re.findall(r"L([\d.]+) ", path)[-1]) for path in ends]


def test_it_loads_from_disk_without_a_complaint_or_a_request(browser, page):
    assert browser.complaints == []
    assert [url for url in browser.requests if not url.startswith("data:")] == [page.as_uri()]
    assert browser.js("document.documentElement.dataset.ready") == ""
    assert browser.text("h1") == "4 strategies on pointmass-s"
    assert len(browser.texts(CURVES)) == 4


def test_strategies_are_switched_off_and_on(browser):
    browser.click("#curve-strategies label:nth-of-type(2) input")
    drawn = f"[...document.querySelectorAll('{CURVES}')].map(c => c.dataset.strategy)"
    assert browser.js(drawn) == ["0", "2", "3"]
    browser.focus("#curve-strategies label:nth-of-type(2) input")
    browser.press(" ")
    assert browser.js(drawn) == ["0", "1", "2", "3"]
    none, every = "#curve-strategies .all button:last-child", "#curve-strategies .all button"
    browser.click(none)
    assert browser.js(drawn) == []
    browser.click(every)
    assert len(browser.js(drawn)) == 4


def test_the_horizontal_axis_is_switched_by_mouse_and_keyboard(browser):
    assert len(set(moved(browser))) == 1  # all were trained for as many steps
    browser.click("#curve-axis label:nth-of-type(2) span")
    assert "environment steps, training and teacher" in browser.text("#curve-chart")
    assert moved(browser) == sorted(set(moved(browser)))  # the later named, the more steps
    browser.focus("#curve-axis input[value=env]")
    browser.press("ArrowRight")
    assert "seconds of training" in browser.text("#curve-chart")
    assert "2 s" in browser.text("#curve-chart")


def test_the_mouse_reads_means_and_intervals_off_the_curves(browser, results):
    browser.hover("#curve-chart svg", across=0.8)
    read = browser.text("#curve-reading")
    step = {"40k": 40_000, "50k": 50_000}[re.search(r"By (\S+) steps", read)[1]]
    for label in LABELS:
        values = [
            at.performance
            for run in results.runs
            if run.label == label
            for at in results.evaluations[run]
            if at.step == step
        ]
        shown = re.search(rf"{label}\s+(\d\.\d\d) ± (\d\.\d\d)\s+\(3\)", read)
        assert shown, read
        assert float(shown[1]) == pytest.approx(np.mean(values), abs=0.005)
    assert browser.js("document.querySelectorAll('#curve-chart .cursor').length") == 1


def test_the_keyboard_reads_the_curves_too(browser):
    browser.focus("#curve-chart")
    browser.press("Home")
    assert "By 10k steps" in browser.text("#curve-reading")
    browser.press("ArrowRight", "ArrowRight")
    assert "By 30k steps" in browser.text("#curve-reading")
    browser.press("End", "ArrowRight", "ArrowLeft")
    assert "By 50k steps" in browser.text("#curve-reading")
    browser.press("Escape")
    assert "arrow keys" in browser.text("#curve-reading")


def test_single_runs_are_drawn_when_asked_for(browser):
    assert browser.js("document.querySelectorAll('#curve-chart .thin').length") == 0
    browser.click("#single-runs")
    assert browser.js("document.querySelectorAll('#curve-chart .thin').length") == 12


def test_the_table_sorts_by_any_column_both_ways(browser, results):
    assert browser.texts(NAMES) == list(LABELS)
    final = {
        label: np.mean(
            [results.evaluations[run][-1].performance for run in results.runs if run.label == label]
        )
        for label in LABELS
    }
    ranked = sorted(LABELS, key=lambda label: -final[label])
    column = 2 + browser.texts("#final thead th").index("at 60k") - 1
    head = f"#final thead th:nth-child({column})"
    browser.click(f"{head} button")
    assert browser.texts(NAMES) == ranked
    assert browser.js(f"document.querySelector('{head}').getAttribute('aria-sort')") == "descending"
    browser.focus(f"{head} button")
    browser.press("Enter")
    assert browser.texts(NAMES) == ranked[::-1]
    browser.click("#final thead th:first-child button")
    assert browser.texts(NAMES) == sorted(LABELS)
    assert browser.js("document.querySelectorAll('#final [aria-sort]').length") == 1
    fewest_first = browser.texts("#final thead th").index("env steps") + 1
    browser.click(f"#final thead th:nth-child({fewest_first}) button")
    assert browser.texts(NAMES) == list(LABELS)


def test_the_slider_moves_through_training(browser, results):
    detail = results.detail(RunId("procurl-val", "", 0))
    assert browser.text("#moment-text") == "60,000 steps"
    followed = int(np.argmax(detail[-1].snapshot.probabilities))
    browser.focus("#moment")
    for at in reversed(detail[1:-1]):
        browser.press("ArrowLeft")
        assert browser.text("#moment-text") == f"{at.step:,} steps"
        assert f"mean return of {at.performance:.2f}" in browser.text("#story-text")
        effective = float(re.search(r"as (\S+) equally", browser.text("#distribution-text"))[1])
        assert effective == pytest.approx(np.exp(at.entropy), rel=0.01)
        assert f"Task {followed}, the " in browser.text("#task-card")
        chance = 100 * float(at.snapshot.probabilities[followed])
        assert f"{float(f'{chance:.3g}'):g}%" in browser.text("#task-card")
        times = np.bincount(at.picks)
        first = browser.text("#picked li")
        task = int(re.search(r"Task (\d+)", first)[1])
        assert times[task] == times.max()
        assert f"picked {times.max()} ×" in first
    browser.press("Home", "ArrowLeft")
    assert browser.text("#moment-text") == "10,000 steps"
    images = browser.js("[...document.querySelectorAll('#picked img')].map(i => i.naturalWidth)")
    assert len(images) == 6
    assert min(images) > 100


def test_dots_are_as_large_as_tasks_are_likely_and_blue_where_they_were_solved(browser, results):
    snapshot = results.detail(RunId("procurl-val", "", 0))[-1].snapshot
    dots = browser.js(
        "[...document.querySelectorAll('#map-chart [data-task]')].map(d =>"
        " [Number(d.dataset.task), Number(d.getAttribute('r')), d.getAttribute('fill')])"
    )
    assert sorted(task for task, _, _ in dots) == list(range(100))
    radius = {task: r for task, r, _ in dots}
    p = snapshot.probabilities
    free = [task for task in radius if 1.4 < radius[task] < 18]
    assert [radius[t] for t in free] == pytest.approx(
        3.2 * np.sqrt(100 * p[free]), rel=0.02, abs=0.01
    )
    for task, _, fill in dots:
        assert f"var(--solved) {100 * snapshot.achieved[task]:.0f}%" in fill


def test_another_run_is_chosen(browser, results):
    choose(browser, "run-strategy", LABELS.index("iid"))
    choose(browser, "run-seed", 2)
    detail = results.detail(RunId("iid", "", 2))
    assert f"mean return of {detail[-1].performance:.2f}" in browser.text("#story-text")
    assert "iid makes no estimate of success." in browser.text("#truth-chart")
    choose(browser, "run-strategy", LABELS.index("plr"))
    assert browser.js("document.getElementById('run-seed').value") == "2"


def test_tasks_are_read_by_keyboard_in_the_order_of_their_probability(browser, results):
    snapshot = results.detail(RunId("procurl-val", "", 0))[-1].snapshot
    order = np.argsort(-snapshot.probabilities, kind="stable")
    browser.focus("#map-chart")
    browser.press("Home", "ArrowRight")
    card = browser.text("#task-card")
    assert f"Task {order[1]}, the 2nd most likely" in card
    assert f"{snapshot.success[order[1]]:.2f}" in card
    assert "gate width" in card
    browser.press("End")
    assert f"Task {order[-1]}, the 100th most likely" in browser.text("#task-card")


def test_the_map_shows_other_features(browser):
    assert "friction" not in browser.js("document.querySelector('#map-chart svg').textContent")
    lists = browser.js("document.querySelectorAll('#map-axes select').length")
    assert lists == 2
    browser.js(
        "(() => { const list = document.querySelector('#map-axes select'); list.value = 2;"
        " list.dispatchEvent(new Event('change')); })()"
    )
    assert "friction" in browser.js("document.querySelector('#map-chart svg').textContent")


def test_trends_follow_the_run_and_the_slider(browser):
    charts = browser.texts("#trends .chart")
    assert len(charts) == 3
    assert "|gate position|" in charts[0]
    assert "blocks of 100 picked tasks" in browser.text("#trends-text")
    mark = "document.querySelector('#trends .cursor').getAttribute('x1')"
    before = float(browser.js(mark))
    browser.focus("#moment")
    browser.press("Home")
    assert float(browser.js(mark)) < before


def test_play_goes_from_the_first_moment_on(browser):
    browser.click("#play")
    assert browser.js("document.getElementById('play').getAttribute('aria-pressed')") == "true"
    assert browser.text("#moment-text") == "10,000 steps"
    browser.js("new Promise(r => setTimeout(r, 700))")
    assert browser.text("#moment-text") != "10,000 steps"
    browser.click("#play")
    assert browser.text("#play") == "Play"


def test_names_paths_and_tasks_with_markup_are_text(browser, tmp_path):
    results = report_results(
        [MARKUP, f"iid:{MARKUP}"],
        pool=TaskPool([{"level": MARKUP}, {"level": "cave"}, {"level": "moor"}]),
        env=MARKUP,
        stopped={RunId(MARKUP, "", 0): 20_000},
        facts={"command": MARKUP, "pool": f"/tmp/{MARKUP}", "versions": {MARKUP: MARKUP}},
    )
    show(browser, results, tmp_path)
    browser.focus("#map-chart")
    browser.press("Home")
    browser.hover("#curve-chart svg", across=0.8)
    assert browser.js("window.caught") is None
    assert browser.js("document.querySelectorAll('img[src=x], main script').length") == 0
    places = ["h1", "#curve-strategies", "#curve-reading", "#final tbody", ".matrix", ".notice"]
    for place in [*places, "#reproduce pre", "#reproduce dl"]:
        assert MARKUP in browser.text(place), place
    assert MARKUP in browser.js("document.getElementById('run-strategy').textContent")
    assert MARKUP[:34] in browser.text("#picked")


def test_the_policy_keeps_foreign_programs_out(started, page):
    started.open(page)
    started.js(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.caught = 3';"
        " document.body.append(s); })()"
    )
    assert started.js("window.caught") is None
    assert any("Content Security Policy" in said for said in started.complaints)


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
    assert "test at 400k" in browser.texts("#final thead th")
    assert browser.js(f"{room}.scrollWidth") <= browser.js(f"{room}.clientWidth")


@pytest.mark.parametrize("names", [["size"], None])
def test_tasks_are_counted_in_whole_numbers(browser, tmp_path, names):
    pool = TaskPool([[0.1], [0.5]], names=names) if names else TaskPool.from_seeds(2)
    show(browser, report_results(pool=pool, env="my own"), tmp_path)
    ticks = browser.js(
        "[...document.querySelectorAll('#distribution-chart text[text-anchor=middle]')]"
        ".map(t => t.textContent)"
    )
    assert ticks[:-2] == ["0", "1", "2"]  # then the names of the axes


def contrast(browser, selector):
    """The ratio of an element's colour to the page's, as in the accessibility guidelines."""
    colours = browser.js(
        f"[getComputedStyle(document.querySelector('{selector}')).color,"
        " getComputedStyle(document.body).backgroundColor]"
    )
    light = []
    for colour in colours:
        rgb = np.array([float(part) for part in re.findall(r"[\d.]+", colour)[:3]]) / 255
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
