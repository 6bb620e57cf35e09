"""One WebSocket connection to a task, from the first byte to the reason of its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.typing import Subprotocol

from backend.errors import FrameError
from backend.wire.codec import MAX_SERVER_FRAME, decode_server, encode
from backend.wire.messages import PROTOCOL, ClientFrame, ServerFrame

OPEN_SECONDS = 10.0
PING_SECONDS = 20.0
CLOSE_SECONDS = 2.0

# None asks for a regular end after all that stands before it.
Outbox = asyncio.Queue[ClientFrame | None]


async def talk(
    address: str, outbox: Outbox, opened: Callable[[], None], said: Callable[[ServerFrame], None]
) -> str:
    """Holds the connection until it ends, and returns why, as the end of a sentence.

    The outbox is bounded by the server's credit, so that sending never blocks its filler.
    """
    try:
        async with connect(
            address,
            subprotocols=[Subprotocol(PROTOCOL)],
            compression=None,
            max_size=MAX_SERVER_FRAME,
            open_timeout=OPEN_SECONDS,
            ping_interval=PING_SECONDS,
            ping_timeout=PING_SECONDS,
            close_timeout=CLOSE_SECONDS,
        ) as socket:
            opened()
            sender = asyncio.create_task(_send_all(socket, outbox))
            try:
                await _listen(socket, said)
            finally:
                sender.cancel()
            return socket.close_reason or "the connection was closed"
    except TimeoutError:
        return "it does not answer"
    except (OSError, WebSocketException) as error:
        return str(error) or type(error).__name__
    except FrameError as error:
        return f"it said something that is not of this protocol: {error}"


async def _listen(socket: ClientConnection, said: Callable[[ServerFrame], None]) -> None:
    async for data in socket:
        if isinstance(data, str):
            raise FrameError("Frames are binary, and this one is text.")
        said(decode_server(data))


async def _send_all(socket: ClientConnection, outbox: Outbox) -> None:
    try:
        while (frame := await outbox.get()) is not None:
            await socket.send(encode(frame))
        await socket.close()
    except ConnectionClosed:
        # The listener sees the same end and reports it.
        return
