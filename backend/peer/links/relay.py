"""Makes links whose sealed frames the server relays, for peers that cannot reach each other."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import ClassVar

from backend.errors import MingaError
from backend.peer.links.interfaces import LinkEvents, Maker, PeerLink, SignallingServer
from backend.peer.links.sealed_ends import Handshake
from backend.peer.links.send_queue import SendQueue
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Neighbour
from backend.wire.signals import Bye, SealKey, SignalBody

MOST_ENDED = 1024


class RelayLink(PeerLink):
    """A relayed link with its keys; `is_up` once a sealed frame of the other peer was opened."""

    way: ClassVar[Way] = "relay"

    def __init__(
        self,
        events: LinkEvents,
        relays: Relays,
        client: str,
        handshake: Handshake,
        peer_key: SealKey,
        is_initiator: bool,
    ) -> None:
        super().__init__(client, is_initiator)
        self.session = handshake.session
        self.is_up = False
        self._relays = relays
        self._sealer, self._opener = handshake.seals(events.local.client, client, peer_key)
        self._queue = SendQueue(self._transmit, lambda size: events.bytes_sent(self, size))
        self._sending = asyncio.create_task(self._queue.run())

    @property
    def buffered(self) -> int:
        """The bytes that wait to be sent."""
        return self._queue.waiting

    def send(self, frame: bytes, bulk: bool) -> None:
        """Queues a frame."""
        self._queue.put(frame, bulk)

    def open(self, data: bytes) -> bytes:
        """Returns the frame in a sealed one. Raises LinkError."""
        return self._opener.open(data)

    def stop(self) -> None:
        """Stops sending."""
        if self._sending is not asyncio.current_task():
            self._sending.cancel()

    def close(self) -> None:
        """Ends the link from this side."""
        self._relays.end(self)

    async def _transmit(self, frame: bytes) -> None:
        if not await self._relays.server.relay(self.client, self._sealer.seal(frame)):
            self._relays.fail(self, "the server is away")
            # The task ends: the other peer cannot open any frame after a lost one.
            raise asyncio.CancelledError


class Relays(Maker):
    """Makes relayed links by an exchange of `seal`; of two simultaneous ones the smaller id's stays."""

    way: ClassVar[Way] = "relay"

    def __init__(self, events: LinkEvents, server: SignallingServer) -> None:
        self.server = server
        self._events = events
        self._handshakes: dict[str, Handshake] = {}
        self._links: dict[str, RelayLink] = {}
        # They are never accepted again: a carrier of signals may replay them.
        self._ended_sessions: deque[tuple[str, bytes]] = deque(maxlen=MOST_ENDED)

    def begin(self, other: Neighbour) -> None:
        """Sends this peer's key to `other`."""
        handshake = self._handshakes[other.client] = Handshake()
        self._events.signal(other.client, handshake.session, handshake.signal)

    def give_up(self, client: str) -> None:
        """Drops the attempt to `client`."""
        self._handshakes.pop(client, None)
        if (link := self._links.get(client)) and not link.is_up:
            self.end(link)

    def signalled(self, client: str, session: bytes, body: SignalBody) -> None:
        """Takes the other peer's key, or its end of the link."""
        if isinstance(body, SealKey):
            self._key_received(client, session, body)
        elif isinstance(body, Bye) and (link := self._links.get(client)) and link.session == session:
            self.fail(link, "the other ended it")

    def relayed(self, client: str, data: bytes) -> None:
        """Takes a relayed frame; ignores one that comes before the keys, which is of an older link."""
        link = self._links.get(client)
        if link is None or client in self._handshakes:
            return
        try:
            frame = link.open(data)
            if not link.is_up:
                link.is_up = True
                self._events.link_opened(link)
            self._events.frame_received(link, frame)
        except MingaError as error:
            self._events.signal(client, link.session, Bye())
            self.fail(link, str(error))

    def unreachable(self, client: str) -> None:
        """Ends the link or attempt to `client`, which the server cannot reach."""
        self._handshakes.pop(client, None)
        if link := self._links.get(client):
            self.fail(link, "the server cannot reach it")

    def server_away(self) -> None:
        """Ends all links and attempts: frames under way are lost."""
        self._handshakes.clear()
        for link in list(self._links.values()):
            self.fail(link, "the server is away")

    async def close(self) -> None:
        """Ends all links."""
        for link in list(self._links.values()):
            self.end(link)

    def end(self, link: RelayLink) -> None:
        """Ends a link from this side."""
        if self._forget(link):
            self._events.signal(link.client, link.session, Bye())

    def fail(self, link: RelayLink, reason: str) -> None:
        """Removes a link, and reports its end."""
        if self._forget(link):
            self._events.link_ended(link.client, self.way, link if link.is_up else None, reason)

    def _forget(self, link: RelayLink) -> bool:
        link.stop()
        if self._links.get(link.client) is not link:
            return False
        del self._links[link.client]
        self._ended_sessions.append((link.client, link.session))
        return True

    def _key_received(self, client: str, session: bytes, peer_key: SealKey) -> None:
        pending = self._handshakes.get(client)
        if pending is not None and pending.session == session:
            del self._handshakes[client]
            self._link(client, pending, peer_key, is_initiator=True)
            return
        if (link := self._links.get(client)) and link.session == session:
            return
        if (client, session) in self._ended_sessions:
            return
        if pending is not None and self._events.local.client < client:
            # The other peer may have come back since the key was sent.
            self._events.signal(client, pending.session, pending.signal)
            return
        self._handshakes.pop(client, None)
        self._events.attempt_received(client, self.way)
        answer = Handshake(session)
        self._events.signal(client, session, answer.signal)
        self._link(client, answer, peer_key, is_initiator=False)

    def _link(self, client: str, handshake: Handshake, peer_key: SealKey, is_initiator: bool) -> None:
        if old := self._links.get(client):
            self.fail(old, "the other peer started a new link")
        try:
            link = RelayLink(self._events, self, client, handshake, peer_key, is_initiator)
        except MingaError as error:
            self._events.link_ended(client, self.way, None, str(error))
            return
        self._links[client] = link
        link.beat()
