"""Graphs of masked rounds keep the probabilities that their table promises."""

from __future__ import annotations

from fractions import Fraction
from math import comb, perm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.secagg.terms import (
    COMPLETE,
    MOST_ACTIVE,
    degree,
    neighbours,
    neighbours_of,
    signers,
)
from backend.wire.masked_messages import MOST_MEMBERS

PRIVACY, CORRECTNESS = Fraction(1, 2**40), Fraction(1, 2**20)
SPARSE = [*range(65, 130), *range(130, 1100, 31), *range(1100, MOST_MEMBERS, 499), MOST_MEMBERS]
ENDS = [80, 100, 128, 160, 200, 256, 320, 400, 512, 640, 800, 1024, 1536]
SIZES = sorted({*SPARSE, *ENDS, *(size + 1 for size in ENDS)})


@pytest.mark.parametrize("size", SIZES)
def test_privacy_and_sums_fail_as_seldom_as_promised(size: int) -> None:
    count, threshold = degree(size, "honest")
    colluding, dropped = -(-size // 10), -(-3 * size // 10)
    honest, alive = size - colluding, size - dropped
    # A colluding neighbour holds a share of both secrets: the threshold of them opens an honest member.
    opened = honest * _at_least(threshold, count, colluding, size - 1)
    # The ring falls apart only where two stretches of half as many as there are neighbours are all gone.
    gone = colluding + dropped
    apart = Fraction(comb(size, 2) * perm(gone, count), perm(size, count))
    assert opened + apart < PRIVACY
    # Who dropped out needs the threshold among its neighbours; who stayed has its own share besides.
    lost = dropped * (1 - _at_least(threshold, count, alive, size - 1))
    lost += alive * (1 - _at_least(threshold - 1, count, alive - 1, size - 1))
    assert lost < CORRECTNESS


@pytest.mark.parametrize("size", SIZES)
def test_two_lists_of_survivors_are_never_both_signed(size: int) -> None:
    """Who is in league with the server signs both, everybody else one; those who stay are enough to sign."""
    colluding, dropped = -(-size // 10), -(-3 * size // 10)
    assert 2 * signers(size, "honest") > size + colluding
    assert signers(size, "honest") <= size - dropped


@pytest.mark.parametrize("size", range(3, COMPLETE + 1))
def test_small_complete_graphs_need_no_signatures_but_of_a_lying_server(size: int) -> None:
    assert signers(size, "honest") == 0
    assert signers(size, "active") == degree(size, "active").threshold
    # A holder reveals one share of each: two secrets of one client would need twice the threshold of holders.
    assert 2 * degree(size, "honest").threshold > size + size // 3


def _at_least(least: int, drawn: int, marked: int, total: int) -> Fraction:
    """The probability of at least `least` marked ones among `drawn` of `total` without putting back."""
    ways = sum(comb(marked, n) * comb(total - marked, drawn - n) for n in range(least, drawn + 1))
    return Fraction(ways, comb(total, drawn))


@pytest.mark.parametrize("size", range(3, COMPLETE + 1))
def test_small_graphs_are_complete_and_need_more_than_two_thirds(size: int) -> None:
    count, threshold = degree(size, "honest")
    assert count == size - 1
    assert 3 * threshold > 2 * size >= 3 * (threshold - 1)


def test_where_the_server_may_lie_the_graph_is_complete() -> None:
    assert degree(200, "active") == (199, 134)
    with pytest.raises(ValueError, match="too many"):
        degree(MOST_ACTIVE + 1, "active")
    with pytest.raises(ValueError, match="too many"):
        degree(MOST_MEMBERS + 1, "honest")


@given(st.permutations(range(30)), st.integers(1, 20).map(lambda half: 2 * half))
def test_neighbours_are_mutual_and_as_many_as_asked(ring: list[int], count: int) -> None:
    around = neighbours(ring, count)
    for one, others in enumerate(around):
        assert others == sorted(set(others) - {one})
        assert others == neighbours_of(one, ring, count)
        assert len(others) == min(count, 29)
        assert all(one in around[other] for other in others)


def test_neighbours_stand_on_either_side() -> None:
    assert neighbours([3, 0, 4, 1, 2, 5], 2) == [[3, 4], [2, 4], [1, 5], [0, 5], [0, 1], [2, 3]]
