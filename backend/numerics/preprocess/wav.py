"""Reads WAV files: PCM of 8, 16, 24 and 32 bits and floats, as mono float64 samples.

The format is that of "Multimedia Programming Interface and Data Specifications 1.0" (IBM and Microsoft 1991),
with WAVE_FORMAT_EXTENSIBLE. Sizes in headers are compared with the bytes that are there before they are used.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.errors import DataError

Samples = NDArray[np.float64]

MAX_CHANNELS, MIN_RATE, MAX_RATE = 8, 1000, 192_000
# Floats are from -1 to 1; whole numbers saved as floats are refused.
MAX_LEVEL = 100.0
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_GUID = bytes.fromhex("000000001000800000aa00389b71")
_DTYPES = {(_PCM, 16): "<i2", (_PCM, 32): "<i4", (_FLOAT, 32): "<f4", (_FLOAT, 64): "<f8"}
_OTHERS = (
    (0, b"ID3", "MP3"),
    (0, b"\xff\xfb", "MP3"),
    (0, b"\xff\xf3", "MP3"),
    (0, b"OggS", "Ogg"),
    (0, b"fLaC", "FLAC"),
    (4, b"ftyp", "M4A"),
    (0, b"\x1a\x45\xdf\xa3", "WebM"),
    (0, b"FORM", "AIFF"),
)
_SAVE = "save it as WAV (PCM of 16 bits)"


@dataclass(frozen=True)
class AudioRecording:
    """A recording: `read(start, stop)` returns mono samples, -1 to 1, of frames within `frames`."""

    rate: int
    frames: int
    read: Callable[[int, int], Samples]


@dataclass(frozen=True)
class _Encoding:
    """How a frame is stored."""

    kind: int
    channels: int
    rate: int
    bits: int

    @property
    def frame_bytes(self) -> int:
        return self.channels * self.bits // 8


def open_wav(content: bytes) -> AudioRecording:
    """Opens the WAV file with this content. Raises DataError, which says what to do."""
    if len(content) == 0:
        raise DataError("the file is empty; record it again, or leave it out.")
    _check_signature(content)
    encoding: _Encoding | None = None
    for name, start, size in _chunks(content):
        if name == b"fmt ":
            encoding = _encoding(content[start : start + size])
        elif name == b"data":
            if encoding is None:
                break
            return _recording(encoding, memoryview(content)[start : start + size])
    raise DataError(f"the WAV file has no sound, or no description of it; {_SAVE} again.")


def _check_signature(content: bytes) -> None:
    if content[:4] == b"RIFF" and content[8:12] == b"WAVE":
        return
    if content[:4] in (b"RF64", b"RIFX"):
        raise DataError(f"it is {content[:4].decode()}, a kind of WAV that is not read; {_SAVE}.")
    for at, mark, name in _OTHERS:
        if content[at : at + len(mark)] == mark:
            raise DataError(f"it is {name}, and only WAV is read here; {_SAVE}.")
    raise DataError(f"it is no WAV file; {_SAVE}.")


def _chunks(content: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yields name, start and length of each chunk. Raises DataError for one that the file does not hold."""
    at = 12
    while at + 8 <= len(content):
        name, size = struct.unpack_from("<4sI", content, at)
        at += 8
        if size > len(content) - at:
            raise DataError(
                f"its header announces {size:,} bytes where {len(content) - at:,} follow, so it is cut off "
                "or was not closed; copy it again, or save it again as WAV."
            )
        yield name, at, size
        at += size + size % 2


def _encoding(chunk: bytes) -> _Encoding:
    if len(chunk) < 16:
        raise DataError(f"the description of its sound is cut off; {_SAVE} again.")
    kind, channels, rate, _, frame_bytes, bits = struct.unpack_from("<HHIIHH", chunk)
    if kind == _EXTENSIBLE:
        if len(chunk) < 40 or chunk[26:40] != _GUID:
            raise DataError(f"its sound is compressed or of an unknown kind; {_SAVE}.")
        (kind,) = struct.unpack_from("<H", chunk, 24)
    if not 1 <= channels <= MAX_CHANNELS:
        raise DataError(f"it has {channels} channels where 1 to {MAX_CHANNELS} are read; mix it down to one.")
    if not MIN_RATE <= rate <= MAX_RATE:
        raise DataError(
            f"it has {rate:,} samples a second where {MIN_RATE:,} to {MAX_RATE:,} are read; resample it."
        )
    if (kind, bits) not in (*_DTYPES, (_PCM, 8), (_PCM, 24)):
        what = {_PCM: "whole numbers", _FLOAT: "floats"}.get(kind, f"the compressed kind {kind}")
        raise DataError(f"its sound is stored as {what} of {bits} bits, which is not read; {_SAVE}.")
    encoding = _Encoding(kind, channels, rate, bits)
    if frame_bytes != encoding.frame_bytes:
        raise DataError(f"the description of its sound contradicts itself; {_SAVE} again.")
    return encoding


def _recording(encoding: _Encoding, data: memoryview) -> AudioRecording:
    frames = len(data) // encoding.frame_bytes
    if frames == 0:
        raise DataError("it holds no sound; record it again, or leave it out.")

    def read(start: int, stop: int) -> Samples:
        values = _decoded(encoding, data[start * encoding.frame_bytes : stop * encoding.frame_bytes])
        mono: Samples = values.reshape(-1, encoding.channels).sum(axis=1) / encoding.channels
        return mono

    return AudioRecording(encoding.rate, frames, read)


def _decoded(encoding: _Encoding, data: memoryview) -> Samples:
    """Returns the samples of all channels, -1 to 1. Raises DataError for floats that are no sound."""
    if encoding.bits == 8:
        return (np.frombuffer(data, np.uint8).astype(np.float64) - 128) / 128
    if encoding.bits == 24:
        return _three_bytes(np.frombuffer(data, np.uint8).reshape(-1, 3)) / 2**23
    values: NDArray[Any] = np.frombuffer(data, _DTYPES[encoding.kind, encoding.bits])
    if encoding.kind == _PCM:
        return values.astype(np.float64) / 2.0 ** (encoding.bits - 1)
    if not (np.abs(values) <= MAX_LEVEL).all():
        raise DataError(
            "it holds numbers that are no sound; floats are from -1 to 1: scale them, and save again."
        )
    return values.astype(np.float64)


def _three_bytes(parts: NDArray[np.uint8]) -> Samples:
    whole = parts.astype(np.int32) @ np.array([1, 1 << 8, 1 << 16], np.int32)
    return np.where(whole >= 1 << 23, whole - (1 << 24), whole).astype(np.float64)
