"""Turns decoded pixels into one image of the model's input size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backend.numerics.preprocess.fitted import Image
from backend.numerics.preprocess.resample import resize

Pixels = NDArray[np.uint8]


def image_values(fitted: Image, rgba: Pixels, orientation: int = 1) -> Pixels:
    """Turns RGBA pixels [h, w, 4] into uint8 [height, width, channels].

    `orientation` is that of EXIF, 1 to 8.
    """
    source = orient(flatten(rgba, fitted.background, fitted.channels), orientation)
    return place(fitted, source)


def flatten(rgba: Pixels, background: tuple[int, int, int], channels: int) -> Pixels:
    """Blends [h, w, 4] with the background; returns [h, w, 3], or gray [h, w, 1]."""
    colours = rgba[..., :3]
    alpha = rgba[..., 3:].astype(np.uint32)
    if (alpha != 255).any():
        over = np.array(background, np.uint32) * (255 - alpha)
        colours = ((colours * alpha + over + 127) // 255).astype(np.uint8)
    return _gray(colours) if channels == 1 else colours


def _gray(colours: Pixels) -> Pixels:
    luma = colours.astype(np.uint32) @ np.array([19595, 38470, 7471], np.uint32)
    return ((luma + 32768) >> 16).astype(np.uint8)[..., None]


def orient(pixels: Pixels, orientation: int) -> Pixels:
    """Applies the EXIF orientation to [h, w, channels]."""
    if orientation >= 5:
        pixels = pixels.transpose(1, 0, 2)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return pixels


def place(fitted: Image, source: Pixels) -> Pixels:
    """Crops, resizes and fills [h, w, channels] to the target's size."""
    (h, w), (height, width) = source.shape[:2], fitted.size
    if fitted.fit == "cover":
        length_y, length_x = _cover(h, w, height, width)
        start_y, start_x = (h - length_y) / 2, (w - length_x) / 2
        return resize(source, (start_y, length_y, height), (start_x, length_x, width), fitted.resize)
    if fitted.fit == "stretch":
        return resize(source, (0.0, h, height), (0.0, w, width), fitted.resize)
    inner_y, inner_x = _contain(h, w, height, width)
    inner = resize(source, (0.0, h, inner_y), (0.0, w, inner_x), fitted.resize)
    background = np.array([[fitted.background]], np.uint8)
    colour = background if fitted.channels == 3 else _gray(background)
    target = np.tile(colour, (height, width, 1))
    top, left = (height - inner_y) // 2, (width - inner_x) // 2
    target[top : top + inner_y, left : left + inner_x] = inner
    return target


def _cover(h: int, w: int, height: int, width: int) -> tuple[float, float]:
    if w * height <= h * width:
        return (w * height) / width, float(w)
    return float(h), (h * width) / height


def _contain(h: int, w: int, height: int, width: int) -> tuple[int, int]:
    if w * height >= h * width:
        return max(1, int((h * width) / w + 0.5)), width
    return height, max(1, int((w * height) / h + 0.5))
