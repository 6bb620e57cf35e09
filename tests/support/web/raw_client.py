"""A WebSocket client for abuse: frames byte by byte, floods, silence."""

from __future__ import annotations

import base64
import secrets
import socket
import time
from contextlib import suppress

import msgspec
from websockets.frames import Close, Frame, Opcode

from backend.errors import FrameError
from backend.wire.codec import decode_server, encode
from backend.wire.messages import PROTOCOL, Closing, Hello, Ready, ServerFrame, Welcome
from tests.support.timeouts import PATIENCE


class Raw:
    """A connection; `source` is its local address, `headers` are additional header lines."""

    def __init__(self, url: str, task: str = "tiny", source: str = "127.0.0.1", headers: str = "") -> None:
        host, _, port = url.removeprefix("http://").rpartition(":")
        self.socket = socket.create_connection(
            (host, int(port)), timeout=PATIENCE, source_address=(source, 0)
        )
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        self.socket.sendall(
            (
                f"GET /api/tasks/{task}/socket HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
                f"Sec-WebSocket-Protocol: {PROTOCOL}\r\n{headers}\r\n"
            ).encode()
        )
        self._kept = b""
        while b"\r\n\r\n" not in self._kept:
            data = self.socket.recv(65536)
            assert data, "the server closed during the handshake"
            self._kept += data
        self.head, _, self._kept = self._kept.partition(b"\r\n\r\n")

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, payload: bytes, opcode: Opcode = Opcode.BINARY, fin: bool = True) -> None:
        """Sends one frame."""
        self.socket.sendall(Frame(opcode, payload, fin).serialize(mask=True))

    def drip(self, data: bytes, seconds: float, pause: float = 0.05) -> bool:
        """Sends `data` a byte at a time for so many seconds; returns whether the server accepted it."""
        end = time.monotonic() + seconds
        self.socket.setblocking(False)
        try:
            for at in range(len(data)):
                if time.monotonic() >= end:
                    break
                self.socket.send(data[at : at + 1])
                with suppress(BlockingIOError):
                    self._kept += (more := self.socket.recv(65536))
                    if not more:
                        return False
                time.sleep(pause)
        except OSError:
            return False
        finally:
            self.socket.settimeout(PATIENCE)
        return True

    def hear(self) -> tuple[Opcode, bytes] | None:
        """Returns the next frame; None when the server closed the connection."""
        while (frame := self._frame()) is None:
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self._kept += data
        return frame

    def hear_message(self, *kinds: type[ServerFrame]) -> ServerFrame:
        """Returns the next message of one of `kinds`."""
        while True:
            heard = self.hear()
            assert heard is not None, "the server closed the connection"
            if heard[0] is Opcode.BINARY and isinstance(message := decode_server(heard[1]), kinds):
                return message

    def join(self, token: str) -> None:
        """Sends hello and ready."""
        self.send(
            encode(
                Hello(
                    token=token,
                    kind="peer",
                    backend="numpy",
                    agent="test",
                    aggregation=["open"],
                    min_masked=0,
                )
            )
        )
        self.hear_message(Welcome)
        self.send(encode(Ready(backend="numpy", step_ms=1.0, examples=0)))

    def last_words(self) -> tuple[Closing | None, int]:
        """Returns the closing message, if any, and the close code after the server closed.

        Pings stay unanswered.
        """
        closing, code = None, 1006
        while (heard := self.hear()) is not None:
            opcode, payload = heard
            if opcode is Opcode.CLOSE:
                code = Close.parse(payload).code
            elif opcode is Opcode.BINARY:
                with suppress(FrameError):
                    message = decode_server(msgspec.convert(payload, bytes))
                    closing = message if isinstance(message, Closing) else closing
        return closing, code

    def _frame(self) -> tuple[Opcode, bytes] | None:
        """Returns the frame at the start of the received bytes; servers do not mask."""
        if len(self._kept) < 2:
            return None
        length, start = self._kept[1], 2
        if length == 126:
            length, start = int.from_bytes(self._kept[2:4], "big"), 4
        elif length == 127:
            length, start = int.from_bytes(self._kept[2:10], "big"), 10
        if len(self._kept) < start + length:
            return None
        opcode, payload = Opcode(self._kept[0] & 15), self._kept[start : start + length]
        self._kept = self._kept[start + length :]
        return opcode, payload
