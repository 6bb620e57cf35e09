"""Finds the class of each example and counts the examples of each class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from backend.datasets.readers.source import Array
from backend.numerics.preprocess.fitted import Arrays, ClassLabel, Fitted, FittedTable


def label_of(fitted: Fitted) -> ClassLabel | None:
    """Returns the first label if it is a class, else None."""
    if isinstance(fitted, Arrays):
        return None
    label = next(iter(fitted.label), None) if isinstance(fitted, FittedTable) else fitted.label
    return label if isinstance(label, ClassLabel) else None


def class_numbers(fitted: Fitted, y: Sequence[Array]) -> NDArray[np.int64] | None:
    """Returns the class number of each example [n] by its first label; None if that is not a class."""
    label = label_of(fitted)
    if label is None:
        whole = isinstance(fitted, Arrays) and y and y[0].ndim == 1 and y[0].dtype.kind in "iu"
        return np.asarray(y[0], np.int64) if whole else None
    if label.encoding == "one-hot":
        return np.asarray(y[0].argmax(axis=1), np.int64)
    return np.asarray(y[0], np.int64).reshape(-1)


def count_classes(fitted: Fitted, y: Sequence[Array]) -> dict[str, int]:
    """Counts the examples of each class by name, in the order of classes; empty without classes."""
    numbers = class_numbers(fitted, y)
    if numbers is None:
        return {}
    label = label_of(fitted)
    counts = np.bincount(numbers[numbers >= 0], minlength=len(label.classes) if label else 0).tolist()
    names = label.classes if label else map(str, range(len(counts)))
    return dict(zip(names, counts, strict=True))
