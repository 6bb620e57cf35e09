"""Packs the weights, memory and counters of a shard into the value that Redis stores."""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec import Struct

from backend.numerics.aggregation.asynchronous import Memory
from backend.numerics.vectors import VALUE_BYTES, Vector, to_bytes

# The vectors begin at multiples of this many bytes.
_ALIGNED = 16
_LENGTH = 4


class PackedHead(Struct, frozen=True, array_like=True):
    """Header before the vectors of a shard: `values` counts the shard's values, `size` the whole model's.

    `count` is the memory's. `contained` counts the results in the weights, including those before `begin`;
    `turns` has the ids of the newest of them.
    """

    values: int
    size: int
    count: int
    contained: int
    turns: tuple[str, ...] = ()


def pack(head: PackedHead, weights: Vector, slot: Vector) -> bytes:
    """Returns the length of the head, the head, padding, weights and slot as bytes, little-endian."""
    encoded = msgspec.msgpack.encode(head)
    start = _start(len(encoded))
    return b"".join(
        (
            len(encoded).to_bytes(_LENGTH, "little"),
            encoded,
            bytes(start - _LENGTH - len(encoded)),
            to_bytes(weights),
            to_bytes(slot),
        )
    )


def unpack(value: bytes) -> tuple[PackedHead, Vector, Memory]:
    """Returns what `pack` packed. The vectors are read-only and share the value's memory."""
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
