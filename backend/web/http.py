"""uvicorn's connections, for clients that send models or wish us ill."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.protocol import State

from backend.settings import Limits
from backend.web.files import with_files
from backend.web.receiver import Receiver, ReceivingProtocol

MAX_FRAGMENTS = 64
# Messages of one connection that wait for the application before no more is read.
MAX_WAITING = 4
LINGER_SECONDS = 5.0


class Sockets(WebSocketsSansIOProtocol):
    """A WebSocket.

    A message has few fragments (putting thousands together costs far more than their bytes), and a connection
    that was closed is gone soon, read or not. Large messages come through a Receiver.
    """

    @property
    def between_messages(self) -> bool:
        """See Parser."""
        return self.conn.state is State.OPEN and self.conn.current_size is None

    def message_received(self, message: memoryview) -> None:
        """See Parser."""
        event: Any = {"type": "websocket.receive", "bytes": message}
        self.queue.put_nowait(event)
        if not self.read_paused and self.queue.qsize() >= MAX_WAITING:
            self.read_paused = True
            self.transport.pause_reading()

    async def run_asgi(self) -> None:
        """Runs the application for this connection, then gives its last bytes a little time."""
        await super().run_asgi()
        self.loop.call_later(LINGER_SECONDS, self._abort)

    def handle_cont(self, event: Frame) -> None:
        """Takes one more fragment, or closes with 1009."""
        if self.close_sent:
            return
        if len(self.frames) >= MAX_FRAGMENTS:
            self.conn.fail(1009, "too many fragments")
            self.handle_parser_exception()
            return
        super().handle_cont(event)

    def _abort(self) -> None:
        if not self.disconnected:
            self.transport.abort()


class Http(HttpToolsProtocol):
    """One connection that speaks HTTP until it becomes a socket.

    A request, its body included, must be here whole in time, however busily its bytes drip (slowloris).
    """

    def __init__(self, *args: Any, limits: Limits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._head_bytes: int | None = 0  # None once the head is complete.
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """uvicorn's own; the first request is due from here on."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """uvicorn's own."""
        self._relax()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """uvicorn's own, for heads that are not too long."""
        super().data_received(data)
        if self._head_bytes is not None:
            self._head_bytes += len(data)
            if self._head_bytes > self._limits.max_head_bytes:
                most = self._limits.max_head_bytes
                self._refuse(431, f"The head of a request has at most {most} bytes here.")

    def on_message_begin(self) -> None:
        """uvicorn's own; a request that follows another is due from its first byte on."""
        super().on_message_begin()
        self._head_bytes = 0
        self._expect()

    def on_headers_complete(self) -> None:
        """uvicorn's own."""
        self._head_bytes = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """uvicorn's own; nothing is due until the next request."""
        self._relax()
        super().on_message_complete()

    def _expect(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self._limits.request_seconds, self._be_late)

    def _relax(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _be_late(self) -> None:
        self._deadline = None
        seconds = self._limits.request_seconds
        self._refuse(408, f"A request must be here whole within {seconds} seconds.")

    def _refuse(self, status: int, message: str) -> None:
        """Says so, if no other answer is under way, and closes."""
        self._relax()
        if self.transport.is_closing():
            return
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            code = HTTPStatus(status).phrase.lower().replace(" ", "-")
            body = msgspec.json.encode({"error": {"code": code, "message": message}})
            head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close"
            self.transport.write(STATUS_LINE[status] + head.encode() + b"\r\n\r\n" + body)
        self.transport.close()

    def handle_websocket_upgrade(self) -> None:
        """uvicorn's own, then a Receiver is put before the socket."""
        self._relax()
        super().handle_websocket_upgrade()
        socket = self.transport.get_protocol()
        if isinstance(socket, Sockets) and not self.transport.is_closing():
            receiver = Receiver(socket, self.config.ws_max_size)
            # How a transport reads is settled when it begins to.
            self.transport.pause_reading()
            self.transport.set_protocol(ReceivingProtocol(receiver, socket))
            self.transport.resume_reading()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        served: Any = with_files(app, cycle)
        super()._start_asgi_task(cycle, served)
