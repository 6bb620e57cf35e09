"""Minimum-diameter averaging: the mean of the n - f updates that are nearest to each other.

All n-f of n are C(n, f) subsets. Instead, the search asks for a diameter whether dropping f updates leaves no
pair that is farther apart, which is a vertex cover of at most f vertices in the graph of such pairs:
exponential in f only, and fast where a few updates are far from many.
"""

from __future__ import annotations

import numpy as np

from backend.numerics.aggregators.composition import Aggregator, checked_f, minority
from backend.numerics.aggregators.distances import Matrix
from backend.numerics.aggregators.selection_rules import mean_of
from backend.numerics.aggregators.update_set import UpdateSet
from backend.numerics.vectors import Vector64

# The search takes up to 1.5^f steps: about ten seconds for 24 in the worst case.
MOST_F = 24


def mda(f: int) -> Aggregator:
    """Weighted mean of the n - f updates of least diameter (El Mhamdi et al. 2021, section 3.1).

    Of equal diameters the set that comes first in lexicographic order wins, as in ByzFL. Tolerance f < n / 2,
    and f <= 24 for the time it takes. Sees single updates. Raises ValueError for an f that is no count.
    """
    checked_f(f)

    def rule(updates: UpdateSet) -> Vector64:
        return updates.combine(mean_of(np.array(nearest_set(updates.distances.squared, f)), updates.weights))

    return Aggregator("mda", rule, mda_tolerance, f, mda)


def mda_tolerance(count: int) -> int:
    """Returns the largest f < n / 2 that can be searched."""
    return min(minority(count), MOST_F)


def nearest_set(squared: Matrix, f: int) -> list[int]:
    """Returns the n - f rows of squared distances [n, n] with the least diameter, ascending."""
    diameters = np.unique(squared)
    low, high = 0, len(diameters) - 1
    while low < high:
        middle = (low + high) // 2
        if _covered(_far_pairs(squared, diameters[middle]), (1 << len(squared)) - 1, f):
            high = middle
        else:
            low = middle + 1
    return _first_set(_far_pairs(squared, diameters[low]), f)


def _first_set(far: list[int], f: int) -> list[int]:
    """Returns the first set, in lexicographic order, of all but f vertices without an edge between them."""
    kept: list[int] = []
    dropped, open_ = 0, (1 << len(far)) - 1
    for vertex, neighbours in enumerate(far):
        open_ &= ~(1 << vertex)
        if dropped >> vertex & 1:
            continue
        falling = dropped | (neighbours & open_)
        left = f - falling.bit_count()
        if len(kept) < len(far) - f and left >= 0 and _covered(far, open_ & ~falling, left):
            kept.append(vertex)
            dropped = falling
        else:
            dropped |= 1 << vertex
    return kept


def _far_pairs(squared: Matrix, diameter: float) -> list[int]:
    """Returns for each row, as bits, which rows are farther than `diameter`."""
    packed = np.packbits(squared > diameter, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _covered(far: list[int], vertices: int, budget: int) -> bool:
    """Whether at most `budget` of the `vertices`, given as bits, touch all edges between them."""
    while True:
        degrees = [(far[v] & vertices).bit_count() for v in range(len(far)) if vertices >> v & 1]
        numbers = [v for v in range(len(far)) if vertices >> v & 1]
        most = max(degrees, default=0)
        if sum(degrees) > 2 * budget * most:
            return False
        if most <= 2:
            return _cover_of_paths(far, vertices) <= budget
        widest = numbers[degrees.index(most)]
        without = vertices & ~(1 << widest)
        # Either the widest vertex is in the cover, or all of its neighbours are.
        if most <= budget and _covered(far, without & ~far[widest], budget - most):
            return True
        vertices, budget = without, budget - 1


def _cover_of_paths(far: list[int], vertices: int) -> int:
    """Returns the size of the least cover of a graph of paths and cycles."""
    cover = 0
    while vertices:
        part = front = vertices & -vertices
        while front:
            reached, rest = 0, front
            while rest:
                vertex = (rest & -rest).bit_length() - 1
                reached |= far[vertex] & vertices
                rest &= rest - 1
            front = reached & ~part
            part |= reached
        members = [v for v in range(len(far)) if part >> v & 1]
        edges = sum((far[v] & vertices).bit_count() for v in members) // 2
        cover += (len(members) + (edges == len(members))) // 2
        vertices &= ~part
    return cover
