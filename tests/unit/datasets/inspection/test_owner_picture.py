"""A picture that an owner uploads becomes a few pixels, or a sentence that says what to do."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from backend.datasets.inspection import owner_picture
from backend.datasets.inspection.owner_picture import MAX_HEIGHT, MAX_WIDTH, prepare_picture
from backend.errors import DataError
from backend.server.sandbox import data_inspection

RED, BLUE = (250, 0, 0), (0, 0, 250)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    content = io.BytesIO()
    image.save(content, kind, **options)
    return content.getvalue()


def moving(kind: str) -> bytes:
    frames = [Image.new("RGB", (9, 9), colour) for colour in ("red", "blue")]
    return saved(frames[0], kind, save_all=True, append_images=frames[1:], lossless=True)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_picture_is_made_small_in_its_proportions(kind: str) -> None:
    pixels = prepare_picture(saved(Image.new("RGB", (2000, 1000), RED), kind))
    assert pixels.shape == (MAX_WIDTH // 2, MAX_WIDTH, 4)
    assert np.abs(pixels[5, 5].astype(int) - (*RED, 255)).max() < 8
    assert prepare_picture(saved(Image.new("L", (300, 900)), kind)).shape == (MAX_HEIGHT, MAX_HEIGHT // 3, 4)


def test_a_small_picture_keeps_its_size_and_what_is_transparent() -> None:
    pixels = prepare_picture(saved(Image.new("RGBA", (20, 10), (*BLUE, 0)), "PNG"))
    assert pixels.shape == (10, 20, 4)
    assert pixels[..., 3].max() == 0


def test_a_photo_is_turned_upright() -> None:
    photo, exif = Image.new("RGB", (30, 10), RED), Image.Exif()
    exif[0x0112] = 6
    assert prepare_picture(saved(photo, "JPEG", exif=exif)).shape == (30, 10, 4)


@pytest.mark.parametrize(
    ("content", "remedy"),
    [
        (b"", "no PNG, JPEG or WebP"),
        (b"<html>", "no PNG, JPEG or WebP"),
        (saved(Image.new("RGB", (9, 9)), "GIF"), "no PNG, JPEG or WebP"),
        (b'<?xml version="1.0"?><SVG xmlns="x"><script/></SVG>', "Export it as PNG"),
        (moving("WEBP"), "Save one of its frames"),
        (moving("PNG"), "Save one of its frames"),
        (saved(Image.new("RGB", (90, 90)), "PNG")[:60], "Save it again"),
        (b"\xff\xd8\xff" + bytes(90), "Save it again"),
        (saved(Image.new("RGB", (90, 9)), "PNG"), "Cut a part out of it"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_what_to_do(content: bytes, remedy: str) -> None:
    with pytest.raises(DataError, match=remedy):
        prepare_picture(content)


def test_too_many_pixels_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_picture, "MAX_PIXELS", 99)
    with pytest.raises(DataError, match="Make it smaller"):
        prepare_picture(saved(Image.new("RGB", (10, 10)), "PNG"))


def test_a_picture_is_decoded_in_the_sandbox(tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(saved(Image.new("RGB", (1280, 64 * 12), BLUE), "PNG"))
    pixels = data_inspection.prepare_picture(tmp_path / "picture", tmp_path / "made")
    assert pixels.shape == (384, 640, 4)
    assert (pixels == (*BLUE, 255)).all()
    (tmp_path / "picture").write_bytes(moving("WEBP"))
    with pytest.raises(DataError, match="Save one of its frames"):
        data_inspection.prepare_picture(tmp_path / "picture", tmp_path / "again")
