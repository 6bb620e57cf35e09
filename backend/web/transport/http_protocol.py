"""Hardens uvicorn's HTTP connections against slow and hostile clients."""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from backend.errors import MingaError
from backend.web.transport.client_address import UNKNOWN, read_address
from backend.web.transport.connection_limiter import ConnectionLimiter, ConnectionSlot
from backend.web.transport.error_responses import refusal
from backend.web.transport.socket_receiver import ReceivingProtocol, SocketReceiver
from backend.web.transport.websocket_protocol import Sockets
from backend.web.transport.zero_copy import with_files

# A client over a limit receives the reason if its request arrives within this time.
REFUSED_SECONDS = 2
# The longest time for a PUT or PATCH body, however many bytes it has at the minimum speed.
MAX_BODY_SECONDS = 300


class Http(HttpToolsProtocol):
    """One HTTP connection, until it becomes a socket.

    A request with its body must arrive completely in time, even if its bytes keep dripping (slowloris), and
    the client must read the response in time. Owns its connection's ConnectionSlot until a socket owns it.
    """

    _slot: ConnectionSlot

    def __init__(self, *args: Any, limiter: ConnectionLimiter, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limiter = limiter
        self._limits = limiter.limits
        self._head_bytes: int | None = 0  # None once the head is complete.
        self._deadline: asyncio.TimerHandle | None = None
        self._write_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # As uvicorn has it.
        """Extends uvicorn's: registers the connection and starts the first request's deadline."""
        super().connection_made(transport)
        self._slot = self._limiter.enter((self.client and read_address(self.client[0])) or UNKNOWN)
        self._start_deadline()
        if self._slot.drop_silently:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Extends uvicorn's: ends the slot and the deadlines."""
        self._cancel_deadline()
        self._cancel_write_deadline()
        self._slot.end()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Extends uvicorn's: aborts unless the client reads the waiting bytes in time."""
        super().pause_writing()
        seconds = self._limits.seconds_for(self.transport.get_write_buffer_size())
        self._write_deadline = self.loop.call_later(seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Extends uvicorn's: cancels the deadline for reading."""
        self._cancel_write_deadline()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Extends uvicorn's: refuses heads that are too long."""
        super().data_received(data)
        if self._head_bytes is not None:
            self._head_bytes += len(data)
            if self._head_bytes > self._limits.max_head_bytes:
                maximum = self._limits.max_head_bytes
                self._refuse(431, f"The head of a request has at most {maximum} bytes here.")

    def on_message_begin(self) -> None:
        """Extends uvicorn's: starts the deadline of a later request at its first byte."""
        super().on_message_begin()
        self._head_bytes = 0
        self._start_deadline()

    def on_headers_complete(self) -> None:
        """Extends uvicorn's: counts the request for its visitor, and allows time for a long body."""
        self._head_bytes = None
        self._slot.set_headers(self.headers)
        super().on_headers_complete()
        if self.scope["method"] in ("PUT", "PATCH"):
            self._cancel_deadline()
            self._start_deadline(self._limits.seconds_for(_length(self.headers)))

    def on_message_complete(self) -> None:
        """Extends uvicorn's: there is no deadline until the next request."""
        self._cancel_deadline()
        super().on_message_complete()

    def _start_deadline(self, seconds: float | None = None) -> None:
        """Starts the deadline of a request, by default that of a request without a long body."""
        if self._deadline is None:
            limit = self._limits.request_seconds if seconds is None else min(seconds, MAX_BODY_SECONDS)
            timeout = REFUSED_SECONDS if self._slot.refusal else limit
            self._deadline = self.loop.call_later(timeout, self._deadline_passed, timeout)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cancel_write_deadline(self) -> None:
        if self._write_deadline is not None:
            self._write_deadline.cancel()
            self._write_deadline = None

    def _deadline_passed(self, seconds: float) -> None:
        self._deadline = None
        self._refuse(408, f"A request must arrive completely within {seconds:.0f} seconds.")

    def _refuse(self, status: int, message: str) -> None:
        """Sends an error, unless another response has begun, and closes."""
        self._cancel_deadline()
        if self.transport.is_closing():
            return
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            code = HTTPStatus(status).phrase.lower().replace(" ", "-")
            body = msgspec.json.encode({"error": {"code": code, "message": message}})
            head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close"
            self.transport.write(STATUS_LINE[status] + head.encode() + b"\r\n\r\n" + body)
        self.transport.close()

    def handle_websocket_upgrade(self) -> None:
        """Extends uvicorn's: puts a SocketReceiver before the socket."""
        self._cancel_deadline()
        self._cancel_write_deadline()
        socket: Any = partial(Sockets, slot=self._slot, refusal=self._slot.join())
        self.ws_protocol_class = socket
        super().handle_websocket_upgrade()
        socket = self.transport.get_protocol()
        if isinstance(socket, Sockets) and not (socket.closing or self.transport.is_closing()):
            receiver = SocketReceiver(socket, self.config.ws_max_size)
            # A transport chooses how it reads when it starts reading.
            self.transport.pause_reading()
            self.transport.set_protocol(ReceivingProtocol(receiver, socket))
            self.transport.resume_reading()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        error = self._slot.refusal
        endpoint: Any = (
            with_files(app, cycle, self._limits) if error is None else _refused(self.config.app, error)
        )
        super()._start_asgi_task(cycle, endpoint)


def _length(headers: list[tuple[bytes, bytes]]) -> int:
    """Returns the body's length in bytes by its head; 0 if that has none."""
    announced = dict(headers).get(b"content-length", b"")
    return int(announced) if announced.isdigit() and len(announced) < 16 else 0


def _refused(app: Any, error: MingaError) -> ASGIApp:
    """Returns an application that answers every request of `app` with `error`."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = app
        await refusal(Request(scope), error)(scope, receive, send)

    return answer
