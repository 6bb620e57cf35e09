"""Shows a volunteer's first examples as the model receives them, in lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.datasets.sharding.class_counts import class_numbers, label_of
from backend.numerics.preprocess.fitted import FittedTable, FittedText
from backend.peer.data.local_data import LocalDataset

_EXAMPLES = 3
_VALUES = 12
_TOKENS = 40


def first_examples(local_data: LocalDataset) -> list[str]:
    """Returns a heading and a line for each of the first examples."""
    lines = [
        f"{_inputs(local_data, row)} -> {_label(local_data, row)}"
        for row in range(min(_EXAMPLES, len(local_data.held_out)))
    ]
    return ["As the model gets them, the first ones:", *(f"  {line}" for line in lines)]


def _inputs(local_data: LocalDataset, row: int) -> str:
    if isinstance(local_data.fitted, FittedTable):
        return ", ".join(_cells(local_data.fitted, local_data.x, row))
    if isinstance(local_data.fitted, FittedText) and local_data.fitted.tokenizer in ("characters", "words"):
        return _text(local_data.fitted, local_data.x[0][row])
    return "; ".join(_array(values[row]) for values in local_data.x)


def _cells(fitted: FittedTable, x: list[NDArray[Any]], row: int) -> Iterator[str]:
    """Yields each column's name and the numbers that it became; columns fill their input in order."""
    ends = dict.fromkeys(range(len(x)), 0)
    for column in fitted.columns:
        start = ends[column.input]
        ends[column.input] = start + column.width
        values = np.atleast_1d(x[column.input][row])[start : start + column.width]
        yield f"{column.column} {_numbers(values)}"


def _text(fitted: FittedText, ids: NDArray[Any]) -> str:
    names = [
        fitted.tokens[number - fitted.first] if number >= fitted.first else "□"
        for number in ids[:_TOKENS].tolist()
    ]
    text = ("" if fitted.tokenizer == "characters" else " ").join(names)
    return repr(text) + (" ..." if len(ids) > _TOKENS else "")


def _array(values: NDArray[Any]) -> str:
    if values.ndim == 0:
        return _numbers(np.atleast_1d(values))
    return f"{values.dtype} {list(values.shape)}: {_numbers(values.ravel())}"


def _numbers(values: NDArray[Any]) -> str:
    text = " ".join(f"{value:.4g}" for value in values[:_VALUES].tolist())
    return f"{text} ..." if len(values) > _VALUES else text


def _label(local_data: LocalDataset, row: int) -> str:
    label = label_of(local_data.fitted)
    if label is not None:
        numbers = class_numbers(local_data.fitted, [values[row : row + 1] for values in local_data.y])
        return label.classes[int(numbers[0])] if numbers is not None else ""
    if isinstance(local_data.fitted, FittedText) and local_data.fitted.tokenizer in ("characters", "words"):
        return _text(local_data.fitted, np.atleast_1d(local_data.y[0][row]))
    return "; ".join(_array(values[row]) for values in local_data.y)
