"""Spectrograms show the tones of a recording, whatever its sample rate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.numerics.preprocess.audio_clip import clip
from backend.numerics.preprocess.declared import DeclaredAudio
from backend.numerics.preprocess.fitting import fit_audio
from backend.numerics.preprocess.spectrogram import FLOOR, audio_values, mel_filters
from backend.numerics.preprocess.wav import AudioRecording


def recording(samples: NDArray[np.float64], rate: int) -> AudioRecording:
    return AudioRecording(rate, len(samples), lambda start, stop: samples[start:stop])


def tone(hertz: float, rate: int, seconds: float) -> NDArray[np.float64]:
    wave: NDArray[np.float64] = np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)
    return wave


def spectrogram(one: AudioRecording, **declared: Any) -> NDArray[np.float32]:
    rule = DeclaredAudio(classes=["a", "b"], **declared)
    return audio_values(fit_audio(rule, ()), one)


@pytest.mark.parametrize("rate", [8000, 16_000, 22_050, 44_100, 48_000, 96_000])
def test_a_tone_is_loudest_in_its_bin_at_any_sample_rate(rate: int) -> None:
    values = spectrogram(recording(tone(1000, rate, 1), rate), spectrum="linear", bins=257, normalize="none")
    assert values.shape == (98, 257, 1)
    assert (values[5:-5].argmax(axis=1) == 1000 * 512 // 16_000).all()
    # A sine of amplitude 1 under a Hann window of 400 samples: (400 / 4) squared.
    assert values[5:-5].max() == pytest.approx(math.log(1e4), abs=0.05)


@pytest.mark.parametrize(("source", "target"), [(44_100, 16_000), (8000, 16_000), (48_000, 44_100)])
def test_resampling_keeps_a_tone_that_both_rates_hold(source: int, target: int) -> None:
    heard = clip(recording(tone(440, source, 0.5), source), target, round(target * 0.5))
    inner = slice(200, -200)
    np.testing.assert_allclose(heard[inner], tone(440, target, 0.5)[inner], atol=1e-3)


def test_resampling_removes_a_tone_that_the_lower_rate_cannot_hold() -> None:
    heard = clip(recording(tone(7000, 48_000, 0.5), 48_000), 8000, 4000)
    assert np.abs(heard[200:-200]).max() < 1e-3


def test_a_constant_stays_one_under_resampling() -> None:
    heard = clip(recording(np.ones(4000), 22_050), 16_000, 2000)
    np.testing.assert_allclose(heard[100:-100], 1, rtol=1e-12)


def test_the_middle_of_a_long_recording_is_taken_and_a_short_one_is_amid_silence() -> None:
    samples = np.arange(10.0)
    assert clip(recording(samples, 8000), 8000, 4).tolist() == [3, 4, 5, 6]
    assert clip(recording(samples[:3], 8000), 8000, 6).tolist() == [0, 0, 1, 2, 0, 0]


def test_only_the_part_of_a_long_recording_that_is_needed_is_read() -> None:
    read: list[int] = []

    def zeros(start: int, stop: int) -> NDArray[np.float64]:
        read.append(stop - start)
        return np.zeros(stop - start)

    clip(AudioRecording(48_000, 1 << 40, zeros), 16_000, 16_000)
    assert sum(read) < 60_000


def test_silence_is_flat() -> None:
    silent = recording(np.zeros(16_000), 16_000)
    assert spectrogram(silent, normalize="none").min() == pytest.approx(math.log(FLOOR))
    assert not spectrogram(silent).any()


def test_a_normalized_spectrogram_has_mean_0_and_deviation_1_however_loud_it_is() -> None:
    noise = np.random.default_rng(0).standard_normal(16_000) * 0.1
    loud, quiet = (spectrogram(recording(noise * gain, 16_000)) for gain in (1, 0.1))
    assert (loud.mean(), loud.std()) == (pytest.approx(0, abs=1e-5), pytest.approx(1, abs=1e-5))
    np.testing.assert_allclose(loud, quiet, atol=1e-4)


def test_mel_filters_have_their_peaks_where_htk_puts_them() -> None:
    # mel(1000) = 999.99 and mel(8000) = 2840.02, by the formula of the HTK book.
    filters = mel_filters(16_000, 512, 40, 0, 8000)
    peaks = filters.argmax(axis=1) * 16_000 / 512
    mels = 2595 * np.log10(1 + peaks / 700)
    np.testing.assert_allclose(mels, 2840.0230 / 41 * np.arange(1, 41), atol=25)
    assert filters.max() <= 1


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ({"seconds": 0.02}, "at least one window"),
        ({"seconds": 60, "hop": 16}, "8,192"),
        ({"bins": 200}, "fewer bins"),
        ({"high": 9000}, "half the rate"),
        ({"low": 5000, "high": 4000}, "rising"),
        ({"spectrum": "linear", "bins": 258}, "at most 257"),
        ({"spectrum": "linear", "high": 4000}, "no low and high"),
    ],
)
def test_a_declaration_that_makes_no_spectrogram_is_refused(wrong: dict[str, Any], remedy: str) -> None:
    with pytest.raises(ValueError, match=remedy):
        DeclaredAudio(**wrong)
