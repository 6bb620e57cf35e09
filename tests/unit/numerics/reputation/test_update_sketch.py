"""Repetitions of earlier updates are recognised by their sketches."""

from __future__ import annotations

import numpy as np
import pytest

from backend.numerics.reputation.update_sketch import (
    MOST_CLIENTS,
    REMEMBERED,
    WIDTH,
    SketchHistory,
    UpdateSketcher,
)
from backend.numerics.vectors import Vector


def drawn(size: int, seed: int = 0) -> Vector:
    return np.random.default_rng(seed).standard_normal(size).astype(np.float32)


@pytest.mark.parametrize("size", [1, 63, 64, 1000, 200_001])
def test_a_sketch_is_linear_and_keeps_lengths_on_average(size: int) -> None:
    update, other = drawn(size), drawn(size, 1)
    ratios = []
    for seed in range(30):
        sketcher = UpdateSketcher(size, seed)
        sketch = sketcher.sketch(update)
        assert sketch.shape == (WIDTH,)
        np.testing.assert_allclose(
            sketcher.sketch(update + other), sketch + sketcher.sketch(other), atol=1e-3 * size**0.5
        )
        ratios.append(np.linalg.norm(sketch) ** 2 / np.linalg.norm(update) ** 2)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.15)


def test_copies_are_repetitions_with_a_little_noise_too() -> None:
    history, sketcher = SketchHistory(), UpdateSketcher(5000, 7)
    update = drawn(5000)
    noisy = update + np.float32(0.005) * drawn(5000, 1)
    assert not history.repeats("a", 1, sketcher.sketch(update))
    assert history.repeats("a", 2, sketcher.sketch(update))
    assert history.repeats("a", 3, sketcher.sketch(noisy))
    assert not history.repeats("b", 3, sketcher.sketch(update))


def test_similar_updates_of_an_honest_client_are_none() -> None:
    # Measured on digits: a client with one class reached a cosine of 0.995 to its earlier updates.
    history, sketcher = SketchHistory(), UpdateSketcher(5000, 7)
    first, other = drawn(5000), drawn(5000, 1)
    assert not history.repeats("a", 1, sketcher.sketch(first))
    assert not history.repeats("a", 2, sketcher.sketch(first + np.float32(0.1) * other))


def test_the_same_version_again_and_zeros_are_none() -> None:
    history, sketcher = SketchHistory(), UpdateSketcher(100, 7)
    for version in (1, 1):
        assert not history.repeats("a", version, sketcher.sketch(drawn(100)))
    for version in (2, 3):
        assert not history.repeats("b", version, sketcher.sketch(np.zeros(100, np.float32)))


def test_what_is_remembered_is_bounded() -> None:
    history, sketcher = SketchHistory(), UpdateSketcher(100, 7)
    history.repeats("a", 0, sketcher.sketch(drawn(100)))
    for version in range(1, REMEMBERED + 1):
        assert not history.repeats("a", version, sketcher.sketch(drawn(100, version)))
    assert not history.repeats("a", 99, sketcher.sketch(drawn(100)))
    history.repeats("b", 0, sketcher.sketch(drawn(100)))
    for number in range(MOST_CLIENTS):
        history.repeats(f"c{number}", 0, np.zeros(WIDTH))
    assert not history.repeats("b", 1, sketcher.sketch(drawn(100)))
