"""Inspects pictures in folders named by their class."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from statistics import median

import numpy as np

from backend.datasets.inspection.findings import MAX_PICTURES, DataFindings, Picture, shown
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
    counts = Counter(folder_of(name) for name in files.names)
    loose = counts.pop("", 0)
    notes = [f"{loose:,} pictures are in no class folder, so their class is unknown. Move them into one."]
    notes = notes if loose else []
    if len(counts) < 2:
        raise DataError(
            "The pictures are not sorted: put those of each class into a folder with its name, and zip the "
            "folders."
        )
    classes = dict(sorted(counts.items()))
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


def some_of_each(files: Files, classes: list[str]) -> list[str]:
    """Selects at most MAX_PICTURES files, alternating between classes."""
    by_class: dict[str, list[str]] = {name: [] for name in classes}
    for name in files.names:
        if (folder := folder_of(name)) in by_class and len(by_class[folder]) < MAX_PICTURES:
            by_class[folder].append(name)
    names = [
        files_of_class[index]
        for index in range(MAX_PICTURES)
        for files_of_class in by_class.values()
        if index < len(files_of_class)
    ]
    return names[:MAX_PICTURES]


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


def class_balance(classes: dict[str, int]) -> list[str]:
    """Returns a sentence if one class has far more examples than another."""
    largest, smallest = max(classes, key=classes.__getitem__), min(classes, key=classes.__getitem__)
    if classes[largest] <= 3 * classes[smallest]:
        return []
    return [
        shown(
            f"'{largest}' has {classes[largest]:,} examples and '{smallest}' {classes[smallest]:,}: "
            "a model learns to guess the frequent class. Bring more of the rare one, "
            "or weigh classes by class_weight."
        )
    ]


def _fit(classes: dict[str, int], model_input: ModelInput) -> list[str]:
    shape, model_classes = model_input.shape, model_input.classes
    notes = []
    if shape is not None and (len(shape) != 3 or shape[2] not in (1, 3)):
        notes.append(f"The model takes {shape}, which is not a picture: [height, width, 1 or 3] is.")
    if model_classes is not None and model_classes < len(classes):
        notes.append(f"The model has {model_classes} classes, but there are {len(classes)} folders.")
    return notes
