"""uvicorn's HTTP connections, for visitors who wish us ill."""

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

# Whoever is over a limit is told if its request comes within so many seconds.
REFUSED_SECONDS = 2
# What is put here may take as long as its bytes at the least speed, but no longer.
LONGEST_SECONDS = 300


class Http(HttpToolsProtocol):
    """One connection that speaks HTTP until it becomes a socket.

    A request, its body included, must be here whole in time, however busily its bytes drip (slowloris), and
    what is answered must be read in time. Owns its connection's Visit until there is a socket to own it.
    """

    _visit: ConnectionSlot

    def __init__(self, *args: Any, doors: ConnectionLimiter, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._doors = doors
        self._limits = doors.limits
        self._head_bytes: int | None = 0  # None once the head is complete.
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # As uvicorn has it.
        """uvicorn's own; the first request is due from here on."""
        super().connection_made(transport)
        self._visit = self._doors.enter((self.client and read_address(self.client[0])) or UNKNOWN)
        self._expect()
        if self._visit.drop_silently:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """uvicorn's own."""
        self._relax()
        self._read()
        self._visit.end()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """uvicorn's own; what waits is to be read in time."""
        super().pause_writing()
        seconds = self._limits.seconds_for(self.transport.get_write_buffer_size())
        self._unread = self.loop.call_later(seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """uvicorn's own."""
        self._read()
        super().resume_writing()

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
        """uvicorn's own; from here on it is known for whom the request is."""
        self._head_bytes = None
        forwarded = [value.decode("latin-1") for name, value in self.headers if name == b"x-forwarded-for"]
        self._visit.speaks_for(forwarded)
        super().on_headers_complete()
        if self.scope["method"] in ("PUT", "PATCH"):
            self._relax()
            self._expect(self._limits.seconds_for(_length(self.headers)))

    def on_message_complete(self) -> None:
        """uvicorn's own; nothing is due until the next request."""
        self._relax()
        super().on_message_complete()

    def _expect(self, seconds: float | None = None) -> None:
        """A request is to be here whole in so many seconds, by default in those of a short one."""
        if self._deadline is None:
            usual = self._limits.request_seconds if seconds is None else min(seconds, LONGEST_SECONDS)
            due = REFUSED_SECONDS if self._visit.refusal else usual
            self._deadline = self.loop.call_later(due, self._be_late, due)

    def _relax(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _be_late(self, seconds: float) -> None:
        self._deadline = None
        self._refuse(408, f"A request must be here whole within {seconds:.0f} seconds.")

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
        self._read()
        socket: Any = partial(Sockets, visit=self._visit, refusal=self._visit.join())
        self.ws_protocol_class = socket
        super().handle_websocket_upgrade()
        socket = self.transport.get_protocol()
        if isinstance(socket, Sockets) and not (socket.closing or self.transport.is_closing()):
            receiver = SocketReceiver(socket, self.config.ws_max_size)
            # How a transport reads is settled when it begins to.
            self.transport.pause_reading()
            self.transport.set_protocol(ReceivingProtocol(receiver, socket))
            self.transport.resume_reading()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        error = self._visit.refusal
        served: Any = (
            with_files(app, cycle, self._limits) if error is None else _refused(self.config.app, error)
        )
        super()._start_asgi_task(cycle, served)


def _length(headers: list[tuple[bytes, bytes]]) -> int:
    """Bytes of the body that a head announces; 0 where it does not say."""
    said = dict(headers).get(b"content-length", b"")
    return int(said) if said.isdigit() and len(said) < 16 else 0


def _refused(app: Any, error: MingaError) -> ASGIApp:
    """Answers whatever is asked of `app` with `error`."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = app
        await refusal(Request(scope), error)(scope, receive, send)

    return answer
