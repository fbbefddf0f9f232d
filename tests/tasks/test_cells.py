"""Cells of near tasks: balanced, complete, and their rates worked by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from procurl.tasks.cells import SMALLEST, cell_rates, nested_cells


def groups(contexts) -> set[frozenset[int]]:
    """The tasks of each cell."""
    cells = nested_cells(np.asarray(contexts, dtype=float))
    return {frozenset(row[row < len(cells.cell)].tolist()) for row in cells.tasks}


@pytest.mark.parametrize("n", [*range(1, 10), 15, 16, 17, 40, 257])
@pytest.mark.parametrize("kind", ["random", "equal", "one column constant"])
def test_cells_are_balanced_and_hold_each_task_once(n, kind):
    contexts = np.random.default_rng(n).random((n, 2))
    if kind == "equal":
        contexts[:] = 0.3
    elif kind == "one column constant":
        contexts[:, 0] = 7.0
    cells = nested_cells(contexts)
    held = [row[row < n] for row in cells.tasks]
    assert sorted(np.concatenate(held).tolist()) == list(range(n))
    assert all((cells.cell[tasks] == number).all() for number, tasks in enumerate(held))
    sizes = [len(tasks) for tasks in held]
    assert max(sizes) - min(sizes) <= 1
    # As many halvings as leave at least four tasks in each cell.
    assert len(held) == 2 ** max(0, int(np.log2(n / SMALLEST)))
    rates = cell_rates(cells, np.ones(n), np.ones(n), 1.0)
    assert rates.shape == (n,)
    assert ((rates > 0.5) & (rates < 1.0)).all()  # and none is NaN


def test_a_large_pool_has_larger_cells_not_more(monkeypatch):
    monkeypatch.setattr("procurl.tasks.cells.MOST", 8)
    contexts = np.random.default_rng(0).random((100, 2))
    cells = nested_cells(contexts)
    assert cells.tasks.shape == (8, 13)
    wins, total = np.arange(100.0), np.full(100, 100.0)
    rates = cell_rates(cells, wins, total, 1e-9)
    expected = [wins[cells.cell == cells.cell[task]].mean() / 100 for task in range(100)]
    np.testing.assert_allclose(rates, expected, rtol=1e-6)


def test_a_cell_is_halved_in_the_column_in_which_its_tasks_differ_most():
    """Two clusters, far apart in the first column; within each, the second column differs."""
    far = np.repeat([0.0, 100.0], 8)
    along = np.tile(np.arange(8.0), 2)
    expected = {frozenset(range(start, start + 4)) for start in (0, 4, 8, 12)}
    assert groups(np.stack([far, along], axis=1)) == expected


def test_columns_count_by_their_range_over_the_pool():
    """In units, the first column differs most; in shares of its range, every half differs less.

    Halved by the first column, tasks 0 to 7 differ by 7/1015 in it and by all of the second.
    """
    first = np.concatenate([np.arange(8.0), 1008 + np.arange(8.0)])
    second = np.tile([0.0, 1.0], 8)
    even, odd = {0, 2, 4, 6}, {1, 3, 5, 7}
    expected = {frozenset(s + k for k in half) for s in (0, 8) for half in (even, odd)}
    assert groups(np.stack([first, second], axis=1)) == expected


def test_the_order_of_the_tasks_does_not_matter():
    contexts = np.random.default_rng(0).random((40, 3))
    order = np.random.default_rng(1).permutation(40)
    shuffled = {frozenset(order[list(cell)].tolist()) for cell in groups(contexts[order])}
    assert shuffled == groups(contexts)


@pytest.mark.parametrize("levels", [3, 1_000_000], ids=["many equal", "few equal"])
def test_each_cell_is_sorted_by_its_column_with_equal_tasks_in_their_order(levels):
    contexts = np.random.default_rng(0).integers(levels, size=(1_001, 3)).astype(float)
    cells = nested_cells(contexts)
    held = [row[row < 1_001].tolist() for row in cells.tasks]
    scaled = ((contexts - contexts.min(0)) / np.ptp(contexts, axis=0)).astype(np.float32)
    assert held == halved(scaled, list(range(1_001)), len(held))


def halved(scaled, tasks, count):
    """`count` cells of `tasks`, by the rule of `nested_cells` one cell after the other."""
    if count == 1:
        return [tasks]
    column = scaled[:, np.ptp(scaled[tasks], axis=0).argmax()]
    tasks = sorted(tasks, key=lambda task: column[task])
    middle = (len(tasks) + 1) // 2
    return [
        *halved(scaled, tasks[:middle], count // 2),
        *halved(scaled, tasks[middle:], count // 2),
    ]


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
def test_rates_of_two_cells_by_hand(xp):
    """Tasks 0 to 3 won 3 of 3 episodes, tasks 4 to 7 none of 4; the weight is 1.

    Pool: (3 + 0.5)/(7 + 1) = 0.4375. Cells: (3 + 0.4375)/(3 + 1) = 0.859375 and
    (0 + 0.4375)/(4 + 1) = 0.0875.
    """
    cells = nested_cells(np.arange(8.0)[:, None])
    wins = xp.asarray([1.0, 2, 0, 0, 0, 0, 0, 0])
    total = xp.asarray([1.0, 2, 0, 0, 4, 0, 0, 0])
    rates = cell_rates(cells, wins, total, 1.0)
    np.testing.assert_allclose(rates, [0.859375] * 4 + [0.0875] * 4, rtol=1e-6)


def test_a_cell_without_episodes_has_the_rate_of_the_larger_one():
    """With weight 2: (3 + 2 · 0.5)/(4 + 2) = 2/3 for the pool and for the half not played."""
    cells = nested_cells(np.arange(8.0)[:, None])
    wins, total = np.zeros(8), np.zeros(8)
    wins[0], total[0] = 3.0, 4.0
    rates = cell_rates(cells, wins, total, 2.0)
    assert rates[4:] == pytest.approx([2 / 3] * 4)
    assert rates[:4] == pytest.approx([(3 + 2 * 2 / 3) / 6] * 4)
