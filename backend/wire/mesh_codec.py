"""The codec of a mesh: frames between peers and their server, and among peers."""

from __future__ import annotations

from typing import Any

import msgspec

from backend.errors import FrameError
from backend.wire.codec import ENVELOPE_BYTES, MAX_SERVER_FRAME
from backend.wire.fields import CHUNK_BYTES
from backend.wire.mesh_messages import PeerToServer, ServerToPeer
from backend.wire.peer_messages import PeerFrame

# A parcel of 64 KiB and its envelope, or a list of a thousand links.
MAX_TO_SERVER = (1 << 17) + ENVELOPE_BYTES
MAX_PEER_FRAME = CHUNK_BYTES + ENVELOPE_BYTES

_encoder = msgspec.msgpack.Encoder()
_to_server = msgspec.msgpack.Decoder(PeerToServer)
_to_peer = msgspec.msgpack.Decoder(ServerToPeer)
_of_peer = msgspec.msgpack.Decoder(PeerFrame)


def encode_mesh(message: PeerToServer | ServerToPeer | PeerFrame) -> bytes:
    """Returns the frame of a message of any direction."""
    return _encoder.encode(message)


def decode_to_server(frame: bytes | memoryview) -> PeerToServer:
    """Returns a peer's message to its server. Raises FrameError for anything else."""
    message: PeerToServer = _decode(_to_server, frame, MAX_TO_SERVER)
    return message


def decode_to_peer(frame: bytes | memoryview) -> ServerToPeer:
    """Returns a message of the mesh's server. Raises FrameError for anything else."""
    message: ServerToPeer = _decode(_to_peer, frame, MAX_SERVER_FRAME)
    return message


def decode_peer(frame: bytes | memoryview) -> PeerFrame:
    """Returns another peer's message; `data` is a view of the frame. Raises FrameError for anything else."""
    message: PeerFrame = _decode(_of_peer, frame, MAX_PEER_FRAME)
    return message


def _decode(decoder: msgspec.msgpack.Decoder[Any], frame: bytes | memoryview, maximum: int) -> Any:
    if len(frame) > maximum:
        raise FrameError(f"The frame has {len(frame)} bytes; at most {maximum} are allowed.")
    try:
        return decoder.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FrameError(f"The frame is not a message of this protocol: {error}.") from error
