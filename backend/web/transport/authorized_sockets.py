"""Sockets that stand on a right: whoever loses it loses them, and is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog
from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket

from backend.errors import ClosedError, MingaError, StoreError
from backend.server.accounts.permissions import TaskAction
from backend.web.auth.identity import require_anew

log = structlog.stdlib.get_logger("minga.socket")

# What only expires is found out so often.
LOOK_SECONDS = 60.0
TAKEN_BACK = (
    "What let you in here was taken back: an invitation, a role, a sign-in or a token. Ask whoever runs the "
    "task if that is a mistake."
)


@dataclass(frozen=True)
class _OpenSocket:
    socket: WebSocket
    action: TaskAction
    task: str
    close: Callable[[MingaError], None]


class AuthorizedSockets:
    """Knows every socket that stands, and asks again whether it may."""

    def __init__(self) -> None:
        self._standing: set[_OpenSocket] = set()

    @contextmanager
    def standing(
        self, socket: WebSocket, action: TaskAction, task: str, close: Callable[[MingaError], None]
    ) -> Iterator[None]:
        """While within, `socket` is closed by `close` once who opened it may not do `action` any more."""
        one = _OpenSocket(socket, action, task, close)
        self._standing.add(one)
        try:
            yield
        finally:
            self._standing.discard(one)

    async def look(self) -> None:
        """A right was taken back: closes what rested on it. Raises StoreError."""
        for one in list(self._standing):
            try:
                await require_anew(one.socket, one.action, one.task)
            except StoreError:
                raise
            except MingaError:
                log.info("a connection lost its right", task=one.task, action=one.action)
                one.close(ClosedError(TAKEN_BACK))

    async def run(self) -> None:
        """Looks now and then, for what expires, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
            except StoreError as error:
                log.warning("connections were not looked at", reason=str(error))


def connections_of(connection: HTTPConnection) -> AuthorizedSockets:
    """The server's."""
    found: AuthorizedSockets = connection.app.state.connections
    return found
