"""Training that is killed at random moments ends as if it never had been."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from procurl.experiments.running.slots import NAMES
from procurl.internals.archive import read_archive

ROOT = Path(__file__).parents[2]
UPDATES = 500
KILLS = 20
IN_STARTUP = 4  # of these, before training has gone on
DAMAGED = 3  # of these, followed by damage to the newest checkpoint
STARTUP_SECONDS = 2.5
PATIENCE = 120.0  # seconds after which a process counts as hung

TRAIN = f'''
"""Train in the corridor from wherever the checkpoints are, and say every update."""

import sys, time
from pathlib import Path

from procurl import TaskPool, make_strategy
from procurl.internals.archive import pack_archive, unpack_archive, write_archive
from procurl.experiments.running.slots import STEP, Slots
from procurl.ppo.checkpoints import checkpoint_of, restore
from tests.ppo.toy import CONTEXTS, EvaluationPlan, make_runs

folder = Path(sys.argv[1])
strategy = make_strategy("procurl-out", epsilon=0.1).bind(TaskPool(CONTEXTS))
runs = make_runs(strategy, evaluation=EvaluationPlan(every=1000))
slots = Slots(folder)
newest = slots.newest(warn=lambda message: print("warning", message, flush=True))
if newest is not None:
    restore(runs, *unpack_archive(newest, folder))
while runs.updates < {UPDATES}:
    runs.advance()
    if runs.updates % 3 == 0:
        meta, arrays = checkpoint_of(runs)
        content = pack_archive(meta | {{STEP: runs.updates}}, arrays)
        slots.keep(runs.updates, content)
    print("update", runs.updates, flush=True)
    time.sleep(0.004)
_, arrays = checkpoint_of(runs)
records = [str(e._replace(seconds=0.0)) for run in runs.evaluations for e in run]
write_archive(folder / "result", {{"records": records}}, arrays)
print("done", flush=True)
'''


class Training:
    """A process that trains, and what it says."""

    def __init__(self, script, folder, cache):
        # The cache makes a start fast, and is itself cut off in the middle of its writes.
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "JAX_COMPILATION_CACHE_DIR": str(cache),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PLATFORMS": "cpu",
        }
        self.errors = folder / "stderr"
        with self.errors.open("a") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(script), str(folder)],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.warnings = []
        self.watchdog = threading.Timer(PATIENCE, self.process.kill)
        self.watchdog.start()

    def wait_for(self, update):
        """Read on until it has reached `update`; False where it ended before."""
        for line in self.process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "warning":
                self.warnings.append(rest)
            if word == "update" and int(rest) >= update:
                return True
        return False

    def kill(self):
        """kill -9; False where it had ended already."""
        self.watchdog.cancel()
        alive = self.process.poll() is None
        if alive:
            self.process.send_signal(signal.SIGKILL)
        self.process.stdout.close()
        self.process.wait(PATIENCE)
        return alive and self.process.returncode == -signal.SIGKILL

    def finish(self):
        assert not self.wait_for(UPDATES + 1)
        self.watchdog.cancel()
        assert self.process.wait(PATIENCE) == 0, self.errors.read_text()
        self.process.stdout.close()


def damage_newest(folder):
    """Cut the newest checkpoint in half; False where there are not two whole ones."""
    try:
        written = [read_archive(folder / name)[0]["updates"] for name in NAMES]
    except (OSError, ValueError):
        return False
    newest = folder / NAMES[written.index(max(written))]
    newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    return True


@pytest.mark.soak
def test_killed_twenty_times_equals_never_killed(tmp_path):
    rng = random.Random(20)
    script, cache = tmp_path / "train.py", tmp_path / "cache"
    script.write_text(TRAIN)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()

    # After this many updates each, or in the time before the first.
    targets = sorted(rng.randrange(1, int(0.85 * UPDATES)) for _ in range(KILLS - IN_STARTUP))
    plan = [("update", target) for target in targets]
    for _ in range(IN_STARTUP):  # early, as a fast machine may have begun to train by then
        plan.insert(rng.randrange(len(plan) // 2), ("start", rng.uniform(0.0, STARTUP_SECONDS)))

    kills, broken, warnings = 0, 0, []
    for number, (when, value) in enumerate(plan):
        training = Training(script, cut, cache)
        if when == "start":
            time.sleep(value)
        else:
            assert training.wait_for(value), training.errors.read_text()
            time.sleep(rng.uniform(0.0, 0.02))
        kills += training.kill()
        warnings += training.warnings
        if number > KILLS // 2 and broken < DAMAGED:
            broken += damage_newest(cut)
    last = Training(script, cut, cache)
    last.finish()
    warnings += last.warnings
    assert kills == KILLS
    assert broken == DAMAGED
    assert len(warnings) >= DAMAGED
    assert all("; it is ignored" in warning for warning in warnings)

    Training(script, whole, cache).finish()
    (one, one_arrays), (other, other_arrays) = (
        read_archive(folder / "result") for folder in (cut, whole)
    )
    assert one["records"] == other["records"]
    assert len(one["records"]) == 3 * (UPDATES * 64 // 1000)
    assert one_arrays.keys() == other_arrays.keys()
    for name, array in one_arrays.items():
        assert array.tobytes() == other_arrays[name].tobytes(), name
