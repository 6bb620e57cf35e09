"""Image files become pixels."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from backend.datasets.readers.images import decode_image
from backend.errors import DataError
from tests.support.tasks.small_datasets import png


@pytest.mark.parametrize(
    ("mode", "colour", "pixel"),
    [
        ("RGB", (1, 2, 3), [1, 2, 3, 255]),
        ("RGBA", (1, 2, 3, 4), [1, 2, 3, 4]),
        ("L", (7,), [7, 7, 7, 255]),
        ("LA", (7, 8), [7, 7, 7, 8]),
        ("1", (1,), [255, 255, 255, 255]),
        ("P", (0,), [0, 0, 0, 255]),
        ("I;16", (0x1234,), [0x12, 0x12, 0x12, 255]),
    ],
)
def test_every_kind_of_pixel_becomes_red_green_blue_alpha(
    mode: str, colour: tuple[int, ...], pixel: list[int]
) -> None:
    one = colour[0] if len(colour) == 1 else colour
    file = io.BytesIO()
    Image.new(mode, (3, 2), one).save(file, "PNG")
    rgba, orientation = decode_image(file.getvalue())
    assert (rgba.shape, orientation) == ((2, 3, 4), 1)
    assert rgba.dtype == np.uint8
    assert rgba[0, 0].tolist() == pixel


@pytest.mark.parametrize(("tag", "orientation"), [(6, 6), (1, 1), (77, 1)])
def test_the_orientation_is_that_of_exif(tag: int, orientation: int) -> None:
    exif, file = Image.Exif(), io.BytesIO()
    exif[0x0112] = tag
    Image.new("RGB", (4, 4)).save(file, "JPEG", exif=exif)
    assert decode_image(file.getvalue())[1] == orientation


@pytest.mark.parametrize("content", [b"", b"GIF89a", png()[:45], b"%PDF-1.4", b"<svg/>"])
def test_what_is_no_image_is_refused(content: bytes) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        decode_image(content)
