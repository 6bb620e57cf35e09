"""Derives the form on which people try a task's model: its inputs and the names of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

from backend.errors import TaskFileError
from backend.formats.manifest import Manifest
from backend.formats.task_file import TaskFile
from backend.numerics.preprocess.fitted import (
    Arrays,
    ClassLabel,
    Column,
    Fitted,
    FittedTable,
    FittedText,
    Image,
    NumberColumn,
)

Kind = Literal["draw", "picture", "row", "text", "prompt", "numbers"]

# Values of the digits data set's grid, to which a drawing is reduced.
GRID = 64
# Longer series cannot be typed into a text box.
MAX_NUMBERS = 1024
# The answers of a wider output are not named; pages number them.
MAX_NAMES = 10_000


@dataclass(frozen=True)
class Field:
    """A form field for a column of a table; `value` is its initial value."""

    title: str
    value: str
    optional: bool
    categories: list[str]


@dataclass(frozen=True)
class Playground:
    """Describes how a page lets people try the model.

    `chances`: the first output is the probability (a logit if `logits`) of each of `labels`; for two labels
    and one value it is the second label's. Otherwise its values are numbers, named by `labels`.
    """

    kind: Kind
    labels: list[str]
    chances: bool
    logits: bool
    fields: list[Field]
    example: str
    length: int


def playground_of(file: TaskFile, data: Fitted | None, manifest: Manifest) -> Playground | None:
    """Returns the model's playground; None if its input cannot be given by hand. Raises TaskFileError."""
    chosen = file.trial
    kind = _kind(file, data, manifest)
    if kind is None:
        if chosen is not None:
            raise TaskFileError(
                f"{file.name}: [try] fits pictures, rows, texts, series of at most {MAX_NUMBERS} numbers "
                "and drawn digits of 64 values; this task has none of them. Take the table out."
            )
        return None
    if chosen is not None and chosen.names and kind != "row":
        raise TaskFileError(
            f"{file.name}: [try] names are titles of a table's columns; this task has no table."
        )
    chances = "crossentropy" in (manifest.outputs[0].loss or "")
    return Playground(
        kind=kind,
        labels=[] if kind == "prompt" else _labels(file, data, manifest, chances),
        chances=chances,
        logits=_logits(file, manifest),
        fields=_fields(file, data) if isinstance(data, FittedTable) else [],
        example="" if isinstance(data, FittedTable) else _example(file, kind, manifest),
        length=prod(manifest.inputs[0].shape),
    )


def _kind(file: TaskFile, data: Fitted | None, manifest: Manifest) -> Kind | None:
    if not manifest.inputs or not manifest.outputs:
        return None
    shape = manifest.inputs[0].shape
    single_input = len(manifest.inputs) == 1
    if file.trial is not None and file.trial.input == "draw":
        drawable = single_input and prod(shape) == GRID and (data is None or isinstance(data, Arrays))
        return "draw" if drawable else None
    if isinstance(data, FittedTable):
        return "row"
    if not single_input:
        return None
    if isinstance(data, Image):
        return "picture"
    if isinstance(data, FittedText):
        return "prompt" if data.label is None else "text"
    numbers = isinstance(data, Arrays) and shape[1:] in ([], [1]) and 0 < prod(shape) <= MAX_NUMBERS
    return "numbers" if numbers else None


def _labels(file: TaskFile, data: Fitted | None, manifest: Manifest, chances: bool) -> list[str]:
    """Returns the names of the answers. Raises TaskFileError if [try] has too few or too many."""
    width = prod(manifest.outputs[0].shape)
    count = 2 if chances and width == 1 else width
    declared = list(file.trial.labels) if file.trial is not None else []
    if declared and len(declared) != count:
        raise TaskFileError(
            f"{file.name}: [try] has {len(declared)} labels, and the model gives {count} answers."
        )
    if declared or count > MAX_NAMES:
        return declared
    label = _label(data)
    if isinstance(label, ClassLabel) and len(label.classes) == count:
        return list(label.classes)
    if chances:
        return [str(place) for place in range(count)]
    columns = data.label_columns if isinstance(data, FittedTable) else []
    names = columns if len(columns) == count else [manifest.outputs[0].name]
    return names if len(names) == count else [f"{names[0]} {place}" for place in range(1, count + 1)]


def _label(data: Fitted | None) -> object:
    if isinstance(data, FittedTable):
        return data.label[0] if data.label else None
    return data.label if isinstance(data, Image | FittedText) else None


def _logits(file: TaskFile, manifest: Manifest) -> bool:
    """Returns whether the loss of the first output takes logits."""
    losses = [loss for objective in file.model.objectives or () for loss in objective.losses]
    first = manifest.outputs[0].name
    of_output = (loss for loss in losses if first in (loss.get("output"), *loss.get("outputs", ())))
    loss = next(of_output, None) if losses else file.model.loss
    return isinstance(loss, Mapping) and loss.get("from_logits") is True


def _fields(file: TaskFile, data: FittedTable) -> list[Field]:
    """Returns a field for each column. Raises TaskFileError if the example or names have other columns."""
    chosen = file.trial
    example = chosen.example if chosen is not None and chosen.example is not None else {}
    if not isinstance(example, dict):
        raise TaskFileError(
            f'{file.name}: [try] example of a table is a row, such as {{ age = 30, town = "small" }}.'
        )
    titles = chosen.names if chosen is not None else {}
    names = [column.column for column in data.columns]
    for key, columns in (("example", example), ("names", titles)):
        if others := [name for name in columns if name not in names]:
            raise TaskFileError(
                f"{file.name}: [try] {key} has '{others[0]}', which is no column of [data.preprocess]; "
                f"these are {', '.join(names)}."
            )
    return [
        _field(file, column, titles, _written(example.get(column.column, ""), data.decimal))
        for column in data.columns
    ]


def _field(file: TaskFile, column: Column, titles: Mapping[str, str], value: str) -> Field:
    name, optional = column.column, column.missing != "error"
    title = titles.get(name, name)
    if isinstance(column, NumberColumn):
        return Field(title, value, optional, [])
    categories = list(column.categories)
    if value and value not in categories:
        raise TaskFileError(
            f"{file.name}: [try] example has '{value}' for {name}; it is one of {', '.join(categories)}."
        )
    return Field(title, value or ("" if optional else categories[0]), optional, categories)


def _example(file: TaskFile, kind: Kind, manifest: Manifest) -> str:
    """Returns the initial text of the input box. Raises TaskFileError if the example has another kind."""
    example = file.trial.example if file.trial is not None else None
    if example is None:
        return ""
    if kind in ("text", "prompt") and isinstance(example, str):
        return example
    if kind == "numbers" and isinstance(example, list):
        length = prod(manifest.inputs[0].shape)
        if len(example) != length:
            raise TaskFileError(
                f"{file.name}: [try] example has {len(example)} numbers, the model takes {length}."
            )
        return " ".join(_written(value, ".") for value in example)
    raise TaskFileError(
        f"{file.name}: [try] example is a row for tables, a text for texts, and a list for series of "
        "numbers; pictures and drawings have none."
    )


def _written(value: str | float, decimal: str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.10g}".replace(".", decimal)
