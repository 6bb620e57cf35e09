"""A task's socket. Decodes, hands over to the task's host, encodes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

import structlog
from starlette.responses import JSONResponse
from starlette.websockets import WebSocket

from backend.errors import FrameError, IdleError, MingaError, NotFoundError
from backend.server.mesh.host import MeshHost
from backend.server.rounds.host import RoundsHost
from backend.server.units.host import UnitsHost
from backend.web.auth.identity import require
from backend.web.transport.authorized_sockets import connections_of
from backend.web.transport.socket_writer import EXTENSION, SocketLink
from backend.wire.codec import decode_client
from backend.wire.mesh_codec import decode_to_server
from backend.wire.mesh_fields import MESH_PROTOCOL
from backend.wire.mesh_messages import Enter
from backend.wire.messages import PROTOCOL, Chunk, Hello
from backend.wire.unit_messages import UNITS_PROTOCOL, Enlist
from backend.wire.units_codec import decode_units

log = structlog.stdlib.get_logger("minga.socket")

Message = TypeVar("Message")


async def task_socket(websocket: WebSocket) -> None:
    """`WS /api/tasks/{name}/socket`."""
    protocol = _chosen(websocket)
    objection = _objection(websocket, protocol)
    if objection is not None:
        error = {"code": "bad-handshake", "message": objection}
        await websocket.send_denial_response(JSONResponse({"error": error}, 403))
        return
    await websocket.accept(subprotocol=protocol)
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
    name = websocket.path_params["name"]
    await require(websocket, "join", name)
    host = websocket.app.state.tasks.host(name)
    with connections_of(websocket).standing(websocket, "join", name, link.close):
        if isinstance(host, MeshHost):
            await _converse_of_mesh(websocket, host, link)
        elif isinstance(host, UnitsHost):
            await _converse_of_units(websocket, host, link)
        else:
            await _converse_of_rounds(websocket, host, link)


async def _converse_of_rounds(websocket: WebSocket, host: RoundsHost, link: SocketLink) -> None:
    hello = await _first(websocket, "hello", decode_client)
    if hello is None:
        return
    if not isinstance(hello, Hello):
        raise FrameError("The first frame must be hello.")
    client = await host.join(hello, link)
    link.take_by(lambda frame: _taken(host, client, link, frame))
    try:
        while not link.closing and (message := await _receive(websocket, decode_client)) is not None:
            if isinstance(message, Hello):
                raise FrameError("Hello was said before.")
            await host.hear(client, link, message)
    finally:
        await host.leave(client, link)


async def _converse_of_mesh(websocket: WebSocket, host: MeshHost, link: SocketLink) -> None:
    enter = await _first(websocket, "enter", decode_to_server)
    if enter is None:
        return
    if not isinstance(enter, Enter):
        raise FrameError("The first frame must be enter.")
    client = await host.enter(enter, link)
    try:
        while not link.closing and (message := await _receive(websocket, decode_to_server)) is not None:
            if isinstance(message, Enter):
                raise FrameError("Enter was said before.")
            await host.hear(client, link, message)
    finally:
        await host.leave(client, link)


async def _converse_of_units(websocket: WebSocket, host: UnitsHost, link: SocketLink) -> None:
    enlist = await _first(websocket, "enlist", decode_units)
    if enlist is None:
        return
    if not isinstance(enlist, Enlist):
        raise FrameError("The first frame must be enlist.")
    client = await host.enlist(enlist, link)
    link.take_by(lambda frame: _taken_of_units(host, client, link, frame))
    try:
        while not link.closing and (message := await _receive(websocket, decode_units)) is not None:
            if isinstance(message, Enlist):
                raise FrameError("Enlist was said before.")
            await host.hear(client, link, message)
    finally:
        await host.leave(client, link)


def _taken_of_units(host: UnitsHost, client: str, link: SocketLink, frame: memoryview) -> bool:
    """As `_taken`, of a result of a work unit."""
    try:
        message = decode_units(frame)
    except FrameError:
        return False
    return isinstance(message, Chunk) and host.take(client, link, message)


def _taken(host: RoundsHost, client: str, link: SocketLink, frame: memoryview) -> bool:
    """Whether a large frame was an update's next chunk, stored at once; others take their turn."""
    try:
        message = decode_client(frame)
    except FrameError:
        return False
    return isinstance(message, Chunk) and host.take(client, link, message)


async def _first(
    websocket: WebSocket, word: str, decode: Callable[[bytes | memoryview], Message]
) -> Message | None:
    """The first message, which is to be the one called `word`; None at the end of the connection."""
    seconds = websocket.app.state.settings.limits.hello_seconds
    try:
        async with asyncio.timeout(seconds):
            return await _receive(websocket, decode)
    except TimeoutError as error:
        raise IdleError(f"No {word} came within {seconds} seconds.") from error


async def _receive(websocket: WebSocket, decode: Callable[[bytes | memoryview], Message]) -> Message | None:
    """The next message; None at the end of the connection. Raises FrameError."""
    event = await websocket.receive()
    if event["type"] == "websocket.disconnect":
        return None
    frame = event.get("bytes")
    if frame is None:
        raise FrameError("Frames of this protocol are binary; this one was text.")
    return decode(frame)


def _chosen(websocket: WebSocket) -> str:
    """The protocol of the task; where there is none, any, so that the last frame can say so."""
    try:
        host = websocket.app.state.tasks.host(websocket.path_params["name"])
    except NotFoundError:
        asked = websocket.scope["subprotocols"]
        return next((one for one in (MESH_PROTOCOL, UNITS_PROTOCOL) if one in asked), PROTOCOL)
    if isinstance(host, UnitsHost):
        return UNITS_PROTOCOL
    return MESH_PROTOCOL if isinstance(host, MeshHost) else PROTOCOL


def foreign(websocket: WebSocket) -> str | None:
    """Why a handshake of another site's page is refused: it must not use a visitor's browser for its own."""
    origin = websocket.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != websocket.headers.get("host"):
        return "Pages of other sites may not open this socket."
    return None


def _objection(websocket: WebSocket, protocol: str) -> str | None:
    """Why the handshake is refused."""
    if (objection := foreign(websocket)) is not None:
        return objection
    if protocol not in websocket.scope["subprotocols"]:
        return f"Ask for the subprotocol {protocol}."
    return None
