"""The codec of work units: decodes the frames of clients and of their server."""

from __future__ import annotations

import msgspec

from backend.errors import FrameError
from backend.wire.codec import ENVELOPE_BYTES, MAX_SERVER_FRAME
from backend.wire.fields import CHUNK_BYTES
from backend.wire.unit_messages import ServerToUnits, UnitsToServer

MAX_UNITS_FRAME = CHUNK_BYTES + ENVELOPE_BYTES

_to_server = msgspec.msgpack.Decoder(UnitsToServer)
_to_client = msgspec.msgpack.Decoder(ServerToUnits)


def decode_units(frame: bytes | memoryview) -> UnitsToServer:
    """Returns a client's message; a chunk's `data` is a view of the frame. Raises FrameError otherwise."""
    _check(frame, MAX_UNITS_FRAME)
    try:
        message: UnitsToServer = _to_server.decode(frame)
        return message
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FrameError(f"The frame is not a message of this protocol: {error}.") from error


def decode_to_units(frame: bytes | memoryview) -> ServerToUnits:
    """Returns the message in a server's frame. Raises FrameError for anything else."""
    _check(frame, MAX_SERVER_FRAME)
    try:
        message: ServerToUnits = _to_client.decode(frame)
        return message
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FrameError(f"The frame is not a message of this protocol: {error}.") from error


def _check(frame: bytes | memoryview, maximum: int) -> None:
    if len(frame) > maximum:
        raise FrameError(f"The frame has {len(frame)} bytes; at most {maximum} are allowed.")
