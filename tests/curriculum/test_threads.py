"""Threads may share a curriculum."""

import threading

import pytest

from procurl import Curriculum, Evidence
from tests.curriculum.test_curriculum import curriculum_over


def test_evidence_during_a_draw_counts_for_the_next_draw(monkeypatch):
    """A draw that is under way when evidence arrives keeps no distribution of before."""
    curriculum = curriculum_over(3, "procurl-argmax")
    computing, go_on = threading.Event(), threading.Event()
    plain = type(curriculum.strategy).probabilities

    def slow(strategy, state):
        p = plain(strategy, state)
        computing.set()
        go_on.wait(10)
        return p

    monkeypatch.setattr(type(curriculum.strategy), "probabilities", slow)
    draw = threading.Thread(target=curriculum.next)
    evidence = Evidence(1, values=[0.0, 0.5, 1.0])
    observe = threading.Thread(target=curriculum.observe, args=(evidence,))
    draw.start()
    assert computing.wait(10)
    observe.start()
    observe.join(0.2)  # ends here only if nothing makes it wait for the draw
    go_on.set()
    draw.join()
    observe.join()
    assert set(curriculum.next(100).tolist()) == {1}


@pytest.mark.parametrize(
    "call",
    [
        Curriculum.probabilities,
        Curriculum.success,
        Curriculum.learning_mask,
        Curriculum.rollout_tasks,
        Curriculum.warn_of_shortfall,
    ],
)
def test_a_reader_waits_for_a_call_that_is_under_way(call, monkeypatch):
    curriculum = curriculum_over(3, "procurl-val")
    computing, go_on = threading.Event(), threading.Event()
    plain = type(curriculum.strategy).update

    def slow(strategy, state, evidence):
        computing.set()
        go_on.wait(10)
        return plain(strategy, state, evidence)

    monkeypatch.setattr(type(curriculum.strategy), "update", slow)
    evidence = Evidence(1, values=[0.0, 0.5, 1.0])
    observe = threading.Thread(target=curriculum.observe, args=(evidence,))
    read = threading.Thread(target=call, args=(curriculum,))
    observe.start()
    assert computing.wait(10)
    read.start()
    read.join(0.2)
    assert read.is_alive()
    go_on.set()
    observe.join()
    read.join()
