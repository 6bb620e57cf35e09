"""Frames cut into any pieces come out as websockets' own parser has them."""

from __future__ import annotations

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from backend.web.transport.socket_receiver import LARGE_BYTES, SocketReceiver
from tests.support.web.frame_streams import MOST, Collecting, receive

SIZES = st.one_of(
    st.integers(0, 130),
    st.integers(LARGE_BYTES - 2, LARGE_BYTES + 9),
    st.integers(65_530, 65_540),
    st.just(MOST),
)
WHOLE = st.tuples(st.sampled_from([Opcode.BINARY, Opcode.TEXT]), SIZES).map(
    lambda drawn: [(drawn[0], True, b"%c" % (drawn[1] % 128) * min(drawn[1], MOST))]
)
FRAGMENTED = st.tuples(SIZES, SIZES).map(
    lambda drawn: [
        (Opcode.BINARY, False, b"a" * min(drawn[0], MOST // 2)),
        (Opcode.PING, True, b"?"),
        (Opcode.CONT, True, b"b" * min(drawn[1], MOST // 2)),
    ]
)
CONTROL = st.binary(max_size=125).map(lambda data: [(Opcode.PING, True, data)])


@given(
    st.lists(st.one_of(WHOLE, FRAGMENTED, CONTROL), max_size=6).map(
        lambda parts: list(chain.from_iterable(parts))
    ),
    st.lists(st.integers(0, 1_000_000), max_size=20),
)
def test_frames_in_any_pieces_come_out_whole_and_in_order(
    frames: list[tuple[Opcode, bool, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(Frame(opcode, data, fin).serialize(mask=True) for opcode, fin, data in frames)
    collecting = Collecting()
    receive(SocketReceiver(collecting, MOST), stream, cuts)
    assert collecting.heard == frames
    large = [one for one in frames if one[0] is Opcode.BINARY and one[1] and len(one[2]) >= LARGE_BYTES]
    assert collecting.direct == len(large)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=10))
def test_garbage_is_judged_by_the_parser_behind(stream: bytes, cuts: list[int]) -> None:
    collecting, alone = Collecting(), Collecting()
    receive(SocketReceiver(collecting, MOST), stream, cuts)
    alone.data_received(stream)
    # What the parser behind waits for may begin with a head that is not complete yet.
    assert collecting.heard == alone.heard
    if collecting.connection.parser_exc is not None:
        assert str(collecting.connection.parser_exc) == str(alone.connection.parser_exc)


def test_a_large_frame_without_a_mask_or_beyond_the_limit_fails_the_connection() -> None:
    for size, mask in ((LARGE_BYTES, False), (MOST + 1, True)):
        collecting = Collecting()
        receive(SocketReceiver(collecting, MOST), Frame(Opcode.BINARY, bytes(size)).serialize(mask=mask), [])
        assert collecting.connection.parser_exc is not None
        assert collecting.direct == 0
