"""Writes TensorBoard's event files without TensorBoard, whose package depends on much of TensorFlow.

A file is a sequence of records (TensorFlow's `TFRecord`): length, checksum of the length, an `Event` in
protobuf's wire format, checksum of the event. The checksum is CRC-32C, rotated and shifted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_FILE_VERSION = "brain.Event:2"
_POLYNOMIAL = 0x82F63B78
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True)
class Scalars:
    """Numbers by their tags, of one `step`, at a time in Unix seconds."""

    seconds: float
    step: int
    values: Mapping[str, float]


def events(entries: Iterable[Scalars]) -> bytes:
    """Returns an event file of `entries`, which are ordered from old to new."""
    scalars = list(entries)
    first = scalars[0].seconds if scalars else 0.0
    head = _double(1, first) + _bytes(3, _FILE_VERSION.encode())
    return b"".join([_record(head), *(_record(_event(scalar)) for scalar in scalars)])


def crc32c(data: bytes) -> int:
    """Returns the CRC-32C (Castagnoli) of `data` (RFC 3720, appendix B.4)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _event(scalar: Scalars) -> bytes:
    """Encodes an Event: wall_time = 1, step = 2, summary = 5; in Summary.Value tag = 1, simple_value = 2."""
    values = (_bytes(1, _bytes(1, tag.encode()) + _float(2, value)) for tag, value in scalar.values.items())
    return _double(1, scalar.seconds) + _tag(2, _VARINT) + _varint(scalar.step) + _bytes(5, b"".join(values))


def _record(event: bytes) -> bytes:
    length = struct.pack("<Q", len(event))
    return length + _checksum(length) + event + _checksum(event)


def _checksum(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _double(number: int, value: float) -> bytes:
    return _tag(number, _FIXED64) + struct.pack("<d", value)


def _float(number: int, value: float) -> bytes:
    return _tag(number, _FIXED32) + struct.pack("<f", value)


def _bytes(number: int, value: bytes) -> bytes:
    return _tag(number, _BYTES) + _varint(len(value)) + value


def _tag(number: int, kind: int) -> bytes:
    return bytes([number << 3 | kind])


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = [_entry(byte) for byte in range(256)]
