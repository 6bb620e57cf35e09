"""Writes WAV files and the spectrograms that they become: python -m
tests.contract.vectors.data.make_audio."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from backend.errors import DataError
from backend.numerics.preprocess.declared import DeclaredAudio
from backend.numerics.preprocess.fitting import fit_audio
from backend.numerics.preprocess.spectrogram import audio_values
from backend.numerics.preprocess.wav import open_wav
from tests.contract.vectors import write

# More digits could differ between processors.
DIGITS = 5
PCM, FLOAT, EXTENSIBLE, GUID = 1, 3, 0xFFFE, bytes.fromhex("000000001000800000aa00389b71")


def files() -> dict[str, str]:
    """The content of each file."""
    lines = ",\n".join(json.dumps(case) for case in [*spectrograms(), *refusals()])
    return {"preprocess/audio.json": f"[\n{lines}\n]\n"}


def sound(frames: int, rate: int, channels: int = 1) -> NDArray[np.float64]:
    """A rising tone over noise [frames, channels], another in each channel."""
    random = np.random.default_rng(frames + channels)
    time = np.arange(frames)[:, None] / rate
    tone = 0.5 * np.sin(2 * np.pi * (200 + 900 * time + 300 * np.arange(channels)) * time)
    return tone + 0.01 * random.standard_normal((frames, channels))


def stored(values: NDArray[np.float64], kind: int, bits: int) -> bytes:
    """The samples as bytes of a data chunk."""
    if kind == FLOAT:
        return bytes(values.astype(f"<f{bits // 8}").tobytes())
    if bits == 8:
        return bytes(np.round(values * 127 + 128).astype(np.uint8).tobytes())
    whole = np.round(values * (2 ** (bits - 1) - 1)).astype("<i4")
    return bytes(whole.view(np.uint8).reshape(-1, 4)[:, : bits // 8].tobytes())


def wav(
    values: NDArray[np.float64], rate: int, kind: int = PCM, bits: int = 16, extensible: bool = False
) -> bytes:
    """A WAV file of [frames, channels]."""
    channels = values.shape[1]
    size = channels * bits // 8
    described = struct.pack(
        "<HHIIHH", EXTENSIBLE if extensible else kind, channels, rate, rate * size, size, bits
    )
    if extensible:
        described += struct.pack("<HHIH", 22, bits, 0, kind) + GUID
    return riff(chunk(b"fmt ", described), chunk(b"LIST", b"odd"), chunk(b"data", stored(values, kind, bits)))


def chunk(name: bytes, content: bytes, size: int | None = None) -> bytes:
    """A chunk, filled up to an even length; `size` is another one for its header."""
    return (
        struct.pack("<4sI", name, len(content) if size is None else size)
        + content
        + b"\0" * (len(content) % 2)
    )


def riff(*parts: bytes) -> bytes:
    """A RIFF file of the form WAVE."""
    content = b"WAVE" + b"".join(parts)
    return struct.pack("<4sI", b"RIFF", len(content)) + content


def declared(**changes: Any) -> DeclaredAudio:
    """A declaration of small spectrograms, with `changes`."""
    small = {"rate": 4000, "seconds": 0.06, "window": 64, "hop": 40, "bins": 6, "classes": ["no", "yes"]}
    return DeclaredAudio(**{**small, **changes})


def spectrograms() -> list[dict[str, Any]]:
    """WAV files of each kind and of several rates and lengths."""
    cases = [
        (declared(), wav(sound(240, 4000), 4000)),
        (declared(normalize="none"), wav(sound(240, 4000), 4000, bits=8)),
        (declared(normalize="none"), wav(sound(240, 4000, 2), 4000, bits=24)),
        (declared(normalize="none"), wav(sound(240, 4000, 3), 4000, bits=32, extensible=True)),
        (declared(normalize="none"), wav(sound(240, 4000), 4000, FLOAT, 32)),
        (declared(normalize="none"), wav(sound(240, 4000), 4000, FLOAT, 64, extensible=True)),
        (declared(), wav(sound(700, 11_025, 2), 11_025)),
        (declared(normalize="none"), wav(sound(900, 8000), 8000)),
        (declared(rate=8000, seconds=0.03), wav(sound(100, 4000), 4000)),
        (declared(rate=4001, seconds=0.05), wav(sound(500, 8192), 8192)),
        (declared(), wav(sound(1, 48_000), 48_000)),
        (declared(), wav(sound(101, 4000), 4000)),
        (declared(), wav(sound(333, 4000), 4000)),
        (declared(), wav(np.zeros((240, 1)), 4000)),
        (declared(spectrum="linear", bins=9, normalize="none"), wav(sound(240, 4000), 4000)),
        (declared(window=50, hop=70, bins=5, low=100, high=1800), wav(sound(240, 4000), 4000)),
    ]
    return [case(rule, content) for rule, content in cases]


def case(rule: DeclaredAudio, content: bytes) -> dict[str, Any]:
    """A file, its fitted preprocessing, and the values of its spectrogram."""
    fitted = fit_audio(rule, ())
    values = audio_values(fitted, open_wav(content)).astype(np.float64)
    return {
        "fitted": msgspec.to_builtins(fitted),
        "wav": base64.b64encode(content).decode(),
        # Adding 0 leaves no -0.
        "values": (np.round(values.reshape(-1), DIGITS) + 0.0).tolist(),
    }


def refusals() -> list[dict[str, Any]]:
    """Files that are refused, and what the sentence names."""
    good = wav(sound(8, 4000), 4000)
    described = struct.pack("<HHIIHH", PCM, 1, 4000, 8000, 2, 16)
    silent = chunk(b"data", b"\0" * 16)
    cases = [
        (b"", "empty"),
        (good[:-2], "cut off"),
        (good[:30], "cut off"),
        (b"RIFF", "WAV"),
        (riff(chunk(b"fmt ", described)), "no sound"),
        (riff(silent), "no sound"),
        (riff(chunk(b"fmt ", described), chunk(b"data", b"")), "no sound"),
        (riff(chunk(b"fmt ", described), chunk(b"data", b"\0" * 16, 0xFFFFFFFF)), "bytes where 16 follow"),
        (riff(chunk(b"fmt ", described, 0xFFFFFFFE), silent), "bytes where 40 follow"),
        (riff(chunk(b"fmt ", described[:8]), silent), "cut off"),
        (riff(chunk(b"fmt ", struct.pack("<HHIIHH", PCM, 100, 4000, 800_000, 200, 16)), silent), "100"),
        (riff(chunk(b"fmt ", struct.pack("<HHIIHH", PCM, 0, 4000, 0, 0, 16)), silent), "0 channels"),
        (riff(chunk(b"fmt ", struct.pack("<HHIIHH", PCM, 1, 0, 0, 2, 16)), silent), "samples a second"),
        (riff(chunk(b"fmt ", struct.pack("<HHIIHH", PCM, 1, 4000, 8000, 4, 16)), silent), "contradicts"),
        (riff(chunk(b"fmt ", struct.pack("<HHIIHH", 2, 1, 4000, 8000, 1, 4)), silent), "compressed kind 2"),
        (riff(chunk(b"fmt ", struct.pack("<HHIIHH", PCM, 1, 4000, 8000, 2, 12)), silent), "12 bits"),
        (riff(chunk(b"fmt ", described.replace(b"\x01\0\x01", b"\xfe\xff\x01")), silent), "compressed"),
        (wav(np.full((8, 1), np.nan), 4000, FLOAT, 32), "floats"),
        (wav(np.full((8, 1), 3e4), 4000, FLOAT, 32), "floats"),
        (b"RF64" + good[4:], "RF64"),
        (b"ID3\x04" + b"\0" * 40, "MP3"),
        (b"OggS" + b"\0" * 40, "Ogg"),
        (b"\0\0\0\x20ftypM4A ", "M4A"),
        (b"a text", "no WAV"),
    ]
    return [
        {"wav": base64.b64encode(content).decode(), "error": refused(content, part)}
        for content, part in cases
    ]


def refused(content: bytes, part: str) -> str:
    """The part of the sentence by which the file is refused."""
    try:
        recording = open_wav(content)
        recording.read(0, recording.frames)
    except DataError as error:
        if part in str(error):
            return part
        raise
    raise AssertionError(f"no error: {content[:60]!r}")


if __name__ == "__main__":
    write(files())
