"""Training steps per second of the JAX engine, compared with Stable-Baselines3's PPO.

    python benchmarks/throughput.py [--rounds 7] [--envs pointmass-s basickarel]
    python benchmarks/throughput.py --gpu [--batches pointmass-s:512:16] [--shorten 10]

On a CPU, each contender is a single-threaded process, all on the same core. They take turns: only
one works at a time, each once per round, and the median counts. Rates are steps per second of CPU
time, so that other programs on the machine do not matter; wall-clock rates, which are the same on
an idle machine, are shown next to them. Evaluation and compilation are excluded, except in the
parts and the cold starts, which say so.

On a GPU, many runs train at once and compilation is included: see throughput_gpu.py.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from throughput_runs import finished, machine, make_runs
from turns import Seconds, Turn, answer, serve, start, stay_on_one_core, take_turns

ENVS = ("pointmass-s", "basickarel")
SB3 = "sb3"


class Contender(NamedTuple):
    """A contender, and how long one of its turns is."""

    env: str
    name: str  # `sb3`, or the strategy of the JAX engine
    seeds: int
    updates: int  # at a turn

    @property
    def label(self) -> str:
        if self.name == SB3:
            return "Stable-Baselines3, 1 seed"
        return f"procurl, {self.name}, {self.seeds} seed{'s' if self.seeds > 1 else ''}"


CONTENDERS = (
    Contender("pointmass-s", SB3, 1, updates=2),
    Contender("pointmass-s", "iid", 1, updates=60),
    Contender("pointmass-s", "procurl-val", 1, updates=60),
    Contender("pointmass-s", "iid", 8, updates=12),
    Contender("pointmass-s", "procurl-val", 8, updates=12),
    Contender("basickarel", SB3, 1, updates=1),
    Contender("basickarel", "iid", 1, updates=4),
    Contender("basickarel", "procurl-val", 1, updates=4),
)


def jax_turn(contender: Contender) -> Turn:
    runs = make_runs(contender.env, contender.name, contender.seeds)

    def turn() -> int:
        before = runs.train_steps
        for _ in range(contender.updates):
            runs.advance()
        finished(runs.state)
        return int(runs.train_steps - before) * contender.seeds

    return turn


def sb3_turn(contender: Contender) -> Turn:
    """PPO with the same settings and network, on the Gymnasium form of the environment."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

    from procurl.envs import GymEnv
    from procurl.ppo.learning.settings import paper_settings

    class SharedLayer(BaseFeaturesExtractor):
        """The layer shared by policy and value, as a features extractor."""

        def __init__(self, space: Any, width: int) -> None:
            super().__init__(space, width)
            self.net = torch.nn.Sequential(torch.nn.Linear(space.shape[0], width), torch.nn.ReLU())

        def forward(self, observations: torch.Tensor) -> torch.Tensor:
            features: torch.Tensor = self.net(observations)
            return features

    torch.set_num_threads(1)
    settings = paper_settings(contender.env)
    layers = {"pi": [*settings.policy_layers], "vf": [*settings.value_layers]}
    network = {"activation_fn": torch.nn.ReLU, "net_arch": layers, "ortho_init": True}
    for width in settings.shared_layers:
        network["features_extractor_class"] = SharedLayer
        network["features_extractor_kwargs"] = {"width": width}
    own = {k: v for k, v in vars(settings).items() if not k.endswith("_layers")}
    env = GymEnv(contender.env)
    model = PPO("MlpPolicy", env, policy_kwargs=network, seed=0, device="cpu", **own)

    def turn() -> int:
        before = model.num_timesteps
        model.learn(contender.updates * settings.n_steps, reset_num_timesteps=False)
        return model.num_timesteps - before

    return turn


def measure(contenders: list[Contender], rounds: int) -> dict[Contender, list[Seconds]]:
    """All turns of every contender."""
    processes = {}
    for contender in contenders:  # one after the other, so that they compile alone
        process = start(__file__, "turns", *map(str, contender))
        answer(process)
        processes[contender] = process
    return take_turns(processes, rounds)


def compare(env: str, rounds: int) -> None:
    """Print the rates of all contenders in `env`, and the cost of the curriculum."""
    contenders = [contender for contender in CONTENDERS if contender.env == env]
    took = measure(contenders, rounds)
    rates = {c: median(t.steps / t.processor for t in turns) for c, turns in took.items()}
    base = next(rate for contender, rate in rates.items() if contender.name == SB3)
    print(f"\n{env}\n\n| | steps/s | by the clock | × Stable-Baselines3 |")
    print("| --- | ---: | ---: | ---: |")
    for contender, rate in rates.items():
        clock = median(t.steps / t.clock for t in took[contender])
        print(f"| {contender.label} | {rate:,.0f} | {clock:,.0f} | {rate / base:.1f} |")
    print()
    for contender in contenders:
        if contender.name == "procurl-val":
            pairs = zip(took[contender], took[contender._replace(name="iid")], strict=True)
            cost = median(mine.processor / plain.processor - 1.0 for mine, plain in pairs)
            print(f"{contender.label}, over iid: {100 * cost:+.1f}%", flush=True)


def parts(env: str) -> None:
    """Print the CPU time and the compilation time of each part with one seed."""
    import jax
    import jax.numpy as jnp

    from procurl.experiments.presets import paper_strategy, preset
    from procurl.ppo.learning.settings import paper_settings
    from procurl.ppo.runs import ROLLOUT_WIDTH

    runs = make_runs(env, "procurl-val", 1)
    actor, student = runs.agent.actor, runs.agent.student
    teacher, strategy = runs.teacher, paper_strategy(env, "procurl-val")
    settings, how = paper_settings(env), preset(env)
    contexts, key = jnp.asarray(runs.env.contexts_of(runs.eval_pools[0])), jax.random.key(0)
    observations = actor.initial_observations(contexts)
    training, teaching = jax.tree.map(lambda leaf: leaf[0], runs.state[:2])
    params = training.student.params

    def collected(params: Any, lanes: Any, cumulative: Any) -> Any:
        return actor.collect(contexts, params, lanes, cumulative, key, settings.n_steps)

    def learned(state: Any, rollout: Any, lanes: Any) -> Any:
        return student.learn(settings, state, rollout, lanes.observations, key)

    def taught(params: Any, teaching: Any, step: Any) -> Any:
        values = student.values(params, observations)
        return teacher.refresh(strategy, teaching, step, values, key, None)

    def evaluated(params: Any) -> Any:
        return actor.evaluate(params, contexts[: how.eval_tasks], key, ROLLOUT_WIDTH)

    print(f"\n{env}, 1 seed, an update of {settings.n_steps:,} steps\n")
    print("| part | ms | compiles in s |\n| --- | ---: | ---: |")
    lanes, rollout = _timed("collect", collected, params, training.lanes, teaching.cumulative)
    _timed("update", learned, training.student, rollout, lanes)
    _timed("teacher, `procurl-val`", taught, params, teaching, jnp.asarray(0))
    share = settings.n_steps / how.eval_every
    _timed(f"evaluation every {how.eval_every:,} steps, its share", evaluated, params, share=share)


def _timed(name: str, function: Callable[..., Any], *arguments: Any, share: float = 1.0) -> Any:
    """Call `function` and return its result; prints CPU seconds per call and to compile."""
    import jax

    start = time.process_time()
    program = jax.jit(function).lower(*arguments).compile()
    compiling = time.process_time() - start
    took = []
    for _ in range(11):
        start = time.process_time()
        result = finished(program(*arguments))
        took.append(time.process_time() - start)
    print(f"| {name} | {1e3 * share * median(took[1:]):.2f} | {compiling:.1f} |", flush=True)
    return result


def cold_start(env: str, rounds: int) -> None:
    """Print how long `procurl train` takes to its first update, on all cores."""
    took: dict[str, list[Seconds]] = {"an empty": [], "a warm": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as place:
            for cache, seconds in took.items():
                seconds.append(_first_update(env, Path(place), cache))
    for cache, seconds in took.items():
        processor, clock = (median(s.processor for s in seconds), median(s.clock for s in seconds))
        print(
            f"{env}, command to first update with {cache} compilation cache: "
            f"{processor:.1f} s of the processor, {clock:.1f} s by the clock",
            flush=True,
        )


def _first_update(env: str, place: Path, out: str) -> Seconds:
    from procurl.ppo.learning.settings import paper_settings

    n_steps = paper_settings(env).n_steps
    command = [str(Path(sys.executable).with_name("procurl")), "train", env]
    command += ["--strategy", "procurl-val", "--seeds", "1", "--out", str(place / out)]
    command += ["--steps", str(10 * n_steps)]  # a line at every tenth, so after the first update
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        env=os.environ | {"JAX_COMPILATION_CACHE_DIR": str(place / "cache")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    took = Seconds(n_steps, _processor_seconds(process.pid), time.perf_counter() - start)
    process.communicate()
    if process.returncode or not line.startswith("procurl-val: "):
        raise RuntimeError(f"{' '.join(command)} failed: {line}")
    return took


def _processor_seconds(session: int) -> float:
    """CPU seconds of all processes of a session so far; NaN without /proc."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended in the meantime
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))  # own and its children's, user and system
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else float("nan")


def _as_child(kind: str, env: str, *rest: str) -> None:
    """The part of this script that its worker processes run, on one core."""
    stay_on_one_core()
    if kind == "parts":
        parts(env)
    else:
        name, seeds, updates = rest
        contender = Contender(env, name, int(seeds), int(updates))
        serve(lambda: sb3_turn(contender) if name == SB3 else jax_turn(contender))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7, help="turns of each contender")
    parser.add_argument("--envs", nargs="+", default=[*ENVS], choices=ENVS, metavar="ENV")
    parser.add_argument("--cold-starts", type=int, default=3, help="of each kind; 0 for none")
    parser.add_argument("--gpu", action="store_true", help="many runs at once on one device")
    parser.add_argument("--batches", nargs="+", metavar="ENV:RUNS:N_ENVS", help="on the GPU")
    parser.add_argument("--shorten", type=int, default=1, help="divide the GPU's steps by this")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        _as_child(*chosen.child)
    elif chosen.gpu:
        from throughput_gpu import gpu

        gpu(chosen.batches, chosen.shorten)
    else:
        print(machine(), flush=True)
        for env in chosen.envs:
            compare(env, chosen.rounds)
            print(start(__file__, "parts", env).communicate()[0], flush=True)
            if chosen.cold_starts:
                cold_start(env, chosen.cold_starts)


if __name__ == "__main__":
    main()
