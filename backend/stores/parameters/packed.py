"""A vector, its memory and what is known of them as the one value that Redis holds of them."""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec import Struct

from backend.numerics.aggregation.asynchronous import Memory
from backend.numerics.vectors import VALUE_BYTES, Vector, to_bytes

# Vectors begin at multiples of it.
_ALIGNED = 16
_LENGTH = 4


class PackedHead(Struct, frozen=True, array_like=True):
    """What stands before the vectors of a shard: its own `values`, and `size`, those of the whole model.

    `count` is the memory's. `contained` are the results in the weights, with those before the beginning;
    `turns` names the newest of them.
    """

    values: int
    size: int
    count: int
    contained: int
    turns: tuple[str, ...] = ()


def pack(head: PackedHead, weights: Vector, slot: Vector) -> bytes:
    """Length of the head, head, padding, weights and slot, little-endian."""
    words = msgspec.msgpack.encode(head)
    start = _start(len(words))
    return b"".join(
        (
            len(words).to_bytes(_LENGTH, "little"),
            words,
            bytes(start - _LENGTH - len(words)),
            to_bytes(weights),
            to_bytes(slot),
        )
    )


def unpack(value: bytes) -> tuple[PackedHead, Vector, Memory]:
    """What `pack` packed; the vectors are read-only and share the value's memory."""
    length = int.from_bytes(value[:_LENGTH], "little")
    head = msgspec.msgpack.decode(value[_LENGTH : _LENGTH + length], type=PackedHead)
    start = _start(length)
    middle = start + head.values * VALUE_BYTES
    weights, slot = (
        np.frombuffer(part, "<f4").astype(np.float32, copy=False)
        for part in (memoryview(value)[start:middle], memoryview(value)[middle:])
    )
    return head, weights, Memory(slot, head.count)


def _start(length: int) -> int:
    return -(-(_LENGTH + length) // _ALIGNED) * _ALIGNED
