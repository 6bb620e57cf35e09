"""Serves a task's socket: decodes frames, passes them to the task's host, and encodes its answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import structlog
from starlette.responses import JSONResponse
from starlette.websockets import WebSocket

from backend.errors import FrameError, IdleError, MingaError, NotFoundError
from backend.server.hosting.scheme import SchemeSocket
from backend.server.hosting.task_host import TaskHost
from backend.server.schemes import SCHEMES, scheme_of
from backend.web.auth.identity import identity_text, require
from backend.web.transport.authorized_sockets import connections_of
from backend.web.transport.socket_writer import EXTENSION, SocketLink
from backend.wire.client_id import client_id
from backend.wire.messages import Chunk

log = structlog.stdlib.get_logger("minga.socket")

Decode = Callable[[bytes | memoryview], Any]
TakeChunk = Callable[[Any, str, SocketLink, Chunk], bool]


async def task_socket(websocket: WebSocket) -> None:
    """`WS /api/tasks/{name}/socket`."""
    protocol = _subprotocol(websocket)
    objection = _objection(websocket, protocol)
    if objection is not None:
        error = {"code": "bad-handshake", "message": objection}
        await websocket.send_denial_response(JSONResponse({"error": error}, 403))
        return
    await websocket.accept(subprotocol=protocol)
    connection = websocket.scope["extensions"][EXTENSION]["connection"]
    link = SocketLink(connection, websocket.app.state.settings.limits.max_queued_bytes)
    try:
        await _authorize(websocket, link)
    except MingaError as error:
        link.close(error)
    except Exception:
        # A shell: an error that one client's frames cause ends this connection, not the server.
        log.exception("a connection failed", task=websocket.path_params["name"])
        link.close(MingaError("Something went wrong on the server. Connect again in a minute."))


async def _authorize(websocket: WebSocket, link: SocketLink) -> None:
    name = websocket.path_params["name"]
    link.identity = identity_text(websocket, await require(websocket, "join", name), name)
    host = websocket.app.state.tasks.host(name)
    with connections_of(websocket).registered(websocket, "join", name, link.close):
        await _run_session(websocket, host, scheme_of(host.task.file).socket, link)


async def _run_session(
    websocket: WebSocket, host: TaskHost, socket: SchemeSocket[Any], link: SocketLink
) -> None:
    opening = await _first_message(websocket, socket)
    if opening is None:
        return
    if not isinstance(opening, socket.opening):
        raise FrameError(f"The first frame must be {socket.word}.")
    link.volunteer = websocket.app.state.devices.volunteer_of(client_id(opening.token))
    client = await socket.join(host, opening, link)
    if socket.take is not None:
        link.set_large_handler(partial(_take_chunk, host, socket.decode, socket.take, client, link))
    try:
        while not link.closing and (message := await _receive(websocket, socket.decode)) is not None:
            if isinstance(message, socket.opening):
                raise FrameError(f"{socket.word.capitalize()} was said before.")
            await socket.hear(host, client, link, message)
    finally:
        await host.leave(client, link)


def _take_chunk(
    host: TaskHost, decode: Decode, take: TakeChunk, client: str, link: SocketLink, frame: memoryview
) -> bool:
    """Stores an update's next chunk immediately. Returns False for other frames, which are queued."""
    try:
        message = decode(frame)
    except FrameError:
        return False
    return isinstance(message, Chunk) and take(host, client, link, message)


async def _first_message(websocket: WebSocket, socket: SchemeSocket[Any]) -> Any:
    """Returns the first message, which must be the scheme's opening; None at the end of the connection."""
    seconds = websocket.app.state.settings.limits.hello_seconds
    try:
        async with asyncio.timeout(seconds):
            return await _receive(websocket, socket.decode)
    except TimeoutError as error:
        raise IdleError(f"No {socket.word} came within {seconds} seconds.") from error


async def _receive(websocket: WebSocket, decode: Decode) -> Any:
    """Returns the next message; None at the end of the connection. Raises FrameError."""
    event = await websocket.receive()
    if event["type"] == "websocket.disconnect":
        return None
    frame = event.get("bytes")
    if frame is None:
        raise FrameError("Frames of this protocol are binary; this one was text.")
    return decode(frame)


def _subprotocol(websocket: WebSocket) -> str:
    """Returns the task's subprotocol; for an unknown task any, so that a last frame can give the reason."""
    try:
        host = websocket.app.state.tasks.host(websocket.path_params["name"])
    except NotFoundError:
        offered = websocket.scope["subprotocols"]
        default, *others = (scheme.socket.protocol for scheme in SCHEMES.values())
        return next((protocol for protocol in others if protocol in offered), default)
    return scheme_of(host.task.file).socket.protocol


def foreign(websocket: WebSocket) -> str | None:
    """Returns why a handshake is refused if another site's page sent it from a visitor's browser."""
    origin = websocket.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != websocket.headers.get("host"):
        return "Pages of other sites may not open this socket."
    return None


def _objection(websocket: WebSocket, protocol: str) -> str | None:
    """Returns why the handshake is refused; None if it is accepted."""
    if (objection := foreign(websocket)) is not None:
        return objection
    if protocol not in websocket.scope["subprotocols"]:
        return f"Ask for the subprotocol {protocol}."
    return None
