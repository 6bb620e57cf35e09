"""Reads rows of CSV, Parquet and Arrow files; values of the latter become the text that CSV would have."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from backend.datasets.readers.columnar import COLUMNAR, columnar_batches
from backend.errors import DataError
from backend.numerics.preprocess.rows import csv_rows
from backend.numerics.preprocess.table_text import table_encoding

TABLES = (".csv", ".tsv", ".txt", *COLUMNAR)

_BLOCK = 1 << 20

Row = tuple[int, dict[str, str]]


@dataclass(frozen=True)
class TableRows:
    """A table's path, its CSV and number format, and the needed columns."""

    path: Path
    delimiter: str
    decimal: str
    missing: tuple[str, ...]
    needed: tuple[str, ...]

    def count(self) -> int:
        """Counts the rows. Raises DataError if there is none."""
        length = sum(1 for _ in read_rows(self))
        if not length:
            raise DataError(f"{self.path} has no row of examples; check the file.")
        return length


def read_rows(rows: TableRows) -> Iterator[Row]:
    """Yields each row's number, from 1, and its needed cells. Raises DataError, naming file and row."""
    if not rows.path.is_file():
        raise DataError(f"{rows.path} is no file; a table is one CSV, Parquet or Arrow file.")
    try:
        if rows.path.suffix.lower() in COLUMNAR:
            yield from _columnar_rows(rows)
            return
        with rows.path.open(encoding=file_encoding(rows.path), newline="") as lines:
            yield from csv_rows(lines, rows.delimiter, rows.needed)
    except DataError as error:
        raise DataError(f"{rows.path}: {error}") from error
    except OSError as error:
        raise DataError(f"{rows.path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{rows.path} is not UTF-16 ({error.reason}); save it as UTF-8.") from error


def file_encoding(path: Path) -> str:
    """Returns the encoding of a CSV file. Raises DataError for what is no text, or OSError."""
    status = path.stat()
    return _file_encoding(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=8)
def _file_encoding(path: Path, _size: int, _modified: int) -> str:
    with path.open("rb") as file:
        return table_encoding(iter(partial(file.read, _BLOCK), b""))


def _columnar_rows(rows: TableRows) -> Iterator[Row]:
    number = 0
    for batch in columnar_batches(rows.path, rows.needed):
        for row in batch.to_pylist():
            number += 1
            yield number, {name: _cell(rows, value) for name, value in row.items()}


def _cell(rows: TableRows, value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        if not rows.missing:
            raise DataError('the file has missing values; list "" in `missing`.')
        return rows.missing[0]
    return repr(value).replace(".", rows.decimal) if isinstance(value, float) else str(value)
