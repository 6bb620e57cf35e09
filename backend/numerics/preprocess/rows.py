"""Reads rows of a CSV file (RFC 4180) by column name."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence

from backend.errors import DataError
from backend.numerics.preprocess.table import trimmed

# The usual delimiters, with their names in sentences.
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def csv_rows(
    lines: Iterable[str], delimiter: str, needed: Sequence[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields the number (from 1) and the `needed` cells of each row. `lines` keep their line ends.

    Raises DataError that names row and column.
    """
    rows = csv.reader(_without_mark(lines), delimiter=delimiter, strict=True)
    header = [trimmed(name) for name in _next(rows, 0) or []]
    if not header:
        raise DataError("the file has no row; its first row has to name the columns.")
    places = {name: _place(header, name) for name in needed}
    number = 0
    while (cells := _next(rows, number + 1)) is not None:
        number += 1
        if len(cells) != len(header):
            line = rows.line_num - sum(max(0, len(cell.splitlines()) - 1) for cell in cells)
            raise DataError(
                f"row {number} has {len(cells)} cells where the first row names {len(header)} columns (line "
                f"{line}); {_remedy(cells, len(header), delimiter)}"
            )
        yield number, {name: cells[place] for name, place in places.items()}


def _remedy(cells: Sequence[str], columns: int, delimiter: str) -> str:
    text = delimiter.join(cells)
    for other in DELIMITERS:
        if other != delimiter and text.count(other) == columns - 1:
            return (
                f"it is separated by {DELIMITERS[other]}, the first row by {_name(delimiter)}: use one of "
                "them throughout."
            )
    return "put cells that hold the delimiter in quotes."


def _name(delimiter: str) -> str:
    return DELIMITERS.get(delimiter, f"'{delimiter}'")


def _without_mark(lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield line.removeprefix("\ufeff") if number == 0 else line


def _next(rows: Iterator[list[str]], number: int) -> list[str] | None:
    """Returns the next row that is not empty; None after the last."""
    try:
        return next((row for row in rows if row), None)
    except csv.Error as error:
        where = f"row {number}" if number else "the first row"
        raise DataError(f"{where} is no CSV ({error}); check its quotes.") from error


def _place(header: list[str], name: str) -> int:
    if header.count(name) == 1:
        return header.index(name)
    if name in header:
        raise DataError(f"column '{name}' is there {header.count(name)} times; name each column once.")
    shown = ", ".join(header[:30])
    raise DataError(f"column '{name}' is missing; the file has {shown}.")
