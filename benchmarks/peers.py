"""procurl next to other libraries: training, starting, choosing tasks, and curricula in PPO.

    python benchmarks/peers.py [--rounds 3] [--only training startup choosing callbacks]
                               [--syllabus-python PATH] [--skip rejax ...]

The peers are no dependencies. Those that are not installed are skipped and named, and so are those
that fail, with the last line of their message. An environment that has them:

    pip install -e '.[jax,sb3]' sbx-rl==0.28.0 rejax==0.1.3 skrl==2.1.1 brax==0.14.2 \\
        syllabus-rl==0.7 matplotlib

Syllabus 0.7 needs NumPy below 1.25 for its learning progress, and procurl needs NumPy 2. Name a
Python for it with `--syllabus-python`, made with `pip install syllabus-rl==0.7 matplotlib
'numpy<1.25' 'scipy<1.12'`. Brax 0.14.2 needs an older JAX, such as 0.6.2.

Each contender is a single-threaded process on one core. They take turns, and medians over the turns
count. Numbers are of the processor's time, so that other programs do not matter. Evaluation and
compilation are excluded, except at startup.
"""

import argparse
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from typing import Any

from contenders.table import Row, cost, longer, markdown, rate, ratios
from throughput_runs import machine
from turns import (
    Process,
    Seconds,
    Turn,
    answer,
    output_to_parent,
    serve,
    start,
    stay_on_one_core,
    take_turns,
)

PARTS = ("training", "startup", "choosing", "callbacks")
ENVS = (1, 16)  # environments in training
TOO_SLOW = {("skrl", 1)}  # an update takes minutes
OLD_NUMPY = "syllabus-progress"  # needs NumPy below 1.25
PEERS = ("sbx-rl", "rejax", "skrl", "brax", "syllabus-rl")
BASE = "Stable-Baselines3"
CACHE = "JAX_COMPILATION_CACHE_DIR"
CACHED_FROM = "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"
NO_CURRICULUM = "no curriculum"


class Session:
    """Starts contenders, and remembers which did not run."""

    def __init__(self, syllabus_python: str, skip: Iterable[str]) -> None:
        self.syllabus_python, self.skip = syllabus_python, frozenset(skip)
        self.failed: dict[str, str] = {}

    def start(
        self, part: str, name: str, contender: Any, *arguments: int
    ) -> tuple[Process, str] | None:
        """A contender after its first turn, and its answer; None if it did not get there."""
        python = self.syllabus_python if name == OLD_NUMPY else sys.executable
        if name in self.skip:
            return None
        if not _has(python, contender.package):
            self.failed[contender.name] = f"{contender.package} is not installed"
            return None
        with tempfile.TemporaryFile("w+") as messages:
            process = start(
                __file__, part, name, *map(str, arguments), python=python, messages=messages
            )
            try:
                return process, answer(process)
            except RuntimeError:
                messages.seek(0)
                self.failed[f"{contender.name} ({part})"] = last_error(messages.read())
                return None

    def measure(
        self, part: str, contenders: Mapping[str, Any], rounds: int, *arguments: int
    ) -> dict[str, list[Seconds]]:
        """All turns of the contenders that run, by the names of the tables."""
        processes = {}
        for name, contender in contenders.items():  # one after the other: they compile alone
            ready = self.start(part, name, contender, *arguments)
            if ready is not None:
                processes[contender.name] = ready[0]
        return take_turns(processes, rounds)


def last_error(messages: str) -> str:
    """The line of a traceback that names the error."""
    lines = [line for line in messages.splitlines() if line and not line.startswith((" ", "-"))]
    named = [line for line in lines if "Error" in line.partition(":")[0]]
    return (named or lines or ["no message"])[-1]


def _has(python: str, package: str) -> bool:
    if python == sys.executable:
        return importlib.util.find_spec(package) is not None
    found = f"import importlib.util as u; raise SystemExit(u.find_spec({package!r}) is None)"
    return subprocess.run([python, "-c", found], check=False).returncode == 0


def training(session: Session, rounds: int) -> None:
    from contenders.training import TRAINERS

    columns = {}
    for n_envs in ENVS:
        able = {name: t for name, t in TRAINERS.items() if (name, n_envs) not in TOO_SLOW}
        took = session.measure("training", able, rounds, n_envs)
        columns[f"{n_envs} environment{'s' if n_envs > 1 else ''}"] = {
            name: rate(turns) for name, turns in took.items()
        }
    rows = ratios(columns, BASE, lambda number: f"{number:,.0f}")
    show("PPO's steps per second (× Stable-Baselines3)", ["", *columns], rows)


def startup(session: Session, rounds: int) -> None:
    """From the start of Python to the end of the first update, twice with one cache."""
    from contenders.training import TRAINERS

    columns: dict[str, dict[str, float]] = {"empty cache": {}, "warm cache": {}}
    for name, trainer in TRAINERS.items():
        n_envs = ENVS[(name, ENVS[0]) in TOO_SLOW]
        with tempfile.TemporaryDirectory() as cache:
            os.environ |= {CACHE: cache, CACHED_FROM: "0"}  # else short compilations are not kept
            for column in columns.values():
                ready = session.start("startup", name, trainer, n_envs)
                if ready is None:
                    break
                column[trainer.name] = float(ready[1])
                ready[0].communicate()
            del os.environ[CACHE], os.environ[CACHED_FROM]
    rows = ratios(columns, BASE, lambda number: f"{number:.1f}")
    show("Seconds to the first update (× Stable-Baselines3)", ["", *columns], rows)


def choosing(session: Session, rounds: int) -> None:
    from contenders.choosing import BATCHES, CHOOSERS, SIZES

    columns: dict[str, dict[str, float]] = {}
    for n in SIZES:
        turns = len(BATCHES) * rounds
        took = session.measure("choosing", CHOOSERS, turns, n)
        for i, k in enumerate(BATCHES):
            # The first turn of a child had the first batch size, so that the order is shifted.
            own = {
                name: cost(t[(i - 1) % len(BATCHES) :: len(BATCHES)]) for name, t in took.items()
            }
            columns[f"{n:,} tasks, {k} at a time"] = own
    rows = ratios(columns, "by hand, NumPy", lambda number: f"{1e6 * number:,.1f}")
    show("Microseconds per episode (× by hand)", ["", *columns], rows)


def callbacks(session: Session, rounds: int) -> None:
    from contenders.callbacks import TEACHINGS
    from contenders.choosing import SIZES

    columns: dict[str, dict[str, str]] = {}
    for n in SIZES:
        took = session.measure("callbacks", TEACHINGS, rounds, n)
        base = took.pop(NO_CURRICULUM, None)
        if base is not None:
            columns[f"{n:,} tasks"] = {
                name: f"{longer(turns, base):+.1%}, {1e6 * (cost(turns) - cost(base)):+.0f} µs"
                for name, turns in took.items()
            }
    names = dict.fromkeys(name for column in columns.values() for name in column)
    rows: list[Row] = [
        [name, *(column.get(name, "–") for column in columns.values())] for name in names
    ]
    show("What a step takes longer in Stable-Baselines3's PPO", ["", *columns], rows)


def show(title: str, header: Row, rows: list[Row]) -> None:
    print(f"\n{title}\n\n{markdown(header, rows)}", flush=True)


def child_turn(part: str, name: str, argument: int) -> Turn:
    """The turn of the contender that a child process is."""
    if part == "choosing":
        from contenders import choosing as episodes

        return episodes.turn_of(episodes.CHOOSERS[name], argument)
    if part == "callbacks":
        from contenders import callbacks as updates

        return updates.turn_of(updates.TEACHINGS[name], argument)
    from contenders.training import TRAINERS

    trainer = TRAINERS[name]
    return trainer.make(argument, trainer.updates if part == "training" else 1)


def as_child(part: str, name: str, argument: str) -> None:
    """The part of this script that its worker processes run, on one core."""
    stay_on_one_core()
    if part == "startup":
        output = output_to_parent()
        child_turn(part, name, int(argument))()
        print(time.process_time(), file=output, flush=True)
    else:
        serve(lambda: child_turn(part, name, int(argument)))
    os._exit(0)  # threads of some peers would go on


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="turns of each contender")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART")
    parser.add_argument("--skip", nargs="+", default=[], help="contenders to leave out")
    parser.add_argument("--syllabus-python", default=sys.executable, metavar="PATH")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        as_child(*chosen.child)
        return
    installed = [f"{name} {importlib.metadata.version(name)}" for name in PEERS if _installed(name)]
    print(f"{machine()}; {', '.join(installed) or 'no peers'}", flush=True)
    session = Session(chosen.syllabus_python, chosen.skip)
    for part in (training, startup, choosing, callbacks):
        if part.__name__ in chosen.only:
            part(session, chosen.rounds)
    for name, reason in session.failed.items():
        print(f"\nDid not run: {name}: {reason}", flush=True)


def _installed(distribution: str) -> bool:
    try:
        return bool(importlib.metadata.version(distribution))
    except importlib.metadata.PackageNotFoundError:
        return False


if __name__ == "__main__":
    main()
