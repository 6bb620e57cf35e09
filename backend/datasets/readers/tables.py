"""Reads rows of CSV, Parquet and Arrow files as examples, in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from backend.datasets.readers.rows import Row, TableRows, read_rows
from backend.datasets.readers.source import Array, Broken, ExampleChunk, HoldoutSplit
from backend.errors import DataError
from backend.numerics.preprocess.declared import DeclaredTable
from backend.numerics.preprocess.fitted import FittedTable
from backend.numerics.preprocess.fitting import fit_table
from backend.numerics.preprocess.table import needed_columns, table_arrays

_CHUNK_ROWS = 1024


def fit_rows(declared: DeclaredTable, path: Path, split: HoldoutSplit) -> FittedTable:
    """Fits number columns to the rows that are not held out. Raises DataError."""
    names = (*(column.name for column in declared.columns), *(label.name for label in declared.labels))
    rows = TableRows(path, declared.delimiter, declared.decimal, tuple(declared.missing), names)
    held_out = split.held_out(rows.count())
    try:
        return fit_table(
            declared,
            lambda: (row for number, row in read_rows(rows) if not held_out[number - 1]),
            lambda: (row for _, row in read_rows(rows)),
        )
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def row_chunks(
    fitted: FittedTable, path: Path, split: HoldoutSplit, broken: Broken
) -> Iterator[ExampleChunk]:
    """Yields one example per row. Raises DataError."""
    names = tuple(needed_columns(fitted))
    rows = TableRows(path, fitted.delimiter, fitted.decimal, tuple(fitted.missing), names)
    held_out = split.held_out(rows.count())
    all_rows = read_rows(rows)
    while chunk := list(islice(all_rows, _CHUNK_ROWS)):
        for numbers, x, y in _arrays(fitted, path, chunk, broken):
            yield ExampleChunk(x, y, held_out[np.array(numbers) - 1])


def _arrays(
    fitted: FittedTable, path: Path, rows: Sequence[Row], broken: Broken
) -> Iterator[tuple[list[int], list[Array], list[Array]]]:
    """Converts all rows together; if one of them is broken, row by row."""
    try:
        x, y = table_arrays(fitted, rows)
    except DataError as error:
        if len(rows) == 1:
            broken(DataError(f"{path}: {error}"))
            return
        for row in rows:
            yield from _arrays(fitted, path, [row], broken)
    else:
        yield [number for number, _ in rows], x, y
