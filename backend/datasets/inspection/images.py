"""Inspects pictures in folders named by their class."""

from __future__ import annotations

import io
from pathlib import Path
from statistics import median

import numpy as np

from backend.datasets.inspection.class_folders import class_balance, class_counts, some_of_each
from backend.datasets.inspection.findings import DataFindings, Picture, shown
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.readers.files import Files, folder_of
from backend.datasets.readers.images import decode_image, image_traits
from backend.errors import DataError
from backend.numerics.preprocess.image import Pixels, orient

# Usual side lengths of a model's input, in pixels.
_SIDES = (28, 32, 48, 64, 96, 128)
_THUMBNAIL = 96
# Pictures whose headers are examined for what is converted.
_EXAMINED = 1000


def inspect_pictures(files: Files, model_input: ModelInput, folder: Path) -> DataFindings:
    """Inspects some pictures of each class and writes thumbnails to `folder`. Raises DataError."""
    classes, notes = class_counts(files, "pictures")
    pictures: list[Picture] = []
    for name in some_of_each(files, list(classes)):
        try:
            pictures.append(_picture(files, name, folder, len(pictures)))
        except DataError as error:
            notes.append(shown(f"{name}: {error}"))
    if not pictures:
        raise DataError(f"None of these pictures can be read. {notes[-1]}")
    size, channels = _size(pictures, model_input)
    notes += _conversions(files) + class_balance(classes) + _fit(classes, model_input)
    return DataFindings(
        kind="image",
        examples=sum(classes.values()),
        classes={shown(name): count for name, count in classes.items()},
        pictures=pictures,
        notes=notes,
        preprocess={
            "kind": "image",
            "size": size,
            "channels": channels,
            "classes": list(classes),
            "encoding": model_input.encoding,
            "scale": 1.0 if model_input.scales else 1 / 255,
        },
    )


def _picture(files: Files, name: str, folder: Path, number: int) -> Picture:
    pixels, orientation = decode_image(files.read(name))
    upright = np.ascontiguousarray(orient(pixels, orientation))
    height, width = upright.shape[:2]
    write_small(upright, folder / f"{number}.png")
    return Picture(f"{number}.png", shown(folder_of(name)), width, height)


def write_small(pixels: Pixels, path: Path, side: int = _THUMBNAIL) -> None:
    """Writes levels [height, width, 1, 3 or 4] as a PNG whose sides are at most `side` pixels."""
    from PIL import Image as Pillow

    small = Pillow.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    small.thumbnail((side, side))
    content = io.BytesIO()
    small.save(content, "PNG")
    path.write_bytes(content.getvalue())


def _size(pictures: list[Picture], model_input: ModelInput) -> tuple[list[int], int]:
    """Returns [height, width] and channels: the model's, else a usual side up to the median picture's."""
    shape = model_input.shape
    if shape is not None and len(shape) == 3 and shape[2] in (1, 3):
        return shape[:2], shape[2]
    side = median(min(picture.width, picture.height) for picture in pictures)
    usual = max((pixels for pixels in _SIDES if pixels <= side), default=_SIDES[0])
    return [usual, usual], 3


def _conversions(files: Files) -> list[str]:
    """Returns sentences on pictures that are converted: animated, in colours of print, or of 16 bits."""
    sentences = {
        "animated": "moves: the first of its pictures is used",
        "cmyk": "has the colours of print (CMYK), which become red, green and blue",
        "deep": "has 16 bits a channel, of which the upper 8 are used",
    }
    found: dict[str, list[str]] = {key: [] for key in sentences}
    for name in files.names[:_EXAMINED]:
        try:
            traits = image_traits(files.read(name))
        except DataError:
            continue
        for trait in traits:
            found[trait].append(name)
    notes = []
    for trait, names in found.items():
        more = f" So do {len(names) - 1:,} more." if len(names) > 1 else ""
        notes += [f"{shown(names[0][:100])} {sentences[trait]}.{more}"] if names else []
    return notes


def _fit(classes: dict[str, int], model_input: ModelInput) -> list[str]:
    shape, model_classes = model_input.shape, model_input.classes
    notes = []
    if shape is not None and (len(shape) != 3 or shape[2] not in (1, 3)):
        notes.append(f"The model takes {shape}, which is not a picture: [height, width, 1 or 3] is.")
    if model_classes is not None and model_classes < len(classes):
        notes.append(f"The model has {model_classes} classes, but there are {len(classes)} folders.")
    return notes
