"""The codec of synchronous rounds: encodes messages as msgpack frames and decodes frames to messages."""

from __future__ import annotations

import msgspec

from backend.errors import FrameError
from backend.wire.fields import WireFrame
from backend.wire.messages import CHUNK_BYTES, ClientFrame, ServerFrame

# A chunk and its envelope; every other message is far smaller.
ENVELOPE_BYTES = 1024
MAX_CLIENT_FRAME = CHUNK_BYTES + ENVELOPE_BYTES
MAX_SERVER_FRAME = 1 << 20

_encoder = msgspec.msgpack.Encoder()
_from_client = msgspec.msgpack.Decoder(ClientFrame)
_from_server = msgspec.msgpack.Decoder(ServerFrame)


def encode(message: WireFrame) -> bytes:
    """Returns the frame of a message of any protocol and direction."""
    return _encoder.encode(message)


def decode_client(frame: bytes | memoryview) -> ClientFrame:
    """Returns the message in a client's frame. Raises FrameError for anything else."""
    if len(frame) > MAX_CLIENT_FRAME:
        raise FrameError(f"The frame has {len(frame)} bytes; at most {MAX_CLIENT_FRAME} are allowed.")
    try:
        message: ClientFrame = _from_client.decode(frame)
        return message
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FrameError(f"The frame is not a message of this protocol: {error}.") from error


def decode_server(frame: bytes) -> ServerFrame:
    """Returns the message in a server's frame. Raises FrameError for anything else."""
    if len(frame) > MAX_SERVER_FRAME:
        raise FrameError(f"The frame has {len(frame)} bytes; at most {MAX_SERVER_FRAME} are allowed.")
    try:
        message: ServerFrame = _from_server.decode(frame)
        return message
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FrameError(f"The frame is not a message of this protocol: {error}.") from error
