"""Stages, worked out by hand: who is played, when a stage is left, what is refused."""

import re
from typing import Any

import numpy as np
import pytest

from procurl import (
    Curriculum,
    Evidence,
    NoProgress,
    Stage,
    Stages,
    Steps,
    SuccessAbove,
    TaskPool,
    make_strategy,
)

OTHER: Any = 3  # neither a column, a condition nor a stage
POOL = TaskPool(
    [[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 5.0]],
    names=["width", "mass"],
    features={"level": [2, 1, 1, 0]},
)


def outcomes(step, wins=(0, 0, 0, 0), losses=(0, 0, 0, 0)):
    return Evidence(step, wins=wins, losses=losses)


def test_a_stage_is_left_when_its_recent_success_is_reached():
    """Two stages of two tasks, a window of 2: every episode halves the weight of older ones.

    1. One win and one loss on task 0. Success is 1/2, but 2 episodes are fewer than 4. The losses
       on task 2 belong to another stage.
    2. One win and one loss on task 1. Two episodes fade the older ones by 1/4: 1.25 wins and 1.25
       losses. Success is 1/2 after 4 episodes: the next stage begins, with (1 − 0.2)/2 for each of
       its tasks and 0.2/2 for each earlier one.
    3. Wins on task 0 do not count any more; 4 losses on task 2 do. Success is 0.
    4. Four wins on task 3 fade these losses by 1/16 to 0.25: success is 4/4.25, and the whole pool
       follows.
    """
    strategy = Stages(parts=2, until=SuccessAbove(0.5, episodes=4.0), keep=0.2, window=2.0)
    curriculum = Curriculum(strategy, POOL)
    assert curriculum.probabilities().tolist() == [0.5, 0.5, 0.0, 0.0]
    curriculum.observe(outcomes(100, wins=[1, 0, 0, 0], losses=[1, 0, 5, 0]))
    assert curriculum.probabilities().tolist() == [0.5, 0.5, 0.0, 0.0]
    curriculum.observe(outcomes(200, wins=[0, 1, 0, 0], losses=[0, 1, 0, 0]))
    assert curriculum.probabilities() == pytest.approx([0.1, 0.1, 0.4, 0.4])
    curriculum.observe(outcomes(300, wins=[9, 0, 0, 0], losses=[0, 0, 4, 0]))
    assert curriculum.probabilities() == pytest.approx([0.1, 0.1, 0.4, 0.4])
    curriculum.observe(outcomes(400, wins=[0, 0, 0, 4]))
    assert curriculum.probabilities().tolist() == [0.25] * 4
    curriculum.observe(outcomes(500, wins=[9, 9, 9, 9]))
    assert curriculum.probabilities().tolist() == [0.25] * 4


def test_steps_are_counted_from_the_start_of_each_stage():
    """Left at 100 and at 250, 150 steps later: not at 200, although that is twice 100."""
    curriculum = Curriculum(Stages(parts=4, until=Steps(100.0), keep=0.0), POOL)
    found = []
    for step in (99, 120, 200, 220, 330):
        curriculum.observe(Evidence(step))
        found.append(int(np.argmax(curriculum.probabilities())))
    assert found == [0, 1, 1, 2, 3]


def test_stages_are_ids_masks_or_ranges_in_any_order_with_conditions_of_their_own():
    stages = (
        Stage(tasks=[3], until=Steps(10.0)),
        Stage(tasks=np.array([True, False, False, True])),
        Stage(tasks={"width": (2.0, 3.0), "level": 1}, until="steps:30"),
        Stage(tasks={"mass": 5.0}),
    )
    curriculum = Curriculum(Stages(stages=stages, until=Steps(20.0), keep=0.3), POOL)
    assert curriculum.probabilities().tolist() == [0.0, 0.0, 0.0, 1.0]
    curriculum.observe(Evidence(10))
    assert curriculum.probabilities().tolist() == [0.5, 0.0, 0.0, 0.5]  # task 3 is still in
    curriculum.observe(Evidence(29))
    assert curriculum.probabilities().tolist() == [0.5, 0.0, 0.0, 0.5]
    curriculum.observe(Evidence(30))  # tasks 0 and 3 share 0.3, tasks 1 and 2 the rest
    assert curriculum.probabilities() == pytest.approx([0.15, 0.35, 0.35, 0.15])
    curriculum.observe(Evidence(60))
    assert curriculum.probabilities().tolist() == [0.25] * 4
    curriculum.observe(Evidence(10**6))  # the last stage has no condition
    assert curriculum.probabilities().tolist() == [0.25] * 4


def test_the_last_stage_stays_unless_it_has_a_condition():
    def after(last: Stage):
        strategy = Stages(stages=(Stage([0, 1], until=Steps(1.0)), last), keep=0.0)
        curriculum = Curriculum(strategy, POOL)
        for step in (10, 20, 30):
            curriculum.observe(outcomes(step, wins=[50, 50, 50, 50]))
        return curriculum.probabilities().tolist()

    assert after(Stage([2])) == [0.0, 0.0, 1.0, 0.0]
    assert after(Stage([2], until=SuccessAbove())) == [0.25] * 4


def test_a_state_of_a_condition_starts_anew_with_each_stage():
    """Success rises at step 50, so the first stage ends at 150 and the second 100 steps later."""
    curriculum = Curriculum(Stages(parts=2, until=NoProgress(100.0), keep=0.0), POOL)
    found = []
    for step in (50, 150, 200, 240, 260):
        curriculum.observe(outcomes(step, wins=[1, 0, 0, 0]))
        found.append(curriculum.probabilities().tolist())
    first, second, whole = [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5], [0.25] * 4
    assert found == [first, second, second, second, whole]


@pytest.mark.parametrize(
    ("settings", "order"),
    [
        ({}, [0, 1, 2, 3]),
        ({"by": "-width"}, [3, 2, 1, 0]),
        ({"by": "level"}, [3, 1, 0]),  # tasks 1 and 2 have the same level
        ({"by": "mass"}, [0]),  # all tasks are equal: one stage
    ],
)
def test_a_pool_is_split_by_a_column(settings, order):
    """One task is played at a time; of several, the first one is noted."""
    strategy = make_strategy("stages", until="steps:1", keep=0, **settings)
    curriculum = Curriculum(strategy, POOL)
    found = []
    for step in range(1, 2 + len(order)):
        found.append(int(np.argmax(curriculum.probabilities())))
        curriculum.observe(Evidence(2 * step))
    assert found[: len(order)] == order
    assert curriculum.probabilities().tolist() == [0.25] * 4


def test_a_pool_without_contexts_is_split_in_its_order():
    curriculum = Curriculum(Stages(parts=3), TaskPool.from_seeds(7))
    assert np.flatnonzero(curriculum.probabilities()).tolist() == [0, 1, 2]


def test_stages_of_a_text_are_ranges():
    text = "width:1:2+mass:5/level:1/all"
    strategy = make_strategy("stages", stages=text, until="above:0.9")
    expected = Stages(
        stages=(
            Stage({"width": (1.0, 2.0), "mass": (5.0, 5.0)}),
            Stage({"level": (1.0, 1.0)}),
            Stage(),
        ),
        until=SuccessAbove(0.9),
    )
    assert strategy == expected


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (
            Stages(by="height"),
            "by: column 'height' is not known. Known columns: width, mass",
        ),
        (Stages(by=OTHER), "by must be the name of a context or feature column, got 3"),
        (Stages(parts=0), "parts must be an integer of at least 1, got 0"),
        (Stages(keep=1.5), "keep must be a finite number of at least 0 and at most 1, got 1.5"),
        (Stages(until=OTHER), "until must be a condition, such as SuccessAbove(0.7), or text"),
        (Stages(stages=()), "stages must be a tuple of Stage, or None to split the pool, got ()"),
        (Stages(stages=(OTHER,)), "stages[0] must be a Stage, such as Stage(tasks=[0, 1]"),
        (Stages(stages=(Stage([0.5]),)), "stages[0].tasks must be task ids, a mask of booleans"),
        (Stages(stages=(Stage(), Stage([4]))), "stages[1].tasks must be ids from 0 to 3, got 4"),
        (Stages(stages=(Stage([True]),)), "must hold one boolean for each of the 4 tasks, got 1"),
        (
            Stages(stages=(Stage({"width": (9, 10)}),)),
            "stages[0].tasks chooses no task of",
        ),
        (Stages(stages=(Stage({"width": (2, 1)}),)), "must run from the lowest to the highest"),
        (Stages(stages=(Stage({"width": (1, 2, 3)}),)), "the range of 'width' must be two numbers"),
        (Stages(stages=(Stage({"wdth": (1, 2)}),)), "Did you mean 'width'?"),
        (Stages(stages=(Stage({}),)), "stages[0].tasks must hold at least one range"),
        (Stages(stages=(Stage(until=Steps(-1.0)),)), "steps must be a finite number above 0"),
    ],
)
def test_bad_stages_are_refused_with_what_is_wrong(strategy, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        Curriculum(strategy, POOL)


def test_a_column_of_a_pool_without_columns_is_refused():
    with pytest.raises(ValueError, match="has none: list task ids, or give the pool features"):
        Curriculum(Stages(by="width"), TaskPool.from_seeds(3))


def test_text_that_is_no_range_is_refused():
    with pytest.raises(ValueError, match="stages: 'width:1:2:3' is not a range; write NAME:LOW"):
        make_strategy("stages", stages="width:1:2:3")


def test_stages_need_a_pool():
    with pytest.raises(ValueError, match=r"call strategy.bind\(pool\) first"):
        Stages().init(4)


def test_metrics_show_the_current_stage():
    curriculum = Curriculum(Stages(parts=2, until=Steps(100)), POOL)
    found = []
    for step in (50, 150, 200, 250):
        curriculum.observe(outcomes(step))
        found.append(curriculum.metrics().strategy)
    assert found == [{"stage": 0.0}, {"stage": 1.0}, {"stage": 1.0}, {"stage": 2.0}]


def test_a_first_stage_that_was_never_left_is_reported(caplog):
    pool = TaskPool(POOL.contexts, names=POOL.names)
    curriculum = Curriculum(Stages(parts=2), pool)
    curriculum.observe(outcomes(100, wins=[1, 0, 0, 0], losses=[2, 1, 0, 0]))
    curriculum.warn_of_shortfall()
    assert caplog.messages == [
        "stages, at the end of training: the first of 3 stages was never left, so only its 2 tasks "
        "were played. It ends with SuccessAbove(above=0.7, episodes=20.0), and the success of its "
        "recent episodes was 0.25. Train longer, begin with easier tasks, or end the stage earlier "
        "with until."
    ]


@pytest.mark.parametrize("strategy", [Stages(parts=1), Stages(parts=2, until=Steps(50))])
def test_a_stage_that_was_left_or_is_the_only_one_is_not_reported(strategy, caplog):
    curriculum = Curriculum(strategy, TaskPool(POOL.contexts, names=POOL.names))
    curriculum.observe(outcomes(100))
    curriculum.warn_of_shortfall()
    assert not caplog.messages


def test_on_a_pool_with_fewer_stages_the_last_one_is_played():
    """Four tasks make four stages and the whole pool, of which the last is reached; two make two.

    The other pool therefore ends with its third stage, which is all of it.
    """
    curriculum = Curriculum(make_strategy("stages", until="steps:1"), POOL)
    for step in range(1, 6):
        curriculum.observe(outcomes(step))
    assert curriculum.metrics().strategy["stage"] == 4
    curriculum.change_pool(POOL.subset([0, 3]))
    assert curriculum.metrics().strategy["stage"] == 2
    np.testing.assert_allclose(curriculum.probabilities(), [0.5, 0.5])
    curriculum.observe(outcomes(6, (0, 0), (0, 0)))
    assert curriculum.metrics().strategy["stage"] == 2
