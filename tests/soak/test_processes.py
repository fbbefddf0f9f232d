"""Killed processes, readers that leave, damaged logs: a sweep ends as if nothing had happened.

Or it says what happened, and the same command goes on.
"""

import os
import pty
import random
import shutil
import signal
import subprocess
import time

import pytest

from procurl.records.store import FILE, read_store
from tests.soak.sweeps import PROCURL, Sweep, exported, finished

pytestmark = pytest.mark.soak
STEPS = 51_200  # two evaluations of each run
STARTS = 10  # kills of a training process that has just appeared
KILLS = 8  # of a training process at any moment
FLIPS = 300  # damaged logs
READERS = (0, 1, 3)  # lines of progress after which nobody reads any more
LEFTOVERS = "**/.*.[0-9]*.????????*"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A sweep that nothing happened to."""
    return finished(tmp_path_factory.mktemp("whole") / "out", steps=STEPS)


def workers(sweep):
    """The process ids of the training processes of a sweep."""
    children = subprocess.run(
        ["ps", "-ww", "--ppid", str(sweep.process.pid), "-o", "pid=", "-o", "args="],
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    return [int(line.split()[0]) for line in children if "spawn_main" in line]


def wait_for_workers(sweep):
    deadline = time.monotonic() + 60.0
    while not (found := workers(sweep)):
        assert time.monotonic() < deadline
        assert sweep.process.poll() is None, sweep.end()
        time.sleep(0.01)
    return found


def kill_one(found, rng):
    try:
        os.kill(rng.choice(found), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def test_a_process_killed_at_its_start_is_reported_and_the_sweep_continues(
    whole, tmp_path, report_counts
):
    rng = random.Random(41)
    out = tmp_path / "out"
    for _ in range(STARTS):
        sweep = Sweep(out, steps=STEPS)
        found = wait_for_workers(sweep)
        time.sleep(rng.uniform(0.0, 0.1))
        assert kill_one(found, rng)
        status, printed, said = sweep.end()
        assert (status, printed) == (2, ""), said
        assert "a training process was killed (SIGKILL)" in said
        assert "Traceback" not in said
    finished(out, steps=STEPS)
    assert exported(out) == exported(whole)
    report_counts("kills of a starting process", {"told and resumed": STARTS})


def test_a_process_killed_at_any_moment_is_reported_and_the_sweep_continues(
    whole, tmp_path, report_counts
):
    rng = random.Random(42)
    kills, rounds, out = 0, 0, tmp_path / "0"
    while kills < KILLS:
        sweep = Sweep(out, steps=STEPS)
        wait_for_workers(sweep)
        time.sleep(rng.uniform(0.0, 6.0))
        found = workers(sweep)
        killed = bool(found) and kill_one(found, rng)
        status, _, said = sweep.end()
        if status == 0:  # it had ended, or was about to
            assert exported(out) == exported(whole)
            rounds += 1
            out = tmp_path / str(rounds)
        else:
            assert (killed, status) == (True, 2), said
            assert "a training process was killed (SIGKILL)" in said
            kills += 1
    finished(out, steps=STEPS)
    assert exported(out) == exported(whole)
    assert not list(tmp_path.glob(LEFTOVERS))
    report_counts("kills of a training process", {"told and resumed": kills})


@pytest.mark.parametrize("lines", READERS)
def test_training_goes_on_when_nobody_reads(whole, tmp_path, lines, report_counts):
    out = tmp_path / "out"
    sweep = Sweep(out, steps=STEPS)
    for _ in range(lines):
        sweep.process.stderr.readline()
    sweep.process.stderr.close()
    sweep.process.stdout.close()
    assert sweep.process.wait(600) == 0
    assert (out / "report.html").exists()
    assert exported(out) == exported(whole)
    report_counts(f"readers gone after {lines} lines", {"finished with the same numbers": 1})


def test_training_goes_on_when_the_terminal_of_the_bars_is_gone(whole, tmp_path, report_counts):
    out = tmp_path / "out"
    ours, theirs = pty.openpty()
    arguments = ["compare", "pointmass-s", "--strategies", "procurl-val", "iid", "--seeds", "2"]
    process = subprocess.Popen(
        [PROCURL, *arguments, "--steps", str(STEPS), "--out", out],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    while b"procurl-val" not in shown:
        shown += os.read(ours, 4096)
    os.close(ours)
    assert process.wait(600) == 0
    assert exported(out) == exported(whole)
    report_counts("terminals gone", {"finished with the same numbers": 1})


def test_nohup_lets_training_go_on(whole, tmp_path):
    out = tmp_path / "out"
    sweep = Sweep(out, steps=STEPS, before=("nohup",))
    wait_for_workers(sweep)
    time.sleep(1.0)
    sweep.kill(signal.SIGHUP)
    status, _, said = sweep.end()
    assert status == 0, said
    assert exported(out) == exported(whole)


@pytest.mark.parametrize("seeds", [2, 5])
def test_one_core_gives_the_numbers_of_many(tmp_path, seeds, report_counts):
    if shutil.which("taskset") is None or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs taskset and two cores")
    more = ("--seeds", str(seeds))
    one = finished(tmp_path / "one", *more, steps=30_000, before=("taskset", "-c", "0"))
    many = finished(tmp_path / "many", *more, steps=30_000)
    alone = finished(tmp_path / "alone", *more, "--workers", "1", steps=30_000)
    assert exported(one) == exported(many) == exported(alone)
    report_counts(f"{seeds} seeds on 1 core, all cores, 1 process", {"with the same numbers": 3})


def test_a_directory_that_is_removed_is_reported(tmp_path, report_counts):
    out = tmp_path / "out"
    sweep = Sweep(out, steps=10 * STEPS)
    assert sweep.wait_for_percent(10), sweep.said
    began = time.monotonic()
    shutil.rmtree(out)
    status, _, said = sweep.end()
    seconds = time.monotonic() - began
    assert status == 2, said
    assert "was removed" in said
    assert "Traceback" not in said
    report_counts("directories removed in use", {f"told after {seconds:.0f} s": 1})


def test_a_damaged_log_is_refused_or_changes_nothing(tmp_path, report_counts):
    """Of a sweep that was killed, so that its latest commits are in the log only."""
    rng = random.Random(43)
    out, copy = tmp_path / "out", tmp_path / "copy"
    sweep = Sweep(out, steps=10 * STEPS)
    assert sweep.wait_for_percent(20), sweep.said
    sweep.kill()
    sweep.end()
    log = (out / f"{FILE}-wal").read_bytes()
    before, refused = _read(out, copy, log), 0
    assert before
    for case in range(FLIPS):
        broken = bytearray(log)
        if case % 3:
            broken[rng.randrange(len(log))] ^= 1 << rng.randrange(8)
        else:
            del broken[rng.randrange(len(log)) :]
        try:
            assert _read(out, copy, broken) == before
        except ValueError as error:
            assert "is damaged" in str(error)  # noqa: PT017
            refused += 1
    assert refused > FLIPS / 2
    report_counts("damaged logs", {"refused": refused, "without effect": FLIPS - refused})


def _read(out, copy, log):
    """What the store holds with another log."""
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for name in (FILE, f"{FILE}-commits"):
        shutil.copy(out / name, copy)
    (copy / f"{FILE}-wal").write_bytes(log)
    with read_store(copy) as store:
        return list(map(str, store.rows()))
