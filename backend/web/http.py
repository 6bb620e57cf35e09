"""uvicorn's connections, for clients that send models or wish us ill."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.protocol import State

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
    """One connection that speaks HTTP until it becomes a socket."""

    def handle_websocket_upgrade(self) -> None:
        """uvicorn's own, then a Receiver is put before the socket."""
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
