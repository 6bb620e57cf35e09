"""Makes, watches and measures all links of one peer; carries frames between them and the session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from backend.errors import LinkError, MingaError
from backend.formats.network_address import Reach
from backend.peer.links.backpressure import Backpressure
from backend.peer.links.interfaces import (
    Listener,
    LocalPeer,
    Maker,
    PeerLink,
    SignallingServer,
    TrustedIdentities,
)
from backend.peer.links.peer_links import NeighbourLinks
from backend.peer.links.rejected_peers import RejectedPeers
from backend.peer.links.relay import Relays
from backend.peer.links.signalling import SignalRouter
from backend.peer.links.signed_signals import checked_signal, signed_note
from backend.peer.links.websocket import WebSockets
from backend.protocols.mesh.keepalive import PROBE_WEIGHTS, probe_chunks
from backend.protocols.mesh.link_selection import TryWay
from backend.wire.mesh_codec import decode_peer, encode_mesh
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import IceServer, Measure, Neighbour
from backend.wire.peer_messages import Beat, Passed, Passing, PeerFrame, Weights
from backend.wire.signals import SignalBody, SignedSignal, decode_body

if TYPE_CHECKING:
    from backend.peer.links.webrtc import WebRtc

TICK_SECONDS = 0.2
BEAT_SECONDS = 2.0
# Seconds without data after which a peer counts as silent, outside of groups.
PATIENCE = 15.0
FAREWELL_SECONDS = 2.0


class LinkManager:
    """Owns the links of the peer `local`. Used on one event loop, between `open` and `close`."""

    def __init__(
        self,
        local: LocalPeer,
        server: SignallingServer,
        listener: Listener,
        trusted: TrustedIdentities,
        relay_only: bool = False,
        reach: Reach = "public",
    ) -> None:
        """`relay_only` lets WebRTC use TURN servers only; `reach` bounds the addresses of others."""
        self.local = local
        self._listener = listener
        self._pairs: dict[str, NeighbourLinks] = {}
        self._targets: frozenset[str] = frozenset()
        self._patience: float | None = None
        self._rejected = RejectedPeers(trusted, listener)
        self._backpressure = Backpressure(self.buffered)
        self._ticking: asyncio.Task[None] | None = None
        self._is_closing = False
        self._signals = SignalRouter(local.client, server, self._send_if_linked, self.linked)
        self._websockets = WebSockets(self, reach)
        self._relays = Relays(self, server)
        self._webrtc: WebRtc | None = None
        if "webrtc" in local.ways:
            # Imports aiortc, which takes a second and is installed only for peers.
            from backend.peer.links.webrtc import WebRtc

            self._webrtc = WebRtc(self, relay_only)
        makers: list[Maker | None] = [self._websockets, self._webrtc, self._relays]
        self._makers = {maker.way: maker for maker in makers if maker is not None}

    async def open(self, host: str | None = None, port: int = 0, address: str | None = None) -> None:
        """Begins, and listens for WebSockets at `host` if given, which sets `local.address` for others.

        That is `address`, if others reach this machine at another one. Raises LinkError if the port is taken.
        """
        if host is not None:
            port = await self._websockets.listen(host, port)
            shown = f"[{host}]" if ":" in host else host
            self.local = replace(self.local, address=address or f"ws://{shown}:{port}")
        self._ticking = asyncio.create_task(self._tick_forever())

    async def close(self) -> None:
        """Ends all links once all queued frames are sent, at the latest after FAREWELL_SECONDS."""
        if self._ticking is not None:
            self._ticking.cancel()
            with suppress(asyncio.CancelledError):
                await self._ticking
        for _ in range(100):
            if not any(link.unsent for pair in self._pairs.values() for link in pair.links.values()):
                break
            await asyncio.sleep(FAREWELL_SECONDS / 100)
        # Others try again as soon as they lose a link; nothing would end the links that they begin now.
        self._is_closing = True
        for pair in self._pairs.values():
            for link in list(pair.links.values()):
                self._drop(pair, link, "this peer leaves")
        for maker in self._makers.values():
            await maker.close()

    # Calls of the session.

    def set_neighbours(self, neighbours: Iterable[Neighbour]) -> None:
        """Takes the members of the mesh from a `members` frame. Links to others are kept until they end."""
        now = time.monotonic()
        for neighbour in neighbours:
            rejected = self._rejected.is_banned(neighbour) or self._rejected.is_rejected(neighbour)
            if neighbour.client == self.local.client or rejected:
                continue
            if pair := self._pairs.get(neighbour.client):
                pair.replace(neighbour, now)
            else:
                self._pairs[neighbour.client] = NeighbourLinks(self.local, neighbour, now)
        self._websockets.neighbours_changed()

    def use_ice(self, servers: Sequence[IceServer]) -> None:
        """Takes the STUN and TURN servers from an `entered` frame."""
        if self._webrtc is not None:
            self._webrtc.use_ice(servers)

    def set_targets(self, clients: Collection[str]) -> None:
        """Sets the clients to which links are made, and repaired. Links to others are kept."""
        self._targets = frozenset(clients)

    def set_group_patience(self, patience: float | None) -> None:
        """Sets the seconds of silence after which a peer is reported; None while no group averages.

        A peer that is silent already is reported again, because a new group does not know it.
        """
        self._patience = patience
        for pair in self._pairs.values():
            pair.is_reported_silent = False

    def send(self, client: str, frame: PeerFrame | bytes, bulk: bool = False) -> None:
        """Queues a frame, or an encoded one, for `client`; without a link it is lost.

        Raises LinkError for a frame that is too long for the way: `room` returns the limit for chunks.
        """
        pair = self._pairs.get(client)
        if pair is None or pair.sending is None:
            return
        data = frame if isinstance(frame, bytes) else encode_mesh(frame)
        if len(data) > pair.frame_bytes:
            raise LinkError(f"A frame of {len(data)} bytes does not fit; at most {pair.frame_bytes} do.")
        pair.frame_sent(time.monotonic())
        pair.sending.send(data, bulk)

    def room(self, client: str) -> int:
        """Returns the bytes of data that a chunk for `client` may have now; 0 without a link."""
        pair = self._pairs.get(client)
        return pair.room if pair else 0

    def buffered(self, client: str) -> int:
        """Returns the bytes that wait to be sent to `client`."""
        pair = self._pairs.get(client)
        return pair.sending.buffered if pair and pair.sending else 0

    async def drained(self, client: str, below: int) -> None:
        """Waits until fewer than `below` bytes wait for `client`, or there is no link."""
        await self._backpressure.wait(client, below)

    def drop(self, client: str, reason: str) -> None:
        """Ends the links to `client`; they are made again if it is a target. `reason` ends a sentence."""
        if pair := self._pairs.get(client):
            for link in list(pair.links.values()):
                self._drop(pair, link, reason)

    def ban(self, identities: Collection[bytes]) -> None:
        """Ends the links to peers with these keys, and makes and takes none again."""
        self._rejected.ban(identities)
        for client, pair in self._pairs.items():
            if self._rejected.is_banned(pair.neighbour):
                self.drop(client, "it is banned")

    def way(self, client: str) -> Way | None:
        """Returns the way by which frames go to `client`; None without a link."""
        pair = self._pairs.get(client)
        return pair.sending.way if pair and pair.sending else None

    def linked(self) -> list[str]:
        """Returns the clients to which there are links."""
        return [client for client, pair in self._pairs.items() if pair.sending is not None]

    def measures(self) -> list[Measure]:
        """Returns the measurements of all links at this end."""
        links = [(client, self._pairs[client].sending) for client in self.linked()]
        return [
            Measure(client, link.way, link.keepalive.seconds, link.keepalive.rate)
            for client, link in links
            if link is not None
        ]

    # Events of the server.

    def signalled(self, client: str, data: bytes) -> None:
        """Takes a signal of `client`; ignores one that it did not sign, and all signals while closing."""
        if self._is_closing:
            return
        with suppress(MingaError):
            signal = self.check_signal(client, data)
            body = decode_body(signal)
            for maker in self._makers.values():
                maker.signalled(client, signal.session, body)

    def relayed(self, client: str, data: bytes) -> None:
        """Takes a sealed frame of `client` that the server relayed."""
        self._relays.relayed(client, data)

    def unreachable(self, client: str) -> None:
        """Handles the server's report that it could not deliver to `client`."""
        self._relays.unreachable(client)
        self._signals.unreachable(client)

    def server_away(self) -> None:
        """Handles the loss of the connection to the server: relayed links are lost, too."""
        self._relays.server_away()

    # `LinkEvents`, for the ways.

    def neighbour(self, client: str) -> Neighbour | None:
        """Returns the peer `client`; None if it is unknown or not trusted."""
        pair = self._pairs.get(client)
        return pair.neighbour if pair else None

    def sign_signal(self, client: str, session: bytes, body: SignalBody) -> bytes:
        """Returns a signed signal for `client`."""
        return signed_note(self.local, client, session, body)

    def check_signal(self, client: str, note: bytes) -> SignedSignal:
        """Returns the signal in a note that `client` signed; raises LinkError or FrameError for any other."""
        neighbour = self.neighbour(client)
        if neighbour is None:
            raise LinkError(f"Peer {client} is not in this mesh.")
        if self._rejected.is_banned(neighbour):
            raise LinkError(f"Peer {client} is banned.")
        return checked_signal(self.local, neighbour, note)

    def signal(self, client: str, session: bytes, body: SignalBody) -> None:
        """Sends a signed signal to `client`."""
        self._signals.send(client, self.sign_signal(client, session, body))

    def attempt_received(self, client: str, way: Way) -> None:
        """Records that `client` began an attempt of this way."""
        self._pairs[client].linking.answering(way, time.monotonic())

    def link_opened(self, link: PeerLink) -> None:
        """Adds an open link, unless the present one of its way is kept."""
        pair, now = self._pairs[link.client], time.monotonic()
        if self._rejected.is_banned(pair.neighbour) or not pair.accepts(link, now):
            link.close()
            return
        if old := pair.links.get(link.way):
            self._drop(pair, old, "the other peer started a new link")
        self._rejected.remember(pair.neighbour)
        pair.links[link.way] = link
        pair.linking.opened(link.way)
        self._choose_link(pair, now)

    def frame_received(self, link: PeerLink, frame: bytes) -> None:
        """Takes a frame of `link`. Raises FrameError for an invalid one."""
        now = time.monotonic()
        link.keepalive.heard(now)
        pair = self._pairs[link.client]
        if pair.is_reported_silent and pair.sending is not None:
            pair.is_reported_silent = False
            self._listener.up(link.client, pair.sending.way)
        match decode_peer(frame):
            case Beat() as beat:
                link.keepalive.beat_heard(beat, now)
            case Passing(client=client, data=data):
                self._signals.forward(link.client, client, data, now)
            case Passed(client=client, data=data):
                self.signalled(client, data)
            case Weights(weights=hash_) if hash_ == PROBE_WEIGHTS:
                pass  # It measures the link.
            case other:
                self._listener.received(link.client, other)

    def bytes_sent(self, link: PeerLink, size: int) -> None:
        """Records that the way took `size` bytes of the queue."""
        link.keepalive.sent(size, link.buffered, time.monotonic())
        self._backpressure.notify(link.client)

    def link_ended(self, client: str, way: Way, link: PeerLink | None, reason: str) -> None:
        """Removes `link` or, if it is None, records a failed attempt."""
        pair = self._pairs[client]
        if link is None:
            if way not in pair.links:
                pair.linking.ended(way, time.monotonic())
        elif pair.links.get(way) is link:
            self._forget(pair, link, reason)

    # The choice and watch of links.

    def _send_if_linked(self, client: str, frame: PeerFrame) -> bool:
        """Sends `frame` if there is a link that takes it; returns whether it was sent."""
        data, pair = encode_mesh(frame), self._pairs.get(client)
        if pair is None or pair.sending is None or len(data) > pair.frame_bytes:
            return False
        pair.sending.send(data, False)
        return True

    def _choose_link(self, pair: NeighbourLinks, now: float) -> None:
        """Switches to the best way, once it can overtake no frame."""
        best = pair.best()
        if best is pair.sending:
            return
        if best is not None and pair.sending is not None:
            is_in_group = self._patience is not None
            if is_in_group or not pair.is_quiet(now):
                return
        pair.sending = best
        if best is not None:
            self._listener.up(best.client, best.way)

    def _drop(self, pair: NeighbourLinks, link: PeerLink, reason: str) -> None:
        link.close()
        self._forget(pair, link, reason)

    def _forget(self, pair: NeighbourLinks, link: PeerLink, reason: str) -> None:
        """Removes `link`. Its frames are lost, so its end is reported even if there are other ways."""
        now = time.monotonic()
        del pair.links[link.way]
        pair.linking.ended(link.way, now)
        if pair.sending is link:
            pair.sending, pair.is_reported_silent = None, False
            self._backpressure.notify(link.client)
            self._listener.down(link.client, reason)
            self._choose_link(pair, now)

    async def _tick_forever(self) -> None:
        while True:
            self._tick(time.monotonic())
            await asyncio.sleep(min(TICK_SECONDS, (self._patience or PATIENCE) / 8))

    def _tick(self, now: float) -> None:
        patience = self._patience or PATIENCE
        interval = min(BEAT_SECONDS, self._patience / 4) if self._patience else BEAT_SECONDS
        for client, pair in list(self._pairs.items()):
            self._backpressure.notify(client)
            for link in pair.expired(now):
                self._drop(pair, link, f"nothing arrived for {link.keepalive.silence(now):.0f} seconds")
            if pair.sending is not None:
                self._check_silence(pair, now, patience, interval)
            if client in self._targets and not self._rejected.is_banned(pair.neighbour):
                self._try_ways(pair, now)
                if pair.sending is not None and pair.is_stalled(now):
                    self._makers[pair.sending.way].begin(pair.neighbour)

    def _check_silence(self, pair: NeighbourLinks, now: float, patience: float, interval: float) -> None:
        """Sends heartbeats, and reports a silent peer."""
        self._choose_link(pair, now)
        if pair.sending is not None and pair.sending.keepalive.is_due(now, interval):
            pair.sending.beat()
        self._measure(pair, now)
        if not pair.is_reported_silent and now - pair.last_received_at() > patience:
            pair.is_reported_silent = True
            self._listener.silent(pair.neighbour.client)

    def _measure(self, pair: NeighbourLinks, now: float) -> None:
        """Measures the rate of a new link by a probe, outside of groups and beside no other frames."""
        link = pair.sending
        if link is None or self._patience is not None or not pair.is_quiet(now):
            return
        if link.keepalive.wants_probe():
            for chunk in probe_chunks(pair.room):
                link.send(encode_mesh(chunk), False)
            link.send(encode_mesh(link.keepalive.probe(now)), False)

    def _try_ways(self, pair: NeighbourLinks, now: float) -> None:
        for step in pair.linking.tick(now):
            maker = self._makers.get(step.way)
            if maker is None:
                continue
            if isinstance(step, TryWay):
                maker.begin(pair.neighbour)
            else:
                maker.give_up(pair.neighbour.client)
