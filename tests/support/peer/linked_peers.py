"""Peers with real links on loopback, and a carrier of their signals in place of a server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from backend.crypto.client_keys import identity_key
from backend.peer.links.interfaces import LocalPeer
from backend.peer.links.links import LinkManager
from backend.peer.session.trust_store import TrustStore
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Neighbour
from backend.wire.peer_messages import PeerFrame
from tests.contract.vectors.secagg.make_masked import made
from tests.support.timeouts import PATIENCE

TASK = "digits"


class Carrier:
    """Stands for the server towards links: carries in order, is away, or cannot reach a client.

    The next `losing` parcels are lost; signals that contain `blocked` are not carried. `seen` and `notes`
    record the traffic.
    """

    def __init__(self) -> None:
        self.company: dict[str, Member] = {}
        self.is_away = False
        self.unreachable: set[str] = set()
        self.signals = 0
        self.relayed = 0
        self.losing = 0
        self.blocked: bytes | None = None
        self.seen: list[bytes] = []
        self.notes: list[tuple[str, str, bytes]] = []

    def meddle(self, data: bytes) -> bytes:
        """Returns the data that is carried in place of a signal."""
        return data

    def for_client(self, sender: str) -> Door:
        """Returns the connection of one peer."""
        return Door(self, sender)


@dataclass
class Door:
    """A peer's connection to the server."""

    carrier: Carrier
    sender: str

    def signal(self, client: str, data: bytes) -> bool:
        carrier = self.carrier
        if carrier.blocked is not None and carrier.blocked in data:
            return not carrier.is_away
        carrier.notes.append((self.sender, client, data))
        return self._carry(client, lambda member: member.links.signalled(self.sender, carrier.meddle(data)))

    async def relay(self, client: str, data: bytes) -> bool:
        self.carrier.relayed += len(data)
        self.carrier.seen.append(data)
        if self.carrier.losing:
            self.carrier.losing -= 1
            return True
        carried = self._carry(client, lambda member: member.links.relayed(self.sender, data))
        await asyncio.sleep(0)
        return carried

    def _carry(self, client: str, say: Callable[[Member], None]) -> bool:
        carrier, loop = self.carrier, asyncio.get_running_loop()
        if carrier.is_away:
            return False
        carrier.signals += 1
        if client in carrier.unreachable:
            loop.call_soon(carrier.company[self.sender].links.unreachable, client)
        else:
            loop.call_soon(say, carrier.company[client])
        return True


@dataclass
class Member:
    """A peer with the frames and events that it received."""

    known: TrustStore
    links: LinkManager = field(init=False)
    log: list[tuple[str, ...]] = field(default_factory=list)
    frames: list[tuple[str, PeerFrame]] = field(default_factory=list)

    @property
    def own(self) -> LocalPeer:
        return self.links.local

    def up(self, client: str, way: Way) -> None:
        self.log.append(("up", client, way))

    def down(self, client: str, reason: str) -> None:
        self.log.append(("down", client, reason))

    def received(self, client: str, frame: PeerFrame) -> None:
        self.frames.append((client, frame))

    def silent(self, client: str) -> None:
        self.log.append(("silent", client))

    def refused(self, client: str, reason: str) -> None:
        self.log.append(("refused", client, reason))

    @property
    def neighbour(self) -> Neighbour:
        """Returns the peer's entry as others see it."""
        return Neighbour(
            client=self.own.client,
            identity=identity_key(self.own.key),
            kind="peer",
            backend="tensorflow",
            ways=list(self.own.ways),
            address=self.own.address,
            round=0,
            holds=None,
        )


@asynccontextmanager
async def company(
    folder: Path, ways: Sequence[tuple[Way, ...]], listening: Sequence[bool], carrier: Carrier | None = None
) -> AsyncIterator[list[Member]]:
    """Yields a peer for each entry of `ways`, each with all others as targets; ids ascend."""
    carrier = carrier or Carrier()
    members = []
    for place, (own_ways, listens) in enumerate(zip(ways, listening, strict=True)):
        member = await make_member(folder, place, own_ways, listens, carrier)
        members.append(member)
    for member in members:
        introduce(member, members)
    try:
        yield members
    finally:
        for member in members:
            await member.links.close()


async def make_member(
    folder: Path,
    place: int,
    ways: tuple[Way, ...],
    listens: bool,
    carrier: Carrier,
    kind: type[Member] = Member,
) -> Member:
    """Makes the peer number `place`, which does not know others yet."""
    client = f"{place:02x}" * 8
    known = TrustStore(folder / client)
    known.enter(TASK)
    own = LocalPeer(task=TASK, client=client, key=made(f"key {place}"), ways=ways)
    member = kind(known)
    member.links = LinkManager(own, carrier.for_client(client), member, known, reach="host")
    await member.links.open("127.0.0.1" if listens else None)
    carrier.company[client] = member
    return member


def introduce(member: Member, members: Sequence[Member]) -> None:
    """Informs `member` of all members."""
    member.links.set_neighbours([other.neighbour for other in members])
    member.links.set_targets([other.own.client for other in members])


async def until(holds: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "This did not come about."
        await asyncio.sleep(0.01)
