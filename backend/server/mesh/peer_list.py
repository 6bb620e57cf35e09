"""Who is in a mesh, as its members are told."""

from __future__ import annotations

from dataclasses import dataclass, field

from backend.protocols.token_bucket import NEVER
from backend.server.hosting.client_link import ConnectedClient, MeasuredLink
from backend.wire.codec import encode
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Measure, Members, Neighbour

# Changes are told together, and to many less often.
MEMBERS_SECONDS = 0.25
MEMBERS_BYTES_PER_SECOND = 4 << 20


@dataclass
class Peer:
    """A connected peer: how others may reach it, what it `holds` and of which round, and its links."""

    client: ConnectedClient
    link: MeasuredLink
    identity: bytes
    ways: list[Way]
    address: str | None
    round: int
    holds: str | None
    measures: list[Measure] = field(default_factory=list)
    # When it may relay as much at once as ever.
    rested: float = NEVER

    def neighbour(self) -> Neighbour:
        """What all others may see of it."""
        return Neighbour(
            client=self.client.id,
            identity=self.identity,
            kind=self.client.kind,
            backend=self.client.backend,
            ways=self.ways,
            address=self.address,
            round=self.round,
            holds=self.holds,
        )


class Peers:
    """Owns the peers of one mesh, by their ids. `epoch` counts what changed among them."""

    def __init__(self) -> None:
        self.here: dict[str, Peer] = {}
        self.epoch = 0
        self._due: float | None = None
        self._rested = 0.0

    def changed(self, now: float) -> None:
        """Schedules an announcement after a peer joined, left, or holds other weights."""
        self.epoch += 1
        if self._due is None:
            self._due = max(now, self._rested)

    def timer(self) -> float | None:
        """Returns when the next announcement to the members is due."""
        return self._due

    def tell(self, now: float, at_once: bool = False) -> int:
        """Tells everybody who is here what changed, if that is due or to be `at_once`; the bytes it took."""
        if self._due is None or (now < self._due and not at_once):
            return 0
        frame = encode(Members(epoch=self.epoch, members=[peer.neighbour() for peer in self.here.values()]))
        total = len(frame) * len(self.here)
        self._due, self._rested = None, now + max(MEMBERS_SECONDS, total / MEMBERS_BYTES_PER_SECOND)
        for peer in list(self.here.values()):
            peer.link.send(frame)
        return total
