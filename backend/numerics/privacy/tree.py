"""Noise for running sums: DP-FTRL (Kairouz et al. 2021, "Practical and private learning without sampling").

A binary tree stands over the rounds. Each node has its own noise, and the sum of rounds 1 to t gets that of
the few nodes that cover them: about log t times one node's variance, where noise of its own for each round
would add up to t times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from backend.numerics.privacy import Words
from backend.numerics.privacy.gaussian import add_gaussian
from backend.numerics.vectors import Vector64

# The stream of a node, always the same words; each node has another.
Node: TypeAlias = tuple[int, int]
NodeWords: TypeAlias = Callable[[Node], Words]


def cover(rounds: int) -> list[Node]:
    """The nodes (level, number on it) that cover the first `rounds` rounds, large ones first."""
    nodes, before = [], 0
    for level in range(rounds.bit_length() - 1, -1, -1):
        if rounds >> level & 1:
            nodes.append((level, before >> level))
            before += 1 << level
    return nodes


def add_tree_noise(values: Vector64, number: int, scale: float, words: NodeWords) -> None:
    """Adds to round `number`'s sum (from 1) what makes the running sum's noise that of its cover, in place.

    `scale` is the standard deviation of a node's noise. What covered the rounds before is taken back.
    """
    before, after = cover(number - 1), cover(number)
    for node in after:
        if node not in before:
            add_gaussian(values, scale, words(node))
    for node in before:
        if node not in after:
            add_gaussian(values, -scale, words(node))


def levels(rounds: int) -> int:
    """How many nodes a round is part of, in a tree over `rounds`."""
    return rounds.bit_length()


def squared_sensitivity(taken: int, rounds: int) -> int:
    """How much a client that takes part `taken` times can change all nodes: squared L2, in clips.

    Whichever rounds these are: on level l at most min(taken, 2^l) of them meet in one node. Trees that are
    begun anew on the way make it no larger.
    """
    return sum(taken * min(taken, 1 << level) for level in range(levels(rounds)))
