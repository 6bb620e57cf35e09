"""Holds the successive connections of a peer to its task's server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Generic

from backend.peer.admission.work_proof import Prepare, prepare_nothing
from backend.peer.session.transport import NO_HEADERS, Inbound, Outbound, WireProtocol, converse


def _ignore(_: object) -> None:
    """Ignores a sent frame, for connections whose owner needs no notice of it."""


class ServerConnection(Generic[Outbound, Inbound]):
    """Owns the current socket to `address` and the outbox of frames to send.

    The server's credit bounds the outbox, so that sending never blocks. `prepare` runs before each
    connection.
    """

    def __init__(
        self,
        protocol: WireProtocol[Outbound, Inbound],
        address: str,
        headers: Mapping[str, str] = NO_HEADERS,
        prepare: Prepare = prepare_nothing,
    ) -> None:
        self._protocol, self._address, self._headers = protocol, address, headers
        self._prepare = prepare
        self._outbox: asyncio.Queue[Outbound | None] = asyncio.Queue()
        self.is_open = False

    async def run_once(
        self,
        on_open: Callable[[], None],
        on_frame: Callable[[Inbound], None],
        on_sent: Callable[[Outbound], None] = _ignore,
    ) -> str:
        """Holds one connection until it ends; returns the reason, as the end of a sentence.

        Frames queued for the previous connection are dropped. `on_sent` is called with each frame that the
        socket took.
        """
        self._outbox = asyncio.Queue()

        def mark_open() -> None:
            self.is_open = True
            on_open()

        try:
            if reason := await self._prepare():
                return reason
            return await converse(
                self._protocol, self._address, self._outbox, mark_open, on_frame, on_sent, self._headers
            )
        finally:
            self.is_open = False

    def send(self, frame: Outbound) -> None:
        """Queues a frame."""
        self._outbox.put_nowait(frame)

    def finish(self) -> None:
        """Closes the connection after all queued frames are sent."""
        self._outbox.put_nowait(None)
