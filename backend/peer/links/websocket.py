"""Makes links over a direct WebSocket to the other peer, sealed from the second message on."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import ClassVar, TypedDict
from urllib.parse import urlsplit

from websockets.asyncio.client import connect
from websockets.asyncio.connection import Connection
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.typing import Subprotocol

from backend.crypto.sealed_link import TAG_BYTES, FrameOpener, Sealer
from backend.errors import FrameError, LinkError, MingaError
from backend.formats.network_address import Reach, refused_address
from backend.peer.links.buffers import limit_send_buffer
from backend.peer.links.interfaces import FRAME_BYTES, LinkEvents, Maker, PeerLink
from backend.peer.links.name_resolver import NameResolver
from backend.peer.links.sealed_ends import Handshake
from backend.peer.links.send_queue import SendQueue
from backend.wire.mesh_codec import decode_peer, encode_mesh
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Neighbour
from backend.wire.peer_messages import Passed
from backend.wire.signals import SealKey, SignalBody, decode_body

PROTOCOL = Subprotocol("minga-link.1")
HANDSHAKE_SECONDS = 4.0
# How long a peer that connects waits until this one learns of it, too.
INTRODUCTION_SECONDS = 3.0
MOST_HANDSHAKES = 64
CLOSE_SECONDS = 1.0
# Bytes that the library may buffer, so that the next frame is sealed while the last one is sent.
_WRITE_LIMIT = 512 * 1024
_PORTS = {"ws": 80, "wss": 443}


class _Options(TypedDict):
    subprotocols: list[Subprotocol]
    compression: None
    max_size: int
    open_timeout: float
    ping_interval: None
    close_timeout: float
    write_limit: int


_OPTIONS = _Options(
    subprotocols=[PROTOCOL],
    compression=None,
    max_size=FRAME_BYTES["websocket"] + TAG_BYTES,
    open_timeout=HANDSHAKE_SECONDS,
    ping_interval=None,
    close_timeout=CLOSE_SECONDS,
    write_limit=_WRITE_LIMIT,
)


class _Dialling(connect):
    """A connection that follows no redirect: its target was not checked."""

    def process_redirect(self, exc: Exception) -> Exception:
        """Returns the error itself."""
        return exc


class WebSocketLink(PeerLink):
    """A link over one WebSocket. `run` ends with it."""

    way: ClassVar[Way] = "websocket"

    def __init__(
        self,
        events: LinkEvents,
        client: str,
        connection: Connection,
        seals: tuple[Sealer, FrameOpener],
        is_initiator: bool,
    ) -> None:
        super().__init__(client, is_initiator)
        self._events = events
        self._connection = connection
        self._sealer, self._opener = seals
        self._queue = SendQueue(self._transmit, lambda size: events.bytes_sent(self, size))
        self._sending = asyncio.create_task(self._send_all())
        self._is_closed = False

    @property
    def buffered(self) -> int:
        """The bytes that wait to be sent."""
        return self._queue.waiting

    def send(self, frame: bytes, bulk: bool) -> None:
        """Queues a frame."""
        self._queue.put(frame, bulk)

    def close(self) -> None:
        """Ends the link from this side."""
        self._is_closed = True
        self._sending.cancel()
        # The library still sends what it has buffered, but has limited time for it.
        transport = self._connection.transport
        transport.close()
        asyncio.get_running_loop().call_later(CLOSE_SECONDS, transport.abort)

    async def run(self) -> None:
        """Receives frames until one of the two peers ends the link."""
        reason, is_up = "the connection was closed", False
        try:
            async for data in self._connection:
                if isinstance(data, str):
                    raise FrameError("Frames are binary, and this one is text.")
                if self._is_closed:
                    continue
                frame = self._opener.open(data)
                if not is_up:
                    # Only a sealed frame proves that the other peer is there: its key may be an old one.
                    is_up = True
                    self._events.link_opened(self)
                self._events.frame_received(self, frame)
        except ConnectionClosed:
            pass
        except MingaError as error:
            reason = str(error)
        finally:
            self._sending.cancel()
            if not self._is_closed:
                self._connection.transport.abort()
            if not self._is_closed:
                self._events.link_ended(self.client, self.way, self if is_up else None, reason)

    async def _send_all(self) -> None:
        with suppress(ConnectionClosed):
            # `run` sees the same end and reports it.
            await self._queue.run()

    async def _transmit(self, frame: bytes) -> None:
        await self._connection.send(self._sealer.seal(frame))


class WebSockets(Maker):
    """Connects to peers that have an address within `reach`, and accepts connections if this one has."""

    way: ClassVar[Way] = "websocket"

    def __init__(self, events: LinkEvents, reach: Reach) -> None:
        self._events = events
        self._reach = reach
        self._server: Server | None = None
        self._dialling: dict[str, asyncio.Task[None]] = {}
        self._links: set[asyncio.Task[None]] = set()
        self._introductions = asyncio.Semaphore(MOST_HANDSHAKES)
        self._neighbours_changed = asyncio.Event()
        self._names = NameResolver()

    async def listen(self, host: str, port: int) -> int:
        """Accepts connections from now on; returns the port. Raises LinkError if it cannot listen."""
        try:
            self._server = await serve(self._accept, host, port, **_OPTIONS)
        except OSError as error:
            raise LinkError(
                f"Nothing can listen at {host}:{port}: {error.strerror or error}. Choose another port."
            ) from error
        return int(next(iter(self._server.sockets)).getsockname()[1])

    def begin(self, other: Neighbour) -> None:
        """Begins to connect to `other`."""
        self._dialling[other.client] = asyncio.create_task(self._dial(other))

    def give_up(self, client: str) -> None:
        """Stops connecting."""
        if dialling := self._dialling.pop(client, None):
            dialling.cancel()

    def signalled(self, client: str, session: bytes, body: SignalBody) -> None:
        """Ignores signals: keys are exchanged over the connection itself."""

    def neighbours_changed(self) -> None:
        """Resumes handshakes that wait until their peer is known."""
        self._neighbours_changed.set()
        self._neighbours_changed = asyncio.Event()

    async def close(self) -> None:
        """Ends all connections."""
        tasks = [*self._dialling.values(), *self._links]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _dial(self, other: Neighbour) -> None:
        link = None
        try:
            connection = await self._connect(other.address or "")
            link = await self._shake_hands(connection, other.client)
        except (OSError, WebSocketException, MingaError, TimeoutError) as error:
            reason = str(error) or "it does not answer"
            self._events.link_ended(other.client, self.way, None, reason)
        finally:
            self._dialling.pop(other.client, None)
        if link is not None:
            self._run_in_background(link)

    async def _connect(self, address: str) -> Connection:
        """Connects to an address that a stranger named: to one IP address, which was checked."""
        try:
            parts = urlsplit(address)
            host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                addresses = await self._names.addresses(host, port)
        except ValueError as error:  # of a port over 65535, or a name that cannot be asked for
            raise LinkError(f"{address} is no address ({error})") from error
        refused = refused_address(addresses, self._reach)
        if refused is not None:
            raise LinkError(
                f"{host} is {refused}, an address of a local network, where this task's peers do not connect"
            )
        return await _Dialling(address, proxy=None, host=addresses[0], port=port, **_OPTIONS)

    async def _shake_hands(self, connection: Connection, client: str) -> WebSocketLink:
        """Exchanges keys with the peer at the other end; this one sends first."""
        handshake = Handshake()
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                await self._send_key(connection, client, handshake)
                session, peer_key, _ = await self._receive_key(connection, client)
            if session != handshake.session:
                raise LinkError("It answered a different connection.")
            return self._link(connection, client, handshake, peer_key, True)
        except BaseException:
            connection.transport.abort()
            raise

    async def _accept(self, connection: ServerConnection) -> None:
        """Accepts a connection of another peer, which sends its key first."""
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS + INTRODUCTION_SECONDS), self._introductions:
                session, peer_key, client = await self._receive_key(connection, None)
                handshake = Handshake(session)
                await self._send_key(connection, client, handshake)
                link = self._link(connection, client, handshake, peer_key, False)
        except MingaError as error:
            await connection.close(4000, str(error)[:120])
            return
        except (TimeoutError, ConnectionClosed):
            connection.transport.abort()
            return
        await self._run(link)

    def _link(
        self, connection: Connection, client: str, handshake: Handshake, peer_key: SealKey, is_initiator: bool
    ) -> WebSocketLink:
        limit_send_buffer(connection.transport.get_extra_info("socket"))
        seals = handshake.seals(self._events.local.client, client, peer_key)
        return WebSocketLink(self._events, client, connection, seals, is_initiator)

    async def _send_key(self, connection: Connection, client: str, handshake: Handshake) -> None:
        note = self._events.sign_signal(client, handshake.session, handshake.signal)
        await connection.send(encode_mesh(Passed(client=self._events.local.client, data=note)))

    async def _receive_key(self, connection: Connection, expected: str | None) -> tuple[bytes, SealKey, str]:
        """Receives the session, key and id of the other peer: `expected`, or any known one if None."""
        data = await connection.recv(decode=False)
        answer = decode_peer(data)
        if not isinstance(answer, Passed):
            raise LinkError("It did not identify itself.")
        if expected not in (None, answer.client):
            raise LinkError("An unexpected peer answers at this address.")
        await self._wait_for_neighbour(answer.client)
        signal = self._events.check_signal(answer.client, answer.data)
        body = decode_body(signal)
        if not isinstance(body, SealKey):
            raise LinkError("It did not send a key.")
        return signal.session, body, answer.client

    async def _wait_for_neighbour(self, client: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(INTRODUCTION_SECONDS):
                while self._events.neighbour(client) is None:
                    await self._neighbours_changed.wait()

    def _run_in_background(self, link: WebSocketLink) -> None:
        task = asyncio.create_task(self._run(link))
        self._links.add(task)
        task.add_done_callback(self._links.discard)

    async def _run(self, link: WebSocketLink) -> None:
        link.beat()
        await link.run()
