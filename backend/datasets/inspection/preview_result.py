"""What a preprocessing makes of some examples, for their owner to look at."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from backend.datasets.inspection.findings import Kind, Text
from backend.errors import DataError

MAX_SHOWN, MAX_TOKENS, MAX_VALUES = 12, 120, 64
_File = Annotated[str, Meta(pattern=r"^[0-9]{1,3}(-in)?\.png\Z")]


class Seen(Struct):
    """A picture as it is (None: not to be seen), and as the model gets it; files beside this."""

    before: _File | None
    after: _File
    label: Text
    width: int
    height: int


class SeenColumn(Struct):
    """A column that is used: what becomes of it, in words."""

    name: Text
    became: Text
    role: Annotated[str, Meta(pattern=r"^(input|label)\Z")]


class Cell(Struct):
    """As the file has it, None where it is missing; and the values that go in."""

    raw: Text | None
    values: Annotated[list[float], Meta(max_length=MAX_VALUES)]


class Token(Struct):
    """A token of the first text; `unknown` ones are not in the vocabulary."""

    text: Text
    id: int
    unknown: bool


class PreviewPart(Struct):
    """One input or label of the model: shape of one example, and of what."""

    shape: Annotated[list[int], Meta(max_length=16)]
    dtype: Text


class Spread(Struct):
    """Of the numbers that go into the model, in what is shown."""

    least: float
    mean: float
    most: float


class PreviewResult(Struct):
    """Everything. `misfit` says why the model cannot take it, `broken` which examples cannot be read."""

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
    """What was made. Raises DataError: who looked at hostile data may have been taken over."""
    try:
        return msgspec.json.decode(content, type=PreviewResult)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"What was made of the examples cannot be read ({error}); bring the data again."
        ) from error
