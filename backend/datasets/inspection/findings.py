"""Defines the findings of a data inspection, which the sandboxed process returns to the server."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from backend.errors import DataError

Kind = Literal["image", "audio", "table", "text", "array"]
Text = Annotated[str, Meta(max_length=400)]

MAX_ROWS, MAX_PICTURES, MAX_TEXTS, MAX_NOTES = 8, 24, 8, 50
MAX_CLASSES, MAX_COLUMNS = 1000, 1000
SHOWN_CHARACTERS = 200


class Column(Struct):
    """A column of a table.

    `values` counts its most frequent values. `least`, `mean` and `most` are for columns of numbers only.
    """

    name: Text
    kind: Literal["number", "category", "text", "id"]
    missing: int
    different: int
    values: Annotated[dict[Text, int], Meta(max_length=20)] = field(default_factory=dict)
    least: float | None = None
    mean: float | None = None
    most: float | None = None


class Picture(Struct):
    """A thumbnail, stored in the folder of the findings, with label and size of the original."""

    file: Annotated[str, Meta(pattern=r"^[0-9]{1,3}\.png\Z")]
    label: Text
    width: int
    height: int


class Snippet(Struct):
    """The beginning of a text."""

    label: Text
    text: Text


class Array(Struct):
    """An array of an .npz file."""

    name: Text
    shape: Annotated[list[int], Meta(max_length=16)]
    dtype: Text


class DataFindings(Struct):
    """All findings of an inspection; `preprocess` is a proposal, `notes` are sentences for the owner."""

    kind: Kind
    examples: int
    classes: Annotated[dict[Text, int], Meta(max_length=MAX_CLASSES)] = field(default_factory=dict)
    columns: Annotated[list[Column], Meta(max_length=MAX_COLUMNS)] = field(default_factory=list)
    rows: Annotated[list[list[Text]], Meta(max_length=MAX_ROWS)] = field(default_factory=list)
    pictures: Annotated[list[Picture], Meta(max_length=MAX_PICTURES)] = field(default_factory=list)
    texts: Annotated[list[Snippet], Meta(max_length=MAX_TEXTS)] = field(default_factory=list)
    arrays: Annotated[list[Array], Meta(max_length=64)] = field(default_factory=list)
    preprocess: dict[str, Any] = field(default_factory=dict)
    notes: Annotated[list[Text], Meta(max_length=MAX_NOTES)] = field(default_factory=list)


def shown(text: str) -> str:
    """Shortens a text for display and removes control characters except line ends."""
    plain = "".join(one for one in text if one == "\n" or one.isprintable())
    return plain if len(plain) <= SHOWN_CHARACTERS else plain[: SHOWN_CHARACTERS - 1] + "…"


def read_findings(content: bytes) -> DataFindings:
    """Decodes findings. Raises DataError: a process that read hostile data may be compromised."""
    try:
        return msgspec.json.decode(content, type=DataFindings)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"The result of the inspection cannot be read ({error}); upload the data again."
        ) from error
