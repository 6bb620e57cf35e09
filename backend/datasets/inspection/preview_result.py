"""Defines the preview of preprocessed examples, which the owner sees."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from backend.datasets.inspection.findings import Kind, Text
from backend.errors import DataError

MAX_SHOWN, MAX_TOKENS, MAX_VALUES = 12, 120, 64
_File = Annotated[str, Meta(pattern=r"^[0-9]{1,3}(-in)?\.png\Z")]


class Seen(Struct):
    """Files of a picture in the same folder: the original (None if not viewable) and the model's input."""

    before: _File | None
    after: _File
    label: Text
    width: int
    height: int


class SeenColumn(Struct):
    """A used column; `became` describes its preprocessing in words."""

    name: Text
    became: Text
    role: Annotated[str, Meta(pattern=r"^(input|label)\Z")]


class Cell(Struct):
    """A cell's text in the file, None if missing, and the values that the model gets."""

    raw: Text | None
    values: Annotated[list[float], Meta(max_length=MAX_VALUES)]


class Token(Struct):
    """A token of the first text; `unknown` tokens are not in the vocabulary."""

    text: Text
    id: int
    unknown: bool


class PreviewPart(Struct):
    """Shape and dtype of one example for one input or label of the model."""

    shape: Annotated[list[int], Meta(max_length=16)]
    dtype: Text


class Spread(Struct):
    """Minimum, mean and maximum of the model's input values in the previewed examples."""

    least: float
    mean: float
    most: float


class PreviewResult(Struct):
    """The whole preview; `misfit` explains a conflict with the model, `broken` lists unreadable examples."""

    kind: Kind
    inputs: Annotated[list[PreviewPart], Meta(max_length=64)]
    labels: Annotated[list[PreviewPart], Meta(max_length=64)]
    spread: Spread | None = None
    pictures: Annotated[list[Seen], Meta(max_length=MAX_SHOWN)] = field(default_factory=list)
    columns: Annotated[list[SeenColumn], Meta(max_length=10_064)] = field(default_factory=list)
    rows: Annotated[list[list[Cell]], Meta(max_length=MAX_SHOWN)] = field(default_factory=list)
    tokens: Annotated[list[Token], Meta(max_length=MAX_TOKENS)] = field(default_factory=list)
    label: Text | None = None
    misfit: Annotated[str, Meta(max_length=1000)] | None = None
    broken: Annotated[list[Text], Meta(max_length=MAX_SHOWN)] = field(default_factory=list)


def read_shown(content: bytes) -> PreviewResult:
    """Decodes a preview. Raises DataError: a process that read hostile data may be compromised."""
    try:
        return msgspec.json.decode(content, type=PreviewResult)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"The preprocessed examples cannot be read ({error}); upload the data again."
        ) from error
