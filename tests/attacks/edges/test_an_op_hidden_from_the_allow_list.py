"""A field number beyond 32 bits hides an op: one reader skips what another one, which cuts it, reads."""

from __future__ import annotations

import pytest

from backend.errors import BundleError
from backend.wire.graphdef import op_names


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(tag: int, content: bytes) -> bytes:
    return varint(tag) + varint(len(content)) + content


def node(op: str) -> bytes:
    return field(1 << 3 | 2, b"n") + field(2 << 3 | 2, op.encode())


HONEST = field(1 << 3 | 2, node("Add"))


@pytest.mark.parametrize("bit", range(32, 40))
def test_a_node_is_not_hidden_by_a_field_number_that_other_readers_cut(bit: int) -> None:
    hidden = field(1 << bit | 1 << 3 | 2, node("WriteFile"))
    with pytest.raises(BundleError):
        op_names(HONEST + hidden)
    with pytest.raises(BundleError):
        op_names(HONEST + field(1 << 3 | 2, node("Add") + field(1 << bit | 2 << 3 | 2, b"WriteFile")))


@pytest.mark.parametrize("tag", [b"\x8a\x80\x80\x80\x80\x00", b"\x8a\x80\x80\x80\x80\x80\x80\x80\x80\x00"])
def test_a_tag_has_no_more_bytes_than_it_may_need(tag: bytes) -> None:
    inner = node("WriteFile")
    with pytest.raises(BundleError):
        op_names(HONEST + tag + varint(len(inner)) + inner)


def test_the_largest_field_number_is_still_skipped() -> None:
    largest = (1 << 29) - 1
    assert op_names(HONEST + field(largest << 3 | 2, b"x")) == {"Add"}
