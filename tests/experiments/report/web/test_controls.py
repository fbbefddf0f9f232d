"""What the page of a report does when it is used."""

import re
from dataclasses import replace

import numpy as np
import pytest

from procurl.records.results import RunId
from procurl.tasks.pool import TaskPool
from tests.experiments.report.browser import show
from tests.experiments.report.report_results import LABELS, report_results

MARKUP = '"<script>window.caught = 1</script>\'&</script><img src=x onerror="window.caught = 2">'
CURVES = "#curve-chart path[data-strategy]"
NAMES = "#final tbody .name"


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


def test_curves_are_switched_to_the_targets(browser, results, tmp_path):
    evaluations = {
        run: [at._replace(test_performance=0.123) for at in found]
        for run, found in results.evaluations.items()
    }
    facts = {**results.facts, "test_name": "targets"}
    show(browser, replace(results, evaluations=evaluations, facts=facts), tmp_path)
    browser.hover("#curve-chart svg", across=0.8)
    assert "0.12 ± 0.00" not in browser.text("#curve-reading")
    browser.click("#curve-pool label:nth-of-type(2) span")
    browser.hover("#curve-chart svg", across=0.8)
    assert browser.text("#curve-reading").count("0.12 ± 0.00") == 4


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


def test_single_runs_are_drawn_on_request(browser):
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
        assert f"var(--solved) {100 * snapshot.returns[task]:.0f}%" in fill


def test_another_run_is_chosen(browser, results):
    choose(browser, "run-strategy", LABELS.index("iid"))
    choose(browser, "run-seed", 2)
    detail = results.detail(RunId("iid", "", 2))
    assert f"mean return of {detail[-1].performance:.2f}" in browser.text("#story-text")
    assert "iid does not estimate success." in browser.text("#truth-chart")
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


def test_numbers_of_tasks_and_axes_have_all_their_digits(started, tmp_path):
    pool = TaskPool(
        [[2001.0], [2002.0], [2003.0]], names=["year"], features={"level": [1, 2, 12345]}
    )
    results = report_results(("a",), seeds=1, pool=pool, env="mine")
    returns = {
        run: [at._replace(performance=-1000.0 - k) for k, at in enumerate(found)]
        for run, found in results.evaluations.items()
    }
    show(started, replace(results, evaluations=returns), tmp_path)
    cards = started.texts("#picked dl")
    assert sorted(card.split()[1] for card in cards) == ["2001", "2002", "2003"]
    assert any("12345" in card for card in cards)
    ticks = started.texts("#map-chart text")
    assert {"2001", "2002", "2003"} <= set(ticks)
    heights = [text for text in started.texts("#curve-chart text") if text.startswith("−")]
    assert heights == ["−1005", "−1004", "−1003", "−1002", "−1001", "−1000"]


def test_returns_that_differ_in_their_last_digit_have_axes(started, tmp_path):
    results = report_results(("a",), seeds=1)
    returns = {
        run: [at._replace(performance=-1e17 - 16.0 * k) for k, at in enumerate(found)]
        for run, found in results.evaluations.items()
    }
    show(started, replace(results, evaluations=returns, detail=returns.__getitem__), tmp_path)
    assert started.complaints == []
    for chart in ("curve", "story"):
        assert "−100000000000000000" in started.texts(f"#{chart}-chart text")
