"""The fitted preprocessing: all parameters that turn a file, a row or a text into stored values."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from backend.errors import DataError

FORMAT: Literal["minga-preprocess/1"] = "minga-preprocess/1"

Dtype = Literal["uint8", "int32", "float32"]
Length = Annotated[int, Meta(ge=1, le=1 << 20)]
Side = Annotated[int, Meta(ge=1, le=4096)]
Level = Annotated[int, Meta(ge=0, le=255)]
Index = Annotated[int, Meta(ge=0, le=63)]
Names = Annotated[list[str], Meta(min_length=1, max_length=1 << 20)]
OneCharacter = Annotated[str, Meta(min_length=1, max_length=1)]
Encoding = Literal["index", "one-hot", "number"]
Fit = Literal["stretch", "cover", "contain"]
Resize = Literal["nearest", "bilinear", "bicubic", "area"]
Tokenizer = Literal["characters", "bytes", "words", "pairs"]
Punctuation = Literal["tokens", "strip"]
Normalize = Literal["none", "nfc"]
UnknownToken = Literal["error", "own", "drop"]
Rule = Literal["error", "own", "none"]
Rate = Annotated[int, Meta(ge=4000, le=48_000)]
Seconds = Annotated[float, Meta(ge=0.01, le=60)]
WindowSamples = Annotated[int, Meta(ge=16, le=8192)]
Bins = Annotated[int, Meta(ge=1, le=512)]
Hertz = Annotated[float, Meta(ge=0, le=24_000)]
Spectrum = Literal["mel", "linear"]
AudioNormalize = Literal["recording", "none"]


class Strict(Struct, frozen=True, forbid_unknown_fields=True):
    """Base: an unknown key is an error."""


class StoredSpec(Strict, frozen=True):
    """Shape of one example, and dtype, of an array of a shard."""

    shape: list[Annotated[int, Meta(ge=0, le=1 << 24)]]
    dtype: Dtype


class ClassLabel(Strict, frozen=True, tag_field="kind", tag="class"):
    """A label that is a class."""

    classes: Names
    encoding: Encoding

    @property
    def stored(self) -> StoredSpec:
        """Shape and dtype of such a label in a shard."""
        shapes: dict[Encoding, list[int]] = {"index": [], "one-hot": [len(self.classes)], "number": [1]}
        return StoredSpec(shapes[self.encoding], "int32" if self.encoding == "index" else "float32")


class NumberLabel(Strict, frozen=True, tag_field="kind", tag="number"):
    """A label that is a number."""

    @property
    def stored(self) -> StoredSpec:
        """Shape and dtype of such a label in a shard."""
        return StoredSpec([1], "float32")


Label: TypeAlias = ClassLabel | NumberLabel


class NumberColumn(Strict, frozen=True, tag_field="kind", tag="number"):
    """A column of numbers, stored as (value - subtract) / divide."""

    column: str
    input: Index
    missing: Literal["error", "fill"]
    fill: float
    subtract: float
    divide: float
    indicator: bool

    @property
    def width(self) -> int:
        """The number of stored values for one cell."""
        return 2 if self.indicator else 1


class CategoryColumn(Strict, frozen=True, tag_field="kind", tag="category"):
    """A column of categories."""

    column: str
    input: Index
    categories: Names
    encoding: Literal["index", "one-hot"]
    missing: Rule
    unknown: Rule

    @property
    def positions(self) -> int:
        """The number of categories, plus the positions for missing and unknown values."""
        return len(self.categories) + (self.missing == "own") + (self.unknown == "own")

    @property
    def width(self) -> int:
        """The number of stored values for one cell."""
        return self.positions if self.encoding == "one-hot" else 1


Column: TypeAlias = NumberColumn | CategoryColumn


class Image(Strict, frozen=True, kw_only=True, tag_field="kind", tag="image"):
    """Images of one size."""

    format: Literal["minga-preprocess/1"] = FORMAT
    inputs: list[StoredSpec]
    labels: list[StoredSpec]
    size: tuple[Side, Side]
    channels: Literal[1, 3]
    fit: Fit
    resize: Resize
    background: tuple[Level, Level, Level]
    label: ClassLabel


class FittedTable(Strict, frozen=True, kw_only=True, tag_field="kind", tag="table"):
    """Rows of a CSV file."""

    format: Literal["minga-preprocess/1"] = FORMAT
    inputs: list[StoredSpec]
    labels: list[StoredSpec]
    delimiter: OneCharacter
    decimal: OneCharacter
    missing: list[str]
    columns: Annotated[list[Column], Meta(min_length=1, max_length=10_000)]
    label_columns: list[str]
    label: list[Label]


class FittedText(Strict, frozen=True, kw_only=True, tag_field="kind", tag="text"):
    """Windows of texts for predicting the next token, or texts with a class."""

    format: Literal["minga-preprocess/1"] = FORMAT
    inputs: list[StoredSpec]
    labels: list[StoredSpec]
    normalize: Normalize
    lower: bool
    tokenizer: Tokenizer
    punctuation: Punctuation
    tokens: Annotated[list[str], Meta(max_length=1 << 20)]
    merges: Annotated[list[tuple[int, int]], Meta(max_length=1 << 16)]
    unknown: UnknownToken
    length: Length
    stride: Length
    text_column: str | None
    label_column: str | None
    delimiter: OneCharacter
    label: ClassLabel | None

    @property
    def first(self) -> int:
        """The id of the first token."""
        return (self.label is not None) + (self.unknown == "own")

    @property
    def ids(self) -> int:
        """The number of ids; all ids are below it."""
        count = len(self.tokens) if self.tokenizer in ("characters", "words") else 256 + len(self.merges)
        return self.first + count


class Arrays(Strict, frozen=True, kw_only=True, tag_field="kind", tag="array"):
    """Arrays stored unchanged."""

    format: Literal["minga-preprocess/1"] = FORMAT
    inputs: list[StoredSpec]
    labels: list[StoredSpec]
    x: Names
    y: list[str]


class FittedAudio(Strict, frozen=True, kw_only=True, tag_field="kind", tag="audio"):
    """Recordings as log spectrograms [frames, bins, 1]; `window` and `hop` are in samples at `rate`."""

    format: Literal["minga-preprocess/1"] = FORMAT
    inputs: list[StoredSpec]
    labels: list[StoredSpec]
    rate: Rate
    seconds: Seconds
    window: WindowSamples
    hop: WindowSamples
    spectrum: Spectrum
    bins: Bins
    low: Hertz
    high: Hertz
    normalize: AudioNormalize
    label: ClassLabel


Fitted: TypeAlias = Image | FittedTable | FittedText | Arrays | FittedAudio


def parse_fitted(content: bytes) -> Fitted:
    """Parses a fitted preprocessing from JSON. Raises DataError if it is not valid."""
    try:
        fitted: Fitted = msgspec.json.decode(content, type=Fitted)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"preprocess.json cannot be read ({error}); run `minga shard` again.") from error
    return fitted


def encode_fitted(fitted: Fitted) -> bytes:
    """Returns the JSON of a fitted preprocessing, with every key."""
    return msgspec.json.encode(fitted)
