"""uvicorn's WebSockets, for clients that send models or wish us ill."""

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
from backend.web.transport.connection_limiter import ConnectionSlot
from backend.web.transport.socket_writer import EXTENSION, Taker, close_reason, last_frame
from backend.wire.mesh_fields import MESH_PROTOCOL
from backend.wire.messages import PROTOCOL

MAX_FRAGMENTS = 64
# Messages of one connection that wait for the application before no more is read.
MAX_WAITING = 4
LINGER_SECONDS = 5.0
# Chunks are longer, and bounded by their credit; a client has few other things to say.
SHORT_BYTES = 64 << 10


class Sockets(WebSocketsSansIOProtocol):
    """A WebSocket. Large messages come through a Receiver.

    Messages come in few fragments (putting thousands together costs far more than their bytes), whole in
    time and not too often. Who breaks a limit is told in a last frame, is heard no more (`closing`), and is
    gone soon, whether it reads that or not. Owns its connection's Visit.
    """

    def __init__(self, *args: Any, visit: ConnectionSlot, refusal: MingaError | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.closing = False
        self._visit = visit
        self._refusal = refusal
        # When the buckets of Doors.frames and Doors.pings are full again.
        self._frames_full = self._pings_full = NEVER
        self._heard = 0.0
        # Since when a message is half received, and what watches over that.
        self._since: float | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._taker: Taker | None = None
        # Bytes that were pushed since the loop's last turn: they go together.
        self._pushed = 0

    # For links: what goes.

    @property
    def backlog(self) -> int:
        """See Connection."""
        return 0 if self.disconnected else self.transport.get_write_buffer_size() + self._pushed

    def push(self, frame: bytes) -> None:
        """See Connection."""
        if not self.disconnected and self.conn.state is State.OPEN:
            self.conn.send_binary(frame)
            if not self._pushed:
                self.loop.call_soon(self._flush)
            self._pushed += len(frame)

    def _flush(self) -> None:
        self._pushed = 0
        waiting = b"".join(self.conn.data_to_send())
        if waiting and not self.transport.is_closing():
            self.transport.write(waiting)

    def take_by(self, taker: Taker) -> None:
        """See Connection."""
        self._taker = taker

    # What comes.

    @property
    def between_messages(self) -> bool:
        """See Parser."""
        return self.conn.state is State.OPEN and self.conn.current_size is None

    def data_received(self, data: bytes) -> None:
        """uvicorn's own."""
        if not self.closing:
            super().data_received(data)

    def message_received(self, message: memoryview) -> None:
        """See Parser."""
        self._since = None
        if len(message) < SHORT_BYTES and not self._in_pace():
            return
        if self._taker is not None and self.queue.empty() and self._taker(message):
            return
        event: Any = {"type": "websocket.receive", "bytes": message}
        self.queue.put_nowait(event)
        if not self.read_paused and self.queue.qsize() >= MAX_WAITING:
            self.read_paused = True
            self.transport.pause_reading()

    def bytes_received(self, half: bool) -> None:
        """Something came, and after it a message is `half` received or none is."""
        self._heard = self.loop.time()
        if not half:
            self._since = None
        elif self._since is None:
            self._since = self._heard
            if self._watch is None:
                self._watch = self.loop.call_later(self._message_seconds, self._look)

    def handle_events(self) -> None:
        """uvicorn's own, as long as its frames are within the limits."""
        for event in self.conn.events_received():
            if self.closing:
                return
            if isinstance(event, Request):
                self.handle_connect(event)
            elif isinstance(event, Frame):
                self._handle_frame(event)

    def handle_connect(self, event: Request) -> None:
        """uvicorn's own; one that is refused is let in only to be told, since pages see nothing else."""
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
        """Says why in a last frame too, before websockets' close frame."""
        close = self.conn.close_sent
        if self.closing or close is None:
            return
        error = TooLongError if close.code == TooLongError.close_code else FrameError
        frame = Frame(Opcode.BINARY, last_frame(error(f"The connection cannot go on: {close.reason}.")))
        self._end(frame.serialize(mask=False), close.code, close.reason)

    def _handle_frame(self, frame: Frame) -> None:
        match frame.opcode:
            case Opcode.CLOSE:
                self.handle_close(frame)
            case Opcode.PING if self._in_pace_of_pings():
                self.handle_ping()
            case Opcode.PONG if self._in_pace_of_pings():
                self.handle_pong(frame)
            case Opcode.BINARY if self._in_pace():
                self.handle_bytes(frame)
            case Opcode.TEXT if self._in_pace():
                self.handle_text(frame)
            case Opcode.CONT if self._in_pace():
                self.handle_cont(frame)

    def handle_cont(self, event: Frame) -> None:
        """Takes one more fragment, or closes."""
        if len(self.frames) < MAX_FRAGMENTS:
            super().handle_cont(event)
        else:
            self.refuse(TooLongError(f"A message comes in at most {MAX_FRAGMENTS} fragments here."))

    def send_receive_event_to_app(self) -> None:
        """uvicorn's own."""
        self._since = None
        super().send_receive_event_to_app()

    # Limits.

    def _in_pace(self) -> bool:
        after = self._visit.doors.frames.spend(self._frames_full, self.loop.time())
        if after is None:
            most = self._visit.doors.limits.frames_per_second
            self.refuse(TooFastError(f"Messages come too fast; {most} a second are the most here."))
            return False
        self._frames_full = after
        return True

    def _in_pace_of_pings(self) -> bool:
        after = self._visit.doors.pings.spend(self._pings_full, self.loop.time())
        if after is None:
            most = self._visit.doors.limits.pings_per_second
            self.refuse(TooFastError(f"Pings and pongs come too fast; {most} a second are the most here."))
            return False
        self._pings_full = after
        return True

    @property
    def _message_seconds(self) -> float:
        return self._visit.doors.limits.seconds_for(self.config.ws_max_size)

    def _look(self) -> None:
        """Ends the connection when the message that is half received has been so for too long."""
        self._watch = None
        if self._since is None:
            return
        now = self.loop.time()
        if self.read_paused:
            self._since = now  # It is we who do not read.
        left = self._since + self._message_seconds - now
        if left > 0:
            self._watch = self.loop.call_later(left, self._look)
            return
        self.refuse(
            TooSlowError(
                f"A message must be here whole within {self._message_seconds:.0f} seconds. "
                "Connect again with a better connection."
            )
        )

    def keepalive_timeout(self) -> None:
        """Ends the connection of a client that is gone; one that says something else may answer later."""
        self.pong_timer = None
        self.pending_ping_payload = None
        if self.read_paused or self._heard >= self.ping_sent_at:
            self.schedule_ping()
            return
        seconds = self._visit.doors.limits.idle_seconds
        self.refuse(IdleError(f"Nothing was heard from you for {seconds} seconds. Connect again."))

    def pause_writing(self) -> None:
        """uvicorn's own; what waits, pongs included, is to be read in time."""
        super().pause_writing()
        seconds = self._visit.doors.limits.seconds_for(self.transport.get_write_buffer_size())
        self._unread = self.loop.call_later(seconds, self._abort)

    def resume_writing(self) -> None:
        """uvicorn's own."""
        self._read()
        super().resume_writing()

    def _read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    # The end.

    def refuse(self, error: MingaError) -> None:
        """Says why, hears no more, and ends the connection."""
        if self.close_sent or self.conn.state is not State.OPEN:
            self._end(b"", error.close_code, "")
            return
        self.conn.send_binary(last_frame(error))
        self.conn.send_close(error.close_code, close_reason(error))
        self._end(b"", error.close_code, close_reason(error))

    def _end(self, words: bytes, code: int, reason: str) -> None:
        """Sends `words` and what stands in the parser, and lets the other side go first, for a while.

        Closing at once would make the system reset the connection where more is under way, and a reset may
        overtake the last frame.
        """
        if self.closing or self.transport.is_closing():
            return
        self.closing = self.close_sent = True
        self.stop_keepalive()
        self.transport.write(words + b"".join(self.conn.data_to_send()))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        # With a timer here uvicorn leaves the connection open when the application is done.
        self.close_timer = self.loop.call_later(LINGER_SECONDS, self._abort)

    async def send(self, message: Any) -> None:
        """uvicorn's own; nothing follows a last frame."""
        if self.closing:
            raise ClientDisconnected
        await super().send(message)

    async def run_asgi(self) -> None:
        """Runs the application for this connection, then gives its last bytes a little time."""
        self.scope["extensions"] = {**(self.scope["extensions"] or {}), EXTENSION: {"connection": self}}
        await super().run_asgi()
        self.loop.call_later(LINGER_SECONDS, self._abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """uvicorn's own."""
        if self._watch is not None:
            self._watch.cancel()
        self._read()
        self._visit.end()
        super().connection_lost(exc)

    def _abort(self) -> None:
        if not self.disconnected:
            self.transport.abort()


def _protocol_of(headers: Headers) -> Subprotocol | None:
    """The protocol of ours that a handshake asks for."""
    offered = {word.strip() for word in ",".join(headers.get_all("Sec-WebSocket-Protocol")).split(",")}
    return next((Subprotocol(one) for one in (PROTOCOL, MESH_PROTOCOL) if one in offered), None)
