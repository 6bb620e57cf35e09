"""Keeps all links between this peer and one other, and the one that carries frames."""

from __future__ import annotations

from backend.peer.links.interfaces import FRAME_BYTES, ROOM, LocalPeer, PeerLink
from backend.protocols.mesh.link_selection import Linking
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Neighbour

# A link without incoming data for this long is dead, whatever the system reports of it.
DEAD_SECONDS = 20.0
# After this long without incoming data on a direct link, another one is begun beside it: the system sends
# packets that were lost while a line was cut again at growing intervals, long after the line is back.
STALLED_SECONDS = 5.0
# A better way is used once only heartbeats were sent for this long, so that no frame overtakes another.
QUIET_SECONDS = 1.0
# A link beside a better one ends after this long without incoming data.
UNUSED_SECONDS = 30.0
# Two links of one way within this time are one attempt of each side.
GLARE_SECONDS = 10.0


class NeighbourLinks:
    """Keeps the links between this peer and `neighbour`, and the schedule of attempts."""

    def __init__(self, local: LocalPeer, neighbour: Neighbour, now: float) -> None:
        self.local = local
        self.neighbour = neighbour
        self.links: dict[Way, PeerLink] = {}
        self.sending: PeerLink | None = None
        self.is_reported_silent = False
        self._sent_at = now
        self._reattempted_at = now
        self.linking = self._plan(now)

    def replace(self, neighbour: Neighbour, now: float) -> None:
        """Takes the other peer's new description of itself."""
        before, self.neighbour = self.neighbour, neighbour
        if (before.ways, before.address) != (neighbour.ways, neighbour.address):
            self.linking = self._plan(now)

    def accepts(self, link: PeerLink, now: float) -> bool:
        """Whether a new link replaces the present one of the same way.

        If both peers began at the same time, the link of the smaller id stays. Otherwise the other peer has
        lost the old one.
        """
        old = self.links.get(link.way)
        if old is None or old.is_initiator == link.is_initiator or now - old.opened_at > GLARE_SECONDS:
            return True
        return link.is_initiator == self._is_smaller

    def best(self) -> PeerLink | None:
        """Returns the link of the best way; None without links."""
        return min(self.links.values(), key=lambda link: self.local.ways.index(link.way), default=None)

    def frame_sent(self, now: float) -> None:
        """Records the time of a frame that is not a heartbeat."""
        self._sent_at = now

    def is_quiet(self, now: float) -> bool:
        """Whether the next frame can overtake none that was sent."""
        sending = self.sending
        return sending is None or (not sending.buffered and now - self._sent_at >= QUIET_SECONDS)

    def is_stalled(self, now: float) -> bool:
        """Whether to begin another link beside the present one: true at most once in STALLED_SECONDS."""
        sending = self.sending
        if sending is None or sending.way == "relay" or now - self.last_received_at() < STALLED_SECONDS:
            return False
        if now - self._reattempted_at < STALLED_SECONDS or not self.linking.may_begin(sending.way):
            return False
        self._reattempted_at = now
        return True

    def last_received_at(self) -> float:
        """Returns the time of the last incoming data, by any way."""
        return max(link.keepalive.heard_at for link in self.links.values())

    def expired(self, now: float) -> list[PeerLink]:
        """Returns the links that are dead, or unused beside a better one."""
        return [
            link
            for link in self.links.values()
            if link.keepalive.silence(now) > (DEAD_SECONDS if link is self.best() else UNUSED_SECONDS)
        ]

    @property
    def room(self) -> int:
        """The bytes of data that a chunk may have on the present link; 0 without one."""
        return ROOM[self.sending.way] if self.sending else 0

    @property
    def frame_bytes(self) -> int:
        """The bytes of the largest frame on the present link; 0 without one."""
        return FRAME_BYTES[self.sending.way] if self.sending else 0

    @property
    def _is_smaller(self) -> bool:
        return self.local.client < self.neighbour.client

    def _plan(self, now: float) -> Linking:
        ways = [way for way in self.local.ways if way in self.neighbour.ways]
        linking = Linking(
            ways,
            is_smaller=self._is_smaller,
            dials="websocket" in ways and self.neighbour.address is not None,
            is_dialled="websocket" in ways and self.local.address is not None,
            now=now,
        )
        for way in self.links:
            linking.opened(way)
        return linking
