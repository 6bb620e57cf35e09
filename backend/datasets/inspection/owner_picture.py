"""Prepares the picture that an owner uploads for a task: decoded, upright and small, without metadata."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from backend.datasets.readers.images import MAX_PIXELS, decode_image
from backend.errors import DataError
from backend.numerics.preprocess.image import Pixels, orient
from backend.translation import later

# The file of the pixels, [height, width, 4] levels of red, green, blue and alpha.
PIXELS = "pixels.bin"
# A prepared picture fits into this box.
MAX_WIDTH, MAX_HEIGHT = 640, 384
# The longest side may be so many times the other: a line is no picture.
_MAX_RATIO = 8

WRONG_KIND = later("This is no PNG, JPEG or WebP picture. Save it as one of these, and upload it again.")
VECTOR = later("An SVG can hold scripts, so it is not shown. Export it as PNG, and upload that.")
NO_LIBRARY = later("This server cannot read pictures. Its operator installs minga[data] for that.")
TOO_LARGE = later("This picture has over 64 million pixels. Make it smaller, and upload it again.")
MOVES = later("This picture moves. Save one of its frames as PNG or JPEG, and upload that.")
BROKEN = later("This picture cannot be read. Save it again as PNG or JPEG, and upload that.")
TOO_NARROW = later("This picture is over eight times as long as wide. Cut a part out of it, and upload that.")

_FORMATS = ("JPEG", "PNG", "WEBP")
_JPEG, _PNG, _RIFF, _WEBP = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF", b"WEBP"


def check_kind(content: bytes) -> None:
    """Raises DataError, by the first bytes, unless this is a PNG, JPEG or WebP."""
    if content.startswith((_JPEG, _PNG)) or (content.startswith(_RIFF) and content[8:12] == _WEBP):
        return
    raise DataError(VECTOR if b"<svg" in content[:4096].lower() else WRONG_KIND)


def prepare_picture(content: bytes) -> Pixels:
    """Returns levels [height, width, 4] of at most MAX_WIDTH by MAX_HEIGHT. Raises DataError."""
    check_kind(content)
    _check_header(content)
    try:
        pixels, orientation = decode_image(content)
    except DataError as error:
        raise DataError(BROKEN) from error
    upright = np.ascontiguousarray(orient(pixels, orientation))
    if max(upright.shape[:2]) > _MAX_RATIO * min(upright.shape[:2]):
        raise DataError(TOO_NARROW)
    return _fitted(upright)


def _check_header(content: bytes) -> None:
    try:
        from PIL import Image as Pillow
    except ImportError as error:
        raise DataError(NO_LIBRARY) from error
    try:
        with Pillow.open(io.BytesIO(content), formats=_FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise DataError(TOO_LARGE)
            if getattr(image, "is_animated", False):
                raise DataError(MOVES)
    except (OSError, SyntaxError, ValueError, EOFError, Pillow.DecompressionBombError) as error:
        raise DataError(BROKEN) from error


def write_pixels(pixels: Pixels, folder: Path) -> str:
    """Writes the pixels into `folder`, and returns their width and height in words."""
    (folder / PIXELS).write_bytes(pixels.tobytes())
    return f"{pixels.shape[1]} {pixels.shape[0]}"


def _fitted(pixels: Pixels) -> Pixels:
    from PIL import Image as Pillow

    small = Pillow.fromarray(pixels)
    small.thumbnail((MAX_WIDTH, MAX_HEIGHT))
    return np.asarray(small.convert("RGBA"))
