"""All links of one peer: makes and keeps them, beats, measures, and says what goes over them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from backend.errors import LinkError, MingaError
from backend.peer.links.backpressure import Draining
from backend.peer.links.interfaces import (
    Listener,
    LocalPeer,
    Maker,
    PeerLink,
    SignallingServer,
    TrustedIdentities,
)
from backend.peer.links.peer_links import NeighbourLinks
from backend.peer.links.rejected_peers import Strangers
from backend.peer.links.relay import Relays
from backend.peer.links.signalling import Introducing
from backend.peer.links.signed_signals import checked_signal, signed_note
from backend.peer.links.websocket import WebSockets
from backend.protocols.mesh.link_selection import TryWay
from backend.wire.mesh_codec import decode_peer, encode_mesh
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import IceServer, Measure, Neighbour
from backend.wire.peer_messages import Beat, Passed, Passing, PeerFrame
from backend.wire.signals import SignalBody, SignedSignal, decode_body

if TYPE_CHECKING:
    from backend.peer.links.webrtc import WebRtc

TICK_SECONDS = 0.2
BEAT_SECONDS = 2.0
# Outside of groups.
PATIENCE = 15.0
FAREWELL_SECONDS = 2.0


class LinkManager:
    """Owns the links of the peer `own`. Used on one event loop, between `open` and `close`."""

    def __init__(
        self,
        own: LocalPeer,
        server: SignallingServer,
        listener: Listener,
        known: TrustedIdentities,
        relay_only: bool = False,
    ) -> None:
        """`relay_only` lets WebRTC use TURN servers only."""
        self.own = own
        self._listener = listener
        self._pairs: dict[str, NeighbourLinks] = {}
        self._wanted: frozenset[str] = frozenset()
        self._patience: float | None = None
        self._strangers = Strangers(known, listener)
        self._draining = Draining(self.buffered)
        self._ticking: asyncio.Task[None] | None = None
        self._is_over = False
        self._introducing = Introducing(own.client, server, self._say_if_linked, self.linked)
        self._websockets = WebSockets(self)
        self._relays = Relays(self, server)
        self._webrtc: WebRtc | None = None
        if "webrtc" in own.ways:
            # Loads aiortc, which takes a second, and which only peers have.
            from backend.peer.links.webrtc import WebRtc

            self._webrtc = WebRtc(self, relay_only)
        makers: list[Maker | None] = [self._websockets, self._webrtc, self._relays]
        self._makers = {maker.way: maker for maker in makers if maker is not None}

    async def open(self, host: str | None = None, port: int = 0, address: str | None = None) -> None:
        """Begins, and takes WebSockets at `host` if given; `own.address` then says how others reach it.

        That is `address`, where this machine has another one for others. Raises LinkError if the port is
        taken.
        """
        if host is not None:
            port = await self._websockets.listen(host, port)
            shown = f"[{host}]" if ":" in host else host
            self.own = replace(self.own, address=address or f"ws://{shown}:{port}")
        self._ticking = asyncio.create_task(self._tick_on())

    async def close(self) -> None:
        """Ends all links, as soon as what waits is sent."""
        if self._ticking is not None:
            self._ticking.cancel()
            with suppress(asyncio.CancelledError):
                await self._ticking
        for _ in range(100):
            if not any(link.unsent for pair in self._pairs.values() for link in pair.links.values()):
                break
            await asyncio.sleep(FAREWELL_SECONDS / 100)
        # Others try again as soon as they lose a link; nothing would end what that began here.
        self._is_over = True
        for pair in self._pairs.values():
            for link in list(pair.links.values()):
                self._drop(pair, link, "this peer leaves")
        for maker in self._makers.values():
            await maker.close()

    # What the session says.

    def know(self, neighbours: Iterable[Neighbour]) -> None:
        """Who is in the mesh, as `members` says. Links to others stay for as long as they last."""
        now = time.monotonic()
        for neighbour in neighbours:
            if neighbour.client == self.own.client or self._strangers.is_one(neighbour):
                continue
            if pair := self._pairs.get(neighbour.client):
                pair.replace(neighbour, now)
            else:
                self._pairs[neighbour.client] = NeighbourLinks(self.own, neighbour, now)
        self._websockets.introduced()

    def use_ice(self, servers: Sequence[IceServer]) -> None:
        """STUN and TURN servers, as `entered` says."""
        if self._webrtc is not None:
            self._webrtc.use_ice(servers)

    def want(self, clients: Collection[str]) -> None:
        """To whom links are made, and made again when they break. Others are not cut."""
        self._wanted = frozenset(clients)

    def in_group(self, patience: float | None) -> None:
        """Whether a group averages now, and after how many seconds of silence members are lost to it.

        Who is silent already is said to be so again: a new group does not know it.
        """
        self._patience = patience
        for pair in self._pairs.values():
            pair.told_silent = False

    def send(self, client: str, frame: PeerFrame | bytes, bulk: bool = False) -> None:
        """Queues a frame, or an encoded one, for `client`; without a link it is lost, and `down` was said.

        Raises LinkError for a frame longer than the way takes: `room` says how large chunks may be.
        """
        pair = self._pairs.get(client)
        if pair is None or pair.sending is None:
            return
        data = frame if isinstance(frame, bytes) else encode_mesh(frame)
        if len(data) > pair.frame_bytes:
            raise LinkError(f"A frame of {len(data)} bytes does not fit; at most {pair.frame_bytes} do.")
        pair.said(time.monotonic())
        pair.sending.send(data, bulk)

    def room(self, client: str) -> int:
        """Bytes of data that a chunk for `client` may have now; 0 without a link. It changes with the way."""
        pair = self._pairs.get(client)
        return pair.room if pair else 0

    def buffered(self, client: str) -> int:
        """Bytes that wait to be sent to `client`."""
        pair = self._pairs.get(client)
        return pair.sending.buffered if pair and pair.sending else 0

    async def drained(self, client: str, below: int) -> None:
        """Waits until fewer than `below` bytes wait for `client`, or there is no link."""
        await self._draining.wait(client, below)

    def drop(self, client: str, reason: str) -> None:
        """Ends the links to `client`; they are made again if it is wanted. `reason` ends a sentence."""
        if pair := self._pairs.get(client):
            for link in list(pair.links.values()):
                self._drop(pair, link, reason)

    def way(self, client: str) -> Way | None:
        """How `client` is sent to, or None without a link."""
        pair = self._pairs.get(client)
        return pair.sending.way if pair and pair.sending else None

    def linked(self) -> list[str]:
        """To whom there are links."""
        return [client for client, pair in self._pairs.items() if pair.sending is not None]

    def measures(self) -> list[Measure]:
        """All links, as this end sees them."""
        links = [(client, self._pairs[client].sending) for client in self.linked()]
        return [
            Measure(client, link.way, link.pulse.seconds, link.pulse.rate)
            for client, link in links
            if link is not None
        ]

    # What the server says.

    def signalled(self, client: str, data: bytes) -> None:
        """A signal of `client` came. What is not signed by it is passed over, and after the end all is."""
        if self._is_over:
            return
        with suppress(MingaError):
            signal = self.read(client, data)
            body = decode_body(signal)
            for maker in self._makers.values():
                maker.signalled(client, signal.session, body)

    def relayed(self, client: str, data: bytes) -> None:
        """The server carried a sealed frame of `client`."""
        self._relays.relayed(client, data)

    def unreachable(self, client: str) -> None:
        """What the server was given for `client` is lost."""
        self._relays.unreachable(client)
        self._introducing.unreachable(client)

    def server_away(self) -> None:
        """The connection to the server is lost: relayed links are, too."""
        self._relays.server_away()

    # What the ways say and ask: `Ends`.

    def neighbour(self, client: str) -> Neighbour | None:
        """The peer `client`, if it is known and trusted."""
        pair = self._pairs.get(client)
        return pair.neighbour if pair else None

    def note(self, client: str, session: bytes, body: SignalBody) -> bytes:
        """A signed signal for `client`."""
        return signed_note(self.own, client, session, body)

    def read(self, client: str, note: bytes) -> SignedSignal:
        """The signal in a note of `client`. Raises LinkError or FrameError if it did not sign it."""
        neighbour = self.neighbour(client)
        if neighbour is None:
            raise LinkError(f"Peer {client} is not in this mesh.")
        return checked_signal(self.own, neighbour, note)

    def signal(self, client: str, session: bytes, body: SignalBody) -> None:
        """Sends a signed signal to `client`."""
        self._introducing.send(client, self.note(client, session, body))

    def answering(self, client: str, way: Way) -> None:
        """`client` began an attempt of this way."""
        self._pairs[client].linking.answering(way, time.monotonic())

    def opened(self, link: PeerLink) -> None:
        """A link came about."""
        pair, now = self._pairs[link.client], time.monotonic()
        if not pair.accepts(link, now):
            link.close()
            return
        if old := pair.links.get(link.way):
            self._drop(pair, old, "the other began a new link")
        self._strangers.met(pair.neighbour)
        pair.links[link.way] = link
        pair.linking.opened(link.way)
        self._choose(pair, now)

    def heard(self, link: PeerLink, frame: bytes) -> None:
        """A frame came. Raises FrameError for what is none."""
        now = time.monotonic()
        link.pulse.heard(now)
        pair = self._pairs[link.client]
        if pair.told_silent and pair.sending is not None:
            pair.told_silent = False
            self._listener.up(link.client, pair.sending.way)
        match decode_peer(frame):
            case Beat() as beat:
                link.pulse.beat_heard(beat, now)
            case Passing(client=client, data=data):
                self._introducing.passing(link.client, client, data, now)
            case Passed(client=client, data=data):
                self.signalled(client, data)
            case other:
                self._listener.received(link.client, other)

    def sent(self, link: PeerLink, size: int) -> None:
        """The way took `size` bytes of what waited."""
        link.pulse.sent(size, link.buffered, time.monotonic())
        self._draining.tell(link.client)

    def ended(self, client: str, way: Way, link: PeerLink | None, reason: str) -> None:
        """A link is gone, or, without one, an attempt failed."""
        pair = self._pairs[client]
        if link is None:
            if way not in pair.links:
                pair.linking.ended(way, time.monotonic())
        elif pair.links.get(way) is link:
            self._forget(pair, link, reason)

    # Inside.

    def _say_if_linked(self, client: str, frame: PeerFrame) -> bool:
        """Sends `frame` if there is a link that takes it."""
        data, pair = encode_mesh(frame), self._pairs.get(client)
        if pair is None or pair.sending is None or len(data) > pair.frame_bytes:
            return False
        pair.sending.send(data, False)
        return True

    def _choose(self, pair: NeighbourLinks, now: float) -> None:
        """Sends on the best way, once nothing can be overtaken."""
        best = pair.best()
        if best is pair.sending:
            return
        if best is not None and pair.sending is not None:
            in_group = self._patience is not None
            if in_group or not pair.is_quiet(now):
                return
        pair.sending = best
        if best is not None:
            self._listener.up(best.client, best.way)

    def _drop(self, pair: NeighbourLinks, link: PeerLink, reason: str) -> None:
        link.close()
        self._forget(pair, link, reason)

    def _forget(self, pair: NeighbourLinks, link: PeerLink, reason: str) -> None:
        """`link` is gone. Frames that it had are lost, so that the other ways do not hide it."""
        now = time.monotonic()
        del pair.links[link.way]
        pair.linking.ended(link.way, now)
        if pair.sending is link:
            pair.sending, pair.told_silent = None, False
            self._draining.tell(link.client)
            self._listener.down(link.client, reason)
            self._choose(pair, now)

    async def _tick_on(self) -> None:
        while True:
            self._tick(time.monotonic())
            await asyncio.sleep(min(TICK_SECONDS, (self._patience or PATIENCE) / 8))

    def _tick(self, now: float) -> None:
        patience = self._patience or PATIENCE
        every = min(BEAT_SECONDS, self._patience / 4) if self._patience else BEAT_SECONDS
        for client, pair in list(self._pairs.items()):
            self._draining.tell(client)
            for link in pair.dead(now):
                self._drop(pair, link, f"nothing came for {link.pulse.silence(now):.0f} seconds")
            if pair.sending is not None:
                self._watch(pair, now, patience, every)
            if client in self._wanted:
                self._seek(pair, now)
                if pair.sending is not None and pair.is_stalled(now):
                    self._makers[pair.sending.way].begin(pair.neighbour)

    def _watch(self, pair: NeighbourLinks, now: float, patience: float, every: float) -> None:
        """Beats, and says when nothing is heard."""
        self._choose(pair, now)
        if pair.sending is not None and pair.sending.pulse.is_due(now, every):
            pair.sending.beat()
        if not pair.told_silent and now - pair.heard_at() > patience:
            pair.told_silent = True
            self._listener.silent(pair.neighbour.client)

    def _seek(self, pair: NeighbourLinks, now: float) -> None:
        for step in pair.linking.tick(now):
            maker = self._makers.get(step.way)
            if maker is None:
                continue
            if isinstance(step, TryWay):
                maker.begin(pair.neighbour)
            else:
                maker.give_up(pair.neighbour.client)
