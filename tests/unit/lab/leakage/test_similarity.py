"""SSIM: properties of the definition, and a value computed by hand from it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from backend.lab.leakage.similarity import ssim

Pictures = NDArray[np.float64]


def pictures(seed: int, count: int, side: int = 12, channels: int = 1) -> list[Pictures]:
    generator = np.random.default_rng(seed)
    return [generator.random((side, side, channels)) for _ in range(count)]


@given(st.integers(0, 2**31), st.integers(2, 40), st.sampled_from([1, 3]))
def test_a_picture_is_exactly_like_itself_and_any_two_are_alike_both_ways(
    seed: int, side: int, channels: int
) -> None:
    a, b = pictures(seed, 2, side, channels)
    assert ssim(a, a) == pytest.approx(1.0)
    assert ssim(a, b) == pytest.approx(ssim(b, a))
    assert -1.0 <= ssim(a, b) < 1.0


@given(st.integers(0, 2**31))
def test_more_noise_makes_a_picture_less_alike(seed: int) -> None:
    generator = np.random.default_rng(seed)
    picture = np.tile(np.linspace(0.0, 1.0, 16)[:, None, None], (1, 16, 1))
    noise = generator.normal(size=picture.shape)
    little, much = (ssim(picture, picture + share * noise) for share in (0.05, 0.5))
    assert 1.0 > little > much


def test_of_flat_pictures_only_the_luminance_term_remains() -> None:
    dark, light = np.full((8, 8, 1), 0.2), np.full((8, 8, 1), 0.6)
    assert ssim(dark, light) == pytest.approx((2 * 0.12 + 1e-4) / (0.04 + 0.36 + 1e-4))


def test_away_from_the_edges_the_window_is_the_papers() -> None:
    """A periodic picture of 9 x 9 periods has the mean SSIM of one period, but for its edges."""
    a, b = (picture[..., 0] for picture in pictures(3, 2, 11))
    line = np.exp(-(np.arange(-5, 6) ** 2) / 4.5)
    window = np.outer(line, line) / line.sum() ** 2
    period = np.mean([_at(a, b, window, i, j) for i in range(11) for j in range(11)])
    wide_a, wide_b = (np.tile(one, (9, 9))[..., None] for one in (a, b))
    assert ssim(wide_a, wide_b) == pytest.approx(period, abs=0.01)


def _at(a: Pictures, b: Pictures, window: Pictures, i: int, j: int) -> float:
    """SSIM at one pixel of periodic pictures, by its definition."""
    a, b = (np.roll(one, (i, j), (0, 1)) for one in (a, b))
    mean_a, mean_b = (window * a).sum(), (window * b).sum()
    covariance = (window * a * b).sum() - mean_a * mean_b
    variances = (window * a * a).sum() - mean_a**2 + (window * b * b).sum() - mean_b**2
    value = (2 * mean_a * mean_b + 1e-4) * (2 * covariance + 9e-4)
    return float(value / ((mean_a**2 + mean_b**2 + 1e-4) * (variances + 9e-4)))


def test_pictures_of_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        ssim(np.zeros((8, 8, 1)), np.zeros((8, 9, 1)))
    with pytest.raises(ValueError, match="cannot be compared"):
        ssim(np.zeros((8, 8)), np.zeros((8, 8)))
