"""All links between this peer and one other, and the one that frames are sent on."""

from __future__ import annotations

from backend.peer.links.interfaces import FRAME_BYTES, ROOM, LocalPeer, PeerLink
from backend.protocols.mesh.link_selection import Linking
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Neighbour

# A link over which so long nothing came is dead, whatever the system thinks of it.
DEAD_SECONDS = 20.0
# Beside a direct link over which so long nothing came another one is begun: what was lost while a line was
# cut is sent again ever more seldom, long after the line is there again.
STALLED_SECONDS = 5.0
# A better way is taken once nothing but heartbeats was sent for so long: nothing overtakes anything.
QUIET_SECONDS = 1.0
# A way beside a better one goes when so long nothing came by it.
UNUSED_SECONDS = 30.0
# Two links of one way in so short a time are one attempt of each side.
GLARE_SECONDS = 10.0


class NeighbourLinks:
    """This peer and `neighbour`."""

    def __init__(self, local: LocalPeer, neighbour: Neighbour, now: float) -> None:
        self.local = local
        self.neighbour = neighbour
        self.links: dict[Way, PeerLink] = {}
        self.sending: PeerLink | None = None
        self.is_wanted = False
        self.is_reported_silent = False
        self._sent_at = now
        self._reattempted_at = now
        self.linking = self._plan(now)

    def replace(self, neighbour: Neighbour, now: float) -> None:
        """Takes over what the other says of itself now."""
        before, self.neighbour = self.neighbour, neighbour
        if (before.ways, before.address) != (neighbour.ways, neighbour.address):
            self.linking = self._plan(now)

    def accepts(self, link: PeerLink, now: float) -> bool:
        """Whether a new link replaces the one that there is of the same way.

        When both began at once, that of the smaller id stays. Otherwise the other has lost the old one.
        """
        old = self.links.get(link.way)
        if old is None or old.is_initiator == link.is_initiator or now - old.opened_at > GLARE_SECONDS:
            return True
        return link.is_initiator == self._is_smaller

    def best(self) -> PeerLink | None:
        """The link of the best way."""
        return min(self.links.values(), key=lambda link: self.local.ways.index(link.way), default=None)

    def frame_sent(self, now: float) -> None:
        """Something else than a heartbeat was sent."""
        self._sent_at = now

    def is_quiet(self, now: float) -> bool:
        """Whether nothing that was sent can be overtaken by the next frame."""
        sending = self.sending
        return sending is None or (not sending.buffered and now - self._sent_at >= QUIET_SECONDS)

    def is_stalled(self, now: float) -> bool:
        """Whether to begin another link beside the one that is sent on; then not again for a while."""
        sending = self.sending
        if sending is None or sending.way == "relay" or now - self.last_received_at() < STALLED_SECONDS:
            return False
        if now - self._reattempted_at < STALLED_SECONDS or not self.linking.may_begin(sending.way):
            return False
        self._reattempted_at = now
        return True

    def last_received_at(self) -> float:
        """When something came last, by any way."""
        return max(link.keepalive.heard_at for link in self.links.values())

    def expired(self, now: float) -> list[PeerLink]:
        """Links of no use any more."""
        return [
            link
            for link in self.links.values()
            if link.keepalive.silence(now) > (DEAD_SECONDS if link is self.best() else UNUSED_SECONDS)
        ]

    @property
    def room(self) -> int:
        """Bytes of data that a chunk may have now."""
        return ROOM[self.sending.way] if self.sending else 0

    @property
    def frame_bytes(self) -> int:
        """The largest frame now."""
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
