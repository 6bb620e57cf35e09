"""Writes the golden values of declared preprocessing: python -m
tests.contract.vectors.data.make_preprocess."""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec
import numpy as np

from backend.errors import DataError
from backend.numerics.preprocess import fitted as fitted_preprocess
from backend.numerics.preprocess.image import image_values
from backend.numerics.preprocess.loading import load_values
from backend.numerics.preprocess.ordering import most_frequent, ordered
from backend.numerics.preprocess.rows import csv_rows
from backend.numerics.preprocess.table import input_specs, needed_columns, table_arrays
from backend.numerics.preprocess.text import class_arrays, lower_case, window_arrays
from tests.contract.vectors import write

PETS = fitted_preprocess.ClassLabel(["cat", "dog"], "index")


def files() -> dict[str, str]:
    """The content of each file."""
    cases = {
        "image": images(),
        "table": tables(),
        "text": texts(),
        "loading": loadings(),
        "order": orders(),
        "lower": [{"pairs": sorted(lower_case().items())}],
    }
    return {f"preprocess/{name}.json": _text(some) for name, some in cases.items()}


def _text(cases: list[Any]) -> str:
    lines = ",\n".join(json.dumps(case, ensure_ascii=True) for case in cases)
    return f"[\n{lines}\n]\n"


def plain(fitted: Any) -> Any:
    """JSON types of a fitted preprocessing."""
    return msgspec.to_builtins(fitted)


def image(**changes: Any) -> fitted_preprocess.Image:
    """A fitted preprocessing of images, with `changes`."""
    size, channels = changes.get("size", (4, 4)), changes.get("channels", 3)
    chosen: dict[str, Any] = {
        "size": size,
        "channels": channels,
        "fit": "stretch",
        "resize": "bilinear",
        "background": (255, 128, 0),
        "label": PETS,
        **changes,
    }
    return fitted_preprocess.Image(
        inputs=[fitted_preprocess.StoredSpec([*size, channels], "uint8")],
        labels=[chosen["label"].stored],
        **chosen,
    )


def images() -> list[dict[str, Any]]:
    """Pixels, and what becomes of them."""
    random = np.random.default_rng(1)

    def case(h: int, w: int, orientation: int = 1, opaque: bool = True, **changes: Any) -> dict[str, Any]:
        pixels = random.integers(0, 256, (h, w, 4), np.uint8)
        if opaque:
            pixels[..., 3] = 255
        fitted = image(**changes)
        values = image_values(fitted, pixels, orientation)
        return {
            "fitted": plain(fitted),
            "pixels": {"height": h, "width": w, "rgba": pixels.reshape(-1).tolist()},
            "orientation": orientation,
            "values": values.reshape(-1).tolist(),
        }

    ways: tuple[fitted_preprocess.Resize, ...] = ("nearest", "bilinear", "bicubic", "area")
    cases = [case(h, w, resize=way) for way in ways for h, w in ((4, 4), (2, 3), (7, 9), (1, 1), (13, 5))]
    cases += [
        case(h, w, fit=how, resize=way, size=(5, 3))
        for how in ("cover", "contain")
        for way in ways
        for h, w in ((4, 11), (11, 4), (5, 3), (1, 6))
    ]
    cases += [case(3, 2, orientation=number, resize="nearest", size=(3, 3)) for number in range(1, 9)]
    cases += [case(3, 4, orientation=6, fit="cover", size=(2, 5))]
    cases += [case(3, 4, opaque=False, channels=channels) for channels in (1, 3)]
    return [*cases, case(6, 2, channels=1, fit="contain", resize="area"), case(40, 30, resize="bicubic")]


def table(
    columns: list[fitted_preprocess.Column], labels: dict[str, fitted_preprocess.Label], **changes: Any
) -> fitted_preprocess.FittedTable:
    """A fitted preprocessing of tables."""
    chosen: dict[str, Any] = {"delimiter": ",", "decimal": ".", "missing": [""], **changes}
    return fitted_preprocess.FittedTable(
        inputs=input_specs(columns),
        labels=[label.stored for label in labels.values()],
        columns=columns,
        label_columns=list(labels),
        label=list(labels.values()),
        **chosen,
    )


AGE = fitted_preprocess.NumberColumn("Age", 0, "fill", 28.0, 29.7, 14.5, True)
FARE = fitted_preprocess.NumberColumn("Fare", 0, "error", 0.0, 0.0, 512.3292, False)
SEX = fitted_preprocess.CategoryColumn("Sex", 0, ["female", "male"], "one-hot", "own", "own")
PORT = fitted_preprocess.CategoryColumn("Port", 1, ["C", "Q", "S"], "index", "own", "own")
DECK = fitted_preprocess.CategoryColumn("Deck", 0, ["A", "B"], "one-hot", "none", "none")
LIVED: dict[str, fitted_preprocess.Label] = {"Lived": fitted_preprocess.ClassLabel(["0", "1"], "number")}

CSV = (
    "\ufeffName, Age ,Fare,Sex,Port,Lived\r\n"
    '"Braund, Mr. ""Owen""\r\nHarris",22,7.25,male,S,0\r\n'
    "\r\n"
    "Cumings, , 71.2833 ,female,,1\r\n"
    'O"Neil,.5e1,+1e-3,"other",X,1\r\n'
    "Last,-0,512.3292,,Q,0"
)


def tables() -> list[dict[str, Any]]:
    """CSV texts, and what becomes of them."""
    german = table(
        [fitted_preprocess.NumberColumn("Preis", 0, "error", 0.0, 1.0, 3.0, False)],
        {"Ja": PETS, "Zahl": fitted_preprocess.NumberLabel()},
        delimiter=";",
        decimal=",",
        missing=["", "k. A."],
    )
    deck = table([DECK, FARE], {"Lived": fitted_preprocess.ClassLabel(["0", "1"], "one-hot")})
    both = table([AGE, FARE, SEX, PORT], LIVED)
    good = [
        (both, CSV),
        (both, CSV.replace("\r\n", "\n")),
        (both, CSV.replace("\r\n", "\r")),
        (german, "Preis;Ja;Zahl\n1,5;cat;-3\n,25;dog;1e3\n7,;cat;0,1\n"),
        (deck, "Deck,Fare,Lived\nA,1,0\n,2,1\nZ,3,0\n"),
    ]
    bad = [
        (both, "Name,Age,Fare,Sex,Port,Lived\na,1,2,male,S,0\nb,x,2,male,S,0\n", 2, "Age"),
        (both, "Name,Age,Fare,Sex,Port,Lived\nb,1,,male,S,0\n", 1, "Fare"),
        (both, "Name,Age,Fare,Sex,Port,Lived\nb,1,1e39,male,S,0\n", 1, "Fare"),
        (both, "Name,Age,Fare,Sex,Port,Lived\nb,1,2,male,S,2\n", 1, "Lived"),
        (both, "Name,Age,Fare,Sex,Port,Lived\nb,1,2,male,S,\n", 1, "Lived"),
        (both, "Name,Age,Fare,Sex,Port,Lived\nb,1,2,male,S\n", 1, None),
        (both, "Name,Age,Fare,Sex,Lived\nb,1,2,male,0\n", None, "Port"),
        (both, 'Name,Age,Fare,Sex,Port,Lived\n"b"c,1,2,male,S,0\n', 1, None),
        (both, 'Name,Age,Fare,Sex,Port,Lived\n"b,1,2,male,S,0\n', 1, None),
        (both, "Name,Age,Age,Fare,Sex,Port,Lived\nb,1,2,2,male,S,0\n", None, "Age"),
        (both, "", None, None),
    ]
    return [
        *({"fitted": plain(one), "csv": csv, **arrays(*read(one, csv))} for one, csv in good),
        *(
            {"fitted": plain(one), "csv": csv, "error": told(one, csv, row, name)}
            for one, csv, row, name in bad
        ),
    ]


def read(one: fitted_preprocess.FittedTable, csv: str) -> tuple[list[Any], list[Any]]:
    """The arrays of a CSV text."""
    lines = io.StringIO(csv, newline="")
    return table_arrays(one, csv_rows(lines, one.delimiter, needed_columns(one)))


def told(one: fitted_preprocess.FittedTable, csv: str, row: int | None, column: str | None) -> dict[str, Any]:
    """Row and column that an error has to name."""
    try:
        read(one, csv)
    except DataError as error:
        if (row is None or f"row {row}" in str(error)) and (column is None or f"'{column}'" in str(error)):
            return {"row": row, "column": column}
        raise
    raise AssertionError(f"no error: {csv}")


def arrays(x: list[Any], y: list[Any]) -> dict[str, Any]:
    """Arrays as JSON: shape, dtype and values."""
    return {
        "x": [{"shape": list(a.shape), "dtype": a.dtype.name, "values": a.reshape(-1).tolist()} for a in x],
        "y": [{"shape": list(a.shape), "dtype": a.dtype.name, "values": a.reshape(-1).tolist()} for a in y],
    }


def text(**changes: Any) -> fitted_preprocess.FittedText:
    """A fitted preprocessing of text, with `changes`."""
    chosen: dict[str, Any] = {
        "normalize": "none",
        "lower": False,
        "tokenizer": "characters",
        "punctuation": "tokens",
        "tokens": [],
        "merges": [],
        "unknown": "error",
        "length": 4,
        "stride": 4,
        "text_column": None,
        "label_column": None,
        "delimiter": ",",
        "label": None,
        **changes,
    }
    empty = fitted_preprocess.FittedText(inputs=[], labels=[], **chosen)
    inputs = [fitted_preprocess.StoredSpec([empty.length], "uint8" if empty.ids <= 256 else "int32")]
    return msgspec.structs.replace(
        empty, inputs=inputs, labels=[empty.label.stored] if empty.label else inputs
    )


WORDS = ["the", "cat", "'", "dont", ".", "don", "t", "caf\u00e9", "\U0001f600"]


def texts() -> list[dict[str, Any]]:
    """Texts, and what becomes of them."""
    merges = [(32, 116), (104, 101), (256, 257), (256, 256)]
    letters = {"tokens": ["b", "a", "\n", " ", "\U0001f600"]}
    cases = [
        (text(**letters), "ab ab\r\nba\rab\U0001f600"),
        (text(**letters, stride=2, length=3), "ab ab ba"),
        (text(**letters), "abab"),
        (text(tokenizer="bytes", stride=1), "h\u00e9\r\n\U0001f600!"),
        (
            text(tokenizer="words", tokens=WORDS, unknown="own", length=5, stride=1),
            "The cat don't. \u2003the dog\u3000cat",
        ),
        (
            text(tokenizer="words", tokens=WORDS, unknown="drop", lower=True, punctuation="strip", length=2),
            "THE Cat, don't the\tdog the",
        ),
        (
            text(tokenizer="words", tokens=WORDS, lower=True, normalize="nfc", length=2, stride=1),
            "CAFE\u0301 the cafe\u0301 \U0001f600 \U0001f600",
        ),
        (text(tokenizer="pairs", merges=merges, length=3, stride=1), "the the  the\nthethe"),
        (text(tokenizer="words", tokens=WORDS, unknown="own", label=PETS), "the cat"),
        (text(tokenizer="words", tokens=WORDS, unknown="own", label=PETS), "the cat the dog the cat"),
        (text(tokenizer="bytes", label=PETS, length=3), "\u00ff"),
        (text(tokenizer="pairs", merges=merges, label=PETS, length=6), "the the"),
    ]
    bad = [(text(**letters), "abc"), (text(tokenizer="words", tokens=WORDS, label=PETS), "  \n")]
    return [
        *(
            {"fitted": plain(one), "text": words, "name": "dog" if one.label else None, **made(one, words)}
            for one, words in cases
        ),
        *(
            {
                "fitted": plain(one),
                "text": words,
                "name": "dog" if one.label else None,
                "error": refused(one, words),
            }
            for one, words in bad
        ),
    ]


def made(one: fitted_preprocess.FittedText, words: str) -> dict[str, Any]:
    """The arrays of one text; its class is "dog" where there are classes."""
    if one.label is None:
        return arrays(*window_arrays(one, words))
    return arrays(*class_arrays(one, [(words, "dog")]))


def refused(one: fitted_preprocess.FittedText, words: str) -> bool:
    """True: there is an error."""
    try:
        made(one, words)
    except DataError:
        return True
    raise AssertionError(f"no error: {words}")


def loadings() -> list[dict[str, Any]]:
    """Stored values, and what the model takes."""
    whole = np.arange(0, 256, 5, dtype=np.uint8)[:51].reshape(17, 3)
    cases: list[tuple[Any, Any, Any]] = [
        (whole, 1 / 255, 0.0),
        (whole, [1 / 255 / 0.247, 1 / 255 / 0.2435, 1 / 255 / 0.2616], [-1.9895, -1.9803, -1.7071]),
        (np.array([[0.1, -2.5e8]], np.float32), 0.3, [1.0, 1e-8]),
        (np.array([[16777217, -7]], np.int32), 0.1, -0.5),
    ]
    return [
        {
            "preprocess": {"scale": scale, "offset": offset},
            "stored": {"shape": list(a.shape), "dtype": a.dtype.name, "values": a.reshape(-1).tolist()},
            "values": load_values(a, scale, offset).reshape(-1).tolist(),
        }
        for a, scale, offset in cases
    ]


def orders() -> list[dict[str, Any]]:
    """Names in the order of classes, and counted tokens in that of vocabularies."""
    names = [
        ["dog", "cat", "Bird", "\u00e9", "\U0001f600", "\uffee"],
        ["10", "9", "-1", "0"],
        ["10", "9", "07"],
        ["1234567890123456", "2"],
    ]
    counts = {"b": 2, "a": 2, "z": 5, "\U0001f600": 2, "\uffee": 2}
    return [
        *({"names": some, "ordered": ordered(some)} for some in names),
        {"counts": counts, "most_frequent": most_frequent(counts, 4)},
    ]


if __name__ == "__main__":
    write(files())
