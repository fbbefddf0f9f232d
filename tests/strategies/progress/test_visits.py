"""The memory of visits: progress to the nearest earlier one, and which are kept."""

import numpy as np
import pytest

from procurl.strategies.progress.visits import add_visits, choose_tasks, is_filled, no_visits

LINE = np.array([[0.0], [0.1], [1.0]])


def visit(visits, rates, contexts=LINE, most=3):
    """`rates` by task."""
    n = len(contexts)
    played = np.isin(np.arange(n), list(rates))
    rate = np.array([rates.get(task, 0.0) for task in range(n)])
    return add_visits(visits, contexts, played, rate, most)


def kept(visits):
    filled = is_filled(visits)
    return sorted(
        (int(task), round(float(rate), 6), round(float(change), 6))
        for task, rate, change in zip(
            visits.task[filled], visits.rate[filled], visits.change[filled], strict=True
        )
    )


def test_progress_is_the_change_since_the_visit_nearest_in_context():
    """Tasks 0 and 2 come first. Task 1 is nearest to task 0, at |0.5 − 0.2|; task 2 to itself."""
    visits = visit(no_visits(8), {0: 0.2, 2: 0.8})
    assert kept(visits) == [(0, 0.2, 0.0), (2, 0.8, 0.0)]
    visits = visit(visits, {1: 0.5, 2: 1.0})
    assert kept(visits) == [(0, 0.2, 0.0), (1, 0.5, 0.3), (2, 0.8, 0.0), (2, 1.0, 0.2)]


def test_tasks_that_were_never_visited_are_not_near():
    """Task 0 would be nearest to task 1; task 2 is the only one visited, at |0.5 − 0.8|."""
    assert (1, 0.5, 0.3) in kept(visit(visit(no_visits(8), {2: 0.8}), {1: 0.5}))


def test_the_newest_of_several_visits_to_the_same_place_counts():
    visits = visit(visit(no_visits(8), {0: 0.2}), {0: 0.6})
    assert (0, 0.7, 0.1) in kept(visit(visits, {0: 0.7}))


def test_the_oldest_visits_are_forgotten():
    """Five visits and room for four. The nearest to task 0 is then task 1, with 0.9."""
    visits = no_visits(4)
    for rates in ({0: 0.1}, {2: 0.3}, {1: 0.9}, {2: 0.5}, {2: 0.6}):
        visits = visit(visits, rates)
    assert visits.filled == 4
    assert [task for task, _, _ in kept(visits)] == [1, 2, 2, 2]
    assert (0, 0.2, 0.7) in kept(visit(visits, {0: 0.2}))


def test_nothing_played_changes_nothing():
    visits = visit(no_visits(4), {0: 0.1, 2: 0.5})
    assert kept(visit(visits, {})) == kept(visits)


def test_every_task_that_was_played_is_chosen_if_there_is_room():
    played = np.array([False, True, True, False, True])
    ids, count = choose_tasks(played, np.float64(0.3), 5)
    assert sorted(ids[:count]) == [1, 2, 4]


def test_all_tasks_are_chosen_equally_often_if_there_is_no_room():
    """60 of 100 tasks were played, 12 are chosen: each in one of five, whatever its place."""
    played = np.arange(100) % 5 < 3
    times = np.zeros(100)
    for offset in np.arange(0.0, 1.0, 0.05):
        ids, count = choose_tasks(played, offset, 12)
        assert count == 12
        assert len(set(ids.tolist())) == 12
        assert np.diff(np.sort(ids)).max() <= 11  # spread over the pool
        times[ids] += 1
    assert times[~played].max() == 0
    assert times[played] == pytest.approx(4)


def test_what_is_forgotten_first_is_spread_over_the_pool():
    ids, _ = choose_tasks(np.ones(100, dtype=bool), np.float64(0.0), 100)
    for part in (ids[:20], ids[40:60], ids[80:]):
        gaps = np.diff([-1, *np.sort(part), 100])
        assert gaps.max() <= 10
