"""Fits a preprocessing to data at a path and reads them as stored arrays, with the reader of their kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from backend.datasets.readers.arrays import array_chunks, fit_arrays
from backend.datasets.readers.images import fit_images, image_chunks
from backend.datasets.readers.recordings import fit_recordings, recording_chunks
from backend.datasets.readers.source import Broken, ExampleChunk, HoldoutSplit
from backend.datasets.readers.tables import fit_rows, row_chunks
from backend.datasets.readers.texts import Columns, class_chunks, fit_classes, fit_windows, window_chunks
from backend.errors import DataError
from backend.numerics.preprocess.declared import (
    DeclaredArrays,
    DeclaredAudio,
    DeclaredImage,
    DeclaredTable,
    DeclaredText,
    Preprocess,
)
from backend.numerics.preprocess.fitted import Arrays, Fitted, FittedAudio, FittedTable, Image


def fit(declared: Preprocess, path: Path, split: HoldoutSplit) -> Fitted:
    """Fits `declared` to the training part of the data at `path`. Raises DataError."""
    match declared:
        case DeclaredImage():
            return fit_images(declared, path)
        case DeclaredAudio():
            return fit_recordings(declared, path)
        case DeclaredTable():
            return fit_rows(declared, path, split)
        case DeclaredArrays():
            return fit_arrays(declared, path)
        case DeclaredText(labels="none"):
            return fit_windows(declared, path, split)
        case DeclaredText(labels="folders"):
            return fit_classes(declared, path, None, split)
        case DeclaredText(text_column=str() as text, label_column=str() as label):
            return fit_classes(declared, path, Columns(text, label, declared.delimiter), split)
    raise DataError('labels = "column" needs `text_column` and `label_column`, names of columns.')


def chunks(fitted: Fitted, path: Path, split: HoldoutSplit, broken: Broken) -> Iterator[ExampleChunk]:
    """Reads all examples at `path` in order, as stored arrays. Raises DataError."""
    match fitted:
        case Image():
            return image_chunks(fitted, path, split, broken)
        case FittedAudio():
            return recording_chunks(fitted, path, split, broken)
        case FittedTable():
            return row_chunks(fitted, path, split, broken)
        case Arrays():
            return array_chunks(fitted, path, split)
    if fitted.label is None:
        return window_chunks(fitted, path, split, broken)
    columns = None
    if fitted.text_column is not None and fitted.label_column is not None:
        columns = Columns(fitted.text_column, fitted.label_column, fitted.delimiter)
    return class_chunks(fitted, path, columns, split, broken)
