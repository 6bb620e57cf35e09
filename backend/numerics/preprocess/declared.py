"""The table [data.preprocess] of a task file, typed; docs/reference/preprocessing.md specifies it."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field

from backend.numerics.preprocess.fitted import (
    AudioNormalize,
    Bins,
    Encoding,
    Fit,
    Hertz,
    Index,
    Length,
    Level,
    Names,
    Normalize,
    OneCharacter,
    Punctuation,
    Rate,
    Resize,
    Rule,
    Seconds,
    Side,
    Spectrum,
    Strict,
    Tokenizer,
    UnknownToken,
    WindowSamples,
)
from backend.numerics.preprocess.loading import Factor
from backend.numerics.preprocess.spectrogram import check_bins, fft_size, frame_count

Factors = (
    Annotated[float, Meta(ge=-1e9, le=1e9)] | Annotated[list[float], Meta(min_length=1, max_length=4096)]
)

MAX_AUDIO_FRAMES = 8192


class Declared(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """Settings of every kind: how stored values are loaded."""

    scale: Factors = 1.0
    mean: Factors = 0.0
    std: Factors = 1.0

    def __post_init__(self) -> None:
        _ = self.loading

    @property
    def loading(self) -> tuple[Factor, Factor]:
        """Scale and offset of stored values. Raises ValueError if lists differ in length or a std is 0."""
        factors = (self.scale, self.mean, self.std)
        length = max(len(factor) if isinstance(factor, list) else 0 for factor in factors)
        scale, mean, std = (_as_list(factor, length or 1) for factor in factors)
        if not all(std):
            raise ValueError("a std of 0 divides nothing; use 1.")
        scales = [s / d for s, d in zip(scale, std, strict=True)]
        offsets = [-m / d if m else 0.0 for m, d in zip(mean, std, strict=True)]
        return (scales, offsets) if length else (scales[0], offsets[0])


def _as_list(factor: Factor, length: int) -> list[float]:
    if not isinstance(factor, list):
        return [factor] * length
    if len(factor) != length:
        raise ValueError("scale, mean and std are numbers, or lists of one length.")
    return factor


class DeclaredImage(Declared, frozen=True, kw_only=True, tag="image"):
    """Images in folders by class."""

    size: tuple[Side, Side]
    channels: Literal[1, 3] = 3
    fit: Fit = "cover"
    resize: Resize = "bilinear"
    background: tuple[Level, Level, Level] = (255, 255, 255)
    classes: Names | None = None
    encoding: Encoding = "index"


class DeclaredNumber(Strict, frozen=True, kw_only=True, tag_field="kind", tag="number"):
    """A column of numbers."""

    name: str
    input: Index = 0
    missing: Literal["error", "mean", "median"] | float = "error"
    scaling: Literal["none", "standard", "minmax"] = "none"
    indicator: bool = False


class DeclaredCategory(Strict, frozen=True, kw_only=True, tag_field="kind", tag="category"):
    """A column of categories."""

    name: str
    input: Index = 0
    categories: Names | None = None
    encoding: Literal["index", "one-hot"] = "one-hot"
    missing: Rule = "error"
    unknown: Rule = "error"


class DeclaredClass(Strict, frozen=True, kw_only=True, tag_field="kind", tag="class"):
    """A column with the class to be predicted."""

    name: str
    classes: Names | None = None
    encoding: Encoding = "index"


class DeclaredTarget(Strict, frozen=True, kw_only=True, tag_field="kind", tag="number"):
    """A column with the number to be predicted."""

    name: str


class DeclaredTable(Declared, frozen=True, kw_only=True, tag="table"):
    """Rows of a table."""

    columns: Annotated[list[DeclaredNumber | DeclaredCategory], Meta(min_length=1, max_length=10_000)]
    labels: Annotated[list[DeclaredClass | DeclaredTarget], Meta(max_length=64)] = field(default_factory=list)
    delimiter: OneCharacter = ","
    decimal: OneCharacter = "."
    missing: list[str] = field(default_factory=lambda: [""])


class DeclaredText(Declared, frozen=True, kw_only=True, tag="text"):
    """Texts: windows for predicting the next token, or texts with a class."""

    tokenizer: Tokenizer
    length: Length
    normalize: Normalize = "none"
    lower: bool = False
    punctuation: Punctuation = "tokens"
    unknown: UnknownToken = "error"
    vocabulary: Annotated[int, Meta(ge=2, le=1 << 20)] | None = None
    stride: Length | None = None
    tokens: Names | None = None
    labels: Literal["none", "folders", "column"] = "none"
    text_column: str | None = None
    label_column: str | None = None
    delimiter: OneCharacter = ","
    classes: Names | None = None
    encoding: Encoding = "index"

    def __post_init__(self) -> None:
        super().__post_init__()
        columns = self.text_column is not None and self.label_column is not None
        errors = {
            "vocabulary goes with characters, words and pairs; bytes are 256": self.tokenizer == "bytes"
            and self.vocabulary is not None,
            "tokens goes with characters and words": self.tokenizer in ("bytes", "pairs")
            and self.tokens is not None,
            'tokenizer = "pairs" needs vocabulary': self.tokenizer == "pairs" and self.vocabulary is None,
            'labels = "column" needs text_column and label_column': self.labels == "column" and not columns,
            'text_column and label_column go with labels = "column"': self.labels != "column" and columns,
            'classes go with labels = "folders" or "column"': self.labels == "none"
            and self.classes is not None,
            "stride goes with windows for the next token, without labels": self.labels != "none"
            and self.stride is not None,
        }
        for sentence, applies in errors.items():
            if applies:
                raise ValueError(sentence)


class DeclaredArrays(Declared, frozen=True, kw_only=True, tag="array"):
    """Arrays stored unchanged."""

    x: Names = field(default_factory=lambda: ["x"])
    y: list[str] = field(default_factory=lambda: ["y"])


class DeclaredAudio(Declared, frozen=True, kw_only=True, tag="audio"):
    """Recordings in folders by class, as log spectrograms."""

    rate: Rate = 16_000
    seconds: Seconds = 1.0
    window: WindowSamples = 400
    hop: WindowSamples = 160
    spectrum: Spectrum = "mel"
    bins: Bins = 40
    low: Hertz = 0.0
    high: Hertz | None = None
    normalize: AudioNormalize = "recording"
    classes: Names | None = None
    encoding: Encoding = "index"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.frames <= MAX_AUDIO_FRAMES:
            raise ValueError(
                f"seconds, window and hop make {max(0, self.frames)} windows where 1 to {MAX_AUDIO_FRAMES:,} "
                "are possible; seconds x rate has to hold at least one window"
            )
        if self.spectrum == "linear":
            most = fft_size(self.window) // 2 + 1
            if self.bins > most or self.low != 0 or self.high is not None:
                raise ValueError(
                    f'spectrum = "linear" has at most {most} bins for this window, and no low and high'
                )
        else:
            check_bins(self.rate, self.window, self.bins, self.low, self.highest)

    @property
    def frames(self) -> int:
        """The number of windows, which is the first axis."""
        return frame_count(self.rate, self.seconds, self.window, self.hop)

    @property
    def highest(self) -> float:
        """The end of the mel scale in Hz."""
        return self.rate / 2 if self.high is None else self.high


Preprocess: TypeAlias = DeclaredImage | DeclaredTable | DeclaredText | DeclaredArrays | DeclaredAudio
