"""Measures what a model needs to fit the data: shapes, classes and tokens of preprocessed examples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta, Struct

from backend.datasets.inspection.findings import Kind
from backend.datasets.readers.dataset import chunks, fit
from backend.datasets.readers.source import NO_HOLDOUT, stop
from backend.datasets.sharding.cut import CutPlan
from backend.errors import DataError
from backend.numerics.preprocess.declared import DeclaredAudio, DeclaredImage, Preprocess
from backend.numerics.preprocess.fitted import (
    Arrays,
    ClassLabel,
    Encoding,
    Fitted,
    FittedAudio,
    FittedTable,
    FittedText,
    Image,
)

Side = Annotated[int, Meta(ge=0, le=1 << 24)]
Shape = Annotated[list[Side], Meta(max_length=8)]

_KINDS: dict[type[Fitted], Kind] = {
    Image: "image",
    FittedAudio: "audio",
    FittedTable: "table",
    FittedText: "text",
    Arrays: "array",
}


class ExampleShape(Struct, frozen=True):
    """What a model for these data takes and answers.

    `encoding` of the `classes`, or None for numbers of the shape `label`. Of texts `tokens` is the number of
    ids; without `labels` the model predicts the next token.
    """

    kind: Kind
    input: Shape
    label: Shape
    encoding: Encoding | None = None
    classes: Side = 0
    tokens: Side = 0
    labels: bool = True


def measure(path: Path, declared: Preprocess, holdout: float) -> ExampleShape:
    """Fits `declared` to the data at `path` as a cut would. Raises DataError."""
    split = CutPlan(declared, holdout).split
    fitted = fit(declared, path, split)
    if len(fitted.inputs) != 1 or len(fitted.labels) != 1:
        raise DataError(
            f"The data have {len(fitted.inputs)} inputs and {len(fitted.labels)} labels, and a starter model "
            "has one of each; choose one column or array to predict, or upload a model of your own."
        )
    shapes = (_KINDS[type(fitted)], list(fitted.inputs[0].shape), list(fitted.labels[0].shape))
    if isinstance(fitted, FittedText) and fitted.label is None:
        return ExampleShape(*shapes, "index", fitted.ids, fitted.ids, labels=False)
    if isinstance(fitted, Arrays):
        if fitted.labels[0].dtype == "float32" or fitted.labels[0].shape:
            return ExampleShape(*shapes)
        return ExampleShape(*shapes, "index", _most(fitted, path) + 1)
    label = fitted.label[0] if isinstance(fitted, FittedTable) else fitted.label
    tokens = fitted.ids if isinstance(fitted, FittedText) else 0
    if isinstance(label, ClassLabel):
        return ExampleShape(*shapes, label.encoding, len(label.classes), tokens)
    return ExampleShape(*shapes, tokens=tokens)


def of_pictures(declared: DeclaredImage) -> ExampleShape | None:
    """Returns the same without data; None while the classes are not declared."""
    if not declared.classes or len(declared.classes) < 2:
        return None
    label = ClassLabel(classes=list(declared.classes), encoding=declared.encoding)
    sides = [*declared.size, declared.channels]
    return ExampleShape("image", sides, list(label.stored.shape), declared.encoding, len(label.classes))


def of_recordings(declared: DeclaredAudio) -> ExampleShape | None:
    """Returns the same of recordings; None while the classes are not declared."""
    if not declared.classes or len(declared.classes) < 2:
        return None
    label = ClassLabel(classes=list(declared.classes), encoding=declared.encoding)
    shape = [declared.frames, declared.bins, 1]
    return ExampleShape("audio", shape, list(label.stored.shape), declared.encoding, len(label.classes))


def read_shape(content: bytes) -> ExampleShape:
    """Decodes a measurement. Raises DataError: a process that read hostile data may be compromised."""
    try:
        return msgspec.json.decode(content, type=ExampleShape)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"The measured shape cannot be read ({error}); upload the data again.") from error


def _most(fitted: Arrays, path: Path) -> int:
    """Returns the largest class number. Raises DataError below 0."""
    least = most = 0
    for chunk in chunks(fitted, path, NO_HOLDOUT, stop):
        values = np.asarray(chunk.y[0])
        least, most = min(least, int(values.min())), max(most, int(values.max()))
    if least < 0:
        raise DataError(f"'{fitted.y[0]}' has the class {least}; number the classes from 0.")
    return most
