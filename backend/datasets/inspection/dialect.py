"""Detects how a CSV table is written: its encoding, the delimiter of cells and the decimal separator."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from backend.datasets.readers.rows import file_encoding
from backend.errors import DataError
from backend.numerics.preprocess.rows import DELIMITERS
from backend.numerics.preprocess.table import trimmed
from backend.numerics.preprocess.table_text import UTF8, WINDOWS

_SAMPLE_CHARACTERS, _SAMPLE_ROWS = 1 << 18, 1000
_COMMA, _POINT = re.compile(r"[+-]?[0-9]+,[0-9]+"), re.compile(r"[+-]?[0-9]+\.[0-9]+")


@dataclass(frozen=True)
class Dialect:
    """How a table is written; `note` is a sentence on an unusual encoding, for its owner."""

    delimiter: str = ","
    decimal: str = "."
    note: str | None = None


def detect_dialect(path: Path) -> Dialect:
    """Detects the dialect of the CSV file at `path` from its first rows. Raises DataError."""
    encoding = file_encoding(path)
    with path.open(encoding=encoding, newline="", errors="replace") as file:
        sample = file.read(_SAMPLE_CHARACTERS)
    delimiter = max(DELIMITERS, key=lambda one: _score(sample, one))
    return Dialect(delimiter, _decimal(sample, delimiter), _encoding_note(encoding))


def header_names(path: Path, delimiter: str) -> list[str]:
    """Reads the names of the columns from the first row. Raises DataError."""
    try:
        with path.open(encoding=file_encoding(path), newline="") as lines:
            rows = csv.reader(lines, delimiter=delimiter, strict=True)
            header = next((row for row in rows if row), [])
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"The first row is no CSV ({error}); save the table again.") from error
    return [trimmed(name.removeprefix("\ufeff")) for name in header]


def line_of(path: Path, delimiter: str, number: int) -> int:
    """Returns the line of the file, from 1, in which a row begins; the first row after the names is 1."""
    with path.open(encoding=file_encoding(path), newline="") as lines:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        before, rows = 0, 0
        for row in reader:
            if row:
                if rows == number:
                    return before + 1
                rows += 1
            before = reader.line_num
    return before


def _score(sample: str, delimiter: str) -> tuple[float, int]:
    """Returns the share of rows with as many cells as the first row, and how many; 0 for a single cell."""
    rows = _rows(sample, delimiter)
    first = next(rows, [])
    if len(first) < 2:
        return 0.0, len(first)
    lengths = Counter(len(row) for row in rows)
    share = lengths[len(first)] / lengths.total() if lengths else 1.0
    return round(share, 1), len(first)


def _decimal(sample: str, delimiter: str) -> str:
    """Returns the separator of more cells that are numbers with one; a point if there are none."""
    cells = [trimmed(cell) for row in islice(_rows(sample, delimiter), 1, None) for cell in row]
    commas, points = (sum(bool(one.fullmatch(cell)) for cell in cells) for one in (_COMMA, _POINT))
    return "," if commas > points else "."


def _rows(sample: str, delimiter: str) -> Iterator[list[str]]:
    """Yields rows that are not empty, up to the first that is no CSV."""
    reader = csv.reader(sample.splitlines(keepends=True), delimiter=delimiter)
    try:
        yield from islice((row for row in reader if row), _SAMPLE_ROWS)
    except csv.Error:
        return


def _encoding_note(encoding: str) -> str | None:
    if encoding == UTF8:
        return None
    name = "Windows-1252" if encoding == WINDOWS else "UTF-16"
    return f"The table is written in {name}, not UTF-8: look whether its accented letters are right."
