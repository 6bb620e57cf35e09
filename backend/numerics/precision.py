"""Encodes vector parts between peers as float32, float16 or int8, little-endian.

Decoding gives the same float32 values, bit for bit, in Python and in TypeScript
(webapp/static/src/core/numerics/aggregation/); tests/contract/vectors/averaging.json tests that.
docs/reference/mesh.md has the rules under "What is averaged".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.errors import NotFiniteError, WrongLengthError
from backend.numerics.aggregation.update_checks import all_finite
from backend.numerics.vectors import Vector, blocks

Bytes: TypeAlias = NDArray[np.uint8]

# Values are clipped to this, so that sums of members' values stay far below float32's limit.
MAX_VALUE = 2.0**100
# The largest finite value of a float16.
MAX_HALF = 65504.0
# Bytes of a masked value.
MASKED_BYTES = 4
# Values that share a scale in int8.
SCALED = 1024
_LEVELS = 127
_SCALE_BYTES = 4
_ROW_BYTES = _SCALE_BYTES + SCALED
_MAX_SCALE = np.float32(MAX_VALUE) / np.float32(_LEVELS)
# Bits of the exponent of a float16: all of them are set in NaN and infinity.
_HALF_EXPONENT = 0x7C00
_HALVES: Vector = np.arange(1 << 16, dtype="<u2").view("<f2").astype(np.float32)


@dataclass(frozen=True)
class _Codec:
    """The codec of one precision. `write` and `read` take blocks (vectors.py), which fill whole bytes.

    `write` does not change the values; `fit` says whether all values in the bytes may be averaged.
    """

    size: Callable[[int], int]
    write: Callable[[Vector, Bytes], None]
    read: Callable[[Bytes, Vector], None]
    fit: Callable[[Bytes], bool]


def encoded_size(values: int, precision: str) -> int:
    """Returns the bytes that encode `values` values; "masked" is words of 32 bits (masked_parts.py)."""
    return MASKED_BYTES * values if precision == "masked" else _CODECS[precision].size(values)


def encode(values: Vector, precision: str) -> Bytes:
    """Encodes `values` [n]; float32 may be a view of them. Raises NotFiniteError for NaN or infinity."""
    codec = _CODECS[precision]
    if precision == "float32" and values.dtype == np.dtype("<f4") and values.flags.c_contiguous:
        view: Bytes = values.view(np.uint8)
        if all(codec.fit(view[_span(codec, part)]) for part in blocks(len(values))):
            return view
    data = np.empty(codec.size(len(values)), np.uint8)
    for part in blocks(len(values)):
        block = values[part]
        if not _finite(block):
            raise NotFiniteError("The weights hold NaN or infinity. Lower the learning rate.")
        codec.write(block, data[_span(codec, part)])
    return data


def decode(data: bytes | bytearray | memoryview | Bytes, values: int, precision: str) -> Vector:
    """Decodes the float32 values [values] in `data`.

    Raises WrongLengthError for another number of bytes, NotFiniteError for values that may not be averaged.
    """
    decoded = np.empty(values, np.float32)
    decode_into(checked(data, values, precision), precision, decoded)
    return decoded


def decode_into(raw: Bytes, precision: str, out: Vector) -> None:
    """Decodes the checked `raw` into `out` [its values]."""
    for part in blocks(len(out)):
        read_block(raw, part, precision, out[part])


def checked(data: bytes | bytearray | memoryview | Bytes, values: int, precision: str) -> Bytes:
    """Returns `data`, not copied, if it is `values` values that may be averaged; raises as `decode`."""
    codec = _CODECS[precision]
    raw = np.frombuffer(data, np.uint8)
    if len(raw) != codec.size(values):
        raise WrongLengthError(
            f"{values} values in {precision} are {codec.size(values)} bytes, not {len(raw)}."
        )
    if not all(codec.fit(raw[_span(codec, part)]) for part in blocks(values)):
        raise NotFiniteError(f"It holds NaN, infinity or a value over {MAX_VALUE:.3g}.")
    return raw


def read_block(raw: Bytes, part: slice, precision: str, out: Vector) -> None:
    """Decodes the block `part` (vectors.py `blocks`) of the checked `raw` into `out` [its values]."""
    codec = _CODECS[precision]
    codec.read(raw[_span(codec, part)], out)


def write_block(values: Vector, precision: str, raw: Bytes, part: slice) -> None:
    """Encodes finite `values` as the block `part` of `raw`."""
    codec = _CODECS[precision]
    codec.write(values, raw[_span(codec, part)])


def _span(codec: _Codec, part: slice) -> slice:
    return slice(codec.size(part.start), codec.size(part.stop))


def _finite(block: Vector) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.dot(block, block))) or all_finite(block)


def _write_single(values: Vector, data: Bytes) -> None:
    np.clip(values, -MAX_VALUE, MAX_VALUE, out=data.view("<f4"))


def _read_single(data: Bytes, values: Vector) -> None:
    values[:] = data.view("<f4")


def _fit_single(data: Bytes) -> bool:
    singles = data.view("<f4")
    # A comparison with NaN is false.
    return bool(np.max(singles) <= MAX_VALUE and np.min(singles) >= -MAX_VALUE)


def _write_half(values: Vector, data: Bytes) -> None:
    data.view("<f2")[:] = np.clip(values, -MAX_HALF, MAX_HALF)


def _read_half(data: Bytes, values: Vector) -> None:
    # Twice as fast as numpy's own conversion. Two bytes cannot exceed the table's bounds.
    np.take(_HALVES, data.view("<u2"), out=values, mode="clip")


def _fit_half(data: Bytes) -> bool:
    exponents = data.view("<u2") & _HALF_EXPONENT
    return int(exponents.max()) < _HALF_EXPONENT


def _int8_size(values: int) -> int:
    return values + _SCALE_BYTES * -(-values // SCALED)


def _write_int8(values: Vector, data: Bytes) -> None:
    for rows, scales, levels in _scaled(data, values):
        largest = np.minimum(np.abs(rows).max(axis=1), np.float32(MAX_VALUE))
        scales[:] = scale = largest / np.float32(_LEVELS)
        # Values too small for a scale become zero.
        divisor = np.where(scale > 0, scale, np.float32(np.inf))
        levels[:] = np.clip(np.rint(rows / divisor[:, None]), -_LEVELS, _LEVELS)


def _read_int8(data: Bytes, values: Vector) -> None:
    for rows, scales, levels in _scaled(data, values):
        np.multiply(levels, scales[:, None], out=rows, dtype=np.float32)


def _fit_int8(data: Bytes) -> bool:
    count = len(data) - _SCALE_BYTES * -(-len(data) // _ROW_BYTES)
    unused = np.empty(count, np.float32)
    return all(
        bool((scales <= _MAX_SCALE).all() and (scales >= 0).all()) for _, scales, _ in _scaled(data, unused)
    )


def _scaled(data: Bytes, values: Vector) -> Iterator[tuple[Vector, Vector, NDArray[np.int8]]]:
    """Yields views of values that share scales [rows, SCALED], the scales [rows], levels [rows, SCALED].

    All full rows come first, then the last row if it is shorter.
    """
    whole = len(values) // SCALED
    if whole:
        rows = data[: whole * _ROW_BYTES].reshape(whole, _ROW_BYTES)
        yield values[: whole * SCALED].reshape(whole, SCALED), *_parts(rows)
    if len(values) % SCALED:
        yield values[None, whole * SCALED :], *_parts(data[None, whole * _ROW_BYTES :])


def _parts(rows: Bytes) -> tuple[Vector, NDArray[np.int8]]:
    return rows[:, :_SCALE_BYTES].view("<f4")[:, 0], rows[:, _SCALE_BYTES:].view(np.int8)


_CODECS = {
    "float32": _Codec(lambda values: 4 * values, _write_single, _read_single, _fit_single),
    "float16": _Codec(lambda values: 2 * values, _write_half, _read_half, _fit_half),
    "int8": _Codec(_int8_size, _write_int8, _read_int8, _fit_int8),
}
