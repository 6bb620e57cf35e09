"""Which kind of data a file holds, and what they are like."""

from __future__ import annotations

from pathlib import Path

from backend.datasets.inspection.arrays import look_at_arrays
from backend.datasets.inspection.findings import DataFindings
from backend.datasets.inspection.images import look_at_pictures
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.inspection.tables import look_at_table
from backend.datasets.inspection.texts import look_at_texts
from backend.datasets.readers.files import Files, list_files
from backend.datasets.readers.images import SUFFIXES
from backend.datasets.readers.rows import COLUMNAR
from backend.errors import DataError

TABLES = (".csv", ".tsv", *COLUMNAR)
TEXTS = (".txt", ".md")


def look(path: Path, wanted: ModelInput, folder: Path) -> DataFindings:
    """What the file at `path` holds; small pictures go into `folder`. Raises DataError."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return look_at_arrays(path, wanted)
    if suffix in TABLES:
        return look_at_table(path, wanted)
    files = list_files(path)
    if suffix in TEXTS:
        return look_at_texts(files, wanted)
    if _count(files, SUFFIXES):
        return look_at_pictures(files.ending(*SUFFIXES), wanted, folder)
    if _count(files, TEXTS):
        return look_at_texts(files.ending(*TEXTS), wanted)
    if _count(files, (*TABLES, ".npz")):
        raise DataError("The zip holds a table or arrays; bring that file itself, without a zip around it.")
    raise DataError(
        "The zip holds neither pictures nor texts: put pictures (.jpg, .png, .webp, .gif, .bmp) or texts "
        "(.txt) of each class into a folder with its name, and zip the folders."
    )


def _count(files: Files, suffixes: tuple[str, ...]) -> int:
    return sum(name.lower().endswith(suffixes) for name in files.names)
