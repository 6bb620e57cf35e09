from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import FrameError
from backend.wire.codec import MAX_CLIENT_FRAME, MAX_SERVER_FRAME, decode_client, decode_server, encode
from backend.wire.messages import CHUNK_BYTES, Chunk
from tests.contract.vectors.frames.make_frames import PLACE, plain

GOLDEN = json.loads(PLACE.read_text())


def named(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("entry", GOLDEN[kind], ids=lambda entry: entry["name"])


@named("client")
def test_a_clients_frame_is_read_and_written_again(entry: dict[str, Any]) -> None:
    message = decode_client(bytes.fromhex(entry["hex"]))
    assert plain(msgspec.msgpack.decode(encode(message))) == entry["value"]


@named("server")
def test_a_servers_frame_is_read_and_written_again(entry: dict[str, Any]) -> None:
    message = decode_server(bytes.fromhex(entry["hex"]))
    assert encode(message).hex() == entry["hex"]


@named("bad_client")
def test_a_bad_frame_of_a_client_is_refused_in_a_sentence(entry: dict[str, Any]) -> None:
    with pytest.raises(FrameError, match=r"The frame is not a message of this protocol: .+"):
        decode_client(bytes.fromhex(entry["hex"]))


@named("bad_server")
def test_a_bad_frame_of_a_server_is_refused_in_a_sentence(entry: dict[str, Any]) -> None:
    with pytest.raises(FrameError, match=r"The frame is not a message of this protocol: .+"):
        decode_server(bytes.fromhex(entry["hex"]))


def test_the_largest_chunk_fits_and_one_byte_over_the_limit_does_not() -> None:
    largest = Chunk(round=2**53 - 1, offset=2**53 - 1, data=memoryview(bytes(CHUNK_BYTES)))
    assert decode_client(encode(largest)) == largest
    with pytest.raises(FrameError, match="at most"):
        decode_client(bytes(MAX_CLIENT_FRAME + 1))
    with pytest.raises(FrameError, match="at most"):
        decode_server(bytes(MAX_SERVER_FRAME + 1))


@given(st.binary(max_size=300))
def test_random_bytes_raise_nothing_but_frame_errors(frame: bytes) -> None:
    for decode in (decode_client, decode_server):
        try:
            decode(frame)
        except FrameError:
            continue


@given(st.sampled_from(GOLDEN["client"] + GOLDEN["server"]), st.data())
def test_a_frame_with_a_changed_byte_is_read_or_refused(entry: dict[str, Any], data: st.DataObject) -> None:
    frame = bytearray.fromhex(entry["hex"])
    at = data.draw(st.integers(0, len(frame) - 1))
    frame[at] = data.draw(st.integers(0, 255))
    for decode in (decode_client, decode_server):
        try:
            decode(bytes(frame))
        except FrameError:
            continue
