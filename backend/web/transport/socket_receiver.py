"""The receiving side of a socket after its handshake: chunks come from the system into their own memory.

websockets' parser copies every byte several times, which for models is most of a server's work. Here a large
binary frame is read into a buffer of its own and unmasked in place; every other frame goes through
websockets' parser, which knows about fragments, control frames and closing.
"""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass
from typing import Protocol

import numpy as np

# Frames from here on are worth a buffer; it is also how much is read beyond the end of one.
LARGE_BYTES = 4096
_WHOLE_BINARY = 0x82
_MASKED = 0x80


class Parser(Protocol):
    """What stands behind: it takes bytes of small frames, and large frames that are ready."""

    @property
    def between_messages(self) -> bool:
        """Whether the connection is open, and no message is half received."""
        ...

    def data_received(self, data: bytes) -> None:
        """Some bytes of frames, as they came."""
        ...

    def message_received(self, message: memoryview) -> None:
        """The unmasked payload of a binary message in one frame; the memory is the receiver's."""
        ...


@dataclass(frozen=True)
class FrameHead:
    """Start of a frame: its first byte, its length, its payload's, and the mask if there is one."""

    first: int
    length: int
    payload: int
    mask: bytes | None


def read_head(data: memoryview) -> FrameHead | None:
    """The head of the frame that begins with `data` (RFC 6455, 5.2); None when some of it is missing."""
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
    """Unmasks in place (RFC 6455, 5.3)."""
    whole = len(payload) & ~3
    words = np.frombuffer(payload[:whole], np.uint32)
    np.bitwise_xor(words, np.frombuffer(mask, np.uint32)[0], out=words)
    for at in range(whole, len(payload)):
        payload[at] ^= mask[at & 3]


class SocketReceiver:
    """Cuts one connection's bytes into frames. Owns the buffer of the frame that is being received."""

    def __init__(self, parser: Parser, most: int) -> None:
        self._parser = parser
        self._most = most
        self._scratch = memoryview(bytearray(LARGE_BYTES))
        self._kept = 0  # Bytes of an incomplete head, at the start of the scratch.
        self._passing = 0  # Bytes of a small frame's payload that are still to come.
        self._frame: memoryview | None = None
        self._filled = 0
        self._mask = b""

    @property
    def half(self) -> bool:
        """Whether a frame, or a message of several, is half received."""
        return bool(
            self._frame is not None or self._passing or self._kept or not self._parser.between_messages
        )

    def buffer(self) -> memoryview:
        """Where the next bytes are to be written."""
        if self._frame is not None:
            return self._frame[self._filled :]
        return self._scratch[self._kept :]

    def filled(self, length: int) -> None:
        """So many bytes were written there."""
        if self._frame is not None:
            self._filled += length
            self._finish()
            return
        rest = self._scratch[: self._kept + length]
        self._kept = 0
        while rest:
            rest = self._take(rest)

    def _take(self, data: memoryview) -> memoryview:
        """Deals with the frame at the start of `data`, or what is here of it; what follows it."""
        if self._passing:
            taken = min(self._passing, len(data))
            self._passing -= taken
            self._parser.data_received(bytes(data[:taken]))
            return data[taken:]
        head = read_head(data)
        if head is None:
            self._kept = len(data)
            self._scratch[: len(data)] = data
            return data[:0]
        if head.first == _WHOLE_BINARY and head.mask is not None and self._is_large(head.payload):
            return self._begin(head.payload, head.mask, data[head.length :])
        self._parser.data_received(bytes(data[: head.length]))
        self._passing = head.payload
        return data[head.length :]

    def _is_large(self, payload: int) -> bool:
        return LARGE_BYTES <= payload <= self._most and self._parser.between_messages

    def _begin(self, payload: int, mask: bytes, data: memoryview) -> memoryview:
        frame = np.empty(payload, np.uint8).data
        taken = min(payload, len(data))
        frame[:taken] = data[:taken]
        self._frame, self._filled, self._mask = frame, taken, mask
        self._finish()
        return data[taken:]

    def _finish(self) -> None:
        frame = self._frame
        if frame is not None and self._filled == len(frame):
            self._frame = None
            unmask(frame, self._mask)
            self._parser.message_received(frame)


class Watching(Parser, Protocol):
    """An asyncio protocol that watches over what comes; `closing` to it once it has said its last word."""

    closing: bool

    def bytes_received(self, half: bool) -> None:
        """Something came, and after it a message is `half` received or none is."""
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
    """Puts a Receiver before an asyncio protocol that was made for small messages."""

    def __init__(self, receiver: SocketReceiver, behind: Watching) -> None:
        self._receiver = receiver
        self._behind = behind

    def get_buffer(self, _sizehint: int) -> memoryview:
        """See asyncio."""
        return self._receiver.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        """See asyncio."""
        if not self._behind.closing:
            self._receiver.filled(nbytes)
            self._behind.bytes_received(self._receiver.half)

    def eof_received(self) -> bool | None:
        """See asyncio."""
        return self._behind.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._behind.connection_lost(exc)

    def pause_writing(self) -> None:
        """See asyncio."""
        self._behind.pause_writing()

    def resume_writing(self) -> None:
        """See asyncio."""
        self._behind.resume_writing()
