"""Runs one WebSocket connection to a task, until it ends for a reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.typing import Subprotocol

from backend.errors import FrameError
from backend.wire.codec import MAX_SERVER_FRAME, decode_server, encode
from backend.wire.mesh_codec import decode_to_peer, encode_mesh
from backend.wire.mesh_fields import MESH_PROTOCOL
from backend.wire.mesh_messages import PeerToServer, ServerToPeer
from backend.wire.messages import PROTOCOL, Chunk, ClientFrame, ServerFrame
from backend.wire.unit_messages import UNITS_PROTOCOL, ServerToUnits, UnitsToServer
from backend.wire.units_codec import decode_to_units

Outbound = TypeVar("Outbound")
Inbound = TypeVar("Inbound")

OPEN_SECONDS = 10.0
PING_SECONDS = 20.0
CLOSE_SECONDS = 2.0

# Most tasks are open to all clients.
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class WireProtocol(Generic[Outbound, Inbound]):
    """The subprotocol's name and the codec of a connection's frames."""

    name: str
    encode: Callable[[Outbound], bytes]
    decode: Callable[[bytes], Inbound]


ROUNDS: WireProtocol[ClientFrame, ServerFrame] = WireProtocol(PROTOCOL, encode, decode_server)
MESH: WireProtocol[PeerToServer, ServerToPeer] = WireProtocol(MESH_PROTOCOL, encode_mesh, decode_to_peer)
UNITS: WireProtocol[UnitsToServer, ServerToUnits] = WireProtocol(UNITS_PROTOCOL, encode, decode_to_units)


def chunks(content: memoryview, number: int, start: int, until: int, size: int) -> Iterator[Chunk]:
    """Yields bytes [start, until) of an update or a result in frames of at most `size` bytes.

    `number` is the round or the lease to which they belong.
    """
    for offset in range(start, until, size):
        yield Chunk(round=number, offset=offset, data=content[offset : min(offset + size, until)])


async def converse(
    protocol: WireProtocol[Outbound, Inbound],
    address: str,
    outbox: asyncio.Queue[Outbound | None],
    on_open: Callable[[], None],
    on_frame: Callable[[Inbound], None],
    on_sent: Callable[[Outbound], None],
    headers: Mapping[str, str],
) -> str:
    """Holds one connection until it ends; returns the reason, as the end of a sentence.

    None in the outbox closes the connection regularly after all frames before it. `on_sent` is called with
    each frame that the socket took. `headers` are sent with the handshake, for a task that needs an
    invitation.
    """
    try:
        async with connect(
            address,
            subprotocols=[Subprotocol(protocol.name)],
            additional_headers=headers,
            compression=None,
            max_size=MAX_SERVER_FRAME,
            open_timeout=OPEN_SECONDS,
            ping_interval=PING_SECONDS,
            ping_timeout=PING_SECONDS,
            close_timeout=CLOSE_SECONDS,
        ) as socket:
            on_open()
            sender = asyncio.create_task(_send_all(protocol, socket, outbox, on_sent))
            try:
                await _listen(protocol, socket, on_frame)
            finally:
                sender.cancel()
            return socket.close_reason or "the connection was closed"
    except TimeoutError:
        return "it does not answer"
    except (OSError, WebSocketException) as error:
        return str(error) or type(error).__name__
    except FrameError as error:
        return f"it sent a message outside this protocol: {error}"


async def _listen(
    protocol: WireProtocol[Outbound, Inbound], socket: ClientConnection, on_frame: Callable[[Inbound], None]
) -> None:
    async for data in socket:
        if isinstance(data, str):
            raise FrameError("Frames are binary, and this one is text.")
        on_frame(protocol.decode(data))


async def _send_all(
    protocol: WireProtocol[Outbound, Inbound],
    socket: ClientConnection,
    outbox: asyncio.Queue[Outbound | None],
    on_sent: Callable[[Outbound], None],
) -> None:
    try:
        while (frame := await outbox.get()) is not None:
            await socket.send(protocol.encode(frame))
            on_sent(frame)
        await socket.close()
    except ConnectionClosed:
        # The listener sees the same end and reports it.
        return
