"""Resamples a recording and takes a clip of fixed length from its middle.

Resampling is band-limited interpolation (Smith and Gossett 1984): each output sample is a weighted sum of the
source's samples around it, whose weights are a sinc under a Hann window. Samples beyond the recording are 0.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from backend.numerics.preprocess.wav import AudioRecording, Samples

# Zero crossings of the sinc on each side, and the part of the band that passes.
ZEROS, ROLL_OFF = 16, 0.95
_CHUNK_WEIGHTS = 1 << 18
# Phases whose weights are kept; odd pairs of rates have more.
_MAX_PHASES = 1024


def clip(recording: AudioRecording, rate: int, length: int) -> Samples:
    """Returns [length] samples at `rate`: the middle of the recording, or all of it amid zeros."""
    divisor = math.gcd(rate, recording.rate)
    up, down = rate // divisor, recording.rate // divisor
    total = -(-recording.frames * up // down)
    count = min(total, length)
    start = (total - count) // 2
    before = (length - count) // 2
    target = np.zeros(length)
    if up == down:
        target[before : before + count] = recording.read(start, start + count)
        return target
    step = max(1, _CHUNK_WEIGHTS // (2 * reach(up, down)))
    for first in range(0, count, step):
        numbers = np.arange(start + first, start + min(first + step, count), dtype=np.int64)
        target[before + first : before + first + len(numbers)] = _resampled(recording, numbers, up, down)
    return target


def cutoff(up: int, down: int) -> float:
    """Returns the end of the band that passes, as a part of the source's."""
    return ROLL_OFF * min(1.0, up / down)


def reach(up: int, down: int) -> int:
    """Returns how many source samples are weighted on each side."""
    return math.ceil(ZEROS / cutoff(up, down))


def _resampled(recording: AudioRecording, numbers: NDArray[np.int64], up: int, down: int) -> Samples:
    """Returns the output samples `numbers`, which follow each other."""
    side = reach(up, down)
    centres, phases = np.divmod(numbers * down, up)
    first, stop = int(centres[0]) - side + 1, int(centres[-1]) + side + 1
    there = max(first, 0), min(stop, recording.frames)
    source = np.zeros(stop - first)
    source[there[0] - first : there[1] - first] = recording.read(*there)
    rows = np.lib.stride_tricks.sliding_window_view(source, 2 * side)[centres - centres[0]]
    weights = _all_weights(up, down)[phases] if up <= _MAX_PHASES else _weights(phases, up, down)
    samples: Samples = np.einsum("ij,ij->i", rows, weights)
    return samples


@lru_cache(maxsize=8)
def _all_weights(up: int, down: int) -> Samples:
    return _weights(np.arange(up), up, down)


def _weights(phases: NDArray[np.int64], up: int, down: int) -> Samples:
    """Returns [phases, 2 * reach]: the weights of the source's samples around positions at these phases."""
    side = reach(up, down)
    distances = cutoff(up, down) * (np.arange(-side + 1, side + 1) - (phases / up)[:, None])
    window = np.where(np.abs(distances) < ZEROS, 0.5 + 0.5 * np.cos(np.pi * distances / ZEROS), 0.0)
    weights: Samples = np.sinc(distances) * window
    weights /= weights.sum(axis=1, keepdims=True)
    return weights
