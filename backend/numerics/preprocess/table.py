"""Turns cells of a table into stored values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.errors import DataError
from backend.numerics.preprocess.fitted import (
    CategoryColumn,
    ClassLabel,
    Column,
    FittedTable,
    Label,
    NumberColumn,
    StoredSpec,
)
from backend.numerics.preprocess.labels import class_value, positions

Array = NDArray[Any]

_TRIMMED = " \t"
_LARGEST = float(np.finfo(np.float32).max)


def trimmed(cell: str) -> str:
    """Returns the cell without spaces and tabs at its ends."""
    return cell.strip(_TRIMMED)


def input_specs(columns: Sequence[Column]) -> list[StoredSpec]:
    """Returns shape and dtype of each input. Raises DataError if an input has no column."""
    count = max(column.input for column in columns) + 1
    groups = [[column for column in columns if column.input == number] for number in range(count)]
    if not all(groups):
        raise DataError(f"No column has input = {groups.index([])}; number the inputs from 0 without a gap.")
    return [
        StoredSpec(
            [sum(column.width for column in group)], "int32" if all(map(_is_index, group)) else "float32"
        )
        for group in groups
    ]


def _is_index(column: Column) -> bool:
    return isinstance(column, CategoryColumn) and column.encoding == "index"


def needed_columns(fitted: FittedTable) -> list[str]:
    """Returns the names of the columns that are read, each once."""
    return list(dict.fromkeys([*(column.column for column in fitted.columns), *fitted.label_columns]))


def row_values(fitted: FittedTable, row: Mapping[str, str]) -> tuple[list[list[float]], list[Array]]:
    """Returns each input's values, in float64, and stored labels. Raises DataError that names the column."""
    inputs: list[list[float]] = [[] for _ in fitted.inputs]
    for column in fitted.columns:
        inputs[column.input] += column_values(fitted, column, row[column.column])
    pairs = zip(fitted.label_columns, fitted.label, strict=True)
    return inputs, [label_value(fitted, label, name, row[name]) for name, label in pairs]


def table_arrays(
    fitted: FittedTable, rows: Iterable[tuple[int, Mapping[str, str]]]
) -> tuple[list[Array], list[Array]]:
    """Returns numbered rows as stored inputs and labels. Raises DataError that names row and column."""
    x: list[list[list[float]]] = [[] for _ in fitted.inputs]
    y: list[list[Array]] = [[] for _ in fitted.labels]
    for number, row in rows:
        try:
            inputs, labels = row_values(fitted, row)
        except DataError as error:
            raise DataError(f"row {number}, {error}") from error
        for values, row_inputs in zip(x, inputs, strict=True):
            values.append(row_inputs)
        for stored, label in zip(y, labels, strict=True):
            stored.append(label)
    return (
        [_stacked(values, spec) for values, spec in zip(x, fitted.inputs, strict=True)],
        [_stacked(stored, spec) for stored, spec in zip(y, fitted.labels, strict=True)],
    )


def _stacked(values: Sequence[Any], spec: StoredSpec) -> Array:
    return np.array(values, spec.dtype).reshape(len(values), *spec.shape)


def column_values(fitted: FittedTable, column: Column, cell: str) -> list[float]:
    """Returns the stored values of one cell. Raises DataError."""
    text = trimmed(cell)
    missing = text in fitted.missing
    if isinstance(column, NumberColumn):
        return _number_values(column, text, missing, fitted.decimal)
    return _category_values(column, text, missing)


def label_value(fitted: FittedTable, label: Label, column: str, cell: str) -> Array:
    """Returns the stored label of a cell. Raises DataError."""
    text = trimmed(cell)
    if text in fitted.missing:
        raise DataError(f"column '{column}': the label is missing. Leave such rows out.")
    if isinstance(label, ClassLabel):
        try:
            return class_value(label, text)
        except DataError as error:
            raise DataError(f"column '{column}': {error}") from error
    return np.array([parse_number(text, fitted.decimal, column)], np.float32)


def parse_number(text: str, decimal: str, column: str) -> float:
    """Parses the number in `text` as the nearest float64. Raises DataError."""
    if not number_pattern(decimal).fullmatch(text):
        raise DataError(
            f"column '{column}': '{text[:60]}' is no number. If it marks a missing value, list it in "
            "`missing`."
        )
    value = float(text.replace(decimal, "."))
    if abs(value) > _LARGEST:
        raise DataError(f"column '{column}': {text[:60]} is too large for float32.")
    return value


@lru_cache(maxsize=16)
def number_pattern(decimal: str) -> re.Pattern[str]:
    """Returns the pattern of a number with this decimal separator."""
    point = re.escape(decimal)
    return re.compile(rf"[+-]?([0-9]+({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?")


def _number_values(column: NumberColumn, text: str, missing: bool, decimal: str) -> list[float]:
    if missing and column.missing == "error":
        raise DataError(
            f"column '{column.column}': the value is missing; fill it in, or declare a replacement, for "
            'example missing = "median".'
        )
    value = column.fill if missing else parse_number(text, decimal, column.column)
    scaled = (value - column.subtract) / column.divide
    if not math.isfinite(scaled) or abs(scaled) > _LARGEST:
        raise DataError(f"column '{column.column}': {text[:60]} is too large for float32 once it is scaled.")
    return [scaled, float(missing)] if column.indicator else [scaled]


def _category_values(column: CategoryColumn, text: str, missing: bool) -> list[float]:
    position = _position(column, text, missing)
    if column.encoding == "index":
        return [float(position)]
    return [float(number == position) for number in range(column.positions)]


def _position(column: CategoryColumn, text: str, missing: bool) -> int:
    """Returns the category's position, -1 for none."""
    if missing:
        if column.missing == "error":
            raise DataError(
                f"column '{column.column}': the value is missing; fill it in, or declare a replacement, for "
                'example missing = "own".'
            )
        return len(column.categories) if column.missing == "own" else -1
    position = positions(tuple(column.categories)).get(text)
    if position is not None:
        return position
    if column.unknown == "error":
        raise DataError(
            f"column '{column.column}': '{text[:60]}' is not among the {len(column.categories)} categories; "
            'correct it, or allow others, for example by unknown = "own".'
        )
    return column.positions - 1 if column.unknown == "own" else -1
