"""Frames of a mesh: golden ones are read and written, bad ones refused; garbage is one or the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import FrameError
from backend.wire.fields import CHUNK_BYTES
from backend.wire.mesh_codec import (
    MAX_PEER_FRAME,
    MAX_TO_SERVER,
    decode_peer,
    decode_to_peer,
    decode_to_server,
    encode_mesh,
)
from backend.wire.peer_messages import Mean
from tests.contract.vectors.frames.make_frames import plain
from tests.contract.vectors.frames.make_mesh_frames import PLACE

GOLDEN = json.loads(PLACE.read_text())
DECODE: dict[str, Callable[[bytes], Any]] = {
    "to_server": decode_to_server,
    "to_peer": decode_to_peer,
    "peer": decode_peer,
}
GOOD = [(side, entry) for side in DECODE for entry in GOLDEN[side]]
BAD = [(side, entry) for side in DECODE for entry in GOLDEN[f"bad_{side}"]]


@pytest.mark.parametrize(
    ("side", "entry"), GOOD, ids=lambda one: one if isinstance(one, str) else one["name"]
)
def test_a_frame_is_read_and_written_again(side: str, entry: dict[str, Any]) -> None:
    message = DECODE[side](bytes.fromhex(entry["hex"]))
    assert encode_mesh(message).hex() == entry["hex"]
    assert plain(msgspec.msgpack.decode(encode_mesh(message))) == entry["value"]


@pytest.mark.parametrize(("side", "entry"), BAD, ids=lambda one: one if isinstance(one, str) else one["name"])
def test_a_bad_frame_is_refused_in_a_sentence(side: str, entry: dict[str, Any]) -> None:
    with pytest.raises(FrameError, match=r"The frame is not a message of this protocol: .+"):
        DECODE[side](bytes.fromhex(entry["hex"]))


def test_the_largest_chunk_between_peers_fits_and_one_byte_over_the_limit_does_not() -> None:
    places = list(range(32))
    largest = Mean(
        round=2**53 - 1,
        group=2**53 - 1,
        part=31,
        contributors=places,
        offset=2**53 - 1,
        data=memoryview(bytes(CHUNK_BYTES)),
    )
    assert decode_peer(encode_mesh(largest)) == largest
    with pytest.raises(FrameError, match="at most"):
        decode_peer(bytes(MAX_PEER_FRAME + 1))
    with pytest.raises(FrameError, match="at most"):
        decode_to_server(bytes(MAX_TO_SERVER + 1))


@given(st.sampled_from(sorted(DECODE)), st.binary(max_size=300))
def test_garbage_is_refused_or_a_message(side: str, garbage: bytes) -> None:
    try:
        message = DECODE[side](garbage)
    except FrameError:
        return
    assert DECODE[side](encode_mesh(message)) == message
