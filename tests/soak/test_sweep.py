"""A sweep that is hurt in every way we know ends as if nothing had happened, or says why not."""

import os
import random
import signal
import subprocess
import time

import pytest

from procurl.records.store import FILE, read_store
from tests.soak.sweeps import PROCURL, STEPS, SWEEP, Sweep, detailed, exported, finished

pytestmark = pytest.mark.soak
KILLS = 30
LATEST_KILL = 10.0  # seconds after a start


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A sweep that nothing happened to."""
    return finished(tmp_path_factory.mktemp("whole") / "out")


def test_killed_thirty_times_equals_never_killed(whole, tmp_path):
    """All processes at once, at any moment; a sweep that ends in between is started again."""
    rng = random.Random(30)
    expected, details = exported(whole), detailed(whole)
    kills, rounds = 0, 0
    out = tmp_path / "0"
    while kills < KILLS:
        sweep = Sweep(out)
        time.sleep(rng.uniform(0.0, LATEST_KILL))
        killed = sweep.kill()
        status, _, said = sweep.end()
        kills += killed
        if not killed or status == 0:
            assert status == 0, said
            assert exported(out) == expected
            assert detailed(out) == details
            rounds += 1
            out = tmp_path / str(rounds)
    finished(out)
    assert exported(out) == expected
    assert detailed(out) == details


def of_all(sweep, how):
    sweep.kill(how)


def of_the_driver(sweep, how):
    sweep.process.send_signal(how)


@pytest.mark.parametrize(
    ("how", "stop"),
    [
        (signal.SIGINT, of_all),
        (signal.SIGTERM, of_all),
        (signal.SIGTERM, of_the_driver),
        (signal.SIGHUP, of_all),
        (signal.SIGHUP, of_the_driver),
    ],
)
def test_a_sweep_that_is_stopped_keeps_a_last_checkpoint_and_continues(whole, tmp_path, how, stop):
    """Ctrl-C reaches all processes, `kill` only one, and a machine that shuts down again all."""
    out = tmp_path / "out"
    sweep = Sweep(out)
    assert sweep.wait_for_percent(10), sweep.said
    stop(sweep, how)
    status, _, said = sweep.end()
    assert status == 130
    assert said.endswith("stopped; run the same command to resume\n")
    assert "Traceback" not in said
    assert list(out.glob("runs/*/*/checkpoint-*"))
    finished(out)
    assert exported(out) == exported(whole)


def test_a_lone_driver_that_is_killed_leaves_no_process_behind(whole, tmp_path):
    out = tmp_path / "out"
    sweep = Sweep(out)
    assert sweep.wait_for_percent(10), sweep.said
    group = sweep.process.pid
    assert _alive(group)
    sweep.process.kill()
    sweep.end()
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline and _alive(group):
        time.sleep(0.2)
    assert not _alive(group)
    finished(out)
    assert exported(out) == exported(whole)


def _alive(group):
    """Whether any process of the group is left."""
    pairs = [line.split() for line in _processes("-e", "pgid", "stat")]
    return any(int(pgid) == group and not stat.startswith("Z") for pgid, stat in pairs)


def _processes(which, *columns):
    """Lines of `ps` without its header."""
    shown = [part for column in columns for part in ("-o", f"{column}=")]
    return subprocess.run(
        ["ps", "-ww", *which.split(), *shown], capture_output=True, text=True, check=True
    ).stdout.splitlines()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_training_process_is_reported_and_resumed(whole, tmp_path, how):
    out = tmp_path / "out"
    sweep = Sweep(out)
    assert sweep.wait_for_percent(10), sweep.said
    children = _processes(f"--ppid {sweep.process.pid}", "pid", "args")
    victims = [line.split()[0] for line in children if "spawn_main" in line]
    os.kill(int(victims[0]), how)
    status, _, said = sweep.end()
    assert status == 2
    assert "a training process was killed" in said
    finished(out)
    assert exported(out) == exported(whole)


def test_two_sweeps_at_once_one_refuses_and_nothing_is_lost(whole, tmp_path):
    out = tmp_path / "out"
    first = Sweep(out)
    assert first.wait_for_percent(10), first.said
    status, _, said = Sweep(out).end()
    assert status == 2
    assert "is in use by another procurl" in said
    assert first.end()[0] == 0
    assert exported(out) == exported(whole)


ON_A_SMALL_DISK = """
mount -t tmpfs -o size={size} tmpfs {folder} && cd {folder} || exit 77
{sweep} --out out; echo "status $?"; ls -a out out/runs/*/* | grep '^[.]checkpoint'
mount -o remount,size=100m {folder}
{sweep} --out out > /dev/null 2>&1; echo "status $?"
mount -o remount,ro {folder}
{sweep} --out out; echo "status $?"
{procurl} export out
"""


@pytest.mark.parametrize("size", ["24k", "120k", "500k"])
def test_a_full_and_a_read_only_disk_are_reported_and_the_sweep_continues_later(
    whole, tmp_path, size
):
    """Full when the store is made, when it grows, or when checkpoints are kept."""
    sweep = f"{PROCURL} {' '.join(SWEEP)} --steps {STEPS}"
    script = ON_A_SMALL_DISK.format(size=size, folder=tmp_path, sweep=sweep, procurl=PROCURL)
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
    if done.returncode in (1, 77):
        pytest.skip("no file system can be mounted here")
    assert done.returncode == 0, done.stderr
    full, resumed, read_only, *rows = done.stdout.splitlines()
    assert (full, resumed, read_only) == ("status 2", "status 0", "status 2")
    assert [row.split(",")[:-1] for row in rows] == exported(whole)
    errors = [line for line in done.stderr.splitlines() if line.startswith("procurl compare: ")]
    assert len(errors) == 2, done.stderr
    assert "full" in errors[0] or "No space left" in errors[0]
    assert "ead-only" in errors[1] or "cannot be written" in errors[1]
    assert "Traceback" not in done.stderr


def test_damaged_checkpoints_and_stores_are_noticed(whole, tmp_path):
    """Newest checkpoints cut in half: reported, and the numbers are the same."""
    out = tmp_path / "out"
    sweep = Sweep(out)
    assert sweep.wait_for_percent(50), sweep.said
    sweep.kill()
    sweep.end()
    with read_store(out) as store:
        finished_runs = store.finished_runs()
        # The two runs of a strategy are one batch.
        begun = len({run.label for run in store.results().runs if run not in finished_runs})
    for folder in out.glob("runs/*/*"):
        newest = max(folder.glob("checkpoint-*"), key=lambda path: path.stat().st_mtime)
        newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    status, _, said = Sweep(out).end()
    assert status == 0, said
    assert said.count("it is ignored") == begun > 0
    assert exported(out) == exported(whole)

    store = out / FILE
    store.write_bytes(store.read_bytes()[: store.stat().st_size // 2])
    for command in (["export", out], ["report", out]):
        done = subprocess.run([PROCURL, *command], capture_output=True, text=True)
        assert done.returncode == 2
        assert f"{store} is damaged" in done.stderr
    store.unlink()
    finished(out)
    assert exported(out) == exported(whole)
