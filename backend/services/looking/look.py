"""Which kind of data a file holds, and what they are like."""

from __future__ import annotations

from pathlib import Path

from backend.errors import DataError
from backend.services.datasets.files import Files, list_files
from backend.services.datasets.images import SUFFIXES as PICTURES
from backend.services.datasets.rows import COLUMNAR
from backend.services.looking.arrays import look_at_arrays
from backend.services.looking.findings import Findings
from backend.services.looking.pictures import look_at_pictures
from backend.services.looking.tables import look_at_table
from backend.services.looking.texts import look_at_texts
from backend.services.looking.wanted import Wanted

TABLES = (".csv", ".tsv", *COLUMNAR)
TEXTS = (".txt", ".md")


def look(path: Path, wanted: Wanted, folder: Path) -> Findings:
    """What the file at `path` holds; small pictures go into `folder`. Raises DataError."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return look_at_arrays(path, wanted)
    if suffix in TABLES:
        return look_at_table(path, wanted)
    files = list_files(path)
    if suffix in TEXTS:
        return look_at_texts(files, wanted)
    if _count(files, PICTURES):
        return look_at_pictures(files.ending(*PICTURES), wanted, folder)
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
