"""Training steps per second of many runs on one GPU, and where the time goes.

Run it as `python benchmarks/throughput.py --gpu`. It needs no Gymnasium, PyTorch or
Stable-Baselines3.
"""

import time
from statistics import median
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from procurl.experiments.presets import preset
from procurl.ppo import programs
from procurl.ppo.programs import PURPOSE
from throughput_runs import finished, machine, make_runs


class Batch(NamedTuple):
    """Runs that one GPU trains at once, each as long as in the paper."""

    env: str
    runs: int
    n_envs: int  # per run

    @property
    def label(self) -> str:
        return f"{self.env}, {self.runs} runs, {self.n_envs} environments each"


BATCHES = (
    "pointmass-s:512:1",
    "pointmass-s:512:16",
    "pointmass-s:2048:16",
    "basickarel:64:1",
    "basickarel:64:16",
)


def gpu(names: list[str] | None, shorten: int) -> None:
    """Print the rate of every batch, including compilation, and the parts of an update."""
    print(f"{machine()}; {jax.devices()[0].device_kind}\n")
    print("| | steps each | made, s | first update, s | all, s | steps/s | later ", end="")
    print("| collect, ms | update, ms | teacher, ms |\n| --- " + "| ---: " * 9 + "|", flush=True)
    for name in names or BATCHES:
        env, runs, n_envs = name.split(":")
        train_at_once(Batch(env, int(runs), int(n_envs)), preset(env).steps // shorten)


def train_at_once(batch: Batch, steps: int) -> None:
    """Print one line: `procurl-val` runs from the start to `steps`."""
    start = time.perf_counter()
    runs = make_runs(batch.env, "procurl-val", batch.runs, batch.n_envs)
    finished(runs.state)
    made = time.perf_counter() - start
    runs.advance()
    finished(runs.state)
    first_steps, first = runs.train_steps, time.perf_counter() - start
    while runs.train_steps < steps:
        runs.advance()
    finished(runs.state)
    took = time.perf_counter() - start
    rate = batch.runs * runs.train_steps / took
    later = batch.runs * (runs.train_steps - first_steps) / max(took - first, 1e-9)
    collecting, update, teacher = (f"{1e3 * seconds:.1f}" for seconds in parts(runs))
    print(
        f"| {batch.label} | {runs.train_steps:,} | {made:.1f} | {first - made:.1f} | {took:.1f} "
        f"| {rate:,.0f} | {later:,.0f} | {collecting} | {update} | {teacher} |",
        flush=True,
    )


def parts(runs: Any) -> tuple[float, float, float]:
    """Seconds per update of all runs: collecting, learning and teaching."""
    whole = _median_seconds(runs.advance, runs)
    actor, student = runs.agent.actor, runs.agent.student
    contexts = jnp.asarray(runs.env.contexts_of(runs.eval_pools[0]))
    observations = actor.initial_observations(contexts)
    keys = programs.run_keys(jnp.asarray(runs.seeds, dtype=jnp.uint32), PURPOSE.train, 0)
    length = runs.ppo[0].n_steps // runs.n_envs

    def one(training: Any, cumulative: Any, key: Any) -> Any:
        params = training.student.params
        return actor.collect(contexts, params, training.lanes, cumulative, key, length)

    collected = jax.jit(jax.vmap(one))

    def collect_all() -> None:
        finished(collected(runs.state.training, runs.state.teaching.cumulative, keys))

    collect_all()
    collecting = _median_seconds(collect_all, runs)
    values = jax.jit(jax.vmap(lambda params: student.values(params, observations)))

    def value_all() -> None:
        finished(values(runs.state.training.student.params))

    value_all()
    teaching = _median_seconds(value_all, runs)
    return collecting, max(whole - collecting - teaching, 0.0), teaching


def _median_seconds(call: Any, runs: Any) -> float:
    took = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        finished(runs.state)
        took.append(time.perf_counter() - start)
    return median(took)
