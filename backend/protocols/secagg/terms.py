"""Derives graph, encoding, signs and choice from a masked round's terms, on server and members.

In TypeScript the graph is in webapp/static/src/protocol/secagg/terms.ts, the encoding in
webapp/static/src/workers/masking/update.ts; tests/contract/vectors/masked.json holds both languages to the
same graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from backend.crypto.derive import choice_key, rotation_key
from backend.crypto.keystream import keystream
from backend.crypto.round_context import Terms
from backend.numerics.masking.bit_packing import Words
from backend.numerics.masking.encoding import Encoding
from backend.numerics.masking.rotation import sign_words
from backend.numerics.masking.sparse import ChosenValues, block_count, choose, chosen_values
from backend.wire.masked_messages import MOST_MEMBERS, Masking, Server

# Up to this number of members the graph is complete.
COMPLETE = 64
# If the server may lie the graph is always complete; more members would cost each of them too much.
MOST_ACTIVE = 256


class Degree(NamedTuple):
    """Each member has `neighbours` neighbours; `threshold` of them and itself recover a secret of it."""

    neighbours: int
    threshold: int


# The degree before there is a roster.
NO_DEGREE = Degree(0, 0)

# (maximum of members, degree): the fewest neighbours, and a threshold, that satisfy the conditions of Bell
# et al. 2020 ("Secure single-server aggregation with (poly)logarithmic overhead") with 10 % colluding members
# and 30 % dropouts. The probability that an honest member has as many colluding neighbours as the threshold,
# or that the remaining honest members are disconnected, is below 2**-40; that a secret has too few remaining
# holders, below 2**-20. tests/unit/protocols/secagg/test_terms.py computes both for each size.
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
    """Returns the graph's degree for a roster of `members`.

    Raises ValueError for more members than allowed: MOST_ACTIVE if the server may lie, else MOST_MEMBERS.
    """
    if members > (MOST_ACTIVE if server == "active" else MOST_MEMBERS):
        raise ValueError(f"{members} members are too many for a masked round whose server is {server}.")
    if server == "active" or members <= COMPLETE:
        return Degree(members - 1, 2 * members // 3 + 1)
    return next(sparse for maximum, sparse in _SPARSE if members <= maximum)


def most_sharers(min_clients: int, server: Server) -> int:
    """Returns the largest number of clients among which the noise of a round is ever shared out.

    Their shares add up to the noise, so each adds it over the square root of their number: of `min_clients`,
    or of the threshold, which is largest in the largest complete graph.
    """
    complete = MOST_ACTIVE if server == "active" else COMPLETE
    return max(min_clients, degree(complete, server).threshold)


def signers(members: int, server: Server) -> int:
    """Returns how many members must sign a list of survivors before any reveals for it; 0 if none need to.

    Where every member is every other's neighbour, the shares of one that is named alive to some and dead to
    others never recover both of its secrets. With fewer neighbours they could. So more than half of the
    members and of those in league with the server sign: two lists would need an honest member's signature on
    both. The table's 10 % are in league; 30 % of the members may drop out.
    """
    if server == "active":
        return degree(members, server).threshold
    return 0 if members <= COMPLETE else (members + -(-members // 10)) // 2 + 1


def neighbours(ring: Sequence[int], count: int) -> list[list[int]]:
    """Returns the places of each member's `count` neighbours, ascending, by its own place.

    `ring` has all places in the order of `backend.crypto.round_context.ring`; half of the neighbours are on
    either side, unless every member is a neighbour.
    """
    by_place = {place: _neighbours_at(ring, position, count) for position, place in enumerate(ring)}
    return [by_place[place] for place in range(len(ring))]


def neighbours_of(place: int, ring: Sequence[int], count: int) -> list[int]:
    """Returns the entry of `neighbours` for `place`, which is all that a member needs."""
    return _neighbours_at(ring, ring.index(place), count)


def _neighbours_at(ring: Sequence[int], position: int, count: int) -> list[int]:
    members = len(ring)
    if count >= members - 1:
        return sorted([*ring[:position], *ring[position + 1 :]])
    steps = [*range(-(count // 2), 0), *range(1, count // 2 + 1)]
    return sorted([ring[(position + step) % members] for step in steps])


def terms_of(
    masking: Masking,
    *,
    task: str,
    bundle: str,
    number: int,
    version: int,
    weights: str,
    parameters: int,
    rows: int,
) -> Terms:
    """Returns the terms of round `number`; `bundle` and `weights` are addresses."""
    return Terms(
        task=task,
        bundle=bundle,
        round=number,
        version=version,
        weights=weights,
        parameters=parameters,
        rows=rows,
        bits=masking.bits,
        clip=masking.clip,
        examples=masking.examples,
        noise=masking.noise,
        share=masking.share,
        min_clients=masking.min_clients,
        server=masking.server,
    )


def encoding_of(terms: Terms, members: int) -> Encoding:
    """Returns the encoding of the sent values for a roster of `members`."""
    threshold = degree(members, "active" if terms.server == "active" else "honest").threshold
    return Encoding(
        members=members,
        parameters=chosen_values(terms.parameters, terms.share),
        rows=terms.rows,
        bits=terms.bits,
        clip=terms.clip,
        noise=terms.noise,
        sharers=max(terms.min_clients, threshold),
    )


def signs_of(encoding: Encoding, context: bytes) -> Words | None:
    """Returns the public signs of the rotation of a round with this `context`; None without rotation."""
    if not encoding.rotated:
        return None
    return keystream(rotation_key(context), sign_words(encoding.parameters))


def chosen_of(terms: Terms, context: bytes) -> ChosenValues | None:
    """Returns the parameters that a round with this `context` sends; None if it sends all."""
    if terms.share == 1.0:
        return None
    words = keystream(choice_key(context), block_count(terms.parameters))
    return choose(terms.parameters, terms.share, words)
