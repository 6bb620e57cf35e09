"""Turns a recording into a log spectrogram of fixed shape; docs/reference/preprocessing.md specifies it.

The mel scale is that of HTK, mel = 2595 log10(1 + f / 700) (O'Shaughnessy 1987; Young et al., The HTK Book
3.4, sec. 5.4). Filters are triangles over the frequency in Hz with peaks of 1 (Davis and Mermelstein 1980),
as librosa computes them with `htk=True, norm=None`. The window is Hann's, periodic. Python and TypeScript
agree within 1e-5.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from backend.numerics.preprocess.audio_clip import clip
from backend.numerics.preprocess.fitted import FittedAudio
from backend.numerics.preprocess.wav import AudioRecording, Samples

# Powers below are raised to it: less than a quiet room's, and than the rounding to 16 bits.
FLOOR = 1e-6
# Spectrograms that vary less are not scaled up.
MIN_DEVIATION = 0.01
_CHUNK_FRAMES = 256


def audio_values(fitted: FittedAudio, recording: AudioRecording) -> NDArray[np.float32]:
    """Returns the spectrogram of the recording's middle, float32 [frames, bins, 1]."""
    samples = clip(recording, fitted.rate, clip_length(fitted.rate, fitted.seconds))
    values = np.log(np.maximum(powers(fitted, samples), FLOOR))
    if fitted.normalize == "recording":
        values = (values - values.mean()) / max(float(values.std()), MIN_DEVIATION)
    stored: NDArray[np.float32] = values.astype(np.float32)[..., None]
    return stored


def clip_length(rate: int, seconds: float) -> int:
    """Returns the number of samples of a clip."""
    return math.floor(seconds * rate + 0.5)


def frame_count(rate: int, seconds: float, window: int, hop: int) -> int:
    """Returns how many windows fit into a clip; 0 or less if it is shorter than one."""
    return (clip_length(rate, seconds) - window) // hop + 1


def fft_size(window: int) -> int:
    """Returns the smallest power of two that holds a window."""
    return 1 << (window - 1).bit_length()


def powers(fitted: FittedAudio, samples: Samples) -> Samples:
    """Returns [frames, bins]: the power of each window in each bin."""
    size = fft_size(fitted.window)
    frames = np.lib.stride_tricks.sliding_window_view(samples, fitted.window)[:: fitted.hop]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(fitted.window) / fitted.window)
    parts = []
    for start in range(0, len(frames), _CHUNK_FRAMES):
        spectrum = np.fft.rfft(frames[start : start + _CHUNK_FRAMES] * hann, size, axis=1)
        power = spectrum.real**2 + spectrum.imag**2
        if fitted.spectrum == "linear":
            parts.append(power[:, : fitted.bins])
        else:
            filters = mel_filters(fitted.rate, size, fitted.bins, fitted.low, fitted.high)
            parts.append(power @ filters.T)
    return np.concatenate(parts)


def check_bins(rate: int, window: int, bins: int, low: float, high: float) -> None:
    """Raises ValueError if the mel scale ends beyond half the rate, or a bin would hold no frequency."""
    if not low < high <= rate / 2:
        raise ValueError(
            f"low and high are frequencies in Hz, rising, and at most {rate / 2:g}, half the rate"
        )
    empty = int((mel_filters(rate, fft_size(window), bins, low, high).max(axis=1) <= 0).sum())
    if empty:
        raise ValueError(
            f"{empty} of {bins} mel bins would hold no frequency; use fewer bins, or a longer window"
        )


@lru_cache(maxsize=16)
def mel_filters(rate: int, size: int, bins: int, low: float, high: float) -> Samples:
    """Returns [bins, size / 2 + 1]: triangles between points that are equally far on the mel scale."""
    lowest, highest = _mel(low), _mel(high)
    points = [_hertz(lowest + (highest - lowest) * i / (bins + 1)) for i in range(bins + 2)]
    frequencies = np.arange(size // 2 + 1) * rate / size
    rows = [
        np.minimum((frequencies - left) / (peak - left), (right - frequencies) / (right - peak))
        for left, peak, right in zip(points, points[1:], points[2:], strict=False)
    ]
    return np.maximum(np.array(rows), 0.0)


def _mel(frequency: float) -> float:
    return 2595 * math.log10(1 + frequency / 700)


def _hertz(mel: float) -> float:
    return float(700 * (10 ** (mel / 2595) - 1))
