"""Learning curves of BallCatching and AntGoal compiled into the JAX engine, on any JAX device.

    python benchmarks/mujoco_learning.py antgoal --runs 8 --n-envs 64 --out curves.csv
    python benchmarks/mujoco_learning.py ballcatching --strategies iid procurl-val --minutes 9

All runs of a strategy train side by side, by default as in the paper except for the number of
environments: an update has the paper's number of steps, shared among `--n-envs`. Every evaluation
is written to the CSV file at once, so nothing is lost if the program is interrupted. With `--keep`,
a program that `--minutes` stopped can be resumed.

`seconds` is training time, including compilation and excluding evaluations. Steps per second are
printed without compilation.
"""

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path

import jax

from procurl.envs.registry import make_array_env
from procurl.experiments.presets import paper_strategy, preset
from procurl.internals.archive import read_archive, write_archive
from procurl.ppo.checkpoints import checkpoint_of, restore
from procurl.ppo.evaluation.plan import EvaluationPlan
from procurl.ppo.learning.settings import paper_settings
from procurl.ppo.runs import Runs

COLUMNS = ("env", "strategy", "seed", "step", "performance", "env_steps", "seconds")


class Compilation:
    """Seconds that XLA has spent compiling since this was created."""

    def __init__(self) -> None:
        self.seconds = 0.0
        jax.monitoring.register_event_duration_secs_listener(self._take)

    def _take(self, event: str, duration_secs: float, **_: str | int) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            self.seconds += duration_secs


def make_runs(given: argparse.Namespace, strategy: str) -> Runs:
    """Runs with the seeds 0, 1, …, everything else as in the paper."""
    env, plan = make_array_env(given.env), preset(given.env)
    return Runs(
        env,
        env.default_pool(),
        [paper_strategy(given.env, strategy)] * given.runs,
        [paper_settings(given.env)] * given.runs,
        seeds=range(given.runs),
        n_envs=given.n_envs,
        evaluation=EvaluationPlan(
            every=given.eval_every or plan.eval_every,
            episodes=given.eval_episodes or plan.eval_episodes,
            stochastic=plan.eval_stochastic,
        ),
    )


def train(
    runs: Runs, steps: int, out_of_time: Callable[[], bool], note: Callable[[Runs], None]
) -> None:
    """Train for `steps` steps or until time is up, and `note` every evaluation."""
    compilation, start, before = Compilation(), time.perf_counter(), runs.train_steps
    while runs.train_steps < steps and not out_of_time():
        seen = len(runs.evaluations[0])
        runs.advance()
        if len(runs.evaluations[0]) > seen or runs.train_steps == before + runs.ppo[0].n_steps:
            jax.block_until_ready(runs.state)  # type: ignore[no-untyped-call]
            note(runs)
            taken = (runs.train_steps - before) * len(runs.seeds)
            passed = time.perf_counter() - start
            rate = taken / max(passed - compilation.seconds, 1e-9)
            print(
                f"  step {runs.train_steps:,} after {passed:.0f} s, "
                f"{compilation.seconds:.0f} of them compiling; {rate:,.0f} steps/s with evaluations"
            )


def noting(path: Path, env: str, strategy: str) -> Callable[[Runs], None]:
    """A function that appends new evaluations to a CSV file and prints the latest."""
    written = 0

    def note(runs: Runs) -> None:
        nonlocal written
        with open(path, "a", newline="") as file:
            rows = csv.writer(file)
            if file.tell() == 0:
                rows.writerow(COLUMNS)
            for new in zip(*(run[written:] for run in runs.evaluations), strict=True):
                for e, seed in zip(new, runs.seeds, strict=True):
                    cells = [e.step, e.performance, e.env_steps, round(e.seconds, 1)]
                    rows.writerow([env, strategy, seed, *cells])
        written = len(runs.evaluations[0])
        if written:
            latest = [run[-1].performance for run in runs.evaluations]
            print(
                f"  {strategy} at {runs.evaluations[0][-1].step:,}: "
                f"{sum(latest) / len(latest):.3f} = mean of "
                f"{[round(p, 2) for p in latest]}{_rate(runs)}"
            )

    return note


def _rate(runs: Runs) -> str:
    """Training steps per second of all runs between the last two evaluations."""
    if len(runs.evaluations[0]) < 2:
        return ""
    before, after = runs.evaluations[0][-2:]
    taken = (after.train_steps - before.train_steps) * len(runs.seeds)
    return f", {taken / (after.seconds - before.seconds):,.0f} training steps/s"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("env", choices=("antgoal", "ballcatching"))
    parser.add_argument("--strategies", nargs="+", default=["iid", "procurl-val"])
    parser.add_argument("--runs", type=int, default=4, help="seeds side by side")
    parser.add_argument("--n-envs", type=int, default=64, help="per run")
    parser.add_argument("--steps", type=int, help="of training per run; as in the paper")
    parser.add_argument("--eval-every", type=int, help="training steps; as in the paper")
    parser.add_argument("--eval-episodes", type=int, help="per task; as in the paper")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="for everything")
    parser.add_argument("--out", type=Path, default=Path("mujoco_learning.csv"))
    parser.add_argument("--keep", type=Path, help="folder of checkpoints to resume from")
    return parser.parse_args()


def main() -> None:
    given = parse()
    steps = given.steps or preset(given.env).steps
    print(f"{given.env} on {jax.devices()[0].device_kind}, JAX {jax.__version__}")
    end = time.monotonic() + 60 * given.minutes
    for i, strategy in enumerate(given.strategies):
        print(f"{strategy}: {given.runs} runs of {given.n_envs} environments, {steps:,} steps each")
        share = (end - time.monotonic()) / (len(given.strategies) - i)  # of the time that is left
        mine = time.monotonic() + share
        runs = make_runs(given, strategy)
        kept = given.keep and given.keep / f"{given.env}-{strategy}.archive"
        note = noting(given.out, given.env, strategy)
        if kept and kept.exists():
            restore(runs, *read_archive(kept))
            print(f"  resuming from step {runs.train_steps:,}")
        train(runs, steps, lambda mine=mine: time.monotonic() > mine, note)  # type: ignore[misc]
        if kept:
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_archive(kept, *checkpoint_of(runs))


if __name__ == "__main__":
    main()
