"""Packs the lowest bits of 32-bit words into bytes.

The TypeScript twin is masking/bit-packing.ts; tests/contract/vectors/encoding.json tests that both make
the same bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

FULL_BITS = 32
WORD_BYTES = 4
# A weight, whether the update was not clipped, and a loss; each metric row adds two values.
FURTHER = 3
# Eight values fill whole bytes for any number of bits.
_GROUP = 8
_BLOCK_GROUPS = 8 * 1024


def masked_words(parameters: int, rows: int) -> int:
    """Returns the words of a masked update: one for each parameter and each further value."""
    return parameters + FURTHER + 2 * rows


def masked_bytes(parameters: int, rows: int, bits: int) -> int:
    """Returns the bytes of a masked update: `bits` bits a parameter and 4 bytes a further value."""
    return packed_bytes(parameters, bits) + WORD_BYTES * (FURTHER + 2 * rows)


def packed_bytes(values: int, bits: int) -> int:
    """Returns the bytes that `values` of `bits` bits fill; the last byte is padded with zeros."""
    return (values * bits + 7) // 8


def pack_update(words: Words, parameters: int, bits: int) -> memoryview:
    """Packs a masked update: `parameters` values of `bits` bits, then the other words whole, little-endian.

    `words` must not change while the result is in use: at 32 bits the words are not copied.
    """
    whole = words.astype("<u4", copy=False)
    if bits == FULL_BITS:
        return whole.view(np.uint8).data
    return memoryview(pack(whole[:parameters], bits) + whole[parameters:].tobytes())


def add_update(total: Words, data: memoryview, parameters: int, rows: int, bits: int) -> None:
    """Adds the words of a masked update to `total`, modulo 2^32; whole words without a copy.

    Raises ValueError as `unpack_update` does.
    """
    if bits == FULL_BITS and len(data) == total.nbytes:
        np.add(total, np.frombuffer(data, "<u4"), out=total)
    else:
        total += unpack_update(data, parameters, rows, bits)


def unpack_update(data: bytes | bytearray | memoryview, parameters: int, rows: int, bits: int) -> Words:
    """Unpacks the words of a masked update. Raises ValueError if `data` is not masked_bytes(...) long."""
    if len(data) != masked_bytes(parameters, rows, bits):
        raise ValueError(f"{len(data)} bytes are no masked update of {parameters} values.")
    view, start = memoryview(data), packed_bytes(parameters, bits)
    words = np.empty(masked_words(parameters, rows), np.uint32)
    words[:parameters] = unpack(view[:start], parameters, bits)
    words[parameters:] = np.frombuffer(view[start:], "<u4")
    return words


def pack(words: Words, bits: int) -> bytes:
    """Packs the lowest `bits` (1 to 32) of each word one after another, lowest bits and bytes first."""
    if bits % 8 == 0:
        return _bytes(words.astype("<u4", copy=False), bits // 8)
    out = np.empty((-(-len(words) // _GROUP), bits), np.uint8)
    for first in range(0, len(out), _BLOCK_GROUPS):
        last = first + _BLOCK_GROUPS
        _pack_groups(words[first * _GROUP : last * _GROUP], bits, out[first:last])
    return out.reshape(-1)[: packed_bytes(len(words), bits)].tobytes()


def unpack(data: bytes | bytearray | memoryview, values: int, bits: int) -> Words:
    """Unpacks `values` words of `bits` bits; `data` must be packed_bytes(values, bits) long."""
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
    """Returns the lowest `count` bytes of each word; copies columns, because short rows are slow to copy."""
    if count == WORD_BYTES:
        return words.tobytes()
    columns = words.view(np.uint8).reshape(-1, WORD_BYTES)
    out = np.empty((len(words), count), np.uint8)
    for byte in range(count):
        out[:, byte] = columns[:, byte]
    return out.tobytes()


def _words(data: NDArray[np.uint8], values: int, count: int) -> Words:
    """Returns `values` words from `count` bytes each."""
    if count == WORD_BYTES:
        return data.view("<u4").astype(np.uint32, copy=False)
    columns = data.reshape(values, count)
    words = np.zeros(values, "<u4")
    for byte in range(count):
        words.view(np.uint8).reshape(-1, WORD_BYTES)[:, byte] = columns[:, byte]
    return words.astype(np.uint32, copy=False)


def _pack_groups(words: Words, bits: int, out: NDArray[np.uint8]) -> None:
    """Packs at most a block of words into `out` [groups, bits]; missing words of a group are zeros."""
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
