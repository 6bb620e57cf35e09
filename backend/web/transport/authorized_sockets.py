"""Closes open sockets, with the reason, when their user loses the permission for them."""

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
from backend.web.auth.identity import require_again

log = structlog.stdlib.get_logger("minga.socket")

# Interval for noticing permissions that expire.
RECHECK_SECONDS = 60.0
TAKEN_BACK = (
    "Your access was revoked: an invitation, a role, a sign-in or a token. If that is a mistake, ask the "
    "task's owner."
)


@dataclass(frozen=True)
class _OpenSocket:
    socket: WebSocket
    action: TaskAction
    task: str
    close: Callable[[MingaError], None]


class AuthorizedSockets:
    """Tracks open sockets, and checks their permissions again."""

    def __init__(self) -> None:
        self._registered: set[_OpenSocket] = set()

    @contextmanager
    def registered(
        self, socket: WebSocket, action: TaskAction, task: str, close: Callable[[MingaError], None]
    ) -> Iterator[None]:
        """Within this context, calls `close` once the user of `socket` may no longer do `action`."""
        entry = _OpenSocket(socket, action, task, close)
        self._registered.add(entry)
        try:
            yield
        finally:
            self._registered.discard(entry)

    async def recheck(self) -> None:
        """Closes sockets whose permission was revoked. Raises StoreError."""
        for entry in list(self._registered):
            try:
                await require_again(entry.socket, entry.action, entry.task)
            except StoreError:
                raise
            except MingaError:
                log.info("a connection lost its authorization", task=entry.task, action=entry.action)
                entry.close(ClosedError(TAKEN_BACK))

    async def run(self) -> None:
        """Rechecks at intervals, for permissions that expire, until cancelled."""
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            try:
                await self.recheck()
            except StoreError as error:
                log.warning("connections were not checked", reason=str(error))


def connections_of(connection: HTTPConnection) -> AuthorizedSockets:
    """Returns the server's AuthorizedSockets."""
    sockets: AuthorizedSockets = connection.app.state.connections
    return sockets
