"""Lists the starter models that an owner can begin with, each with a sentence and the data that it fits."""

from __future__ import annotations

from dataclasses import dataclass

from backend.datasets.inspection.findings import Kind
from backend.translation import later

# Data by kind; that of arrays follows from the shape of one example.
PICTURES, ROWS, TEXTS, SERIES, OTHER = "pictures", "rows", "texts", "series", "other"


@dataclass(frozen=True)
class Starter:
    """A starter model: its title, a sentence about it, and the data that it is made for."""

    title: str
    words: str
    data: str


# By their names in converter/starter_models/starters.py.
STARTERS: dict[str, Starter] = {
    "small-cnn": Starter(
        later("A small CNN"),
        later("Three convolutions tell pictures apart: quick on every phone, and right for a first try."),
        PICTURES,
    ),
    "mobile-net": Starter(
        later("A network like MobileNet"),
        later("Many thin layers made for phones tell finer differences between pictures, and train longer."),
        PICTURES,
    ),
    "table-mlp": Starter(
        later("An MLP for tables"),
        later("Two dense layers predict a class or a number from the other columns of a row."),
        ROWS,
    ),
    "text-gru": Starter(
        later("A GRU for texts"),
        later("It reads a text step by step and keeps a small memory: few parameters, for short texts."),
        TEXTS,
    ),
    "small-gpt": Starter(
        later("A small GPT for texts"),
        later("Two blocks of attention relate all parts of a text: stronger than a GRU, and slower."),
        TEXTS,
    ),
    "series-forecaster": Starter(
        later("A forecaster for series"),
        later("Convolutions look back over a window of a time series and predict the values that follow."),
        SERIES,
    ),
}

# What each kind of data is called in errors, which are in English.
NAMES = {
    PICTURES: "pictures",
    ROWS: "rows of a table",
    TEXTS: "texts",
    SERIES: "series",
    OTHER: "arrays of another shape",
}


def data_of(kind: Kind, shape: list[int] | None) -> str:
    """Returns the kind of data that decides which starters fit.

    `shape` is that of one example's input, which only arrays need.
    """
    match kind:
        case "image" | "audio":
            # A spectrogram is a picture with one channel.
            return PICTURES
        case "table":
            return ROWS
        case "text":
            return TEXTS
        case "array":
            if shape is not None and len(shape) == 3 and shape[2] in (1, 3):
                return PICTURES
            return {1: ROWS, 2: SERIES}.get(len(shape or []), OTHER)
