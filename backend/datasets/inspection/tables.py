"""Inspects CSV, Parquet and Arrow tables: the content of each column, and a proposed label column."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backend.datasets.inspection.dialect import Dialect, detect_dialect, header_names, line_of
from backend.datasets.inspection.findings import MAX_COLUMNS, MAX_NOTES, MAX_ROWS, Column, DataFindings, shown
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.readers.columnar import COLUMNAR, column_names
from backend.datasets.readers.rows import TableRows, read_rows
from backend.errors import DataError
from backend.numerics.preprocess.table import number_pattern

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "None", "?")
# Usual names of the column to predict.
_TARGETS = ("label", "class", "target", "y", "outcome", "answer", "survived", "species", "diagnosis")
# Columns with more different values are no categories; numbers with at most so many values are classes.
_MAX_CATEGORIES, _MAX_NUMBER_CLASSES = 50, 10
_COUNTED = 1000
_LONG_TEXT = 30
# A column with this share of numbers is one of numbers, if at most so many different cells are none.
_MOSTLY, _MAX_ODD = 0.9, 20
_FEW = 20
_SHOWN_CELL = 30


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
    # Cells that are no number, and the row of the first.
    odd: Counter[str] = field(default_factory=Counter)
    odd_row: int = 0

    def add(self, cell: str, decimal: str, row: int) -> None:
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
        if number is None:
            self.odd_row = self.odd_row or row
            if len(self.odd) <= _MAX_ODD or text in self.odd:
                self.odd[text] += 1
        else:
            self.numbers += 1
            self.total += number
            self.whole = self.whole and number == int(number)
            self.least, self.most = min(self.least, number), max(self.most, number)

    def column(self, name: str) -> Column:
        """Returns the column's findings for the owner."""
        numeric = self.present > 0 and self.numbers == self.present
        mostly = self.mostly_numbers
        different = len(self.values) + self.crowded
        column = Column(shown(name), self._kind(numeric, different), self.missing, different)
        if numeric or mostly:
            column.least, column.most = self.least, self.most
            column.mean = self.total / self.numbers
        if not self.crowded:
            column.values = {shown(value): count for value, count in self.values.most_common(20)}
        return column

    @property
    def mostly_numbers(self) -> bool:
        """Whether nearly all cells are numbers, but not all."""
        return self.present >= _FEW and _MOSTLY * self.present <= self.numbers < self.present

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
    columnar = path.suffix.lower() in COLUMNAR
    dialect = Dialect() if columnar else detect_dialect(path)
    names = _checked(column_names(path) if columnar else header_names(path, dialect.delimiter))
    counts = {name: _ColumnCounts() for name in names}
    rows = TableRows(path, dialect.delimiter, dialect.decimal, MISSING, tuple(names))
    first: list[list[str]] = []
    count = 0
    for count, row in read_rows(rows):
        if count <= MAX_ROWS:
            first.append([shown(row[name]) for name in names])
        for name, cell in row.items():
            counts[name].add(cell, dialect.decimal, count)
    if not count:
        raise DataError("The table has no row of examples: its first row names the columns, they follow.")
    columns = {name: column.column(name) for name, column in counts.items()}
    notes, odd = _odd_cells(path, dialect, columns, counts, columnar)
    target = _target(columns, counts)
    texts = [name for name, column in columns.items() if column.kind == "text"]
    if texts and target is not None and not _usable(columns, target):
        findings = _texts(count, columns, first, (texts[0], target), dialect.delimiter, model_input)
    else:
        findings = _table(count, columns, first, target, dialect, odd, model_input)
    findings.notes = [*([dialect.note] if dialect.note else []), *notes, *findings.notes][:MAX_NOTES]
    return findings


def _odd_cells(
    path: Path,
    dialect: Dialect,
    columns: dict[str, Column],
    counts: dict[str, _ColumnCounts],
    columnar: bool,
) -> tuple[list[str], list[str]]:
    """Makes columns of mostly numbers such; returns sentences, and cells to declare as missing."""
    notes, declared = [], list[str]()
    for name, count in counts.items():
        if not count.mostly_numbers:
            continue
        example = next(iter(count.odd))
        line = (
            f"row {count.odd_row}" if columnar else f"line {line_of(path, dialect.delimiter, count.odd_row)}"
        )
        odd = count.present - count.numbers
        where = (
            f"{path}, {line}: '{shown(example[:_SHOWN_CELL])}' in column '{shown(name[:_SHOWN_CELL])}' is no "
            f"number ({odd:,} of {count.present:,} cells are none)."
        )
        others = (other for key, other in counts.items() if key != name)
        elsewhere = any(text in other.values for other in others for text in count.odd)
        if len(count.odd) > _MAX_ODD or elsewhere:
            notes.append(f"{where} Correct the cells, or read the column as a category.")
            continue
        column = columns[name]
        column.kind, column.missing = "number", column.missing + odd
        declared += [text for text in count.odd if text not in declared]
        notes.append(
            f"{where} They count as missing: as an input they become the mean, as the label their rows are "
            "left out. To leave the rows out, or to read a category, change the column."
        )
    return notes, declared


def _table(
    count: int,
    columns: dict[str, Column],
    rows: list[list[str]],
    target: str | None,
    dialect: Dialect,
    odd: list[str],
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
        "delimiter": dialect.delimiter,
        "decimal": dialect.decimal,
        "missing": [*MISSING, *odd],
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


def _target(columns: dict[str, Column], counts: dict[str, _ColumnCounts]) -> str | None:
    """Returns a column with a usual label name, else the table's last column if it can be a label."""
    candidates = [
        name
        for name, column in columns.items()
        if column.kind in ("category", "number") and not counts[name].missing
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


def _checked(names: list[str]) -> list[str]:
    """Returns the names of columns. Raises DataError unless they are unique and not empty."""
    if not 1 <= len(names) <= MAX_COLUMNS:
        raise DataError(f"The table has {len(names)} columns; 1 to {MAX_COLUMNS} can be used.")
    if len(set(names)) < len(names) or not all(names):
        raise DataError("Two columns have the same name, or one has none; name each in the first row.")
    return names


def _number(text: str, decimal: str) -> float | None:
    if not number_pattern(decimal).fullmatch(text):
        return None
    value = float(text.replace(decimal, "."))
    return value if value - value == 0.0 else None
