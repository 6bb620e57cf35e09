"""Hardens uvicorn's WebSockets for clients that send models, and against hostile ones."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.datastructures import Headers
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.typing import Subprotocol

from backend.errors import FrameError, IdleError, MingaError, TooFastError, TooLongError, TooSlowError
from backend.protocols.token_bucket import NEVER
from backend.server.schemes import SCHEMES
from backend.web.transport.connection_limiter import ConnectionSlot
from backend.web.transport.socket_writer import EXTENSION, LargeMessageHandler, close_reason, last_frame

MAX_FRAGMENTS = 64
# Reading pauses when this many messages of a connection wait for the application.
MAX_WAITING = 4
LINGER_SECONDS = 5.0
# The frame rate limits only shorter messages: chunks are longer, and bounded by their credit.
SHORT_BYTES = 64 << 10


class Sockets(WebSocketsSansIOProtocol):
    """A WebSocket. Large messages arrive through a SocketReceiver.

    A message must have few fragments (joining thousands costs far more than their bytes) and arrive
    completely in time, and messages must not come too often. A client that breaks a limit gets the reason in
    a last frame; then nothing more is read (`closing`), and the connection ends soon, whether the client
    reads the reason or not. Owns its connection's ConnectionSlot.
    """

    def __init__(self, *args: Any, slot: ConnectionSlot, refusal: MingaError | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.closing = False
        self._slot = slot
        self._refusal = refusal
        # When the buckets of ConnectionLimiter.frames and .pings will be full again.
        self._frames_full = self._pings_full = NEVER
        self._last_received = 0.0
        # When the message that is partly received began, and the timer of its deadline.
        self._message_started: float | None = None
        self._message_timer: asyncio.TimerHandle | None = None
        self._write_deadline: asyncio.TimerHandle | None = None
        self._large_handler: LargeMessageHandler | None = None
        # Bytes that were pushed in this iteration of the event loop; they are written together.
        self._pushed_bytes = 0

    # Sending, for SocketLink.

    @property
    def address(self) -> str:
        """See SocketWriter."""
        return self._slot.address

    @property
    def is_unnamed_proxy(self) -> bool:
        """See SocketWriter."""
        return self._slot.is_unnamed_proxy

    @property
    def backlog(self) -> int:
        """See SocketWriter."""
        return 0 if self.disconnected else self.transport.get_write_buffer_size() + self._pushed_bytes

    def push(self, frame: bytes) -> None:
        """See SocketWriter."""
        if not self.disconnected and self.conn.state is State.OPEN:
            self.conn.send_binary(frame)
            if not self._pushed_bytes:
                self.loop.call_soon(self._flush)
            self._pushed_bytes += len(frame)

    def _flush(self) -> None:
        self._pushed_bytes = 0
        waiting = b"".join(self.conn.data_to_send())
        if waiting and not self.transport.is_closing():
            self.transport.write(waiting)

    def set_large_handler(self, handler: LargeMessageHandler) -> None:
        """See SocketWriter."""
        self._large_handler = handler

    # Receiving.

    @property
    def between_messages(self) -> bool:
        """See Parser."""
        return self.conn.state is State.OPEN and self.conn.current_size is None

    def data_received(self, data: bytes) -> None:
        """Extends uvicorn's: reads nothing while closing."""
        if not self.closing:
            super().data_received(data)

    def message_received(self, message: memoryview) -> None:
        """See Parser."""
        self._message_started = None
        if len(message) < SHORT_BYTES and not self._within_frame_rate():
            return
        if self._large_handler is not None and self.queue.empty() and self._large_handler(message):
            return
        event: Any = {"type": "websocket.receive", "bytes": message}
        self.queue.put_nowait(event)
        if not self.read_paused and self.queue.qsize() >= MAX_WAITING:
            self.read_paused = True
            self.transport.pause_reading()

    def bytes_received(self, incomplete: bool) -> None:
        """See Watching."""
        self._last_received = self.loop.time()
        if not incomplete:
            self._message_started = None
        elif self._message_started is None:
            self._message_started = self._last_received
            if self._message_timer is None:
                self._message_timer = self.loop.call_later(
                    self._message_seconds, self._check_message_deadline
                )

    def handle_events(self) -> None:
        """Replaces uvicorn's: handles frames while they are within the limits."""
        for event in self.conn.events_received():
            if self.closing:
                return
            if isinstance(event, Request):
                self.handle_connect(event)
            elif isinstance(event, Frame):
                self._handle_frame(event)

    def handle_connect(self, event: Request) -> None:
        """Extends uvicorn's: accepts a refused connection only to send the reason, which pages can read."""
        if self._refusal is None:
            super().handle_connect(event)
            return
        response = self.conn.accept(event)
        if response.status_code == 101 and (protocol := _protocol_of(event.headers)) is not None:
            response.headers["Sec-WebSocket-Protocol"] = protocol
        self.conn.send_response(response)
        self.handshake_complete = True
        self.refuse(self._refusal)

    def handle_parser_exception(self) -> None:
        """Sends the reason in a last frame too, before websockets' close frame."""
        close = self.conn.close_sent
        if self.closing or close is None:
            return
        error = TooLongError if close.code == TooLongError.close_code else FrameError
        frame = Frame(Opcode.BINARY, last_frame(error(f"The connection cannot continue: {close.reason}.")))
        self._end(frame.serialize(mask=False), close.code, close.reason)

    def _handle_frame(self, frame: Frame) -> None:
        match frame.opcode:
            case Opcode.CLOSE:
                self.handle_close(frame)
            case Opcode.PING if self._within_ping_rate():
                self.handle_ping()
            case Opcode.PONG if self._within_ping_rate():
                self.handle_pong(frame)
            case Opcode.BINARY if self._within_frame_rate():
                if frame.fin and not frame.data:
                    # A page asks whether the server is still there: scripts see no pings.
                    self.push(b"")
                else:
                    self.handle_bytes(frame)
            case Opcode.TEXT if self._within_frame_rate():
                self.handle_text(frame)
            case Opcode.CONT if self._within_frame_rate():
                self.handle_cont(frame)

    def handle_cont(self, event: Frame) -> None:
        """Takes one more fragment, or closes if there are too many."""
        if len(self.frames) < MAX_FRAGMENTS:
            super().handle_cont(event)
        else:
            self.refuse(TooLongError(f"A message comes in at most {MAX_FRAGMENTS} fragments here."))

    def send_receive_event_to_app(self) -> None:
        """Extends uvicorn's: a message is complete."""
        self._message_started = None
        super().send_receive_event_to_app()

    # Limits.

    def _within_frame_rate(self) -> bool:
        next_full = self._slot.limiter.frames.spend(self._frames_full, self.loop.time())
        if next_full is None:
            maximum = self._slot.limiter.limits.frames_per_second
            self.refuse(TooFastError(f"Messages come too fast; {maximum} a second are the most here."))
            return False
        self._frames_full = next_full
        return True

    def _within_ping_rate(self) -> bool:
        next_full = self._slot.limiter.pings.spend(self._pings_full, self.loop.time())
        if next_full is None:
            maximum = self._slot.limiter.limits.pings_per_second
            self.refuse(TooFastError(f"Pings and pongs come too fast; {maximum} a second are the most here."))
            return False
        self._pings_full = next_full
        return True

    @property
    def _message_seconds(self) -> float:
        return self._slot.limiter.limits.seconds_for(self.config.ws_max_size)

    def _check_message_deadline(self) -> None:
        """Ends the connection when the message that is partly received has taken too long."""
        self._message_timer = None
        if self._message_started is None:
            return
        now = self.loop.time()
        if self.read_paused:
            self._message_started = now  # The delay is the server's, which does not read.
        remaining = self._message_started + self._message_seconds - now
        if remaining > 0:
            self._message_timer = self.loop.call_later(remaining, self._check_message_deadline)
            return
        self.refuse(
            TooSlowError(
                f"A message must arrive completely within {self._message_seconds:.0f} seconds. "
                "Connect again with a better connection."
            )
        )

    def keepalive_timeout(self) -> None:
        """Ends the connection of a client that is gone; one that sent other bytes may answer later."""
        self.pong_timer = None
        self.pending_ping_payload = None
        if self.read_paused or self._last_received >= self.ping_sent_at:
            self.schedule_ping()
            return
        seconds = self._slot.limiter.limits.idle_seconds
        self.refuse(IdleError(f"Nothing arrived from you for {seconds} seconds. Connect again."))

    def pause_writing(self) -> None:
        """Extends uvicorn's: aborts unless the client reads the waiting bytes, pongs included, in time."""
        super().pause_writing()
        seconds = self._slot.limiter.limits.seconds_for(self.transport.get_write_buffer_size())
        self._write_deadline = self.loop.call_later(seconds, self._abort)

    def resume_writing(self) -> None:
        """Extends uvicorn's: cancels the deadline for reading."""
        self._cancel_write_deadline()
        super().resume_writing()

    def _cancel_write_deadline(self) -> None:
        if self._write_deadline is not None:
            self._write_deadline.cancel()
            self._write_deadline = None

    # Closing.

    def refuse(self, error: MingaError) -> None:
        """Sends the reason, reads no more, and ends the connection."""
        if self.close_sent or self.conn.state is not State.OPEN:
            self._end(b"", error.close_code, "")
            return
        self.conn.send_binary(last_frame(error))
        self.conn.send_close(error.close_code, close_reason(error))
        self._end(b"", error.close_code, close_reason(error))

    def _end(self, data: bytes, code: int, reason: str) -> None:
        """Sends `data` and the parser's bytes, and waits LINGER_SECONDS for the client to close first.

        If bytes of the client were still in transit, closing immediately would make the system reset the
        connection, and a reset may overtake the last frame.
        """
        if self.closing or self.transport.is_closing():
            return
        self.closing = self.close_sent = True
        self.stop_keepalive()
        self.transport.write(data + b"".join(self.conn.data_to_send()))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        # While `close_timer` is set, uvicorn leaves the connection open when the application is done.
        self.close_timer = self.loop.call_later(LINGER_SECONDS, self._abort)

    async def send(self, message: Any) -> None:
        """Extends uvicorn's: sends nothing after a last frame."""
        if self.closing:
            raise ClientDisconnected
        await super().send(message)

    async def run_asgi(self) -> None:
        """Runs the application for this connection, then aborts it after LINGER_SECONDS."""
        self.scope["extensions"] = {**(self.scope["extensions"] or {}), EXTENSION: {"connection": self}}
        await super().run_asgi()
        self.loop.call_later(LINGER_SECONDS, self._abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Extends uvicorn's: ends the slot and the timers."""
        if self._message_timer is not None:
            self._message_timer.cancel()
        self._cancel_write_deadline()
        self._slot.end()
        super().connection_lost(exc)

    def _abort(self) -> None:
        if not self.disconnected:
            self.transport.abort()


def _protocol_of(headers: Headers) -> Subprotocol | None:
    """Returns the scheme's protocol that a handshake offers: browsers fail a socket with none of theirs."""
    offered = {name.strip() for name in ",".join(headers.get_all("Sec-WebSocket-Protocol")).split(",")}
    protocols = (scheme.socket.protocol for scheme in SCHEMES.values())
    return next((Subprotocol(name) for name in protocols if name in offered), None)
