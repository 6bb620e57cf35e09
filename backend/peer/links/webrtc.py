"""Makes links by WebRTC data channels, with aiortc.

A session of signals belongs to one RTCPeerConnection.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar

from aiortc import (
    InvalidAccessError,
    InvalidStateError,
    RTCConfiguration,
    RTCDataChannel,
    RTCIceServer,
    RTCPeerConnection,
    RTCSessionDescription,
)
from aiortc.rtcconfiguration import RTCIceTransportPolicy
from aiortc.sdp import candidate_from_sdp

from backend.crypto.sealed_link import SESSION_BYTES
from backend.errors import FrameError, MingaError
from backend.peer.links.interfaces import LinkEvents, Maker, PeerLink
from backend.peer.links.sctp import patch_sctp, unacknowledged
from backend.peer.links.send_queue import SendQueue
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import IceServer, Neighbour
from backend.wire.signals import Bye, Candidate, Description, SignalBody

CONTROL, BULK = 0, 1
# aiortc sends the messages of all channels in one queue, so that a control frame waits behind these.
MOST_BUFFERED = 256 * 1024
DRAINED = 128 * 1024
# The most signals of an attempt that wait, and the most ended sessions that are remembered.
MOST_SIGNALS, MOST_ENDED = 64, 1024
# What aiortc raises on a description or a candidate that it cannot use.
_UNUSABLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    InvalidAccessError,
    InvalidStateError,
    LookupError,
    NotImplementedError,
    OSError,
    TypeError,
    ValueError,
)


class WebRtcAttempt:
    """One RTCPeerConnection and its two channels, which become a link once both are open."""

    def __init__(
        self, client: str, session: bytes, is_initiator: bool, configuration: RTCConfiguration
    ) -> None:
        self.client = client
        self.session = session
        self.is_initiator = is_initiator
        self.connection = RTCPeerConnection(configuration)
        self.channels = [
            self.connection.createDataChannel(name, negotiated=True, id=number)
            for number, name in ((CONTROL, "control"), (BULK, "bulk"))
        ]
        patch_sctp(self.connection.sctp)
        self.inbox: asyncio.Queue[SignalBody] = asyncio.Queue(MOST_SIGNALS)
        self.offer: Description | None = None
        self.link: RtcLink | None = None
        self.running: asyncio.Task[None] | None = None
        self.gathering: asyncio.Task[None] | None = None
        self.has_ended = False

    async def close(self) -> None:
        """Closes the connection, after the gathering of candidates: cut short, aioice leaves sockets open."""
        if self.gathering is not None:
            await asyncio.wait([self.gathering])
        await self.connection.close()


class RtcLink(PeerLink):
    """A link over two open data channels."""

    way: ClassVar[Way] = "webrtc"

    def __init__(self, events: LinkEvents, attempt: WebRtcAttempt, on_end: Callable[[], None]) -> None:
        super().__init__(attempt.client, attempt.is_initiator)
        self._channels = attempt.channels
        self._on_end = on_end
        self._events = events
        self._queues = [SendQueue(self._transmit_to(channel), self._sent) for channel in self._channels]
        self._tasks = [asyncio.create_task(queue.run()) for queue in self._queues]

    @property
    def buffered(self) -> int:
        """The bytes that wait to be sent."""
        waiting = sum(queue.waiting for queue in self._queues)
        return waiting + sum(channel.bufferedAmount for channel in self._channels)

    @property
    def unsent(self) -> int:
        """The bytes that would be lost if the link ended now, including those on their way."""
        return self.buffered + unacknowledged(self._channels[CONTROL].transport)

    def send(self, frame: bytes, bulk: bool) -> None:
        """Queues a frame."""
        self._queues[BULK if bulk else CONTROL].put(frame, bulk)

    def stop(self) -> None:
        """Stops sending."""
        for task in self._tasks:
            task.cancel()

    def close(self) -> None:
        """Ends the link from this side."""
        self._on_end()

    def _sent(self, size: int) -> None:
        self._events.bytes_sent(self, size)

    def _transmit_to(self, channel: RTCDataChannel) -> Callable[[bytes], asyncio.Future[None]]:
        """Returns a function that sends a message, and resolves when there is room for the next."""
        room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        room.set_result(None)

        def drained() -> None:
            if not room.done():
                room.set_result(None)
            self._events.bytes_sent(self, 0)

        def transmit(frame: bytes) -> asyncio.Future[None]:
            nonlocal room
            if channel.readyState == "open":
                channel.send(frame)
            if channel.bufferedAmount >= MOST_BUFFERED:
                room = asyncio.get_running_loop().create_future()
            return room

        channel.bufferedAmountLowThreshold = DRAINED
        channel.on("bufferedamountlow", drained)
        return transmit


class WebRtc(Maker):
    """Makes links by offers and answers; of two simultaneous offers the smaller id's stays."""

    way: ClassVar[Way] = "webrtc"

    def __init__(self, events: LinkEvents, relay_only: bool = False) -> None:
        self._events = events
        self._policy = RTCIceTransportPolicy.RELAY if relay_only else RTCIceTransportPolicy.ALL
        self._servers: list[RTCIceServer] = []
        self._attempts: dict[str, WebRtcAttempt] = {}
        self._sessions: dict[tuple[str, bytes], WebRtcAttempt] = {}
        self._ended_sessions: deque[tuple[str, bytes]] = deque(maxlen=MOST_ENDED)
        self._closing: set[asyncio.Task[None]] = set()

    def use_ice(self, servers: Sequence[IceServer]) -> None:
        """Sets the STUN and TURN servers of later attempts."""
        self._servers = [
            RTCIceServer(server.urls, server.username or None, server.credential or None)
            for server in servers
        ]

    def begin(self, other: Neighbour) -> None:
        """Begins an attempt with an offer."""
        self.give_up(other.client)
        self._start(other.client, secrets.token_bytes(SESSION_BYTES), is_initiator=True)

    def give_up(self, client: str) -> None:
        """Drops the attempt to `client`."""
        if attempt := self._attempts.get(client):
            self._end(attempt)

    def signalled(self, client: str, session: bytes, body: SignalBody) -> None:
        """Takes an offer, or a signal of a present attempt."""
        attempt = self._sessions.get((client, session))
        if attempt is None and isinstance(body, Description) and body.type == "offer":
            attempt = self._offered(client, session)
        if attempt is None or attempt.inbox.full():
            return
        attempt.inbox.put_nowait(body)

    async def close(self) -> None:
        """Ends all connections."""
        for attempt in list(self._sessions.values()):
            self._end(attempt)
        await asyncio.gather(*self._closing)

    def _offered(self, client: str, session: bytes) -> WebRtcAttempt | None:
        """Starts an attempt that answers; None if the session is over or this peer's own offer stays."""
        if (client, session) in self._ended_sessions:
            return None
        current = self._attempts.get(client)
        if current is not None and current.is_initiator and self._events.local.client < client:
            if current.offer is not None:
                # The other peer may have come back since the offer was sent.
                self._events.signal(client, current.session, current.offer)
            return None
        self.give_up(client)
        self._events.attempt_received(client, self.way)
        return self._start(client, session, is_initiator=False)

    def _start(self, client: str, session: bytes, is_initiator: bool) -> WebRtcAttempt | None:
        configuration = RTCConfiguration(iceServers=self._servers, iceTransportPolicy=self._policy)
        try:
            attempt = WebRtcAttempt(client, session, is_initiator, configuration)
        except ValueError as error:
            self._events.link_ended(client, self.way, None, f"an ICE server cannot be used: {error}")
            return None
        self._attempts[client] = self._sessions[client, session] = attempt
        connection = attempt.connection
        connection.on("connectionstatechange", lambda: self._changed(attempt))
        for channel in attempt.channels:
            channel.on("open", lambda: self._opened(attempt))
            channel.on("close", lambda: self._fail(attempt, "the other ended it"))
            channel.on("message", lambda data: self._received(attempt, data))
        attempt.running = asyncio.create_task(self._negotiate(attempt))
        return attempt

    async def _negotiate(self, attempt: WebRtcAttempt) -> None:
        """Applies the signals of an attempt, one after the other."""
        connection, early, is_described = attempt.connection, list[Candidate](), False
        try:
            if attempt.is_initiator:
                attempt.offer = await self._describe(attempt)
            while True:
                body = await attempt.inbox.get()
                if isinstance(body, Bye):
                    self._fail(attempt, "the other ended it")
                    return
                if isinstance(body, Candidate):
                    if is_described:
                        await _add(connection, body)
                    else:
                        early.append(body)
                elif isinstance(body, Description) and not is_described:
                    await connection.setRemoteDescription(RTCSessionDescription(body.sdp, body.type))
                    is_described = True
                    if not attempt.is_initiator:
                        await self._describe(attempt)
                    for candidate in early:
                        await _add(connection, candidate)
        except _UNUSABLE as error:
            self._fail(attempt, f"its description cannot be used ({error or type(error).__name__})")

    async def _describe(self, attempt: WebRtcAttempt) -> Description:
        """Sends this peer's offer or answer, which has its candidates: aiortc gathers them first."""
        attempt.gathering = asyncio.create_task(attempt.connection.setLocalDescription())
        await asyncio.shield(attempt.gathering)
        local = attempt.connection.localDescription
        description = Description(type="offer" if attempt.is_initiator else "answer", sdp=local.sdp)
        self._events.signal(attempt.client, attempt.session, description)
        return description

    def _opened(self, attempt: WebRtcAttempt) -> None:
        if attempt.link is None and all(channel.readyState == "open" for channel in attempt.channels):
            if self._attempts.get(attempt.client) is attempt:
                del self._attempts[attempt.client]
            attempt.link = RtcLink(self._events, attempt, lambda: self._end(attempt))
            self._events.link_opened(attempt.link)
            if not attempt.has_ended:
                attempt.link.beat()

    def _changed(self, attempt: WebRtcAttempt) -> None:
        if attempt.connection.connectionState in ("failed", "closed"):
            self._fail(attempt, "the connection failed")

    def _received(self, attempt: WebRtcAttempt, data: bytes | str) -> None:
        if attempt.link is None or attempt.has_ended:
            return
        try:
            if isinstance(data, str):
                raise FrameError("Frames are binary, and this one is text.")
            self._events.frame_received(attempt.link, data)
        except MingaError as error:
            self._fail(attempt, str(error))

    def _fail(self, attempt: WebRtcAttempt, reason: str) -> None:
        if not attempt.has_ended:
            self._end(attempt)
            self._events.link_ended(attempt.client, self.way, attempt.link, reason)

    def _end(self, attempt: WebRtcAttempt) -> None:
        """Ends the attempt and its link without a report."""
        if attempt.has_ended:
            return
        attempt.has_ended = True
        if self._attempts.get(attempt.client) is attempt:
            del self._attempts[attempt.client]
        del self._sessions[attempt.client, attempt.session]
        self._ended_sessions.append((attempt.client, attempt.session))
        if attempt.running is not None and attempt.running is not asyncio.current_task():
            attempt.running.cancel()
        if attempt.link is not None:
            attempt.link.stop()
        task = asyncio.create_task(attempt.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


async def _add(connection: RTCPeerConnection, signal: Candidate) -> None:
    if not signal.candidate:
        await connection.addIceCandidate(None)
        return
    candidate = candidate_from_sdp(signal.candidate.removeprefix("candidate:"))
    candidate.sdpMid, candidate.sdpMLineIndex = signal.sdp_mid, signal.sdp_m_line_index
    await connection.addIceCandidate(candidate)
