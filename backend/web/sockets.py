"""A task's socket. Decodes, hands over to the task's host, encodes."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import structlog
from starlette.responses import JSONResponse
from starlette.websockets import WebSocket

from backend.errors import FrameError, IdleError, MingaError
from backend.services.host import TaskHost
from backend.web.links import EXTENSION, SocketLink
from backend.wire.codec import decode_client
from backend.wire.messages import PROTOCOL, Chunk, ClientFrame, Hello

log = structlog.stdlib.get_logger("minga.socket")


async def task_socket(websocket: WebSocket) -> None:
    """`WS /api/tasks/{name}/socket`."""
    objection = _objection(websocket)
    if objection is not None:
        error = {"code": "bad-handshake", "message": objection}
        await websocket.send_denial_response(JSONResponse({"error": error}, 403))
        return
    await websocket.accept(subprotocol=PROTOCOL)
    connection = websocket.scope["extensions"][EXTENSION]["connection"]
    link = SocketLink(connection, websocket.app.state.settings.limits.max_queued_bytes)
    try:
        await _converse(websocket, link)
    except MingaError as error:
        link.close(error)
    except Exception:
        # A shell: whatever one client's frames brought about ends this connection, not the server.
        log.exception("a connection failed", task=websocket.path_params["name"])
        link.close(MingaError("Something went wrong on the server. Connect again in a minute."))


async def _converse(websocket: WebSocket, link: SocketLink) -> None:
    host = websocket.app.state.services.host(websocket.path_params["name"])
    seconds = websocket.app.state.settings.limits.hello_seconds
    try:
        async with asyncio.timeout(seconds):
            hello = await _receive(websocket)
    except TimeoutError as error:
        raise IdleError(f"No hello came within {seconds} seconds.") from error
    if hello is None:
        return
    if not isinstance(hello, Hello):
        raise FrameError("The first frame must be hello.")
    client = await host.join(hello, link)
    link.take_by(lambda frame: _taken(host, client, link, frame))
    try:
        while not link.closing and (message := await _receive(websocket)) is not None:
            if isinstance(message, Hello):
                raise FrameError("Hello was said before.")
            await host.hear(client, link, message)
    finally:
        await host.leave(client, link)


def _taken(host: TaskHost, client: str, link: SocketLink, frame: memoryview) -> bool:
    """Whether a large frame was an update's next chunk, stored at once; others take their turn."""
    try:
        message = decode_client(frame)
    except FrameError:
        return False
    return isinstance(message, Chunk) and host.take(client, link, message)


async def _receive(websocket: WebSocket) -> ClientFrame | None:
    """The next message; None at the end of the connection. Raises FrameError."""
    event = await websocket.receive()
    if event["type"] == "websocket.disconnect":
        return None
    frame = event.get("bytes")
    if frame is None:
        raise FrameError("Frames of this protocol are binary; this one was text.")
    return decode_client(frame)


def _objection(websocket: WebSocket) -> str | None:
    """Why the handshake is refused; pages of other sites must not use a visitor's browser for theirs."""
    origin = websocket.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != websocket.headers.get("host"):
        return "Pages of other sites may not open this socket."
    if PROTOCOL not in websocket.scope["subprotocols"]:
        return f"Ask for the subprotocol {PROTOCOL}."
    return None
