"""Words of which only the lowest bits count, without the others, as bytes.

The TypeScript twin is masking/bit-packing.ts; tests/contract/vectors/encoding.json holds both to
the same bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

FULL_BITS = 32
WORD_BYTES = 4
# A weight, whether nothing was clipped, and a loss; each metric row has two values more.
FURTHER = 3
# So many values fill whole bytes, whatever their bits.
_GROUP = 8
_BLOCK_GROUPS = 8 * 1024


def masked_words(parameters: int, rows: int) -> int:
    """Words of a masked update: one a parameter and one for each further value."""
    return parameters + FURTHER + 2 * rows


def masked_bytes(parameters: int, rows: int, bits: int) -> int:
    """Bytes of a masked update: `bits` a parameter, and four for each further value."""
    return packed_bytes(parameters, bits) + WORD_BYTES * (FURTHER + 2 * rows)


def packed_bytes(values: int, bits: int) -> int:
    """Bytes that `values` of `bits` bits fill; the last byte is filled up with zeros."""
    return (values * bits + 7) // 8


def pack_update(words: Words, parameters: int, bits: int) -> memoryview:
    """A masked update as it is sent: `parameters` packed, then the other words whole, little-endian.

    `words` must not change while it is in use: whole words are not copied.
    """
    whole = words.astype("<u4", copy=False)
    if bits == FULL_BITS:
        return whole.view(np.uint8).data
    return memoryview(pack(whole[:parameters], bits) + whole[parameters:].tobytes())


def add_update(total: Words, data: memoryview, parameters: int, rows: int, bits: int) -> None:
    """Adds the words of a masked update to `total`, modulo 2^32; whole ones without a copy.

    Raises ValueError as `unpack_update`.
    """
    if bits == FULL_BITS and len(data) == total.nbytes:
        np.add(total, np.frombuffer(data, "<u4"), out=total)
    else:
        total += unpack_update(data, parameters, rows, bits)


def unpack_update(data: bytes | bytearray | memoryview, parameters: int, rows: int, bits: int) -> Words:
    """The words of a masked update. Raises ValueError when `data` has not masked_bytes(...) of them."""
    if len(data) != masked_bytes(parameters, rows, bits):
        raise ValueError(f"{len(data)} bytes are no masked update of {parameters} values.")
    view, start = memoryview(data), packed_bytes(parameters, bits)
    words = np.empty(masked_words(parameters, rows), np.uint32)
    words[:parameters] = unpack(view[:start], parameters, bits)
    words[parameters:] = np.frombuffer(view[start:], "<u4")
    return words


def pack(words: Words, bits: int) -> bytes:
    """The lowest `bits` (1 to 32) of each word, one after the other, lowest bits and bytes first."""
    if bits % 8 == 0:
        return _bytes(words.astype("<u4", copy=False), bits // 8)
    out = np.empty((-(-len(words) // _GROUP), bits), np.uint8)
    for first in range(0, len(out), _BLOCK_GROUPS):
        last = first + _BLOCK_GROUPS
        _pack_groups(words[first * _GROUP : last * _GROUP], bits, out[first:last])
    return out.reshape(-1)[: packed_bytes(len(words), bits)].tobytes()


def unpack(data: bytes | bytearray | memoryview, values: int, bits: int) -> Words:
    """`values` words of `bits` bits from their bytes, of which there must be packed_bytes(values, bits)."""
    if bits % 8 == 0:
        return _words(np.frombuffer(data, np.uint8), values, bits // 8)
    groups = -(-values // _GROUP)
    filled = np.zeros(groups * bits, np.uint8)
    filled[: len(data)] = np.frombuffer(data, np.uint8)
    out = np.empty((groups, _GROUP), np.uint32)
    for first in range(0, groups, _BLOCK_GROUPS):
        part = slice(first, first + _BLOCK_GROUPS)
        _unpack_groups(filled.reshape(groups, bits)[part], bits, out[part])
    return out.reshape(-1)[:values]


def _bytes(words: Words, count: int) -> bytes:
    """The lowest `count` bytes of each word; a column at a time, as rows of few bytes are slow to copy."""
    if count == WORD_BYTES:
        return words.tobytes()
    each = words.view(np.uint8).reshape(-1, WORD_BYTES)
    out = np.empty((len(words), count), np.uint8)
    for byte in range(count):
        out[:, byte] = each[:, byte]
    return out.tobytes()


def _words(data: NDArray[np.uint8], values: int, count: int) -> Words:
    """`values` words of `count` bytes each."""
    if count == WORD_BYTES:
        return data.view("<u4").astype(np.uint32, copy=False)
    each = data.reshape(values, count)
    words = np.zeros(values, "<u4")
    for byte in range(count):
        words.view(np.uint8).reshape(-1, WORD_BYTES)[:, byte] = each[:, byte]
    return words.astype(np.uint32, copy=False)


def _pack_groups(words: Words, bits: int, out: NDArray[np.uint8]) -> None:
    """Packs up to a block of words into `out` [groups, bits]; a group's missing words are zeros."""
    filled = np.zeros((len(out), _GROUP), np.uint64)
    filled.reshape(-1)[: len(words)] = words & np.uint32(2**bits - 1)
    out[:] = 0
    for place in range(_GROUP):
        byte, shift = divmod(place * bits, 8)
        shifted = filled[:, place] << np.uint64(shift)
        for column in range(byte, (place * bits + bits + 7) // 8):
            out[:, column] |= (shifted >> np.uint64(8 * (column - byte))).astype(np.uint8)


def _unpack_groups(data: NDArray[np.uint8], bits: int, out: Words) -> None:
    """Unpacks `data` [groups, bits] into `out` [groups, 8]."""
    for place in range(_GROUP):
        byte, shift = divmod(place * bits, 8)
        gathered = np.zeros(len(data), np.uint64)
        for column in range(byte, (place * bits + bits + 7) // 8):
            gathered |= data[:, column].astype(np.uint64) << np.uint64(8 * (column - byte))
        out[:, place] = (gathered >> np.uint64(shift)) & np.uint64(2**bits - 1)
