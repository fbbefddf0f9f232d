"""Figures are written as PNG and SVG and say what they show."""

import resource
from contextlib import contextmanager
from dataclasses import replace
from html import escape

import numpy as np
import pytest

from procurl.envs import make_pool
from procurl.experiments.analysis.curves import Curve, learning_curves
from procurl.experiments.analysis.figures import curves as figures
from procurl.experiments.analysis.figures.curriculum import (
    draw_curriculum,
    draw_pools,
    typical_pictures,
)
from procurl.experiments.analysis.figures.curves import (
    STRATEGY_LINES,
    Pair,
    curve_axis,
    draw_ablation,
    draw_curves,
    draw_intervals,
    line_styles,
    mean_curve,
    new_figure,
    plot_curves,
)
from procurl.experiments.analysis.figures.signal import draw_signal
from procurl.experiments.analysis.statistics import Interval
from procurl.experiments.analysis.trends import features_of, trends
from procurl.records.results import RunId
from procurl.strategies import strategy_names
from procurl.tasks.pool import TaskPool
from tests.experiments.synthetic import synthetic_results


@pytest.fixture(scope="module")
def results():
    labels = ("procurl-val", "procurl-env", "iid", "procurl-val:beta=10")
    return synthetic_results(labels, seeds=3, steps=200_000, every=20_000)


def written(path):
    """The SVG's text, once the PNG is known to be one."""
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    return path.with_suffix(".svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("x", ["train", "env", "seconds"])
def test_learning_curves(tmp_path, results, x):
    draw_curves(learning_curves(results), tmp_path / "curves", "pointmass-s", x=x)
    text = written(tmp_path / "curves")
    for label in results.labels:
        assert label in text
    assert "mean return over the pool" in text


def test_a_single_evaluation_is_drawn_as_a_dot(tmp_path):
    for steps, marker in ((200_000, ""), (25_000, "o")):
        curves = learning_curves(synthetic_results(("iid",), seeds=2, steps=steps))
        with new_figure(tmp_path / "curves", (4.0, 3.0)) as (_, axes):
            plot_curves(axes[0][0], curves)
            assert [line.get_marker() for line in axes[0][0].lines] == [marker]


def test_a_single_return_among_missing_ones_is_drawn_as_a_dot(tmp_path):
    [curve] = learning_curves(synthetic_results(("iid",), seeds=2, steps=75_000))
    alone = np.where(curve.steps == 50_000, curve.performance, np.nan)
    for heights, marker in ((alone, "o"), (np.full_like(alone, np.nan), "")):
        with new_figure(tmp_path / "curves", (4.0, 3.0)) as (_, axes):
            plot_curves(axes[0][0], [curve._replace(performance=heights)])
            assert [line.get_marker() for line in axes[0][0].lines] == [marker]


def test_figures_are_the_same_bytes_every_time(tmp_path, results):
    for name in ("a", "b"):
        draw_curves(learning_curves(results), tmp_path / name, "pointmass-s")
    assert written(tmp_path / "a") == written(tmp_path / "b")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_an_unknown_axis_is_named(tmp_path, results):
    with pytest.raises(ValueError, match="x must be one of train, env, seconds"):
        draw_curves(learning_curves(results), tmp_path / "curves", x="steps")


def test_curves_are_smoothed_means_with_standard_errors(results):
    curve = learning_curves(results)[0]
    mean, error = mean_curve(curve)
    middle = curve.performance[:, 2:7].mean(axis=1)  # five evaluations around the fifth
    assert mean[4] == pytest.approx(middle.mean())
    assert error[4] == pytest.approx(middle.std(ddof=1) / np.sqrt(3))
    assert curve_axis(curve, "env") == pytest.approx(curve.steps)


@pytest.mark.parametrize("evaluations", [1, 2, 9, 10])
def test_short_curves_are_drawn_as_they_are(evaluations, tmp_path):
    steps = np.arange(evaluations)
    heights = (steps % 2)[None].astype(float)
    curve = Curve("iid", np.arange(1), steps, heights, heights, heights, heights)
    draw_curves([curve], tmp_path / "curves")
    smoothed = "smoothed over 5 evaluations" in written(tmp_path / "curves")
    with new_figure(tmp_path / "figure", (3.0, 3.0)) as (_, axes):
        plot_curves(axes[0][0], [curve])
        [line] = axes[0][0].lines
    plain = np.array_equal(line.get_ydata(), heights[0])
    assert (smoothed, plain) == ((True, False) if evaluations == 10 else (False, True))


def test_a_lone_run_and_a_run_that_is_not_done_can_be_drawn(tmp_path, results):
    curve = learning_curves(results)[0]
    half = curve.performance.copy()
    half[:, 4:] = np.nan
    alone = curve._replace(seeds=curve.seeds[:1], performance=half[:1], label="<b>&")
    draw_curves([alone], tmp_path / "curves")
    assert "&lt;b&gt;&amp;" in written(tmp_path / "curves")


def test_every_strategy_has_a_line_of_its_own():
    assert set(strategy_names()) <= set(STRATEGY_LINES)
    assert len(set(STRATEGY_LINES.values())) == len(STRATEGY_LINES)
    others = [f"procurl-val:beta={beta}" for beta in range(20)]
    lines = line_styles(["procurl-val", *others])
    assert len({lines[label] for label in ["procurl-val", *others]}) == 21
    assert {line.color for line in figures.STRATEGY_LINES.values()} <= set(figures.COLORS)


def test_intervals_and_ablations(tmp_path):
    ours, theirs = Interval(0.6, 0.05, 100), Interval(0.7, 0.2, 20)
    rows = [
        Pair("procurl-val", ours, theirs),
        Pair("procurl-out", ours, None),
        Pair("iid", None, Interval(0.3, float("nan"), 20)),
    ]
    draw_intervals({"at 1M": rows, "at 2M": rows}, tmp_path / "intervals", "mean return")
    assert "procurl-out" in written(tmp_path / "intervals")
    draw_ablation({"at 1M": [(10.0, rows[0]), (20.0, rows[1])]}, tmp_path / "ablation", "β")
    assert "the paper" in written(tmp_path / "ablation")


def test_curriculum_with_pictures(tmp_path, results):
    features, found = features_of(results.pool), trends(results)
    pictures = typical_pictures(found, features, results.env, results.pool, [50_000, 150_000])
    draw_curriculum(found, features, tmp_path / "curriculum", pictures)
    text = written(tmp_path / "curriculum")
    for expected in ("|gate position|", "gate width", "friction", "played at 0.15M"):
        assert expected in text


def test_pools(tmp_path):
    pools = {"uniform": make_pool("pointmass-s"), "harder": make_pool("pointmass-s", "hard")}
    draw_pools(pools, tmp_path / "pools")
    assert "harder: 100 tasks" in written(tmp_path / "pools")


HOSTILE_NAMES = ("$\\bad$", "$x$", "_a", "100%", "<b>&")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_are_drawn_as_they_are(tmp_path, name):
    results = synthetic_results(("iid", "easy"), seeds=1, steps=50_000)
    pool = TaskPool(results.pool.contexts, names=[name, "gate_width", "friction"])
    labels = {"iid": name, "easy": f"{name} b"}
    runs = {run: RunId(labels[run.strategy], run.setting, run.seed) for run in results.runs}
    found = {runs[run]: evaluations for run, evaluations in results.evaluations.items()}
    detail = {runs[run]: results.detail(run) for run in results.runs}
    results = replace(
        results,
        pool=pool,
        runs=list(found),
        evaluations=found,
        detail=detail.__getitem__,
    )
    draw_curves(learning_curves(results), tmp_path / "curves", name)
    draw_curriculum(trends(results), features_of(pool), tmp_path / "curriculum")
    draw_pools({name: pool}, tmp_path / "pools")
    pair = Pair(name, Interval(0.6, 0.05, 100), Interval(0.7, 0.2, 20))
    draw_intervals({name: [pair]}, tmp_path / "intervals", name)
    draw_ablation({name: [(1.0, pair)]}, tmp_path / "ablation", name)
    shown = f">{escape(name, quote=False)}<"
    expected = {"curves": 2, "curriculum": 2, "pools": 1, "intervals": 3, "ablation": 2}
    for figure, times in expected.items():
        assert written(tmp_path / figure).count(shown) == times, figure


@pytest.mark.filterwarnings("error")
def test_a_long_name_leaves_room_for_the_figure(tmp_path, results):
    long = [
        curve._replace(label=f"{curve.label}-{'long' * 50}") for curve in learning_curves(results)
    ]
    draw_curves(long, tmp_path / "curves", "pointmass-s" * 30)
    text = written(tmp_path / "curves")
    first = long[0].label
    for line in (first[:40], first[40:80], f"{first[80:119]}…"):
        assert line in text


LONG_NAMES = {
    "procurl-val": "procurl-out:measure=return,v_min=-1000,v_max=350,beta=10",
    "procurl-env": "procurl-out:measure=return,v_min=-1000,v_max=350,beta=30",
    "procurl-val:beta=10": "mix:strategies=procurl-val[beta=10]+iid,weights=0.8+0.2",
}


@pytest.mark.parametrize("names", [{}, LONG_NAMES], ids=["short", "long"])
@pytest.mark.parametrize("kind", ["curves", "curriculum"])
def test_the_legend_lies_inside_the_figure_and_leaves_room(
    tmp_path, results, monkeypatch, kind, names
):
    kept = []
    monkeypatch.setattr(figures, "_write_figure", lambda figure, *_, **__: kept.append(figure))
    if kind == "curves":
        curves = learning_curves(results)
        renamed = [curve._replace(label=names.get(curve.label, curve.label)) for curve in curves]
        draw_curves(renamed, tmp_path / "curves")
    else:
        found = trends(results)
        again = [trend._replace(label=names.get(trend.label, trend.label)) for trend in found]
        draw_curriculum(again, features_of(results.pool), tmp_path / "curriculum")
    figure = kept[0]
    figure.set_layout_engine("constrained")
    figure.draw_without_rendering()
    owner = figure.subfigs[0] if figure.subfigs else figure
    [legend] = owner.legends
    shown = [text.get_text().replace("\n", "") for text in legend.get_texts()]
    assert sorted(shown) == sorted(names.get(label, label) for label in results.labels)
    box, page = legend.get_window_extent(), figure.bbox
    assert page.x0 <= box.x0 < box.x1 <= page.x1
    assert page.y0 <= box.y0 < box.y1 <= page.y1
    for axis in figure.axes:
        place = axis.get_window_extent()
        assert not place.overlaps(box)
        assert place.height > 0.3 * page.height
    assert sum(axis.get_window_extent().width for axis in figure.axes) > 0.55 * page.width


@pytest.mark.parametrize("draw", [draw_curves, draw_signal])
def test_a_legend_of_many_short_names_is_inside_the_figure(tmp_path, results, monkeypatch, draw):
    kept = []
    monkeypatch.setattr(figures, "_write_figure", lambda figure, *_, **__: kept.append(figure))
    curve = learning_curves(results)[0]
    draw([curve._replace(label=f"s{i}") for i in range(24)], tmp_path / "curves")
    figure = kept[0]
    figure.set_layout_engine("constrained")
    figure.draw_without_rendering()
    [legend] = figure.legends
    box, page = legend.get_window_extent(), figure.bbox
    assert len(legend.get_texts()) == 24
    assert page.y0 <= box.y0 < box.y1 <= page.y1
    assert not figure.axes[0].get_window_extent().overlaps(box)


def test_figures_say_what_their_bands_and_lines_are(tmp_path, results):
    draw_curves(learning_curves(results), tmp_path / "curves")
    draw_curriculum(trends(results), features_of(results.pool), tmp_path / "curriculum")
    assert "(± 1 SE over runs, smoothed over 5 evaluations)" in written(tmp_path / "curves")
    text = written(tmp_path / "curriculum")
    assert "mean of the tasks played" in text
    assert "(± 1 SE over runs, smoothed)" in text


@contextmanager
def file_size_limit(size):
    """Let no file of this process grow past `size` bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_old_figure_and_names_the_file(tmp_path, results):
    curves = learning_curves(results)
    draw_curves(curves, tmp_path / "curves", "before")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with file_size_limit(10_000), pytest.raises(OSError, match=r"curves\.png") as raised:
        draw_curves(curves, tmp_path / "curves", "after")
    assert raised.value.filename == str(tmp_path / "curves.png")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
