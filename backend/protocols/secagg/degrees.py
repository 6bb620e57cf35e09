"""Who holds whose shares in a masked round: each member's neighbours, and how many shares recover a secret.

Every member works this out for itself, so that a server cannot choose it. The TypeScript twin is degrees.ts
in webapp/static/src/protocol/secagg/; tests/contract/vectors/masked.json holds both to the same graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from backend.wire.masked_messages import MOST_MEMBERS, Server

# Up to so many members everybody is everybody's neighbour.
COMPLETE = 64
# Where the server may lie the graph is complete, and more would cost each member too much.
MOST_ACTIVE = 256


class Degree(NamedTuple):
    """Each member has `neighbours` neighbours; `threshold` of them and itself recover a secret of it."""

    neighbours: int
    threshold: int


# For up to so many members: the fewest neighbours, and a threshold, for which what Bell et al. 2020 ("Secure
# single-server aggregation with (poly)logarithmic overhead") ask of the graph holds with 10 % of colluding
# members and 30 % that drop out. With a probability under 2**-40 an honest member has as many colluding
# neighbours as the threshold, or the honest ones that stay fall apart; with one under 2**-20 some secret has
# too few holders left. tests/unit/protocols/secagg/test_degrees.py computes both for each size.
_SPARSE = (
    (80, Degree(28, 9)),
    (100, Degree(32, 11)),
    (128, Degree(40, 15)),
    (160, Degree(46, 17)),
    (200, Degree(54, 21)),
    (256, Degree(62, 25)),
    (320, Degree(66, 27)),
    (400, Degree(72, 29)),
    (512, Degree(76, 31)),
    (640, Degree(80, 33)),
    (800, Degree(86, 36)),
    (1024, Degree(88, 36)),
    (1536, Degree(90, 37)),
    (MOST_MEMBERS, Degree(96, 40)),
)


def degree(members: int, server: Server) -> Degree:
    """The graph's degree for a roster of `members`.

    Raises ValueError for more members than the graph is made for: MOST_ACTIVE where the server may lie,
    else MOST_MEMBERS.
    """
    if members > (MOST_ACTIVE if server == "active" else MOST_MEMBERS):
        raise ValueError(f"{members} members are too many for a masked round whose server is {server}.")
    if server == "active" or members <= COMPLETE:
        return Degree(members - 1, 2 * members // 3 + 1)
    return next(sparse for most, sparse in _SPARSE if members <= most)


def neighbours(ring: Sequence[int], count: int) -> list[list[int]]:
    """The places of each member's `count` neighbours, ascending, by its own place.

    `ring` are all places in the order of `backend.crypto.round_context.ring`; half of the neighbours stand on
    either side, unless everybody is a neighbour.
    """
    around = {one: _around(ring, at, count) for at, one in enumerate(ring)}
    return [around[one] for one in range(len(ring))]


def neighbours_of(place: int, ring: Sequence[int], count: int) -> list[int]:
    """What `neighbours` has for `place`: all that a member needs to know."""
    return _around(ring, ring.index(place), count)


def _around(ring: Sequence[int], at: int, count: int) -> list[int]:
    members = len(ring)
    if count >= members - 1:
        return sorted([*ring[:at], *ring[at + 1 :]])
    steps = [*range(-(count // 2), 0), *range(1, count // 2 + 1)]
    return sorted([ring[(at + step) % members] for step in steps])
