"""Frames cut into any pieces come out as websockets' own parser has them."""

from __future__ import annotations

from itertools import chain, pairwise

from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side, State

from backend.web.receiver import LARGE_BYTES, Receiver

MOST = 4 * LARGE_BYTES


class Collecting:
    """websockets' parser, with what the receiver gives besides; every message in its order."""

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
    receive(Receiver(collecting, MOST), stream, cuts)
    assert collecting.heard == frames
    large = [one for one in frames if one[0] is Opcode.BINARY and one[1] and len(one[2]) >= LARGE_BYTES]
    assert collecting.direct == len(large)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=10))
def test_garbage_is_judged_by_the_parser_behind(stream: bytes, cuts: list[int]) -> None:
    collecting, alone = Collecting(), Collecting()
    receive(Receiver(collecting, MOST), stream, cuts)
    alone.data_received(stream)
    # What the parser behind waits for may begin with a head that is not complete yet.
    assert collecting.heard == alone.heard
    if collecting.connection.parser_exc is not None:
        assert str(collecting.connection.parser_exc) == str(alone.connection.parser_exc)


def test_a_large_frame_without_a_mask_or_beyond_the_limit_fails_the_connection() -> None:
    for size, mask in ((LARGE_BYTES, False), (MOST + 1, True)):
        collecting = Collecting()
        receive(Receiver(collecting, MOST), Frame(Opcode.BINARY, bytes(size)).serialize(mask=mask), [])
        assert collecting.connection.parser_exc is not None
        assert collecting.direct == 0


def receive(receiver: Receiver, stream: bytes, cuts: list[int]) -> None:
    """Writes the stream into the receiver's buffers, in pieces that end at the cuts."""
    ends = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    for start, end in pairwise(ends):
        while start < end:
            buffer = receiver.buffer()
            taken = min(len(buffer), end - start)
            buffer[:taken] = stream[start : start + taken]
            receiver.filled(taken)
            start += taken
