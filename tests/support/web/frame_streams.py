"""Feeds streams of WebSocket frames to a receiver in pieces, beside websockets' own parser."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side, State

from backend.web.transport.socket_receiver import LARGE_BYTES, SocketReceiver

MOST = 4 * LARGE_BYTES


class Collecting:
    """Collects all messages in order, from websockets' parser and from the receiver directly."""

    def __init__(self) -> None:
        self.connection = Protocol(Side.SERVER, max_size=MOST)
        self.heard: list[tuple[Opcode, bool, bytes]] = []
        self.direct = 0

    @property
    def between_messages(self) -> bool:
        return self.connection.state is State.OPEN and self.connection.current_size is None

    def data_received(self, data: bytes) -> None:
        self.connection.receive_data(data)
        for event in self.connection.events_received():
            assert isinstance(event, Frame)
            self.heard.append((event.opcode, event.fin, bytes(event.data)))

    def message_received(self, message: memoryview) -> None:
        self.direct += 1
        self.heard.append((Opcode.BINARY, True, bytes(message)))


def receive(receiver: SocketReceiver, stream: bytes, cuts: Iterable[int]) -> None:
    """Writes the stream into the receiver's buffers, in pieces that end at the cuts."""
    ends = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    for start, end in pairwise(ends):
        while start < end:
            buffer = receiver.buffer()
            taken = min(len(buffer), end - start)
            buffer[:taken] = stream[start : start + taken]
            receiver.filled(taken)
            start += taken
