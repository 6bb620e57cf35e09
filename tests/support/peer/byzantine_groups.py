"""Members of a Byzantine mesh in one process, whose rounds go over real links on loopback."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from backend.crypto.client_keys import identity_key
from backend.errors import GroupError
from backend.numerics.vectors import Vector
from backend.peer.mesh.byzantine.contents import RoundContents
from backend.peer.mesh.byzantine.exchange import AgreedRound, ByzantineExchange, RoundInput
from backend.protocols.mesh.byzantine.first_state import first_state
from backend.protocols.mesh.byzantine.roles import roles_of
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.ban_evidence import TurnSaid
from backend.wire.byzantine_bodies import WorkFinding
from backend.wire.byzantine_messages import ByzantineRules, ByzantineTerms, Say, Show
from backend.wire.mesh_fields import Outer
from backend.wire.mesh_messages import Group
from backend.wire.messages import Shard
from backend.wire.peer_messages import PeerFrame
from tests.support.peer.linked_peers import Carrier, Member, introduce, make_member, until

VALUES = 3001


def rules_of(patience: float = 3.0, seconds: float = 20.0, radius: float | None = 1.0) -> ByzantineRules:
    """Rules of a mesh whose members give vectors of their own."""
    return ByzantineRules(
        terms=ByzantineTerms(radius=radius, seconds=seconds, patience=patience),
        bundle="ab" * 32,
        run="cd" * 32,
        outer=Outer(kind="nesterov", learning_rate=0.5, momentum=0.9),
        steps=10,
        batch_size=8,
        learning_rate=0.1,
        tolerance=None,
        shards=[Shard(sha256="ef" * 32, examples=100)],
    )


@dataclass
class ByzantinePeer(Member):
    """Stands between links and the exchange of a round, as a session does."""

    contents: RoundContents = field(default_factory=RoundContents)
    exchange: ByzantineExchange | None = None
    removed: list[tuple[str, str]] = field(default_factory=list)
    convicting: dict[str, TurnSaid] = field(default_factory=dict)

    def join(
        self,
        order: Group,
        rules: ByzantineRules,
        state: AgreedState,
        update: Vector | None,
        content: tuple[bytes, bytes],
        identities: dict[str, bytes],
        kind: type[ByzantineExchange] = ByzantineExchange,
        judgements: Sequence[WorkFinding] = (),
    ) -> ByzantineExchange:
        """Begins a round with `content`, weights and momentum of the state."""
        given = RoundInput(rules, state, update, judgements, *content, VALUES)
        self.exchange = kind(
            order,
            given,
            identities,
            self.own.key,
            self.links,
            self.contents,
            self.take_removed,
        )
        self.exchange.start()
        early, self.frames = self.frames, []
        for client, frame in early:
            self.received(client, frame)
        return self.exchange

    def take_removed(self, client: str, why: str, said: TurnSaid | None) -> None:
        """Takes who was removed, why, and what convicts it."""
        self.removed.append((client, why))
        if said is not None:
            self.convicting[client] = said

    def down(self, client: str, reason: str) -> None:
        super().down(client, reason)
        if self.exchange:
            self.exchange.down(client)

    def received(self, client: str, frame: PeerFrame) -> None:
        exchange = self.exchange
        if not isinstance(frame, Say | Show):
            return
        if exchange is None:
            self.frames.append((client, frame))
        else:
            exchange.frame_received(client, frame)


@asynccontextmanager
async def byzantine_peers(folder: Path, count: int) -> AsyncIterator[list[ByzantinePeer]]:
    """So many peers, all linked with each other by WebSockets."""
    carrier, members = Carrier(), list[ByzantinePeer]()
    for place in range(count):
        member = await make_member(folder, place, ("websocket",), True, carrier, ByzantinePeer)
        assert isinstance(member, ByzantinePeer)
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


def identities_of(members: Sequence[ByzantinePeer]) -> dict[str, bytes]:
    """Keys by client."""
    return {member.own.client: identity_key(member.own.key) for member in members}


def start_of(members: Sequence[ByzantinePeer], rules: ByzantineRules) -> tuple[AgreedState, bytes]:
    """The first state of these members, and its weights."""
    weights = np.zeros(VALUES, "<f4").tobytes()
    return first_state(rules, hashlib.sha256(weights).digest(), identities_of(members)), weights


def updates_of(count: int) -> list[Vector]:
    """Updates near one that all share, as gradients are."""
    common = np.random.default_rng(7).normal(size=VALUES)
    return [
        (0.01 * (common + 0.3 * np.random.default_rng(place).normal(size=VALUES))).astype(np.float32)
        for place in range(count)
    ]


def order_of(members: Sequence[ByzantinePeer], number: int = 1) -> Group:
    """What the server would say to them."""
    clients = sorted(member.own.client for member in members)
    return Group(
        round=number,
        group=1,
        members=clients,
        bounds=[0, VALUES],
        exchange="butterfly",
        precision="float32",
        subject="changes",
        reducer="mean",
        least=len(clients) // 2 + 1,
        most_weight=1.0,
        patience=3.0,
        seconds=90.0,
    )


async def play(
    members: Sequence[ByzantinePeer],
    rules: ByzantineRules,
    state: AgreedState,
    content: tuple[bytes, bytes],
    liars: Mapping[int, type[ByzantineExchange]] | None = None,
) -> list[AgreedRound | GroupError]:
    """Plays the round after `state`; `liars` have exchanges of their own kind. Returns how each one ended."""
    order, keys = order_of(members, state.round + 1), identities_of(members)
    validators = roles_of(state, rules.terms.validators).audits
    exchanges = []
    for place, update in enumerate(updates_of(len(members))):
        member = members[place]
        own = None if member.own.client in validators else update
        kind = (liars or {}).get(place, ByzantineExchange)
        exchanges.append(member.join(order, rules, state, own, content, keys, kind))
    ended = await asyncio.gather(*(exchange.result() for exchange in exchanges), return_exceptions=True)
    for end in ended:
        if not isinstance(end, AgreedRound | GroupError):
            raise end
    return [end for end in ended if isinstance(end, AgreedRound | GroupError)]


def same(ended: Sequence[AgreedRound | GroupError]) -> AgreedRound:
    """Returns the outcome that all had, to the last bit."""
    outcomes = [end for end in ended if isinstance(end, AgreedRound)]
    assert len(outcomes) == len(ended), ended
    assert len({one.state.digest() for one in outcomes}) == 1
    assert len({(one.weights, one.slots) for one in outcomes}) == 1
    return outcomes[0]
