"""The cheapest assignment of rows to columns, on NumPy and under JAX."""

from typing import Any, NamedTuple

from procurl.internals.arrays import Array, namespace, while_loop


class Search(NamedTuple):
    """A search for the shortest path from a row without a column to a column without a row."""

    distance: Array  # [m] of each column from the row
    previous: Array  # [m] int32, the column before it on the path; −1: the path starts here
    done: Array  # [m] bool, whether the distance is final
    column: Array  # []  int32, the nearest that is not done


def assign(costs: Array) -> Array:
    """[m] int32, the column of each row: every column once, at the smallest total cost.

    The Hungarian method: rows get their columns one by one, each along the shortest path of
    exchanges with the rows before it (Jonker and Volgenant 1987). The result is exact up to
    rounding.

    Args:
        costs: [m, m], finite.
    """
    xp = namespace(costs)
    m = costs.shape[0]
    columns = xp.arange(m, dtype="int32")

    def add_row(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        row, prices, row_of = carry
        search = _shortest_path(xp, costs, row, prices, row_of, columns)
        change = search.distance - search.distance[search.column]
        prices = xp.where(search.done, prices + change, prices)
        return row + 1, prices, _exchange(xp, row, row_of, search, columns)

    start = (
        xp.zeros((), dtype="int32"),
        xp.zeros(m, dtype=costs.dtype),
        xp.full(m, -1, dtype="int32"),
    )
    row_of = while_loop(xp, lambda carry: carry[0] < m, add_row, start)[2]
    return xp.argsort(row_of).astype("int32")  # the inverse permutation


def _shortest_path(
    xp: Any, costs: Array, row: Array, prices: Array, row_of: Array, columns: Array
) -> Search:
    """The search from `row` up to the nearest free column, which is the last `column`.

    An edge costs what a row pays for a column above the one it has: never less than 0.
    """

    def extend(search: Search) -> Search:
        column = search.column
        done = search.done | (columns == column)
        net = costs[row_of[column]] - prices
        through = search.distance[column] + (net - net[column])
        nearer = ~done & (through < search.distance)
        distance = xp.where(nearer, through, search.distance)
        previous = xp.where(nearer, column, search.previous)
        return Search(distance, previous, done, _nearest(xp, distance, done, row_of))

    distance = costs[row] - prices
    none = xp.zeros_like(columns, dtype=bool)
    first = _nearest(xp, distance, none, row_of)
    start = Search(distance, xp.zeros_like(columns) - 1, none, first)
    return while_loop(xp, lambda search: row_of[search.column] >= 0, extend, start)


def _nearest(xp: Any, distance: Array, done: Array, row_of: Array) -> Array:
    """[] int32, the nearest column that is not done; among equals a free one, the end of a path."""
    left = xp.where(done, xp.inf, distance)
    return xp.argmax((left == xp.min(left)) * (2 - (row_of >= 0))).astype("int32")


def _exchange(xp: Any, row: Array, row_of: Array, search: Search, columns: Array) -> Array:
    """[m] `row_of` after each column on the path has passed to the row before it."""

    def pass_on(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        column, row_of = carry
        before = search.previous[column]
        owner = xp.where(before < 0, row, row_of[before])
        return before, xp.where(columns == column, owner, row_of)

    return while_loop(xp, lambda carry: carry[0] >= 0, pass_on, (search.column, row_of))[1]
