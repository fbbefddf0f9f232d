"""What a person sees while runs train."""

import pytest

from procurl.experiments.batches import RunBatch
from procurl.experiments.running.batch import Progress
from procurl.experiments.running.live import SweepProgress, live
from procurl.records.experiment import Contender, Experiment

VAL = [RunBatch(Contender("procurl-val"), first, 4) for first in (0, 4)]
IID = [RunBatch(Contender("iid"), first, 4) for first in (0, 4)]
EXPERIMENT = Experiment(env="corridor", engine="jax", steps=1000)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def said(batch, step, performance=None, **more):
    return Progress(batch, step, 0.0, performance, **more)


def test_standing_by_hand():
    """Two batches of four runs: one of them finished, one trains 100 steps a second per run."""
    clock = Clock()
    sweep = SweepProgress(1000, VAL, [VAL[0]], clock)
    sweep.update(said(VAL[1], 100))
    clock.now = 60.0  # compiling does not count
    sweep.update(said(VAL[1], 200))
    clock.now = 63.0
    sweep.update(said(VAL[1], 500, performance=0.25))
    now = sweep.contender("procurl-val")
    assert (now.steps, now.total) == (6000, 8000)
    assert (now.finished, now.runs) == (4, 8)
    assert now.speed == pytest.approx(400.0)
    assert now.summary == "4/8 runs  400 steps/s  performance 0.250 (in training)"
    assert sweep.seconds_left() == pytest.approx(5.0)


def test_the_performance_of_a_resumed_sweep_is_that_of_its_new_runs():
    sweep = SweepProgress(1000, VAL, [VAL[0]])
    sweep.update(said(VAL[1], 1000, performance=0.25, finished=(None,) * 4))
    assert sweep.contender("procurl-val").summary.endswith("performance 0.250 (newly finished)")
    sweep = SweepProgress(1000, VAL, [])
    sweep.update(said(VAL[1], 1000, performance=0.25, finished=(None,) * 4))
    assert sweep.contender("procurl-val").summary.endswith("performance 0.250 (finished)")


def test_runs_that_only_fill_up_a_batch_are_not_counted():
    sweep = SweepProgress(1000, VAL, [VAL[0]], planned={"procurl-val": 5})
    assert sweep.contender("procurl-val").summary.startswith("4/5 runs")
    sweep.update(said(VAL[1], 1000, finished=(None,) * 4))
    assert sweep.contender("procurl-val").summary.startswith("5/5 runs")


def test_the_end_is_guessed_from_the_slowest_where_a_contender_has_not_begun():
    """900 steps are left of one batch and 1000 of each of three, at 50 a second, one at a time."""
    clock = Clock()
    sweep = SweepProgress(1000, [*VAL, *IID], [], clock)
    assert sweep.seconds_left() is None
    for clock.now, step in ((0.0, 0), (1.0, 50), (2.0, 100)):
        sweep.update(said(VAL[0], step))
    assert sweep.seconds_left() == pytest.approx(3900 / 50)


def test_the_time_left_does_not_jump_when_a_batch_makes_room_for_the_next():
    """Two of four batches side by side, at 100 steps a second: 20 seconds for 4000 steps."""
    clock = Clock()
    sweep = SweepProgress(1000, [*VAL, *IID], [], clock)
    for clock.now, step in ((0.0, 0), (1.0, 100), (2.0, 200), (9.0, 900)):
        for batch in (VAL[0], IID[0]):
            sweep.update(said(batch, step))
    assert sweep.seconds_left() == pytest.approx((2 * 100 + 2 * 1000) / 100 / 2)
    clock.now = 10.0
    sweep.update(said(VAL[0], 1000, finished=(None,) * 4))
    assert sweep.seconds_left() == pytest.approx((100 + 2 * 1000) / 100 / 2)
    sweep.update(said(IID[0], 1000, finished=(None,) * 4))
    assert sweep.seconds_left() == pytest.approx(2 * 1000 / 100 / 2)
    for batch in (VAL[1], IID[1]):
        sweep.update(said(batch, 0))
    assert sweep.seconds_left() == pytest.approx(2 * 1000 / 100 / 2)
    sweep.update(said(VAL[1], 1000, finished=(None,) * 4))
    assert sweep.seconds_left() == pytest.approx(1000 / 100)  # the last one trains alone


def test_a_run_that_starts_does_not_lower_the_performance_of_finished_ones():
    sweep = SweepProgress(1000, VAL, [])
    sweep.update(said(VAL[0], 900, performance=-5.0))
    assert sweep.contender("procurl-val").summary.endswith("performance -5.000 (in training)")
    sweep.update(said(VAL[0], 1000, performance=-4.0, finished=(None,) * 4))
    sweep.update(said(VAL[1], 100, performance=-40.0))
    assert sweep.contender("procurl-val").summary.endswith("performance -4.000 (finished)")
    sweep.update(said(VAL[1], 1000, performance=-2.0, finished=(None,) * 4))
    assert sweep.contender("procurl-val").summary.endswith("performance -3.000 (finished)")


def test_a_finished_batch_has_no_speed():
    clock = Clock()
    sweep = SweepProgress(1000, VAL[:1], [], clock)
    for clock.now, step in ((0.0, 0), (1.0, 512)):
        sweep.update(said(VAL[0], step))
    clock.now = 2.0
    sweep.update(said(VAL[0], 1024, finished=(None,) * 4))
    now = sweep.contender("procurl-val")
    assert (now.steps, now.finished, now.speed) == (4000, 4, None)
    assert sweep.seconds_left() == 0.0


def test_without_a_terminal_every_tenth_and_every_message_is_a_line(capsys):
    with live(EXPERIMENT, VAL, []) as show:
        for step in (0, 100, 199, 300, 1000):
            show(said(VAL[0], step))
        show(said(VAL[0], 1000, message="seed 3: stopped"))
        for batch in VAL:
            show(said(batch, 1000))
        for batch in VAL:
            show(said(batch, 1000, finished=(None,) * 4))
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition("  ")[0] for line in lines] == [
        "procurl-val: 10%",
        "procurl-val: 50%",
        "seed 3: stopped",
        "procurl-val: 90%",
        "procurl-val: 100%",
    ]


def test_of_messages_about_the_same_only_the_first_is_shown(capsys):
    with live(EXPERIMENT, VAL, []) as show:
        show(said(VAL[0], 0, message="task 3 has no end", about="an end"))
        show(said(VAL[1], 0, message="task 5 has no end", about="an end"))
        show(said(VAL[1], 0, message="something else", about="else"))
        show(said(VAL[0], 0, message="again"))
        show(said(VAL[1], 0, message="again"))
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["task 3 has no end", "something else", "again", "again"]


def test_what_was_finished_before_is_not_reported_again(capsys):
    with live(EXPERIMENT, VAL, [VAL[0]]) as show:
        show(said(VAL[1], 0))
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_a_bar_per_contender_and_one_for_all(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    with live(EXPERIMENT, [*VAL, *IID], []) as show:
        show(said(IID[0], 1000, performance=0.5, message="[b]as it is[/b]"))
    seen = capsys.readouterr().err
    for text in ("procurl-val", "iid", "all", "0/8 runs", "performance 0.500", "[b]as it is[/b]"):
        assert text in seen
