"""Receives a socket's bytes after its handshake: large frames are read directly into their own memory.

websockets' parser copies every byte several times, which for models is most of a server's work. Here a large
binary frame is read into a separate buffer and unmasked in place; every other frame passes through
websockets' parser, which handles fragments, control frames and closing.
"""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass
from typing import Protocol

import numpy as np

# Frames of at least this size get their own buffer. Up to this many bytes are read beyond the end of one.
LARGE_BYTES = 4096
_WHOLE_BINARY = 0x82
_MASKED = 0x80


class Parser(Protocol):
    """Consumes the bytes of small frames, and complete large frames."""

    @property
    def between_messages(self) -> bool:
        """Whether the connection is open, and no message is partly received."""
        ...

    def data_received(self, data: bytes) -> None:
        """Takes bytes of frames in the order of their arrival."""
        ...

    def message_received(self, message: memoryview) -> None:
        """Takes the unmasked payload of a binary message in one frame, and owns its memory."""
        ...


@dataclass(frozen=True)
class FrameHead:
    """Head of a frame: its first byte, its own length, its payload's length, and its mask if it has one."""

    first: int
    length: int
    payload: int
    mask: bytes | None


def read_head(data: memoryview) -> FrameHead | None:
    """Parses the frame head at the start of `data` (RFC 6455, 5.2); None when it is incomplete."""
    if len(data) < 2:
        return None
    length, at = data[1] & 0x7F, 2
    if length == 126:
        at = 4
    elif length == 127:
        at = 10
    end = at + 4 if data[1] & _MASKED else at
    if len(data) < end:
        return None
    if length == 126:
        (length,) = struct.unpack_from("!H", data, 2)
    elif length == 127:
        (length,) = struct.unpack_from("!Q", data, 2)
    return FrameHead(data[0], end, length, bytes(data[at:end]) if end > at else None)


def unmask(payload: memoryview, mask: bytes) -> None:
    """Unmasks a payload in place (RFC 6455, 5.3)."""
    aligned = len(payload) & ~3
    words = np.frombuffer(payload[:aligned], np.uint32)
    np.bitwise_xor(words, np.frombuffer(mask, np.uint32)[0], out=words)
    for at in range(aligned, len(payload)):
        payload[at] ^= mask[at & 3]


class SocketReceiver:
    """Splits one connection's bytes into frames. Owns the buffer of the frame that is being received."""

    def __init__(self, parser: Parser, max_bytes: int) -> None:
        self._parser = parser
        self._max_bytes = max_bytes
        self._scratch = memoryview(bytearray(LARGE_BYTES))
        self._head_bytes = 0  # Bytes of an incomplete head, at the start of the scratch.
        self._payload_left = 0  # Bytes of a small frame's payload that are still to come.
        self._frame: memoryview | None = None
        self._filled = 0
        self._mask = b""

    @property
    def incomplete(self) -> bool:
        """Whether a frame, or a message of several frames, is partly received."""
        return bool(
            self._frame is not None
            or self._payload_left
            or self._head_bytes
            or not self._parser.between_messages
        )

    def buffer(self) -> memoryview:
        """Returns the memory for the next bytes."""
        if self._frame is not None:
            return self._frame[self._filled :]
        return self._scratch[self._head_bytes :]

    def filled(self, length: int) -> None:
        """Processes `length` bytes that were written to the buffer."""
        if self._frame is not None:
            self._filled += length
            self._finish()
            return
        remaining = self._scratch[: self._head_bytes + length]
        self._head_bytes = 0
        while remaining:
            remaining = self._consume(remaining)

    def _consume(self, data: memoryview) -> memoryview:
        """Processes the frame, or part of one, at the start of `data`. Returns the bytes after it."""
        if self._payload_left:
            count = min(self._payload_left, len(data))
            self._payload_left -= count
            self._parser.data_received(bytes(data[:count]))
            return data[count:]
        head = read_head(data)
        if head is None:
            self._head_bytes = len(data)
            self._scratch[: len(data)] = data
            return data[:0]
        if head.first == _WHOLE_BINARY and head.mask is not None and self._is_large(head.payload):
            return self._begin(head.payload, head.mask, data[head.length :])
        self._parser.data_received(bytes(data[: head.length]))
        self._payload_left = head.payload
        return data[head.length :]

    def _is_large(self, payload: int) -> bool:
        return LARGE_BYTES <= payload <= self._max_bytes and self._parser.between_messages

    def _begin(self, payload: int, mask: bytes, data: memoryview) -> memoryview:
        frame = np.empty(payload, np.uint8).data
        count = min(payload, len(data))
        frame[:count] = data[:count]
        self._frame, self._filled, self._mask = frame, count, mask
        self._finish()
        return data[count:]

    def _finish(self) -> None:
        frame = self._frame
        if frame is not None and self._filled == len(frame):
            self._frame = None
            unmask(frame, self._mask)
            self._parser.message_received(frame)


class Watching(Parser, Protocol):
    """An asyncio protocol that supervises received bytes. `closing` is set once its last frame is sent."""

    closing: bool

    def bytes_received(self, incomplete: bool) -> None:
        """Records that bytes arrived, and whether they end with an `incomplete` message."""
        ...

    def eof_received(self) -> bool | None:
        """See asyncio."""
        ...

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        ...

    def pause_writing(self) -> None:
        """See asyncio."""
        ...

    def resume_writing(self) -> None:
        """See asyncio."""
        ...


class ReceivingProtocol(asyncio.BufferedProtocol):
    """Puts a SocketReceiver before an asyncio protocol that was made for small messages."""

    def __init__(self, receiver: SocketReceiver, protocol: Watching) -> None:
        self._receiver = receiver
        self._protocol = protocol

    def get_buffer(self, _sizehint: int) -> memoryview:
        """See asyncio."""
        return self._receiver.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        """See asyncio."""
        if not self._protocol.closing:
            self._receiver.filled(nbytes)
            self._protocol.bytes_received(self._receiver.incomplete)

    def eof_received(self) -> bool | None:
        """See asyncio."""
        return self._protocol.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        """See asyncio."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """See asyncio."""
        self._protocol.resume_writing()
