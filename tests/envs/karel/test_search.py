"""Shortest solutions, against a plain search over full states written here."""

from collections import deque

import numpy as np
import pytest

from procurl.envs.karel.dynamics import Karel
from procurl.envs.karel.generator import KarelDifficulty, generate_karel_tasks
from procurl.envs.karel.pool import karel_pool, karel_solutions
from procurl.envs.karel.search import shortest_solutions, solution_lengths
from procurl.envs.karel.task import LETTERS, karel_task
from procurl.tasks.pool import TaskPool

STEPS = ((-1, 0), (0, -1), (1, 0), (0, 1))  # north, west, south, east


def neighbors(walls, state):
    """Every state that one action other than `finish` leads to, with nothing left out."""
    cell, direction, markers = state
    row, column = cell // 4 + STEPS[direction][0], cell % 4 + STEPS[direction][1]
    if 0 <= row < 4 and 0 <= column < 4 and not walls >> 4 * row + column & 1:
        yield 4 * row + column, direction, markers
    yield cell, (direction + 1) % 4, markers
    yield cell, (direction - 1) % 4, markers
    yield cell, direction, markers ^ 1 << cell  # picks what lies there, puts where nothing lies


def plain_length(context):
    """Actions of a shortest solution with `finish`, 0 if there is none: breadth first."""
    walls, cell, direction, markers, *goal = (int(entry) for entry in context)
    start, target = (cell, direction, markers), tuple(goal)
    distance = {start: 0}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        if state == target:
            return distance[state] + 1
        for after in neighbors(walls, state):
            if after not in distance:
                distance[after] = distance[state] + 1
                queue.append(after)
    return 0


def solves(contexts, texts):
    """[n] bool: replay of each solution, all tasks at once."""
    env = Karel()
    state = env.initial(contexts)
    over = np.zeros(len(contexts), dtype=bool)
    reward = np.zeros(len(contexts))
    for moment in range(max(map(len, texts))):
        actions = np.array(
            [LETTERS.index(text[moment]) if moment < len(text) else 0 for text in texts]
        )
        transition = env.step(state, actions, np.empty((len(contexts), 0)))
        reward += np.where(over, 0.0, transition.reward)
        ended_at = np.array([moment == len(text) - 1 for text in texts])
        assert not (transition.done & ~over & ~ended_at).any(), "ended before its last action"
        over |= transition.done
        state = transition.state
    return reward == 1.0


@pytest.mark.parametrize("kind", ["uniform", "test", "hard", "hard-test"])
def test_every_stored_solution_solves_its_task(kind):
    pool = karel_pool(kind)
    texts = karel_solutions(pool)
    assert len(pool) == {"uniform": 24000, "hard": 24000}.get(kind, 2400)
    assert all(text.endswith("F") for text in texts)
    assert solves(Karel().contexts_of(pool), texts).all()


@pytest.mark.parametrize(
    ("difficulty", "count"),
    [
        (KarelDifficulty(max_walls=6, max_markers=3), 1000),
        (KarelDifficulty(max_walls=11, max_markers=2), 300),
        (KarelDifficulty(max_walls=9, max_markers=3, changes=(0.0, 0.0, 1.0, 1.0)), 60),
    ],
)
@pytest.mark.soak
def test_no_shorter_solution_exists(difficulty, count):
    tasks = generate_karel_tasks(difficulty, count, seed=5)
    # A full search costs millions of states for the longest tasks; the walls keep these few.
    assert tasks.solutions.lengths.tolist() == [plain_length(row) for row in tasks.contexts]


def test_lengths_of_random_grids_and_of_grids_without_solution():
    rng = np.random.default_rng(2)
    walls = rng.integers(1 << 16, size=300) & rng.integers(1 << 16, size=300)
    cell, goal_cell = rng.integers(16, size=(2, 300))
    walls &= ~(1 << cell) & ~(1 << goal_cell)
    markers, flips = rng.integers(1 << 16, size=300) & ~walls, 1 << rng.integers(16, size=300)
    direction, goal_direction = rng.integers(4, size=(2, 300))
    columns = (walls, cell, direction, markers, goal_cell, goal_direction, markers ^ flips & ~walls)
    contexts = np.stack(columns, axis=1).astype(np.int32)
    reachable = [row for row in contexts if solution_lengths(row[None])[0] > 0]
    cut_off = [row for row in contexts if solution_lengths(row[None])[0] == 0]
    assert len(reachable) > 50
    assert len(cut_off) > 20
    for row in cut_off[:5]:
        assert is_cut_off(row)
    for row in reachable[:60]:
        assert solution_lengths(row[None])[0] == plain_length(row)


def is_cut_off(context):
    """Whether the goal or a cell that must change cannot be walked to, by a flood written out."""
    walls, cell, _, markers, goal_cell, _, goal_markers = (int(entry) for entry in context)
    reached, edge = {cell}, [cell]
    while edge:
        here = edge.pop()
        for row, column in ((here // 4 + r, here % 4 + c) for r, c in STEPS):
            there = 4 * row + column
            if 0 <= row < 4 and 0 <= column < 4 and not walls >> there & 1 and there not in reached:
                reached.add(there)
                edge.append(there)
    needed = {goal_cell} | {c for c in range(16) if (markers ^ goal_markers) >> c & 1}
    return not needed <= reached


def test_known_solutions():
    tasks = np.array(
        [
            [0, 0, 3, 0, 0, 3, 0],  # nothing to do
            [0, 0, 3, 0, 2, 3, 0],  # two cells east
            [0, 5, 0, 1 << 5, 5, 0, 0],  # a marker underfoot
            [0, 5, 0, 0, 5, 2, 1 << 5],  # put one and turn round: left turns come first
            [0b10, 0, 3, 0, 2, 3, 0],  # round a wall at cell 1
        ],
        dtype=np.int32,
    )
    found = shortest_solutions(tasks)
    assert found.text() == ["F", "MMF", "PF", "LLUF", "RMLMMLMRF"]
    assert found.lengths.tolist() == [1, 3, 2, 4, 9]
    np.testing.assert_array_equal(solution_lengths(tasks), found.lengths)


def test_many_differing_cells_are_solved():
    everything = np.array([[0, 0, 3, 0, 12, 1, 0xFFFF]], dtype=np.int32)
    found = shortest_solutions(everything)
    assert found.lengths[0] == 16 + 15 + 6 + 1  # markers, moves, turns, finish
    assert solves(everything, found.text()).all()


def test_tasks_without_solution_and_no_tasks_at_all():
    walled_in = np.array([[0b10010, 0, 0, 0, 5, 0, 0], [0, 0, 0, 0, 0, 0, 0]], dtype=np.int32)
    found = shortest_solutions(walled_in)
    assert found.lengths.tolist() == [0, 1]
    assert found.text() == ["", "F"]
    assert shortest_solutions(np.empty((0, 7), dtype=np.int32)).text() == []


def test_solutions_of_a_pool_without_stored_ones_are_searched():
    pool = karel_pool("hard", size=50)
    bare = TaskPool([karel_task(row) for row in Karel().contexts_of(pool)])
    assert "solution" not in bare[0]
    assert karel_solutions(bare) == karel_solutions(pool)
