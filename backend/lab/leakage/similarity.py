"""Compares pictures by structural similarity, SSIM (Wang, Bovik, Sheikh and Simoncelli 2004, eq. 13)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.float64]

# The paper's Gaussian window of 11 x 11, and its constants for levels from 0 to 1 (section III.B and III.C).
WINDOW, DEVIATION = 11, 1.5
_LUMINANCE, _CONTRAST = 0.01**2, 0.03**2


def ssim(picture: Picture, other: Picture) -> float:
    """Returns the mean SSIM of two pictures [height, width, channels] of levels from 0 to 1.

    1 for equal pictures, about 0 for unrelated ones. Channels are compared separately and averaged. At the
    edges the window is cut and its weights sum to 1 again, so that pictures smaller than the window have a
    value, too; inside it is the paper's. Raises ValueError for pictures of different or other shapes.
    """
    if picture.shape != other.shape or picture.ndim != 3:
        raise ValueError(f"Pictures of shapes {picture.shape} and {other.shape} cannot be compared.")
    a, b = picture.astype(np.float64), other.astype(np.float64)
    rows, columns = _window(a.shape[0]), _window(a.shape[1])

    def local_mean(values: Picture) -> Picture:
        mean: Picture = np.einsum("ij,jkc,lk->ilc", rows, values, columns)
        return mean

    mean_a, mean_b = local_mean(a), local_mean(b)
    variance_a = local_mean(a * a) - mean_a**2
    variance_b = local_mean(b * b) - mean_b**2
    covariance = local_mean(a * b) - mean_a * mean_b
    numerator = (2.0 * mean_a * mean_b + _LUMINANCE) * (2.0 * covariance + _CONTRAST)
    denominator = (mean_a**2 + mean_b**2 + _LUMINANCE) * (variance_a + variance_b + _CONTRAST)
    return float(np.mean(numerator / denominator))


def _window(length: int) -> Picture:
    """Returns the weights [length, length] of a Gaussian window around each position; rows sum to 1."""
    distance = np.subtract.outer(np.arange(length), np.arange(length)).astype(np.float64)
    weights = np.exp(-(distance**2) / (2.0 * DEVIATION**2))
    weights[np.abs(distance) > WINDOW // 2] = 0.0
    normalized: Picture = weights / weights.sum(axis=1, keepdims=True)
    return normalized
