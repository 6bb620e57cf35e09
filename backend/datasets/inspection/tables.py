"""Inspects CSV, Parquet and Arrow tables: the content of each column, and a proposed label column."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from backend.datasets.inspection.findings import MAX_COLUMNS, MAX_ROWS, Column, DataFindings, shown
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.readers.columnar import COLUMNAR, column_names
from backend.datasets.readers.rows import TableRows, read_rows
from backend.errors import DataError

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "None", "?")
# Usual names of the column to predict.
_TARGETS = ("label", "class", "target", "y", "outcome", "answer", "survived", "species", "diagnosis")
# Columns with more different values are no categories; numbers with at most so many values are classes.
_MAX_CATEGORIES, _MAX_NUMBER_CLASSES = 50, 10
_COUNTED = 1000
_SAMPLE_BYTES = 1 << 16
_LONG_TEXT = 30


@dataclass
class _ColumnCounts:
    """Statistics of one column over the rows read so far."""

    values: Counter[str] = field(default_factory=Counter)
    missing: int = 0
    present: int = 0
    numbers: int = 0
    whole: bool = True
    total: float = 0.0
    least: float = float("inf")
    most: float = float("-inf")
    characters: int = 0
    crowded: bool = False

    def add(self, cell: str, decimal: str) -> None:
        """Adds one cell."""
        text = cell.strip(" \t")
        if text in MISSING:
            self.missing += 1
            return
        self.present += 1
        self.characters += len(text)
        if text in self.values or len(self.values) < _COUNTED:
            self.values[text] += 1
        else:
            self.crowded = True
        number = _number(text, decimal)
        if number is not None:
            self.numbers += 1
            self.total += number
            self.whole = self.whole and number == int(number)
            self.least, self.most = min(self.least, number), max(self.most, number)

    def column(self, name: str) -> Column:
        """Returns the column's findings for the owner."""
        numeric = self.present > 0 and self.numbers == self.present
        different = len(self.values) + self.crowded
        column = Column(shown(name), self._kind(numeric, different), self.missing, different)
        if numeric:
            column.least, column.most = self.least, self.most
            column.mean = self.total / self.numbers
        if not self.crowded:
            column.values = {shown(value): count for value, count in self.values.most_common(20)}
        return column

    def _kind(self, numeric: bool, different: int) -> Any:
        unlike = self.present > 20 and different >= 0.95 * min(self.present, _COUNTED)
        if unlike and (not numeric or self._counts()):
            long = self.characters / self.present > _LONG_TEXT
            return "text" if long and not numeric else "id"
        if numeric:
            return "number"
        if different <= _MAX_CATEGORIES and not self.crowded:
            return "category"
        return "text"

    def _counts(self) -> bool:
        """Whether the numbers are consecutive like a row index."""
        return self.whole and self.most - self.least == self.present - 1


def inspect_table(path: Path, model_input: ModelInput) -> DataFindings:
    """Reads the whole table once. Raises DataError, naming file and row."""
    delimiter, decimal = (",", ".") if path.suffix.lower() in COLUMNAR else _dialect(path)
    names = _names(path, delimiter)
    counts = {name: _ColumnCounts() for name in names}
    rows, first = TableRows(path, delimiter, decimal, MISSING, tuple(names)), []
    count = 0
    for count, row in read_rows(rows):
        if count <= MAX_ROWS:
            first.append([shown(row[name]) for name in names])
        for name, cell in row.items():
            counts[name].add(cell, decimal)
    if not count:
        raise DataError("The table has no row of examples: its first row names the columns, they follow.")
    columns = {name: column.column(name) for name, column in counts.items()}
    target = _target(columns)
    texts = [name for name, column in columns.items() if column.kind == "text"]
    if texts and target is not None and not _usable(columns, target):
        return _texts(count, columns, first, (texts[0], target), delimiter, model_input)
    return _table(count, columns, first, target, delimiter, decimal, model_input)


def _table(
    count: int,
    columns: dict[str, Column],
    rows: list[list[str]],
    target: str | None,
    delimiter: str,
    decimal: str,
    model_input: ModelInput,
) -> DataFindings:
    usable = _usable(columns, target)
    unused = [name for name in columns if name not in usable and name != target]
    if not usable:
        raise DataError("The table has no column of numbers or categories to learn from; check it.")
    notes = []
    if unused:
        notes.append(shown(f"Left out, because they name rows or are free text: {', '.join(unused)}."))
    incomplete = [name for name in usable if columns[name].missing]
    if incomplete:
        notes.append(shown(f"Missing values become the mean, or no category: {', '.join(incomplete)}."))
    label, classes = _label(columns[target], target, model_input) if target is not None else (None, {})
    if label is None:
        notes.append("No column looks like a label: choose the column to predict.")
    else:
        notes.append(shown(f"'{target}' is taken as the label to predict; change it if that is wrong."))
    preprocess = {
        "kind": "table",
        "columns": [_input(columns[name], name) for name in usable],
        "labels": [label] if label else [],
        "delimiter": delimiter,
        "decimal": decimal,
        "missing": list(MISSING),
    }
    notes += _width(usable, columns, model_input)
    return DataFindings(
        "table", count, classes, list(columns.values()), rows, preprocess=preprocess, notes=notes
    )


def _texts(
    count: int,
    columns: dict[str, Column],
    rows: list[list[str]],
    chosen: tuple[str, str],
    delimiter: str,
    model_input: ModelInput,
) -> DataFindings:
    text, target = chosen
    preprocess = {
        "kind": "text",
        "tokenizer": "bytes",
        "length": model_input.shape[0] if model_input.shape and len(model_input.shape) == 1 else 256,
        "labels": "column",
        "text_column": text,
        "label_column": target,
        "delimiter": delimiter,
        "classes": sorted(columns[target].values),
        "encoding": model_input.encoding,
    }
    notes = [shown(f"'{text}' is taken as the text and '{target}' as its class.")]
    classes = dict(columns[target].values)
    return DataFindings(
        "text", count, classes, list(columns.values()), rows, preprocess=preprocess, notes=notes
    )


def _input(column: Column, name: str) -> dict[str, Any]:
    if column.kind == "number":
        filled = {"missing": "mean"} if column.missing else {}
        return {"name": name, "kind": "number", "scaling": "standard", **filled}
    return {"name": name, "kind": "category", "missing": "none", "unknown": "none"}


def _label(column: Column, name: str, model_input: ModelInput) -> tuple[dict[str, Any], dict[str, int]]:
    """Returns the declaration of the label, and the number of examples of each class."""
    if column.kind == "number" and column.different > _MAX_NUMBER_CLASSES:
        return {"name": name, "kind": "number"}, {}
    classes = dict(sorted(column.values.items()))
    encoding = model_input.encoding if model_input.labels else ("number" if len(classes) == 2 else "index")
    return {"name": name, "kind": "class", "classes": list(classes), "encoding": encoding}, classes


def _usable(columns: dict[str, Column], target: str | None) -> list[str]:
    return [
        name
        for name, column in columns.items()
        if name != target
        and (column.kind == "number" or (column.kind == "category" and column.different > 1))
    ]


def _target(columns: dict[str, Column]) -> str | None:
    """Returns a column with a usual label name, else the table's last column if it can be a label."""
    candidates = [
        name
        for name, column in columns.items()
        if column.kind in ("category", "number") and not column.missing
    ]
    by_name = {name.strip().lower(): name for name in candidates}
    named = next((by_name[name] for name in _TARGETS if name in by_name), None)
    return named or (candidates[-1] if candidates and candidates[-1] == list(columns)[-1] else None)


def _width(usable: list[str], columns: dict[str, Column], model_input: ModelInput) -> list[str]:
    """Returns a sentence if the model takes a different number of values than the columns make."""
    width = sum(1 if columns[name].kind == "number" else columns[name].different for name in usable)
    if model_input.shape is None or model_input.shape == [width]:
        return []
    return [f"These columns make {width} values for an example, and the model takes {model_input.shape}."]


def _names(path: Path, delimiter: str) -> list[str]:
    """Reads the column names. Raises DataError unless they are unique and not empty."""
    if path.suffix.lower() in COLUMNAR:
        names = column_names(path)
    else:
        names = [name.strip(" \t").removeprefix("\ufeff") for name in next(_csv(path, delimiter), [])]
    if not 1 <= len(names) <= MAX_COLUMNS:
        raise DataError(f"The table has {len(names)} columns; 1 to {MAX_COLUMNS} can be used.")
    if len(set(names)) < len(names) or not all(names):
        raise DataError("Two columns have the same name, or one has none; name each in the first row.")
    return names


def _csv(path: Path, delimiter: str) -> Iterator[list[str]]:
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            yield from islice(csv.reader(lines, delimiter=delimiter, strict=True), 1)
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"The table is not CSV in UTF-8 ({error}); save the table again.") from error


def _dialect(path: Path) -> tuple[str, str]:
    """Detects delimiter and decimal point from the first rows."""
    with path.open("rb") as file:
        text = file.read(_SAMPLE_BYTES).decode("utf-8", "replace")
    first = text.partition("\n")[0]
    delimiter = max((",", ";", "\t", "|"), key=first.count)
    if delimiter == "," or "." in text.partition("\n")[2]:
        return delimiter, "."
    return delimiter, "," if "," in text.partition("\n")[2] else "."


def _number(text: str, decimal: str) -> float | None:
    try:
        value = float(text.replace(decimal, ".") if decimal != "." else text)
    except ValueError:
        return None
    return value if value - value == 0.0 else None
