"""Rows of CSV, Parquet and Arrow files as examples; no table is ever in memory as a whole."""

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

_AT_ONCE = 1024


def fit_rows(declared: DeclaredTable, path: Path, split: HoldoutSplit) -> FittedTable:
    """Numbers are learnt from the rows that are not held out. Raises DataError."""
    names = (*(column.name for column in declared.columns), *(one.name for one in declared.labels))
    rows = TableRows(path, declared.delimiter, declared.decimal, tuple(declared.missing), names)
    held = split.held(rows.count())
    try:
        return fit_table(
            declared,
            lambda: (row for number, row in read_rows(rows) if not held[number - 1]),
            lambda: (row for _, row in read_rows(rows)),
        )
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def row_chunks(
    fitted: FittedTable, path: Path, split: HoldoutSplit, broken: Broken
) -> Iterator[ExampleChunk]:
    """One example for each row. Raises DataError."""
    names = tuple(needed_columns(fitted))
    rows = TableRows(path, fitted.delimiter, fitted.decimal, tuple(fitted.missing), names)
    held = split.held(rows.count())
    every = read_rows(rows)
    while some := list(islice(every, _AT_ONCE)):
        for numbers, x, y in _arrays(fitted, path, some, broken):
            yield ExampleChunk(x, y, held[np.array(numbers) - 1])


def _arrays(
    fitted: FittedTable, path: Path, rows: Sequence[Row], broken: Broken
) -> Iterator[tuple[list[int], list[Array], list[Array]]]:
    """All rows at once; one by one only where there is a broken one among them."""
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
