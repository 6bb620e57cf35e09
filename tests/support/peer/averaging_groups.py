"""Groups of peers in one process that average over real links on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from backend.errors import GroupError
from backend.numerics.aggregation.part_mean import pass_on, reduce_part, shares
from backend.numerics.masking.masked_parts import mean_into, piece_words, to_bytes
from backend.numerics.precision import decode, encode
from backend.numerics.vectors import Vector
from backend.peer.mesh.exchange import Exchange, GroupOutcome
from backend.protocols.mesh.grouping import part_bounds
from backend.wire.mesh_fields import Exchange as ExchangeKind
from backend.wire.mesh_fields import Precision, Reducer, Way
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import OfGroup, PeerFrame
from tests.support.peer.linked_peers import Carrier, Member, introduce, make_member, until

SECONDS = 60.0
# What masks are bound to.
TASK, BUNDLE = "digits", "ab" * 32


def order_of(
    members: Sequence[str],
    values: int,
    exchange: ExchangeKind = "butterfly",
    precision: Precision = "float16",
    reducer: Reducer = "mean",
    patience: float = 6.0,
) -> Group:
    """What the server would say to a group."""
    count = len(members)
    bounds = (
        [0, values]
        if exchange == "full"
        else part_bounds(values, [1e6 * (place + 1) for place in range(count)])
    )
    return Group(
        round=3,
        group=1,
        members=list(members),
        bounds=bounds,
        exchange=exchange,
        precision=precision,
        subject="changes",
        reducer=reducer,
        least=max(3 if precision == "masked" else 2, count // 2 + 1),
        most_weight=1000.0,
        patience=patience,
        seconds=SECONDS,
    )


@dataclass
class Averager(Member):
    """Stands between links and an exchange, as a session does."""

    exchange: Exchange | None = None

    def join(self, order: Group, vector: Vector, weight: float) -> Exchange:
        """Begins with the links that stand."""
        exchange = Exchange(order, self.own.client, vector, weight, self.links, TASK, BUNDLE)
        self.exchange = exchange
        self.links.set_group_patience(order.patience)
        exchange.start()
        for client in self.links.linked():
            exchange.up(client)
        for client, frame in self.frames:
            self._hand_on(exchange, client, frame)
        return exchange

    def up(self, client: str, way: Way) -> None:
        super().up(client, way)
        if self.exchange:
            self.exchange.up(client)

    def down(self, client: str, reason: str) -> None:
        super().down(client, reason)
        if self.exchange:
            self.exchange.down(client)

    def silent(self, client: str) -> None:
        super().silent(client)
        if self.exchange:
            self.exchange.silent(client)

    def received(self, client: str, frame: PeerFrame) -> None:
        if self.exchange:
            self._hand_on(self.exchange, client, frame)
        else:
            self.frames.append((client, frame))

    def _hand_on(self, exchange: Exchange, client: str, frame: PeerFrame) -> None:
        if isinstance(frame, OfGroup):
            exchange.frame_received(client, frame)


@asynccontextmanager
async def averagers(
    folder: Path, count: int, kind: type[Averager] = Averager
) -> AsyncIterator[list[Averager]]:
    """So many peers, all linked with each other by WebSockets."""
    carrier, members = Carrier(), list[Averager]()
    for place in range(count):
        member = await make_member(folder, place, ("websocket",), True, carrier, kind)
        assert isinstance(member, Averager)
        members.append(member)
    for member in members:
        introduce(member, members)
    await until(lambda: all(len(member.links.linked()) == count - 1 for member in members))
    try:
        yield members
    finally:
        for member in members:
            if member.exchange:
                member.exchange.close()
            await member.links.close()


async def outcomes(exchanges: Sequence[Exchange]) -> list[GroupOutcome | GroupError]:
    """What each ended with."""
    ended = await asyncio.gather(*(exchange.result() for exchange in exchanges), return_exceptions=True)
    for end in ended:
        if not isinstance(end, GroupOutcome | GroupError):
            raise end
    return [end for end in ended if isinstance(end, GroupOutcome | GroupError)]


def vectors_of(count: int, values: int) -> list[Vector]:
    """What members bring."""
    return [np.random.default_rng(place).normal(0, 0.1, values).astype(np.float32) for place in range(count)]


def mean_of(
    order: Group, vectors: Sequence[Vector], weights: Sequence[float], contributors: Sequence[Sequence[int]]
) -> Vector:
    """The mean to the bit, part by part, of those who contributed to it."""
    parts = []
    for (start, end), places in zip(pairwise(order.bounds), contributors, strict=True):
        own = [vectors[place][start:end] for place in places]
        weighing = [weights[place] for place in places]
        if order.precision == "masked":
            parts.append(_sum_of(own, weighing, order.subject))
            continue
        if order.exchange == "ring":
            travelling = None
            for vector, share in zip(own, shares(weighing), strict=True):
                travelling = pass_on(travelling, vector, share, order.precision)
            assert travelling is not None
        else:
            pieces = [encode(vector, order.precision) for vector in own]
            travelling = reduce_part(pieces, weighing, end - start, order.precision, order.reducer)
        parts.append(decode(travelling, end - start, order.precision))
    return np.concatenate(parts)


def _sum_of(vectors: Sequence[Vector], weights: Sequence[float], subject: str) -> Vector:
    """What masks leave: the sum of whole numbers."""
    total = np.zeros(len(vectors[0]), np.uint32)
    for vector, share in zip(vectors, shares(weights), strict=True):
        total += piece_words(vector, share, subject)
    decoded = np.empty(len(total), np.float32)
    mean_into(to_bytes(total), subject, decoded)
    return decoded
