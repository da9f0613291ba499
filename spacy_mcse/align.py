"""One-to-one alignment of two lists of entities that earns the most credit.

The matrix falls apart into connected components of positive credits, most of them
single cells. Each is solved exactly by shortest augmenting paths (Jonker and
Volgenant 1987), in whole numbers, so that equal credits never depend on rounding.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import Errors

Pairs = list[tuple[int, int]]

# Credits become whole numbers of 2**-BITS of the highest one. Path lengths stay below
# 2**63 for matrices of some million rows.
BITS = 40
INFINITE = np.iinfo(np.int64).max // 4


def align(credit: ArrayLike) -> Pairs:
    """Assign rows to columns, one to one, so that the sum of credits is highest.

    Cells without positive credit are never assigned. The result depends on nothing
    but the matrix.

    credit (ArrayLike): Credit of each row (first list) with each column (second).
    RETURNS (list[tuple[int, int]]): Assigned (row, column), sorted by row.
    """
    matrix = np.asarray(credit, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(
            Errors.E410.format(
                what="credit matrix", got=matrix.shape, allowed="(rows, columns)"
            )
        )
    if matrix.size == 0:
        return []
    if not np.isfinite(matrix).all():
        raise ValueError(Errors.E411.format(got="NaN or infinite"))
    highest = matrix.max()
    if highest <= 0:
        return []
    # A power of two: scaling changes no digit of the credits.
    scale = BITS - int(np.frexp(highest)[1])
    whole = np.rint(np.ldexp(np.maximum(matrix, 0.0), scale)).astype(np.int64)
    if min(matrix.shape) == 1:
        row, column = np.unravel_index(int(whole.argmax()), whole.shape)
        return [(int(row), int(column))]
    pairs: Pairs = []
    for rows, columns in _components(whole > 0):
        if len(rows) == 1:
            best = int(np.argmax(whole[rows[0], columns]))
            pairs.append((int(rows[0]), int(columns[best])))
        elif len(columns) == 1:
            best = int(np.argmax(whole[rows, columns[0]]))
            pairs.append((int(rows[best]), int(columns[0])))
        else:
            part = whole[np.ix_(rows, columns)]
            pairs += [(int(rows[i]), int(columns[j])) for i, j in _solve(part)]
    return sorted(pairs)


def _components(
    linked: NDArray[np.bool_],
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows and columns of each connected component that has a link."""
    found = []
    open_rows = linked.any(axis=1)
    while open_rows.any():
        rows = np.zeros(linked.shape[0], dtype=bool)
        rows[np.argmax(open_rows)] = True
        size = 0
        while size != (size := int(rows.sum())):
            columns = linked[rows].any(axis=0)
            rows |= linked[:, columns].any(axis=1)
        found.append((np.flatnonzero(rows), np.flatnonzero(columns)))
        open_rows &= ~rows
    return found


def _solve(credit: NDArray[np.int64]) -> Pairs:
    """Assign within one component; pairs without credit are left out."""
    if credit.shape[0] > credit.shape[1]:
        return [(i, j) for j, i in _solve(credit.T)]
    assigned = _assign(np.ascontiguousarray(credit.max() - credit))
    return [(i, int(j)) for i, j in enumerate(assigned) if credit[i, j] > 0]


def _assign(cost: NDArray[np.int64]) -> NDArray[np.intp]:
    """The column of each row in the assignment of all rows that costs the least.

    cost (NDArray): Whole costs, not more rows than columns.
    """
    n_rows, n_columns = cost.shape
    row_price = cost.min(axis=1)
    # Where columns outnumber rows some stay free, and free ones must have price 0.
    if n_rows == n_columns:
        column_price = (cost - row_price[:, None]).min(axis=0)
    else:
        column_price = np.zeros(n_columns, dtype=np.int64)
    column_of = np.full(n_rows, -1, dtype=np.intp)
    row_of = np.full(n_columns, -1, dtype=np.intp)
    # Rows that find a free column at no cost take it: no path has to be searched.
    at_no_cost = cost - row_price[:, None] == column_price
    for row in range(n_rows):
        column = int(np.argmax(at_no_cost[row] & (row_of < 0)))
        if at_no_cost[row, column] and row_of[column] < 0:
            column_of[row], row_of[column] = column, row
    for start in np.flatnonzero(column_of < 0):
        _augment(cost, int(start), row_price, column_price, column_of, row_of)
    return column_of


def _augment(
    cost: NDArray[np.int64],
    start: int,
    row_price: NDArray[np.int64],
    column_price: NDArray[np.int64],
    column_of: NDArray[np.intp],
    row_of: NDArray[np.intp],
) -> None:
    """Assign one more row along the cheapest path to a free column, in place."""
    n_columns = cost.shape[1]
    distance = np.full(n_columns, INFINITE, dtype=np.int64)
    before = np.full(n_columns, start, dtype=np.intp)
    price = column_price.copy()
    closed: list[int] = []
    reached_at: list[int] = []
    row, reached = start, 0
    while True:
        step = cost[row] - price
        step += reached - row_price[row]
        shorter = step < distance
        before[shorter] = row
        np.minimum(distance, step, out=distance)
        column = int(distance.argmin())
        reached = int(distance[column])
        if row_of[column] >= 0:
            # Of equally near columns a free one ends the search.
            free = (distance == reached) & (row_of < 0)
            column = int(free.argmax()) if free.any() else column
        if row_of[column] < 0:
            break
        closed.append(column)
        reached_at.append(reached)
        # A closed column is final: out of reach of every later step.
        distance[column] = INFINITE
        price[column] = -2 * INFINITE
        row = int(row_of[column])
    slack = reached - np.asarray(reached_at, dtype=np.int64)
    row_price[start] += reached
    row_price[row_of[closed]] += slack
    column_price[closed] -= slack
    while True:
        row = int(before[column])
        row_of[column] = row
        column_of[row], column = column, int(column_of[row])
        if row == start:
            return
