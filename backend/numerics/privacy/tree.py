"""Noise for running sums: DP-FTRL (Kairouz et al. 2021, "Practical and private learning without sampling").

The rounds are the leaves of a binary tree. Each node has its own noise, and the sum of rounds 1 to t gets
the noise of the few nodes that cover them: about log t times one node's variance. Separate noise for each
round would add up to t times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from backend.numerics.privacy import Words
from backend.numerics.privacy.gaussian import add_gaussian
from backend.numerics.vectors import Vector64

# (level, number on it).
Node: TypeAlias = tuple[int, int]
# Each node has its own stream, which always begins with the same words.
NodeWords: TypeAlias = Callable[[Node], Words]


def cover(rounds: int) -> list[Node]:
    """Returns the nodes (level, number on it) that cover the first `rounds` rounds, large ones first."""
    nodes, before = [], 0
    for level in range(rounds.bit_length() - 1, -1, -1):
        if rounds >> level & 1:
            nodes.append((level, before >> level))
            before += 1 << level
    return nodes


def add_tree_noise(values: Vector64, number: int, scale: float, words: NodeWords) -> None:
    """Adds noise to round `number`'s sum (from 1), in place: the running sum has the noise of its cover.

    `scale` is the standard deviation of a node's noise. Noise of nodes that no longer cover is subtracted.
    """
    before, after = cover(number - 1), cover(number)
    for node in after:
        if node not in before:
            add_gaussian(values, scale, words(node))
    for node in before:
        if node not in after:
            add_gaussian(values, -scale, words(node))


def levels(rounds: int) -> int:
    """Returns the number of nodes above a round, in a tree over `rounds`."""
    return rounds.bit_length()


def squared_sensitivity(participations: int, rounds: int) -> int:
    """Returns the squared L2 sensitivity of all nodes, in clips, to a client with this participation.

    It holds for any choice of rounds: on level l a node covers at most min(participations, 2^l) of them.
    Restarting the tree does not make it larger.
    """
    return sum(participations * min(participations, 1 << level) for level in range(levels(rounds)))
