"""Serves simulated connections as web/transport/task_socket.py serves real ones; its host can be killed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

from backend.errors import FrameError, MingaError
from backend.server.hosting.scheme import SchemeSocket
from backend.server.hosting.task_host import TaskHost
from backend.simulation.network import SimulatedConnection, SimulatedLine
from backend.web.transport.socket_receiver import LARGE_BYTES
from backend.wire.client_id import client_id
from backend.wire.messages import Chunk

Host = TypeVar("Host", bound=TaskHost)

# Called with a client's id and its frame before the host handles the frame.
Tap = Callable[[str, Any], None]


def ignore_frame(_client: str, _frame: Any) -> None:
    """Does nothing with a frame."""


class SimulatedEndpoint(Generic[Host]):
    """Owns the running host and the conversations with its clients. Implements network.ServerEndpoint.

    `socket` is that of the task's scheme.
    """

    def __init__(self, line: SimulatedLine, socket: SchemeSocket[Host], tap: Tap = ignore_frame) -> None:
        self._line = line
        self._socket = socket
        self._tap = tap
        self._host: Host | None = None
        self._running: asyncio.Task[None] | None = None
        self._conversations: dict[asyncio.Task[None], SimulatedConnection] = {}

    @property
    def line(self) -> SimulatedLine:
        """See ServerEndpoint."""
        return self._line

    @property
    def host(self) -> Host | None:
        """The running host; None while the server is down."""
        return self._host

    def open(self, host: Host) -> None:
        """Runs `host` and accepts connections to it."""
        self._host = host
        self._running = asyncio.create_task(host.run())

    async def kill(self) -> None:
        """Kills the host without an orderly shutdown. Connections break, and their callers notice."""
        self._host = None
        for conversation, connection in list(self._conversations.items()):
            conversation.cancel()
            connection.kill()
        self._conversations.clear()
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running
            self._running = None

    def enter(self, connection: SimulatedConnection) -> bool:
        """See ServerEndpoint."""
        if self._host is None:
            return False
        conversation = asyncio.create_task(self._converse(connection, self._host))
        self._conversations[conversation] = connection
        conversation.add_done_callback(lambda done: self._conversations.pop(done, None))
        return True

    async def _converse(self, connection: SimulatedConnection, host: Host) -> None:
        try:
            await self._listen(connection, host)
        except MingaError as error:
            connection.close(error)
        connection.end()

    async def _listen(self, connection: SimulatedConnection, host: Host) -> None:
        socket = self._socket
        opening = await self._receive(connection)
        if opening is None:
            return
        if not isinstance(opening, socket.opening):
            raise FrameError(f"The first frame must be {socket.word}.")
        self._tap(client_id(opening.token), opening)
        client = await socket.join(host, opening, connection)
        connection.take = partial(self._taken, host, client, connection)
        try:
            while not connection.closing and (message := await self._receive(connection)) is not None:
                if isinstance(message, socket.opening):
                    raise FrameError(f"{socket.word.capitalize()} was said before.")
                self._tap(client, message)
                await socket.hear(host, client, connection, message)
        finally:
            if self._host is host:
                await host.leave(client, connection)

    def _taken(self, host: Host, client: str, connection: SimulatedConnection, frame: bytes) -> bool:
        """Handles large chunks out of order, as web/transport/task_socket.py does with its Receiver."""
        take = self._socket.take
        if take is None or len(frame) < LARGE_BYTES or self._host is not host or connection.closing:
            return False
        try:
            message = self._socket.decode(frame)
        except FrameError:
            return False
        taken = isinstance(message, Chunk) and take(host, client, connection, message)
        if taken:
            self._tap(client, message)
        return taken

    async def _receive(self, connection: SimulatedConnection) -> Any:
        """Returns the next message; None at the end of the connection. Raises FrameError."""
        frame = await connection.frames.get()
        return None if frame is None else self._socket.decode(frame)
