"""Tracks the connected peers of a mesh and announces changes to them."""

from __future__ import annotations

from dataclasses import dataclass, field

from backend.protocols.token_bucket import NEVER
from backend.server.hosting.clients.client_link import ConnectedClient, MeasuredLink
from backend.wire.codec import encode
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Measure, Members, Neighbour

# Changes are announced together: at most this often, and less often if many peers receive long lists.
MEMBERS_SECONDS = 0.25
MEMBERS_BYTES_PER_SECOND = 4 << 20


@dataclass
class Peer:
    """A connected peer: how others may reach it, the weights that it `holds`, their round, and its links."""

    client: ConnectedClient
    link: MeasuredLink
    identity: bytes
    ways: list[Way]
    address: str | None
    round: int
    holds: str | None
    measures: list[Measure] = field(default_factory=list)
    # When its token bucket for relayed bytes is full again.
    relay_full_at: float = NEVER

    def neighbour(self) -> Neighbour:
        """Returns what all other peers may see of it."""
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
    """Owns the connected peers of one mesh, by client id. `epoch` counts the changes."""

    def __init__(self) -> None:
        self.by_id: dict[str, Peer] = {}
        self.epoch = 0
        self._due: float | None = None
        self._next_allowed = 0.0

    def changed(self, now: float) -> None:
        """Schedules an announcement after a peer joined, left, or holds other weights."""
        self.epoch += 1
        if self._due is None:
            self._due = max(now, self._next_allowed)

    def timer(self) -> float | None:
        """Returns when the next announcement to the members is due."""
        return self._due

    def announce(self, now: float, force: bool = False) -> int:
        """Sends the member list to all peers if it changed, once that is due or with `force`.

        Returns the number of bytes sent.
        """
        if self._due is None or (now < self._due and not force):
            return 0
        frame = encode(Members(epoch=self.epoch, members=[peer.neighbour() for peer in self.by_id.values()]))
        total = len(frame) * len(self.by_id)
        self._due, self._next_allowed = None, now + max(MEMBERS_SECONDS, total / MEMBERS_BYTES_PER_SECOND)
        for peer in list(self.by_id.values()):
            peer.link.send(frame)
        return total
