"""Records every byte that a server's clients send, as a forwarder in front of the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side

from backend.wire.codec import decode_client
from backend.wire.messages import Chunk, ClientFrame, Hello
from tests.support.environment.tcp_forwarder import forwarding


@dataclass
class Transcript:
    """The recorded bytes of each connection; `url` leads to the server through the recorder."""

    url: str = ""
    connections: list[bytearray] = field(default_factory=list)

    def conversations(self) -> list[list[ClientFrame]]:
        """Returns the decoded messages of each client on each of its sockets."""
        return [frames for sent in self.connections if (frames := _frames(bytes(sent)))]

    def senders(self, kind: type[ClientFrame]) -> int:
        """Returns how many connections sent a frame of a kind."""
        return sum(any(isinstance(one, kind) for one in frames) for frames in self.conversations())

    def vectors(self, number: int) -> dict[str, bytes]:
        """Returns the updates of round `number` as received, by their clients' tokens."""
        found: dict[str, bytes] = {}
        for frames in self.conversations():
            assert isinstance(frames[0], Hello)
            parts = [bytes(one.data) for one in frames if isinstance(one, Chunk) and one.round == number]
            if parts:
                found[frames[0].token] = b"".join(parts)
        return found


@asynccontextmanager
async def recorded(
    url: str, cut: type[ClientFrame] | None = None, before: Callable[[Transcript], None] | None = None
) -> AsyncIterator[Transcript]:
    """Forwards to the server at `url` and records what clients send.

    The first connection that sends a frame of the kind `cut` breaks at it, and the frame is lost. `before` is
    called whenever bytes were recorded, before the server has them.
    """
    transcript, cutting = Transcript(), [cut] if cut else []

    def breaks(sent: bytearray) -> bool:
        said = _frames(bytes(sent)) if cutting else []
        return any(isinstance(frame, cutting[0]) for frame in said) and bool(cutting.pop())

    async def copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent = bytearray()
        transcript.connections.append(sent)
        while data := await reader.read(1 << 16):
            sent += data
            if before:
                before(transcript)
            if breaks(sent):
                return
            writer.write(data)
            await writer.drain()

    async with forwarding(url, sent=copied) as forwarder:
        transcript.url = forwarder.url
        yield transcript


def _frames(sent: bytes) -> list[ClientFrame]:
    """Returns the messages of a WebSocket connection; none of any other."""
    head, _, rest = sent.partition(b"\r\n\r\n")
    if b"upgrade: websocket" not in head.lower():
        return []
    parser = Protocol(Side.SERVER, max_size=1 << 24)
    parser.receive_data(rest)
    messages: list[bytes] = []
    for event in parser.events_received():
        assert isinstance(event, Frame)
        if event.opcode is Opcode.BINARY:
            messages.append(bytes(event.data))
        elif event.opcode is Opcode.CONT:
            messages[-1] += bytes(event.data)
    # With an empty one a page asks whether its server is there.
    return [decode_client(message) for message in messages if message]
