"""What the doctor concludes from much, from little, and from a pool of equal tasks."""

import re
import time

import numpy as np

from procurl import TaskPool
from procurl.envs import check_environment
from procurl.envs.checking.play_findings import judge_play
from tests.envs.checking.findings import check, found
from tests.envs.checking.toy import POOL, Corridor

ARRAYS = ("tasks", "returns", "lengths", "success")  # of a random policy's episodes


def test_equal_tasks_are_the_fault_of_the_pool():
    result = check(TaskPool([[2.0, 1.0]] * 3, names=["length", "mass"]))
    ((level, text),) = found(result, "pool")
    assert level == "problem"
    assert text.startswith("all 3 tasks of the pool are equal A curriculum chooses between")
    assert found(result, "tasks") == []
    assert not result.usable


class SlowReset(Corridor):
    def reset(self, *, seed=None, options=None):
        time.sleep(0.1)
        return super().reset(seed=seed, options=options)


def test_nothing_follows_from_a_few_slow_resets():
    result = check_environment(SlowReset(), POOL, seconds=0.6)
    ((level, text),) = found(result, "tasks")
    assert level == "note"
    assert text.startswith(
        "the first observations of 2 of 8 tasks differ, and there was no time for more This is too "
        "little for a conclusion: repeat"
    )
    assert result.alternative == "procurl-out"
    assert "unknown" in result.reason
    ((level, text),) = found(result, "returns")
    assert level == "note"
    assert re.match(r"\d( to \d)? in \d episodes? of a random policy, on \d of 8 tasks This", text)
    assert found(result, "success") == []


def test_a_few_episodes_are_enough_for_no_conclusion():
    play = check(steps=50).measurements.play
    few = play._replace(**{name: getattr(play, name)[:9] for name in ARRAYS})
    assert [each.text for each in judge_play(few, 8) if "too little" in each.remedy]
    many = {name: np.resize(getattr(play, name)[:1], 30) for name in ARRAYS}
    ((_, _, text, remedy),) = [
        each for each in judge_play(play._replace(**many), 8) if each.subject == "returns"
    ]
    assert text.endswith(" in 30 episodes of a random policy, on 1 of 8 tasks")
    assert remedy.startswith("This is too little")
    assert all("little" not in each.remedy for each in judge_play(play._replace(**many), 1))


def test_tasks_that_look_alike_are_counted_among_all():
    pool = TaskPool([[1.0 + task] for task in range(300)], names=["length"])
    assert found(check(pool, shows=False), "tasks")[0][1].startswith(
        "the first observations of 200 of 300 tasks are the same The critic cannot tell"
    )
    pairs = TaskPool([[1.0 + task // 2] for task in range(300)], names=["length"])
    assert (
        " different first observations in 200 of 300 tasks (" in found(check(pairs), "tasks")[0][1]
    )
    differing = check(TaskPool([[1.0 + task / 1000] for task in range(1000)], names=["length"]))
    text = "the first observations of 200 of 1,000 tasks differ: the critic can tell tasks apart"
    assert found(differing, "tasks") == [("ok", text)]
