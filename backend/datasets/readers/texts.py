"""Texts: files for the next token, or files and rows with a class."""

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

_AT_ONCE = 256


class Columns(NamedTuple):
    """Where a table has texts and their classes."""

    text: str
    label: str
    delimiter: str


class Labelled(NamedTuple):
    """One text, its class, and where it is from."""

    where: str
    text: str
    name: str


def fit_windows(declared: DeclaredText, path: Path, split: HoldoutSplit) -> FittedText:
    """Tokens are learnt from the first part of each file, or from all where each has to be known."""
    files = text_files(path)
    texts = (_read(files, name) for name in files.names)
    train = (text[: len(text) - split.count(len(text))] for text in texts)
    return fit_text(declared, train, (_read(files, name) for name in files.names), ())


def window_chunks(
    fitted: FittedText, path: Path, split: HoldoutSplit, broken: Broken
) -> Iterator[ExampleChunk]:
    """The windows of each file; the last are held out, and those that overlap them left out."""
    files = text_files(path)
    for name in files.names:
        try:
            (x,), (y,) = window_arrays(fitted, _read(files, name))
            if not len(x):
                raise DataError(f"fewer than {fitted.length + 1} tokens, too few for a window.")
        except DataError as error:
            broken(DataError(f"{files.where(name)}: {error}"))
            continue
        kept, held = held_out_windows(len(x), split.count(len(x)), fitted.length, fitted.stride)
        yield ExampleChunk([x[kept]], [y[kept]], held)


def held_out_windows(
    n: int, count: int, length: int, stride: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Numbers of the windows that are kept, and whether each of those is one of the last `count`."""
    numbers = np.arange(n)
    first = n - count
    kept = (numbers >= first) | (numbers * stride + length < first * stride) | (count == 0)
    return numbers[kept], (numbers >= first)[kept]


def fit_classes(
    declared: DeclaredText, path: Path, columns: Columns | None, split: HoldoutSplit
) -> FittedText:
    """Tokens are learnt from the texts that are not held out, classes from all."""
    held = split.held(sum(1 for _ in labelled(path, columns)))
    train = (one.text for one, out in zip(labelled(path, columns), held, strict=True) if not out)
    every = (one.text for one in labelled(path, columns))
    return fit_text(declared, train, every, {one.name for one in labelled(path, columns)} - {""})


def class_chunks(
    fitted: FittedText, path: Path, columns: Columns | None, split: HoldoutSplit, broken: Broken
) -> Iterator[ExampleChunk]:
    """One example for each text. Raises DataError."""
    held = split.held(sum(1 for _ in labelled(path, columns)))
    every = zip(labelled(path, columns), held.tolist(), strict=True)
    while some := list(islice(every, _AT_ONCE)):
        x, y, out = [], [], []
        for one, is_held in some:
            try:
                (ids,), (label,) = class_arrays(fitted, [(one.text, one.name)])
            except DataError as error:
                broken(DataError(f"{one.where}: {error}"))
                continue
            x.append(ids)
            y.append(label)
            out.append(is_held)
        if out:
            yield ExampleChunk([np.concatenate(x)], [np.concatenate(y)], np.array(out))


def labelled(path: Path, columns: Columns | None) -> Iterator[Labelled]:
    """Texts with their classes: of files in folders, or of a table's columns. Raises DataError."""
    if columns is None:
        files = text_files(path)
        for name in files.names:
            yield Labelled(files.where(name), _read(files, name), folder_of(name))
        return
    rows = TableRows(path, columns.delimiter, ".", ("",), (columns.text, columns.label))
    for number, row in read_rows(rows):
        yield Labelled(f"{path}: row {number}", row[columns.text], row[columns.label].strip(" \t"))


def text_files(path: Path) -> Files:
    """The text files at `path`. Raises DataError."""
    files = list_files(path)
    return files if files.names == ("",) else files.ending(".txt", ".md")


def _read(files: Files, name: str) -> str:
    try:
        return decode_text(files.read(name))
    except DataError as error:
        raise DataError(f"{files.where(name)}: {error}") from error
