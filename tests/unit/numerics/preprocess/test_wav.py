"""A damaged WAV file is refused with a sentence, never with another error or a huge allocation."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from backend.errors import DataError
from backend.numerics.preprocess.wav import open_wav
from tests.contract.vectors.data.make_audio import FLOAT, PCM, chunk, riff, sound, wav

GOOD = wav(sound(40, 8000, 2), 8000, extensible=True)


def samples(content: bytes) -> int:
    """How many samples a file has; 0 if it is refused."""
    try:
        recording = open_wav(content)
        read = recording.read(0, recording.frames)
    except DataError:
        return 0
    assert np.isfinite(read).all()
    return len(read)


def test_every_cut_of_a_file_is_refused() -> None:
    assert samples(GOOD) == 40
    assert [samples(GOOD[:length]) for length in range(len(GOOD))] == [0] * len(GOOD)


@pytest.mark.parametrize("kind", [PCM, FLOAT])
def test_any_other_bytes_are_read_or_refused(kind: int) -> None:
    random = np.random.default_rng(0)
    content = wav(sound(20, 8000), 8000, kind, 32)
    for _ in range(2000):
        damaged = bytearray(content)
        for at in random.integers(0, len(content), 3):
            damaged[at] = random.integers(0, 256)
        samples(bytes(damaged))


def test_a_header_of_four_gibibytes_takes_no_memory() -> None:
    tracemalloc.start()
    for name in (b"data", b"fmt ", b"LIST"):
        assert samples(riff(chunk(name, b"\0" * 100, 0xFFFFFFFF))) == 0
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_frame_is_the_mean_of_its_channels() -> None:
    values = np.array([[0.5, -0.5], [1.0, 0.0]])
    recording = open_wav(wav(values, 8000, FLOAT, 32))
    assert recording.read(0, 2).tolist() == [0.0, 0.5]
    assert recording.read(1, 2).tolist() == [0.5]
