"""A small sweep in processes of its own, to be hurt and looked at."""

import csv
import io
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

PROCURL = Path(sys.executable).with_name("procurl")
PATIENCE = 600.0  # seconds after which a sweep counts as hung
STEPS = 102_400  # four evaluations of each run
# Tests in the background may inherit that Ctrl-C or SIGHUP is ignored; so would what they start.
LISTENING = (
    sys.executable,
    "-c",
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL);"
    "signal.signal(signal.SIGHUP, signal.SIG_DFL);"
    " os.execvp(sys.argv[1], sys.argv[1:])",
)
SWEEP = ("compare", "pointmass-s", "--strategies", "procurl-val", "iid", "--seeds", "2")


class Sweep:
    """`procurl compare` at work.

    Args:
        out: where it writes.
        steps: of each run.
        more: further arguments.
        before: a program and its arguments that start it.
    """

    def __init__(self, out, *more, steps=STEPS, before=()):
        command = [*LISTENING, *before, PROCURL, *SWEEP, "--steps", steps, "--out", out, *more]
        # JAX's cache makes a start quick, and is itself cut off in the middle of its writes. Other
        # tests must not read what is left of it.
        cache = {
            "JAX_PLATFORMS": "cpu",
            "JAX_COMPILATION_CACHE_DIR": f"{os.environ['JAX_COMPILATION_CACHE_DIR']}-of-sweeps",
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        self.process = subprocess.Popen(
            list(map(str, command)),
            env=os.environ | cache,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.said = ""
        self._watchdog = threading.Timer(PATIENCE, self.kill)
        self._watchdog.daemon = True
        self._watchdog.start()

    def wait_for_percent(self, percent):
        """Read on until a contender has come so far; False if the sweep ends before."""
        for line in self.process.stderr:
            self.said += line
            found = re.search(r"(\d+)%", line)
            if found and int(found[1]) >= percent:
                return True
        return False

    def kill(self, how=signal.SIGKILL):
        """Send a signal to all its processes; False where it had ended already."""
        alive = self.process.poll() is None
        if alive:
            os.killpg(self.process.pid, how)
        return alive

    def end(self):
        """Wait for the end; (exit status, what it printed, what it said on stderr)."""
        out, said = self.process.communicate()
        self._watchdog.cancel()
        return self.process.returncode, out, self.said + said


def finished(out, *more, **how):
    """Run a sweep to its end."""
    status, _, said = Sweep(out, *more, **how).end()
    assert status == 0, said
    return out


def exported(out):
    """The lines of `procurl export` without the seconds, which stand last."""
    done = subprocess.run([PROCURL, "export", out], capture_output=True, text=True, check=True)
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert rows[0][-1] == "seconds"
    return [row[:-1] for row in rows]


def detailed(out):
    """Every pick and every snapshot of every run, as text."""
    from procurl.records.store import read_store

    with read_store(out) as store:
        results = store.results()
        return [
            (
                run,
                m.step,
                m.picks.tobytes(),
                *(part.tobytes() for part in m.snapshot if part is not None),
            )
            for run in results.runs
            for m in results.detail(run)
        ]
