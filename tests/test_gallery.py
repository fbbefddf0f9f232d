"""The gallery of problems: its environments fit their pools, and its table says what runs show."""

import math
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from procurl import strategy_names
from procurl.experiments.analysis.statistics import mean_interval

pytest.importorskip("stable_baselines3")
pytest.importorskip("minigrid")
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of minigrid at import
    from gallery import bandits, catalog
    from gallery.problem import Problem, Run
    from gallery.sb3_runs import Sb3Learner
    from gallery.sweep import Job, read_runs, write_run
    from gallery.table import comparison, summary, verdict

LEARNERS = {name: part for name, part in vars(catalog).items() if isinstance(part, Sb3Learner)}
NAN = math.nan


def test_problems_have_names_roles_and_known_strategies():
    assert len({problem.name for problem in catalog.PROBLEMS}) == len(catalog.PROBLEMS) >= 8
    assert sum(problem.role == "choose" for problem in catalog.PROBLEMS) == 4
    for problem in catalog.PROBLEMS:
        assert problem.role in ("choose", "confirm")
        assert problem.strategies[0] == "iid"
        assert set(problem.contenders) <= set(strategy_names())
        assert len(set(problem.contenders)) == len(problem.contenders)
        assert set(problem.calibrated) <= set(problem.strategies)


@pytest.mark.parametrize("name", LEARNERS)
def test_returns_of_an_environment_lie_in_its_range(name):
    learner = LEARNERS[name]
    env = learner.make_env()
    env.action_space.seed(0)
    seen = {str(env.reset(seed=0, options={"task": task})[0]) for task in range(5)}
    assert len(seen) > 1  # tasks differ
    for task in (0, len(learner.pool) - 1):
        observation, _ = env.reset(options={"task": task})
        assert env.observation_space.contains(observation)
        done = False
        while not done:
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            done = terminated or truncated
    played = env.collect()
    assert played.lengths.max() <= 200
    if learner.returns is None:
        assert np.isin(played.success, [0.0, 1.0]).all()
    else:
        low, high = learner.returns
        assert ((played.returns >= low) & (played.returns <= high)).all()


@pytest.mark.parametrize("strategy", ["iid", "procurl-out", "plr"])
def test_prompts_are_learned(monkeypatch, strategy):
    monkeypatch.setattr(bandits, "PROMPT_UPDATES", 24)
    run = bandits.train_prompts(strategy, seed=0)
    assert run.steps == [64.0 * 8 * 3 * k for k in range(1, 9)]
    assert run.performance[-1] > run.performance[0] > 0.2
    assert math.isnan(run.calibration[-1]) == (strategy != "procurl-out")


def test_bandits_are_learned(monkeypatch):
    monkeypatch.setattr(bandits, "UPDATES", 80)
    run = bandits.train_bandits("procurl-val", seed=0)
    assert run.performance[-1] > run.performance[0]
    assert 0 < run.calibration[-1] < 0.5


def test_a_verdict_needs_an_interval_on_one_side_of_zero():
    assert verdict(mean_interval([0.1, 0.11, 0.12])) == "helps"
    assert verdict(mean_interval([-0.1, -0.11, -0.12])) == "hurts"
    assert verdict(mean_interval([-0.1, 0.3, 0.1])) == "no difference"
    assert verdict(mean_interval([0.1])) == "–"
    assert verdict(mean_interval([0.1, 0.1])) == "–"  # two seeds have no interval


def small_runs():
    """Two strategies on one problem: the second is 0.1 better with every seed."""
    problem = Problem("toy", "", "choose", ("iid", "procurl-out"), (), ("procurl-out",), None)
    runs = {}
    for seed, height in enumerate([0.2, 0.5, 0.8]):
        flat = [height] * 4
        runs[Job("toy", "iid", seed)] = Run([1, 2, 3, 4], flat, [NAN] * 4)
        better = [height + 0.1] * 4
        runs[Job("toy", "procurl-out", seed)] = Run([1, 2, 3, 4], better, [0.9, 0.2, 0.2, 0.2])
    return [problem], runs


def test_areas_are_compared_seed_by_seed_and_estimates_from_the_middle_on():
    head, (baseline, ours) = comparison(*small_runs())
    row = dict(zip(head, ours, strict=True))
    assert baseline[:7] == ("toy", "choose", "iid", "3", "0.500", "", "")
    assert row["area"] == "0.600"
    assert row["minus iid"] == "+0.100 ± 0.000"  # although seeds differ by far more
    assert row["verdict"] == "helps"
    assert row["calibration"] == "0.200"
    assert row["at most 0.15"] == "no"


def test_a_single_seed_has_no_interval():
    problems, runs = small_runs()
    _, (_, ours) = comparison(problems, {job: run for job, run in runs.items() if job.seed == 0})
    assert ours[3:7] == ("1", "0.300", "+0.100", "–")


def test_the_summary_says_where_a_curriculum_helps_and_which_estimate_is_off():
    lines = summary(*small_runs()).splitlines()
    assert lines == [
        "procurl-out: helps on toy",
        "procurl-out on toy: calibration 0.20 ± 0.00 misses 0.15",
    ]


def test_a_run_is_read_as_it_was_written(tmp_path):
    job, run = Job("toy", "iid", 3), Run([1.0], [0.5], [NAN])
    assert list(read_runs([job], tmp_path)) == []
    write_run(job.file(tmp_path), run)
    ((found, again),) = read_runs([job, Job("toy", "iid", 4)], tmp_path)
    assert found == job
    assert again[:2] == run[:2]
    assert math.isnan(again.calibration[0])
