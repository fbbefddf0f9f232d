"""Every entry of the paper by name, made from records, and trained where nothing is recorded."""

import csv
import dataclasses
import math
from types import SimpleNamespace

import pytest

from procurl.cli import main
from procurl.envs import make_pool
from procurl.experiments.compact_records.files import read_records, write_records
from procurl.experiments.compact_records.joining import join_records
from procurl.experiments.compact_records.record import compact
from procurl.experiments.paper import build, run_pages, training
from procurl.experiments.paper.build import PaperOptions, list_entries, run
from procurl.experiments.paper.entries import ENTRIES, contenders_by_sweep
from procurl.experiments.paper.run_pages import cost_table, curves_page, targets_page
from procurl.experiments.paper.sweeps import HARD, KAREL, POINT_MASS
from procurl.experiments.request import EvaluationOptions, ExecutionOptions, TrainingOptions
from procurl.records.results import RunId
from tests.experiments.quick_commands import empty_figures
from tests.experiments.synthetic import synthetic_results


def recorded(folder, sweep, contenders, seeds=3, picks=300):
    every = sweep.steps // 8
    results = synthetic_results(
        contenders, seeds, sweep.env, sweep.steps, every, sweep.kind, sweep.tested, picks
    )
    facts = {"command": "procurl paper", "width": 2, "device": "cpu", "machine": {"processor": "?"}}
    results = dataclasses.replace(results, engine=sweep.engine, facts=facts)
    write_records(compact(results), folder / sweep.name)


@pytest.fixture(scope="module", autouse=True)
def _empty_figures():
    with empty_figures():
        yield


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Records of everything but one environment."""
    folder = tmp_path_factory.mktemp("records")
    for sweep, contenders in contenders_by_sweep(ENTRIES.values()).items():
        if sweep.env != "antgoal":
            recorded(folder, sweep, contenders, picks=600 if sweep is KAREL else 300)
    return folder


@pytest.fixture(scope="module")
def made(records, tmp_path_factory):
    """(folder, what was printed) of all entries at once."""
    out = tmp_path_factory.mktemp("paper")
    return out, run([], out=out, from_records=[records])


WITHOUT_RECORDS = ("curves-antgoal",)


class TestList:
    def test_every_name_with_its_needs(self):
        text = list_entries()
        for name in ENTRIES:
            assert f"\n{name} " in text
        line = next(line for line in text.splitlines() if line.startswith("metrics-pointmass-s"))
        assert "13 × 20 × 1M" in line
        assert "13 × 100 × 1M" in list_entries(seeds=100)


class TestFromRecords:
    @pytest.mark.parametrize("name", [name for name in ENTRIES if name not in WITHOUT_RECORDS])
    def test_every_entry_has_a_page_whose_files_exist(self, made, name):
        out, _ = made
        page = (out / name / "README.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {ENTRIES[name].title}\n\n")
        pictures = [part.partition(")")[0] for part in page.split("](")[1:]]
        for picture in pictures:
            assert (out / name / picture).exists()
        if ENTRIES[name].needs:
            assert "Ours: " in page
            assert "Trained by\n\n    procurl paper\n" in page

    def test_what_has_no_records_is_said(self, made):
        _, text = made
        for name in WITHOUT_RECORDS:
            assert f"no records of {name.removeprefix('curves-')}" in text

    def test_the_overview_links_every_page(self, made):
        out, _ = made
        overview = (out / "README.md").read_text(encoding="utf-8")
        assert "[theorem-1](theorem-1/README.md)" in overview
        assert "](curves-antgoal/README.md)" not in overview

    def test_pages_show_our_numbers_and_the_papers(self, made):
        out, _ = made
        with open(out / "metrics-pointmass-s" / "table.csv", encoding="utf-8") as file:
            rows = {row[0]: row for row in csv.reader(file)}
        assert rows["procurl-val"][:3] == ["procurl-val", "3", "20"]
        assert rows["procurl-val"][-2] == "0.71 ± 0.18"
        assert rows["procurl-out"][-2] == "–"

    def test_the_theorems_hold(self, made):
        out, _ = made
        with open(out / "theorem-1" / "table.csv", encoding="utf-8") as file:
            rows = list(csv.reader(file))[1:]
        assert all(float(row[-1]) < 1e-12 for row in rows)
        assert [float(row[2]) for row in rows] == pytest.approx([0.2, 0.3, 0.4, 0.5])

    def test_our_settings_are_the_papers(self, made):
        _, text = made
        assert "65 of 65 settings match the paper's." in text
        assert "85 of 85 settings match the paper's." in text

    def test_claims_are_built_from_the_available_records(self, made, tmp_path):
        _, text = made
        assert "of the 21 claims with runs hold." in text
        recorded(tmp_path / "records", HARD, ["procurl-val", "iid"])
        alone = run(["claims"], out=tmp_path, from_records=[tmp_path / "records"])
        assert "of the 1 claims" in alone

    def test_curves_are_compared_up_to_the_last_step_of_all_runs(self, tmp_path):
        results = synthetic_results(("procurl-val", "iid"), seeds=3)
        late = RunId("iid", "", 1)
        some = [m for m in results.evaluations[late] if m.step <= 600_000]
        results = dataclasses.replace(results, evaluations={**results.evaluations, late: some})
        made = curves_page({"pointmass-s": compact(results)}, tmp_path)
        assert made.verdict.startswith(
            "Highest at 0.6M of 1M, the last step of all runs: procurl-val with 0."
        )
        assert "| at 0.6M |" in made.body
        assert "at 1M" not in made.body
        assert "–" not in made.body.partition("| procurl-val |")[2].partition("\n")[0]

    def test_a_curve_ends_where_its_first_run_does(self, tmp_path, monkeypatch):
        drawn = {}
        monkeypatch.setattr(
            run_pages, "draw_curves", lambda found, path, *_, **__: drawn.update({path: found})
        )
        results = synthetic_results(("procurl-val", "iid"), seeds=3)
        late = RunId("iid", "", 1)
        some = [m for m in results.evaluations[late] if m.step <= 600_000]
        results = dataclasses.replace(results, evaluations={**results.evaluations, late: some})
        curves_page({"pointmass-s": compact(results)}, tmp_path)
        assert len(drawn) == 3
        for found in drawn.values():
            assert [(c.label, c.steps[-1]) for c in found] == [
                ("procurl-val", 1_000_000),
                ("iid", 600_000),
            ]

    def test_a_run_without_evaluations_does_not_prevent_the_page(self, tmp_path):
        results = synthetic_results(("procurl-val", "iid"), seeds=1)
        lost = RunId("procurl-val", "", 0)
        nothing = [m._replace(performance=math.nan) for m in results.evaluations[lost]]
        results = dataclasses.replace(results, evaluations={**results.evaluations, lost: nothing})
        made = curves_page({"pointmass-s": compact(results)}, tmp_path)
        assert made.verdict.startswith("Highest at 25k of 1M, the last step of all runs: iid")

    def test_targets_and_training_pool_have_a_table_and_curves_each(self, tmp_path):
        results, heights = synthetic_results(("plr", "iid"), seeds=3), {"plr": 0.1, "iid": 0.9}
        results = dataclasses.replace(
            results,
            evaluations={
                run: [m._replace(test_performance=heights[run.strategy]) for m in found]
                for run, found in results.evaluations.items()
            },
            facts={**results.facts, "test_name": "targets"},
        )
        made = targets_page({"sgr": compact(results)}, tmp_path, rows=("plr", "iid"))
        assert made.verdict == "Highest on the targets at 1M: iid with 0.90 ± 0.00."
        targets, pool = made.body.split("## On the training pool")
        assert "| iid | 3 | 0.90 ± 0.00 |" in targets
        assert "0.90 ± 0.00" not in pool
        files = {path.name for path in tmp_path.iterdir()}
        assert {"curves.png", "curves-targets.png", "table.csv", "table-pool.csv"} <= files

    def test_strategies_on_several_pools_have_a_row_for_each_pool(self, tmp_path):
        pools = [make_pool("pointmass-s", seed=seed) for seed in range(3)]
        results = synthetic_results(("procurl-val", "iid"), seeds=6, test=False, picks=0)
        results = dataclasses.replace(results, pool=pools[0], other_pools=pools[1:])
        write_records(compact(results), tmp_path / "records" / "pointmass-s-pools")
        text = run(["pools-pointmass-s"], out=tmp_path, from_records=[tmp_path / "records"])
        assert "over 3 pools: procurl-val with" in text
        page = (tmp_path / "pools-pointmass-s" / "README.md").read_text(encoding="utf-8")
        assert "drawn with the seeds 0 to 2" in page
        assert "| strategy | pool 0 | pool 1 | pool 2 |" in page
        assert "| 3 of 3 pools |" in page
        assert (tmp_path / "pools-pointmass-s" / "pools.png").exists()

    def test_records_that_a_named_entry_lacks_are_an_error(self, records, tmp_path):
        with pytest.raises(ValueError, match="curves-antgoal needs records of antgoal"):
            run(["curves-antgoal"], out=tmp_path, from_records=[records])

    def test_a_folder_without_records_is_an_error(self, tmp_path):
        with pytest.raises(ValueError, match="nowhere has no folders of records"):
            run([], out=tmp_path, from_records=[tmp_path / "nowhere"])

    def test_the_overview_keeps_what_was_made_before(self, tmp_path):
        for name in ("theorem-1", "theorem-2"):
            run([name], out=tmp_path)
        overview = (tmp_path / "README.md").read_text(encoding="utf-8")
        for number in (1, 2):
            link = f"[theorem-{number}](theorem-{number}/README.md)"
            assert f"| {link} | Theorem {number} | Closed form and enumeration differ" in overview

    def test_some_strategies_may_be_missing(self, tmp_path):
        recorded(tmp_path / "records", POINT_MASS, ["procurl-val", "iid"])
        names = ["curves-pointmass-s", "metrics-pointmass-s", "test-pointmass-s"]
        text = run(names, out=tmp_path, from_records=[tmp_path / "records"])
        assert "At 1M steps" in text
        assert "(2 strategies)" in text
        page = (tmp_path / names[0] / "README.md").read_text(encoding="utf-8")
        assert "| procurl-val |" in page
        assert "| space |" not in page

    def test_what_was_written_by_hand_stays_on_the_pages(self, tmp_path):
        (tmp_path / "theorem-1").mkdir()
        (tmp_path / "theorem-1" / "notes.md").write_text("It holds.", encoding="utf-8")
        (tmp_path / "notes.md").write_text("All hold.", encoding="utf-8")
        for _ in range(2):
            run(["theorem-1"], out=tmp_path)
        assert (tmp_path / "theorem-1" / "README.md").read_text("utf-8").count("It holds.\n") == 1
        assert (tmp_path / "README.md").read_text("utf-8").count("\n\nAll hold.\n\n## All") == 1

    def test_a_run_has_its_share_of_the_time_of_its_own_batch(self):
        parts = [
            compact(dataclasses.replace(synthetic_results([name], 2), facts={"width": width}))
            for name, width in (("iid", 2), ("procurl-val", 4))
        ]
        table = cost_table(join_records(parts), 1_000_000)
        seconds = {row[0]: row[3] for row in table.rows}
        assert (seconds["iid"], seconds["procurl-val"]) == ("10", "5")


class TestTraining:
    @pytest.fixture
    def requests(self, monkeypatch):
        """The requests to the runner, which returns synthetic results."""
        requests = []

        def train_sweep(sweep, contenders, out, options):
            requests.append((sweep, contenders, options))
            steps = options.training.steps or sweep.steps
            return synthetic_results(
                contenders, options.seeds or 2, sweep.env, steps, 25_000, sweep.kind, sweep.tested
            )

        monkeypatch.setattr(training, "train_sweep", train_sweep)
        return requests

    def test_a_sweep_is_trained_once_for_all_entries(self, requests, tmp_path):
        run(["metrics-pointmass-s", "test-pointmass-s", "theorem-1"], seeds=2, out=tmp_path)
        assert [sweep for sweep, _, _ in requests] == [POINT_MASS]
        assert len(requests[0][1]) == 13
        records = read_records(tmp_path / "records" / "pointmass-s")
        names = "metrics-pointmass-s test-pointmass-s theorem-1"
        assert records.results.facts["command"] == f"procurl paper {names} --seeds 2"
        assert (tmp_path / "test-pointmass-s" / "README.md").exists()

    def test_only_some_strategies(self, requests, tmp_path):
        options = PaperOptions(
            strategies=["procurl-val", "iid"], training=TrainingOptions(steps=100_000)
        )
        run(["curves-pointmass-d"], seeds=2, out=tmp_path, options=options)
        assert requests[0][1] == ["procurl-val", "iid"]
        with pytest.raises(
            ValueError, match="strategies must include one of .* got procurl-argmax"
        ):
            run(
                ["curves-pointmass-d"],
                out=tmp_path,
                options=PaperOptions(strategies=["procurl-argmax"]),
            )
        run(
            ["variants-spdl-pointmass-s"],
            out=tmp_path,
            options=PaperOptions(strategies=["spdl:floor=0.2"]),
        )
        assert [names for _, names, _ in requests[1:]] == [["spdl:floor=0.2"]]
        with pytest.raises(ValueError, match="Did you mean 'iid'"):
            run(["curves-pointmass-d"], out=tmp_path, options=PaperOptions(strategies=["idd"]))

    def test_an_environment_that_is_not_installed_is_named(self, requests, tmp_path, monkeypatch):
        monkeypatch.setattr(training, "environment_names", lambda: ("pointmass-s",))
        with pytest.raises(ValueError, match="environment 'antgoal' is not installed"):
            run(["curves-antgoal"], out=tmp_path)
        assert not requests

    def test_the_request_is_what_the_entry_needs(self, tmp_path, monkeypatch):
        from procurl.experiments import comparison
        from procurl.records import store

        requests = []
        monkeypatch.setattr(comparison, "compare", requests.append)

        class Read:
            def __enter__(self):
                return SimpleNamespace(results=lambda: synthetic_results(("iid",), 1, kind="hard"))

            def __exit__(self, *_):
                pass

        monkeypatch.setattr(store, "read_store", lambda _: Read())
        options = PaperOptions(
            training=TrainingOptions(n_envs=4),
            evaluation=EvaluationOptions(eval_every=50_000),
            execution=ExecutionOptions(workers=2),
        )
        run(["hard-pointmass-s"], seeds=3, out=tmp_path, options=options)
        (given,) = requests
        assert given.strategies == ["procurl", "procurl-val", "procurl-out", "iid"]
        training = given.training
        assert (training.steps, given.seeds, training.n_envs) == (2_000_000, 3, 4)
        assert (training.engine, given.execution.workers) == ("jax", 2)
        assert given.evaluation.eval_every == 50_000
        assert training.settings == ("ent_coef=0.002",)
        assert training.pool == str(tmp_path / "pools" / "pointmass-s-hard.csv")
        assert (tmp_path / "pools" / "pointmass-s-hard.csv").exists()


class TestCommand:
    def test_without_a_name_all_are_listed(self, capsys):
        assert main(["paper"]) == 0
        printed = capsys.readouterr().out
        assert "metrics-pointmass-s" in printed
        assert "theorem-2" in printed

    def test_a_name_makes_its_page(self, capsys, tmp_path):
        assert main(["paper", "theorem-1", "--out", str(tmp_path)]) == 0
        assert (tmp_path / "theorem-1" / "README.md").exists()
        assert f"pages: {tmp_path / 'README.md'}" in capsys.readouterr().out

    def test_records_are_joined_into_those_of_out(self, capsys, tmp_path):
        a, b, out = (tmp_path / name for name in ("a", "b", "out"))
        recorded(out / "records", POINT_MASS, ["iid"])
        recorded(a, POINT_MASS, ["hard"], seeds=2)
        recorded(b, HARD, ["procurl-val"])
        assert main(["paper", "--join-records", str(a), str(b), "--out", str(out)]) == 0
        printed = capsys.readouterr().out
        assert "iid, hard" in printed
        assert "2 to 3" in printed
        joined = read_records(out / "records" / "pointmass-s").results
        assert joined.labels == ("iid", "hard")
        assert read_records(out / "records" / "pointmass-s-hard").results.labels == ("procurl-val",)

    def test_records_that_cannot_be_joined_change_nothing(self, capsys, tmp_path):
        recorded(tmp_path / "out" / "records", HARD, ["iid"])
        other = dataclasses.replace(HARD, steps=1_000_000)
        recorded(tmp_path / "a", POINT_MASS, ["iid"])
        recorded(tmp_path / "a", other, ["procurl-val"])
        options = ["--join-records", str(tmp_path / "a"), "--out", str(tmp_path / "out")]
        assert main(["paper", *options]) == 2
        assert "steps is 1000000, not 2000000" in capsys.readouterr().err
        assert [folder.name for folder in (tmp_path / "out" / "records").iterdir()] == [HARD.name]

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["theorem-1", "--join-records", "a"], "--join-records writes no pages"),
            (["--join-records", "nowhere"], "nowhere has no folders of records"),
            (["metrics-pointmas-s"], "Did you mean 'metrics-pointmass-s'?"),
            (["--seeds", "-3"], "seeds must be an integer of at least 1, got -3"),
            (["theorem-1", "--seeds", "0"], "seeds must be an integer of at least 1, got 0"),
            (["theorem-1", "--steps", "-5"], "steps must be an integer of at least 1, got -5"),
            (["theorem-1", "--workers", "0"], "workers must be an integer of at least 1, got 0"),
            (["theorem-1", "--eval-every", "0"], "eval_every must be an integer of at least 1"),
            (["curves-antgoal", "--engine", "sb3"], "engine must be one of jax, host, got 'sb3'"),
            (["curves-pointmass-d", "--engine", "host"], "which curves-pointmass-d does not need"),
            (["curves-basickarel", "--eval-every", "2000"], "at least the 2048 steps of an update"),
            (["--from-records", "nowhere"], "nowhere has no folders of records"),
            (["curves-antgoal", "--pools", "3"], "pools is for pools-pointmass-s"),
            (["pools-pointmass-s", "--pools", "9", "--seeds", "8"], "8 seeds for 9 pools"),
        ],
    )
    def test_bad_input_is_one_sentence_and_status_2(self, capsys, tmp_path, arguments, sentence):
        assert main(["paper", *arguments, "--out", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert sentence in error
        assert error.count("\n") == 1


@pytest.mark.parametrize(("seeds", "words"), [(1, " 1 seed, "), (2, " 2 seeds, ")])
def test_a_page_counts_its_seeds(seeds, words):
    results = synthetic_results(("iid",), seeds, "pointmass-s", 100_000, 25_000, test=False)
    facts = {"command": "procurl paper", "width": 2, "device": "cpu", "machine": {"processor": "?"}}
    assert words in build._provenance(compact(dataclasses.replace(results, facts=facts)))
