"""Inspects how the files of a data set lie in folders named by their class."""

from __future__ import annotations

from collections import Counter

from backend.datasets.inspection.findings import MAX_PICTURES, shown
from backend.datasets.readers.files import Files, folder_of
from backend.errors import DataError


def class_counts(files: Files, what: str) -> tuple[dict[str, int], list[str]]:
    """Returns the number of files of each class by its name, and a sentence on files without a class.

    `what` are the files in plural. Raises DataError if there are fewer than two classes.
    """
    counts = Counter(folder_of(name) for name in files.names)
    loose = counts.pop("", 0)
    notes = [f"{loose:,} {what} are in no class folder, so their class is unknown. Move them into one."]
    if len(counts) < 2:
        raise DataError(
            f"The {what} are not sorted: put those of each class into a folder with its name, and zip the "
            "folders."
        )
    return dict(sorted(counts.items())), notes if loose else []


def some_of_each(files: Files, classes: list[str]) -> list[str]:
    """Selects at most MAX_PICTURES files, alternating between classes."""
    by_class: dict[str, list[str]] = {name: [] for name in classes}
    for name in files.names:
        if (folder := folder_of(name)) in by_class and len(by_class[folder]) < MAX_PICTURES:
            by_class[folder].append(name)
    names = [
        files_of_class[index]
        for index in range(MAX_PICTURES)
        for files_of_class in by_class.values()
        if index < len(files_of_class)
    ]
    return names[:MAX_PICTURES]


def class_balance(classes: dict[str, int]) -> list[str]:
    """Returns a sentence if one class has far more examples than another."""
    largest, smallest = max(classes, key=classes.__getitem__), min(classes, key=classes.__getitem__)
    if classes[largest] <= 3 * classes[smallest]:
        return []
    return [
        shown(
            f"'{largest}' has {classes[largest]:,} examples and '{smallest}' {classes[smallest]:,}: "
            "a model learns to guess the frequent class. Bring more of the rare one, "
            "or weigh classes by class_weight."
        )
    ]
