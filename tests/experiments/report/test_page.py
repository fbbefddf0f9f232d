"""The report as text: what it says, what it keeps small, and what it never lets through."""

import base64
import dataclasses
import hashlib
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from procurl.envs.point_mass.dynamics import PointMass
from procurl.experiments.analysis.figures.curves import COLORS
from procurl.experiments.compact_records.files import write_records
from procurl.experiments.compact_records.record import compact
from procurl.experiments.report import explorer_data
from procurl.experiments.report.explorer_data import explorer_payload
from procurl.experiments.report.page import report_html, write_report
from procurl.experiments.report.task_pictures import Pictures, task_pictures
from procurl.records.evaluation import SNAPSHOT_TASKS
from procurl.records.experiment import Experiment, RunPlan
from procurl.records.results import RunId
from procurl.records.store import open_experiment
from procurl.tasks.pool import TaskPool
from tests.experiments.report.report_results import report_results

MARKUP = "\"<script>window.caught = 1</script>'&</script><img src=x onerror=caught()>"
SEVEN = TaskPool(np.arange(14.0).reshape(7, 2), names=["gate_position", "width"])


def data_of(page):
    """What the page carries for its program."""
    found = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page)
    assert found
    return json.loads(found[1])


def words(page):
    """The page as text, roughly: without its programs, styles and tags."""
    page = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))


def test_the_page_loads_nothing_and_runs_only_its_own_program():
    page = report_html(report_results())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[1]
    style = re.search(r"<style>(.*?)</style>", page, flags=re.S)[1]
    script = re.search(r'<script type="module">(.*?)</script>', page, flags=re.S)[1]
    for text, kind in ((style, "style-src"), (script, "script-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert set(re.findall(r"https?://[^\"' ]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<link|\bsrc=|url\((?!#)|@import|\bstyle=", page.replace(script, ""))


def test_markup_in_names_is_text_everywhere():
    label = RunId(MARKUP, "", 0)
    results = report_results(
        [MARKUP, "iid"],
        pool=TaskPool([{"level": MARKUP}, {"level": "cave"}]),
        env=MARKUP,
        stopped={label: 20_000},
        facts={"commands": (MARKUP,), "pool": MARKUP, "machine": {MARKUP: MARKUP}},
    )
    page = report_html(results, [MARKUP])
    assert page.count("<script") == 2
    assert "<img" not in page
    assert data_of(page)["curves"][0]["label"] == MARKUP
    assert data_of(page)["explorer"]["texts"]["0"] == repr({"level": MARKUP})[:120]


def test_the_page_says_what_was_run_and_how_to_run_it_again():
    facts = {
        "commands": ("procurl compare pointmass-s --seeds 2", "procurl compare pointmass-s"),
        "machine": {"processor": "Abacus", "cores": 3},
        "versions": {"jax": "0.10"},
        "times": ("2026-01-02T03:04:05",),
        "planned_runs": 8,
        "finished_runs": 6,
    }
    page = report_html(report_results(facts=facts), ["table.md"])
    text = words(page)
    for said in (
        "pointmass-s",
        "60,000",
        "Abacus, 3 cores",
        "jax 0.10",
        "2026-01-02",
        *facts["commands"],
    ):
        assert said in text
    assert "6 of 8 runs are finished" in text
    assert '<a href="table.md">' in page


def test_a_command_is_made_up_where_none_is_known():
    labels = ["procurl-val:beta=5", "it's"]
    page = report_html(report_results(labels, seeds=2, facts={}, env="pointmass-d"))
    command = "procurl compare pointmass-d --strategies procurl-val:beta=5 'it'\"'\"'s' --seeds 2"
    assert command in words(page).replace("&#x27;", "'").replace("&quot;", '"')


def test_a_stopped_run_and_single_seeds_are_reported():
    stopped = {RunId("iid", "", 0): 30_000}
    text = words(report_html(report_results(seeds=1, stopped=stopped)))
    assert "1 run stopped because a value was not finite: iid, seed 0, at step 30,000" in text
    assert "One seed per strategy says little" in text
    assert "Intervals need at least 3 runs." in text
    assert "1.00 to 1.00" not in text


def test_two_seeds_have_no_intervals():
    text = words(report_html(report_results(seeds=2)))
    assert "Two seeds per strategy say little: runs of the same strategy vary widely." in text
    assert "±" not in text.partition("Click a column header")[2].partition("Probability")[0]
    assert "Two seeds" not in words(report_html(report_results(seeds=3)))


def with_finals(finals, seeds=2):
    """Results whose strategies have these returns at every evaluation."""
    results = report_results(list(finals), seeds=seeds)
    evaluations = {
        run: [at._replace(performance=finals[run.strategy]) for at in evaluations]
        for run, evaluations in results.evaluations.items()
    }
    return replace(results, evaluations=evaluations)


@pytest.mark.parametrize(
    ("finals", "said"),
    [
        (
            {"hard": 0.8, "easy": 0.5, "iid": 0.8004},
            "hard and iid have the highest mean return, 0.80.",
        ),
        ({"a": 0.3, "b": 0.3, "c": 0.3}, "a, b and c have the highest mean return, 0.30."),
        ({"a": 0.3, "b": 0.31}, "b has the highest mean return, 0.31 ± 0.00 over 3 runs."),
        ({"a": 0.0, "b": 0.0}, "no strategy has a mean return above 0."),
        ({"a": 0.0, "b": -2.0}, "a has the highest mean return, 0.00 ± 0.00 over 3 runs."),
        ({"a": -0.001, "b": 0.001, "c": -1.0}, "a and b have the highest mean return, 0.00."),
        ({"a": 0.001, "b": 0.002}, "b has the highest mean return, 0.0020 ± 0.0000 over 3 runs."),
    ],
)
def test_the_summary_names_no_winner_unless_one_is_ahead(finals, said):
    text = words(report_html(with_finals(finals, seeds=3)))
    assert f"After 60,000 training steps, {said}" in text
    assert text.count("have the highest") + text.count("has the highest") == ("highest" in said)


def test_the_summary_counts_the_runs_that_have_come_as_far():
    results = with_finals({"a": 0.4, "b": 0.3}, seeds=3)
    evaluations = {
        run: found[:-1] if run.strategy == "a" and run.seed else found
        for run, found in results.evaluations.items()
    }
    text = words(report_html(replace(results, evaluations=evaluations)))
    assert "a has the highest mean return, 0.40 over 1 run." in text


def test_columns_that_the_curriculum_leaves_out_are_said():
    names = [f"column {j}" for j in range(9)]
    for shown, said in ((names, True), (names[:8], False)):
        pool = TaskPool(np.eye(3, len(shown)), names=shown)
        text = words(report_html(report_results(("a",), seeds=1, pool=pool, env="mine")))
        assert ("it shows the first 8 of 9 columns of the tasks." in text) == said


def test_the_summary_says_if_the_runs_leave_it_open():
    results = with_finals({"a": 0.3, "iid": 0.3}, seeds=4)
    returns = {"a": (0.1, 0.3, 0.5, 0.7), "iid": (0.0, 0.2, 0.4, 0.6)}  # a wins 10 of 16 pairs
    evaluations = {
        run: [at._replace(performance=returns[run.strategy][run.seed]) for at in evaluations]
        for run, evaluations in results.evaluations.items()
    }
    text = words(report_html(replace(results, evaluations=evaluations)))
    assert "Its runs beat those of iid with probability 0.62 (95% interval" in text
    assert ": more seeds are needed to tell them apart." in text
    clear = words(report_html(with_finals({"a": 0.4, "iid": 0.3}, seeds=4)))
    assert "with probability 1.00 (95% interval 1.00 to 1.00). " in clear
    assert "more seeds" not in clear


def test_the_summary_is_about_the_targets_if_there_are_any():
    results = with_finals({"a": 0.3, "b": 0.4}, seeds=3)
    on_targets = {"a": 0.5, "b": 0.2}
    evaluations = {
        run: [at._replace(test_performance=on_targets[run.strategy]) for at in evaluations]
        for run, evaluations in results.evaluations.items()
    }
    tested = replace(results, evaluations=evaluations)
    assert "b has the highest mean return, 0.40 ± 0.00 over 3" in words(report_html(tested))
    facts = {**results.facts, "test_name": "targets"}
    text = words(report_html(replace(tested, facts=facts)))
    assert "a has the highest mean return on the targets, 0.50 ± 0.00 over 3 runs." in text
    assert "Its runs beat those of b with probability 1.00 (95% interval 1.00 to 1.00)." in text
    assert "Except for the targets, all returns are over the pool." in text
    assert "the row's strategy has a higher return over the pool after 60,000 steps" in text
    assert "over the pool" not in words(report_html(results)).partition("Final results")[2]


def test_no_steps_to_a_threshold_where_nobody_improved():
    text = words(report_html(with_finals({"a": 0.0, "b": 0.0})))
    assert "steps to threshold" in text
    assert "halfway from" not in text
    assert "2 of 2" not in text


def test_a_test_pool_has_a_column_and_is_reported():
    results = report_results(seeds=3)
    evaluations = {
        run: [at._replace(test_performance=0.25 + run.seed / 10) for at in evaluations]
        for run, evaluations in results.evaluations.items()
    }
    text = words(report_html(replace(results, evaluations=evaluations)))
    assert "test at 60k" in text
    assert "0.35 ± 0.25" in text  # t(2) = 4.303, SE = 0.1 / √3
    assert "the test pool at the end" in text
    assert "test" not in words(report_html(results)).partition("Final results")[2][:400]
    page = report_html(replace(results, evaluations=evaluations))
    curve = data_of(page)["curves"][0]
    assert set(curve["test"]["mean"]) == {0.35}
    assert set(curve["mean"]) != {0.35}
    assert "<span>test pool</span>" in page
    assert 'id="curve-pool"' not in report_html(results)
    assert "test" not in data_of(report_html(results))["curves"][0]
    facts = {**results.facts, "test_name": "targets"}
    page = report_html(replace(results, evaluations=evaluations, facts=facts))
    assert "<span>targets</span>" in page
    assert "targets at 60k" in words(page)
    assert "the targets at the end" in words(page)


def test_colors_and_dashes_are_those_of_the_figures():
    page = report_html(report_results(["iid", "procurl-val", "hard"]))
    for i, color in enumerate(COLORS):
        assert f"--c{i}: light-dark({color.lower()}," in page
    curves = data_of(page)["curves"]
    assert [COLORS[curve["color"]] for curve in curves] == ["#000000", "#D55E00", "#8C8C36"]
    assert [bool(curve["dash"]) for curve in curves] == [False, False, True]


def test_what_is_not_finite_is_missing_and_nothing_else():
    results = report_results(seeds=2, evaluations=2)
    run = results.runs[0]
    broken = [
        at._replace(performance=math.nan, mean_success=math.nan) for at in results.detail(run)
    ]
    evaluations = {**results.evaluations, run: broken}
    detail = {**{other: results.detail(other) for other in results.runs}, run: broken}
    page = report_html(replace(results, evaluations=evaluations, detail=detail.__getitem__))
    data = data_of(page)
    assert data["curves"][0]["runs"][0] == [None, None]
    assert data["curves"][0]["counts"] == [1, 1]
    assert data["explorer"]["runs"][0]["moments"][0]["performance"] is None


def test_strategies_without_an_evaluation_do_not_shift_the_others():
    results = report_results(["procurl-val", "plr", "iid"], seeds=2)
    evaluations = {r: [] if r.strategy == "plr" else e for r, e in results.evaluations.items()}
    data = data_of(report_html(replace(results, evaluations=evaluations)))
    labels = [curve["label"] for curve in data["curves"]]
    assert labels == ["procurl-val", "iid"]
    assert [labels[run["strategy"]] for run in data["explorer"]["runs"]] == [
        "procurl-val",
        "procurl-val",
        "iid",
        "iid",
    ]


def test_a_large_pool_is_cut_to_the_tasks_of_the_snapshots():
    results = report_results(
        ["iid"], seeds=1, evaluations=2, pool=TaskPool.from_seeds(3000), env="my own"
    )
    payload = explorer_payload(results)
    assert len(payload["sets"]) == 1
    assert len(payload["sets"][0]) == SNAPSHOT_TASKS
    assert "500 of the 3,000 tasks" in words(report_html(results))


def test_where_nothing_can_be_drawn_the_page_shows_numbers_and_says_why(monkeypatch):
    assert task_pictures("my own", SEVEN, [0]) == Pictures({})
    other = task_pictures("pointmass-s", SEVEN, [0])
    assert not other.by_task
    assert other.missing.startswith("the pool's context columns must be gate_position, gate_width")

    def fail(*_):
        raise RuntimeError("no screen <here>")

    monkeypatch.setattr(PointMass, "draw", fail)
    monkeypatch.setattr(explorer_data, "task_pictures", task_pictures)
    assert task_pictures("pointmass-s", report_results().pool, [0]).missing == "no screen <here>"
    assert data_of(report_html(report_results()))["explorer"]["missing"] == "no screen <here>"


def test_the_table_says_what_the_numbers_are_sorted_by():
    page = report_html(report_results(seeds=2))
    rows = re.findall(r'<tr><th scope="row".*?</tr>', page)
    final = [
        at.performance
        for run, e in report_results(seeds=2).evaluations.items()
        for at in e[-1:]
        if run.strategy == "procurl-val"
    ]
    values = re.findall(r'data-value="([^"]+)"', rows[0])
    assert values[0] == "procurl-val"
    assert float(values[4]) == pytest.approx(np.mean(final))


def test_a_page_without_evaluations_says_so():
    text = words(report_html(report_results(evaluations=0)))
    assert "No run has been evaluated yet." in text


def test_the_report_of_a_directory_with_its_tables_and_figures(tmp_path):
    results = report_results(seeds=2, picks=400)
    experiment = Experiment("pointmass-s", "jax", results.steps, test_name="targets")
    plan = RunPlan(dict.fromkeys(results.labels, 2))
    with open_experiment(tmp_path, experiment, results.pool, plan, "procurl compare …") as store:
        for run in results.runs:
            store.begin(run)
            detail = [at._replace(test_performance=0.5) for at in results.detail(run)]
            store.add(run, *detail)
            store.finish(run)
    page = write_report(tmp_path)
    assert page == tmp_path / "report.html"
    text = page.read_text(encoding="utf-8")
    data = data_of(text)
    assert data["explorer"] == data_of(report_html(results))["explorer"]
    links = re.findall(r'<a href="([^"#]+)"', text)
    assert len(links) == 2 + 2 * 5
    assert "curves-targets.png" in links
    for name in links:
        assert (tmp_path / name).stat().st_size > 100
    assert (tmp_path / "table.md").read_text(encoding="utf-8").startswith("| strategy | runs |")


def test_a_directory_without_evaluations_is_refused_and_left_alone(tmp_path):
    experiment = Experiment(env="pointmass-s", engine="jax", steps=100)
    open_experiment(tmp_path, experiment, SEVEN, RunPlan({"iid": 1}), "procurl").close()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ValueError, match="no evaluation yet"):
        write_report(tmp_path)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.soak
def test_ten_thousand_runs_give_a_page_of_reasonable_size():
    one = report_results(["procurl-val"], seeds=20, evaluations=40, picks=120)
    runs = [run._replace(setting=f"beta={i}") for i in range(500) for run in one.runs]
    results = dataclasses.replace(
        one,
        runs=runs,
        evaluations={run: one.evaluations[one.runs[run.seed]] for run in runs},
        detail=lambda run: one.detail(one.runs[run.seed]),
    )
    page = report_html(results)
    assert len(page) < 8_000_000
    assert "the first 24 of 500 strategies" in words(page)


def test_records_that_were_made_compact_give_a_report_too(tmp_path):
    write_records(compact(report_results()), tmp_path)
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert "procurl-val" in page
    assert (tmp_path / "table.md").exists()
