"""Reads texts: files for next-token prediction, or files and table rows with a class."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.datasets.readers.files import Files, folder_of, list_files
from backend.datasets.readers.rows import TableRows, read_rows
from backend.datasets.readers.source import Broken, ExampleChunk, HoldoutSplit
from backend.errors import DataError
from backend.numerics.preprocess.declared import DeclaredText
from backend.numerics.preprocess.fitted import FittedText
from backend.numerics.preprocess.fitting import fit_text
from backend.numerics.preprocess.text import class_arrays, decode_text, window_arrays

_CHUNK_TEXTS = 256


class Columns(NamedTuple):
    """The columns of a table that contain texts and their classes."""

    text: str
    label: str
    delimiter: str


class Labelled(NamedTuple):
    """One text, its class, and its location for errors."""

    where: str
    text: str
    name: str


def fit_windows(declared: DeclaredText, path: Path, split: HoldoutSplit) -> FittedText:
    """Fits tokens to the training part of each file, or to whole files if no token may be unknown."""
    files = text_files(path)
    texts = (_read(files, name) for name in files.names)
    train = (text[: len(text) - split.count(len(text))] for text in texts)
    return fit_text(declared, train, (_read(files, name) for name in files.names), ())


def window_chunks(
    fitted: FittedText, path: Path, split: HoldoutSplit, broken: Broken
) -> Iterator[ExampleChunk]:
    """Yields the windows of each file; the last are held out, and windows that overlap them are dropped."""
    files = text_files(path)
    for name in files.names:
        try:
            (x,), (y,) = window_arrays(fitted, _read(files, name))
            if not len(x):
                raise DataError(f"fewer than {fitted.length + 1} tokens, too few for a window.")
        except DataError as error:
            broken(DataError(f"{files.where(name)}: {error}"))
            continue
        retained, held_out = held_out_windows(len(x), split.count(len(x)), fitted.length, fitted.stride)
        yield ExampleChunk([x[retained]], [y[retained]], held_out)


def held_out_windows(
    n: int, count: int, length: int, stride: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Returns indices of the retained windows, and a mask of those among the last `count`."""
    numbers = np.arange(n)
    first = n - count
    retained = (numbers >= first) | (numbers * stride + length < first * stride) | (count == 0)
    return numbers[retained], (numbers >= first)[retained]


def fit_classes(
    declared: DeclaredText, path: Path, columns: Columns | None, split: HoldoutSplit
) -> FittedText:
    """Fits tokens to the texts that are not held out, and classes to all."""
    held_out = split.held_out(sum(1 for _ in labelled(path, columns)))
    train = (
        example.text
        for example, is_held_out in zip(labelled(path, columns), held_out, strict=True)
        if not is_held_out
    )
    all_texts = (example.text for example in labelled(path, columns))
    return fit_text(declared, train, all_texts, {example.name for example in labelled(path, columns)} - {""})


def class_chunks(
    fitted: FittedText, path: Path, columns: Columns | None, split: HoldoutSplit, broken: Broken
) -> Iterator[ExampleChunk]:
    """Yields one example per text. Raises DataError."""
    held_out = split.held_out(sum(1 for _ in labelled(path, columns)))
    examples = zip(labelled(path, columns), held_out.tolist(), strict=True)
    while chunk := list(islice(examples, _CHUNK_TEXTS)):
        x, y, flags = [], [], []
        for example, is_held_out in chunk:
            try:
                (ids,), (label,) = class_arrays(fitted, [(example.text, example.name)])
            except DataError as error:
                broken(DataError(f"{example.where}: {error}"))
                continue
            x.append(ids)
            y.append(label)
            flags.append(is_held_out)
        if flags:
            yield ExampleChunk([np.concatenate(x)], [np.concatenate(y)], np.array(flags))


def labelled(path: Path, columns: Columns | None) -> Iterator[Labelled]:
    """Yields texts with their classes, from files in folders or a table's columns. Raises DataError."""
    if columns is None:
        files = text_files(path)
        for name in files.names:
            yield Labelled(files.where(name), _read(files, name), folder_of(name))
        return
    rows = TableRows(path, columns.delimiter, ".", ("",), (columns.text, columns.label))
    for number, row in read_rows(rows):
        yield Labelled(f"{path}: row {number}", row[columns.text], row[columns.label].strip(" \t"))


def text_files(path: Path) -> Files:
    """Lists the text files at `path`. Raises DataError."""
    files = list_files(path)
    return files if files.names == ("",) else files.ending(".txt", ".md")


def _read(files: Files, name: str) -> str:
    try:
        return decode_text(files.read(name))
    except DataError as error:
        raise DataError(f"{files.where(name)}: {error}") from error
