"""Reads images from folders named by their class."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.datasets.readers.class_folders import class_names, folder_chunks
from backend.datasets.readers.files import Files, folder_of, list_files
from backend.datasets.readers.source import Array, Broken, ExampleChunk, HoldoutSplit
from backend.errors import DataError
from backend.numerics.preprocess.declared import DeclaredImage
from backend.numerics.preprocess.fitted import Image
from backend.numerics.preprocess.fitting import fit_image
from backend.numerics.preprocess.image import Pixels, image_values
from backend.numerics.preprocess.labels import class_value

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp")
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP")
MAX_PIXELS = 64_000_000
_ORIENTATION = 0x0112
_HEIC_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")


def fit_images(declared: DeclaredImage, path: Path) -> Image:
    """Fits the classes, which are the folder names. Raises DataError."""
    return fit_image(declared, class_names(list_files(path).ending(*SUFFIXES)))


def image_chunks(fitted: Image, path: Path, split: HoldoutSplit, broken: Broken) -> Iterator[ExampleChunk]:
    """Yields one example per file. Raises DataError."""
    files = list_files(path).ending(*SUFFIXES)
    yield from folder_chunks(files, split, broken, partial(_example, fitted, files))


def _example(fitted: Image, files: Files, name: str) -> tuple[Pixels, Array] | DataError:
    try:
        label = class_value(fitted.label, folder_of(name))
        rgba, orientation = decode_image(files.read(name))
    except DataError as error:
        return DataError(f"{files.where(name)}: {error}")
    return image_values(fitted, rgba, orientation), label


def decode_image(content: bytes) -> tuple[Pixels, int]:
    """Decodes an image to RGBA pixels [h, w, 4] and its EXIF orientation. Raises DataError."""
    try:
        from PIL import Image as Pillow
    except ImportError as error:
        raise DataError("images need Pillow: run `pip install 'minga[data]'` and try again.") from error
    try:
        with Pillow.open(io.BytesIO(content), formats=FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise DataError(f"the image has over {MAX_PIXELS:,} pixels; make it smaller.")
            orientation = image.getexif().get(_ORIENTATION, 1)
            deep = image.mode.startswith("I")
            rgba = _eight_bits(np.asarray(image)) if deep else np.asarray(image.convert("RGBA"))
    except (OSError, SyntaxError, ValueError, Pillow.DecompressionBombError) as error:
        if _is_heic(content):
            raise DataError("the image is HEIC, whatever its name ends in; save it as JPEG.") from error
        raise DataError(f"the image cannot be read ({error}); save it again as PNG or JPEG.") from error
    return rgba, orientation if orientation in range(1, 9) else 1


def image_traits(content: bytes) -> list[str]:
    """Returns what decoding changes in an image, by its header: `animated`, `cmyk`, `deep`."""
    from PIL import Image as Pillow

    try:
        with Pillow.open(io.BytesIO(content), formats=FORMATS) as image:
            traits = {
                "animated": getattr(image, "is_animated", False),
                "cmyk": image.mode == "CMYK",
                "deep": image.mode.startswith("I") or (image.format == "PNG" and content[24:25] == b"\x10"),
            }
    except (OSError, SyntaxError, ValueError, EOFError, Pillow.DecompressionBombError):
        return []
    return [name for name, present in traits.items() if present]


def _is_heic(content: bytes) -> bool:
    return content[4:8] == b"ftyp" and content[8:12] in _HEIC_BRANDS


def _eight_bits(gray: NDArray[Any]) -> Pixels:
    """Converts 16-bit grey levels [h, w] to RGBA of 8 bits [h, w, 4]."""
    levels = (gray.astype(np.uint32) >> 8).clip(0, 255).astype(np.uint8)
    return np.dstack([levels, levels, levels, np.full_like(levels, 255)])
