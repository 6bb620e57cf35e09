"""A peer's line to the server of its task: one connection after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Generic

from backend.peer.session.transport import NO_HEADERS, Heard, Language, Said, converse


def _unheeded(_: object) -> None:
    """Nobody has to know what the socket took."""


class ServerConnection(Generic[Said, Heard]):
    """Owns the socket at `address`, and what waits to be sent.

    That is bounded by the server's credit, so that sending never blocks.
    """

    def __init__(
        self, language: Language[Said, Heard], address: str, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        self._language, self._address, self._headers = language, address, headers
        self._outbox: asyncio.Queue[Said | None] = asyncio.Queue()
        self.is_open = False

    async def talk(
        self,
        opened: Callable[[], None],
        said: Callable[[Heard], None],
        sent: Callable[[Said], None] = _unheeded,
    ) -> str:
        """Holds one connection until it ends; why it ended, as the end of a sentence.

        What was queued for the one before is not sent any more. `sent` is told of each frame that the socket
        took.
        """
        self._outbox = asyncio.Queue()

        def is_open() -> None:
            self.is_open = True
            opened()

        try:
            return await converse(
                self._language, self._address, self._outbox, is_open, said, sent, self._headers
            )
        finally:
            self.is_open = False

    def send(self, frame: Said) -> None:
        """Queues a frame."""
        self._outbox.put_nowait(frame)

    def hang_up(self) -> None:
        """Ends the connection after all that was queued."""
        self._outbox.put_nowait(None)
