"""The outgoing side of one socket: a bounded queue and its writer."""

from __future__ import annotations

import asyncio
from collections import deque

from starlette.websockets import WebSocket, WebSocketDisconnect

from backend.errors import MingaError, TooSlowError
from backend.settings import Limits
from backend.wire.codec import encode
from backend.wire.messages import Closing

# A WebSocket close reason has at most 123 bytes.
MAX_REASON = 123


def last_frame(error: MingaError) -> bytes:
    """What a connection that ends is told."""
    return encode(Closing(code=error.code, reason=str(error)[:500]))


def close_reason(error: MingaError) -> str:
    """The same within a close frame, as much of it as has room there."""
    return str(error).encode()[:MAX_REASON].decode(errors="ignore")


class SocketLink:
    """Owns what is queued for one socket. Implements services.links.Link."""

    def __init__(self, websocket: WebSocket, limits: Limits) -> None:
        self._websocket = websocket
        self._limits = limits
        self._frames: deque[bytes] = deque()
        self._bytes = 0
        self._news = asyncio.Event()
        self._error: MingaError | None = None

    @property
    def closing(self) -> bool:
        """Whether a goodbye is queued: nothing more is to be heard."""
        return self._error is not None

    def send(self, frame: bytes) -> None:
        """See Link."""
        if self._error is not None:
            return
        if self._bytes + len(frame) > self._limits.max_queued_bytes:
            self._frames.clear()
            self.close(
                TooSlowError("You read too slowly for this task. Connect again with a better connection.")
            )
            return
        self._frames.append(frame)
        self._bytes += len(frame)
        self._news.set()

    def close(self, error: MingaError) -> None:
        """See Link."""
        if self._error is None:
            self._error = error
            self._frames.append(last_frame(error))
            self._news.set()

    async def write(self) -> None:
        """Sends what is queued until `close`, or until the other side is gone or takes nothing any more."""
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                while self._frames:
                    frame = self._frames.popleft()
                    self._bytes = max(0, self._bytes - len(frame))
                    async with asyncio.timeout(self._limits.stall_seconds):
                        await self._websocket.send_bytes(frame)
                if self._error is not None:
                    await self._websocket.close(self._error.close_code, close_reason(self._error))
                    return
        except (WebSocketDisconnect, TimeoutError):
            return
