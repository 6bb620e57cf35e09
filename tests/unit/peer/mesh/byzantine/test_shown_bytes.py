"""What one member shows in a round is assembled, and takes no more memory than its bytes."""

from __future__ import annotations

import pytest

from backend.errors import WrongLengthError
from backend.peer.mesh.byzantine.shown_bytes import ShownBytes
from backend.wire.byzantine_messages import Show

LARGEST, MOST = 1 << 20, 6 << 20


def chunk(offset: int, data: bytes, size: int, digest: bytes = bytes(32)) -> Show:
    return Show(round=1, group=1, digest=digest, size=size, offset=offset, data=memoryview(data))


def test_chunks_make_up_the_bytes_again_after_a_broken_link() -> None:
    shown = ShownBytes(LARGEST, MOST)
    assert shown.take(chunk(0, b"ab", 4)) is None
    shown.clear()
    with pytest.raises(WrongLengthError, match="out of order"):
        shown.take(chunk(2, b"cd", 4))
    assert shown.take(chunk(0, b"ab", 4)) is None
    assert shown.take(chunk(2, b"cd", 4)) == b"abcd"
    assert shown.take(chunk(0, b"", 0)) == b""


def test_what_does_not_end_is_dropped_when_the_next_begins() -> None:
    """Else a member could begin any number of pieces, each of which takes memory."""
    shown = ShownBytes(LARGEST, MOST)
    shown.take(chunk(0, b"a", LARGEST, b"1" * 32))
    shown.take(chunk(0, b"b", LARGEST, b"2" * 32))
    with pytest.raises(WrongLengthError, match="out of order"):
        shown.take(chunk(1, b"a", LARGEST, b"1" * 32))


@pytest.mark.parametrize("data", [b"", b"a"])
def test_many_chunks_of_next_to_nothing_are_refused(data: bytes) -> None:
    shown = ShownBytes(LARGEST, MOST)
    shown.take(chunk(0, b"a", LARGEST))
    most = LARGEST // 1024 + 1
    for number in range(most):
        assert shown.take(chunk(1 + number * len(data), data, LARGEST)) is None
    with pytest.raises(WrongLengthError, match="too short"):
        shown.take(chunk(1 + most * len(data), data, LARGEST))


def test_nobody_sends_more_than_a_round_has() -> None:
    shown = ShownBytes(4, 8)
    with pytest.raises(WrongLengthError, match="more bytes"):
        shown.take(chunk(0, b"a", 5))
    with pytest.raises(WrongLengthError, match="too many"):
        shown.take(chunk(0, b"abcde", 4))
    shown = ShownBytes(4, 8)
    for _ in range(2):
        assert shown.take(chunk(0, b"abcd", 4)) == b"abcd"
    with pytest.raises(WrongLengthError, match="more bytes"):
        shown.take(chunk(0, b"a", 4))
