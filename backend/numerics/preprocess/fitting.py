"""Fits a declared preprocessing to data: means, fills, categories, classes and vocabularies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Literal

from msgspec.structs import replace

from backend.errors import DataError
from backend.numerics.preprocess.declared import (
    DeclaredAudio,
    DeclaredCategory,
    DeclaredClass,
    DeclaredImage,
    DeclaredNumber,
    DeclaredTable,
    DeclaredText,
    Preprocess,
)
from backend.numerics.preprocess.fitted import (
    CategoryColumn,
    ClassLabel,
    Column,
    Encoding,
    Fitted,
    FittedAudio,
    FittedTable,
    FittedText,
    Image,
    Label,
    NumberColumn,
    NumberLabel,
    StoredSpec,
)
from backend.numerics.preprocess.ordering import most_frequent, ordered
from backend.numerics.preprocess.pairs import Pair, find_merges
from backend.numerics.preprocess.table import input_specs, parse_number, trimmed
from backend.numerics.preprocess.text import normalize, pieces, tokens

Rows = Callable[[], Iterable[Mapping[str, str]]]
"""Iterates over the rows from the first, each time it is called."""


def class_label(classes: Sequence[str] | None, found: Iterable[str], encoding: Encoding) -> ClassLabel:
    """Returns the label of declared or found classes. Raises DataError for duplicates or fewer than two."""
    names = list(classes) if classes is not None else ordered(found)
    if len(set(names)) < len(names):
        raise DataError("classes: a name occurs twice; name each class once.")
    if len(names) < 2:
        known = f"only one class, '{names[0]}'" if names else "no class"
        raise DataError(
            f"There is {known}: a model needs at least two. Put the files of each class into "
            "a folder with its name, or declare all `classes`."
        )
    if encoding == "number" and len(names) != 2:
        raise DataError(f'encoding = "number" is for two classes; these are {len(names)}: use "index".')
    return ClassLabel(names, encoding)


def fit_image(declared: DeclaredImage, found: Iterable[str]) -> Image:
    """Fits images; `found` are the names of the folders."""
    label = class_label(declared.classes, found, declared.encoding)
    return Image(
        inputs=[StoredSpec([*declared.size, declared.channels], "uint8")],
        labels=[label.stored],
        size=declared.size,
        channels=declared.channels,
        fit=declared.fit,
        resize=declared.resize,
        background=declared.background,
        label=label,
    )


def fit_audio(declared: DeclaredAudio, found: Iterable[str]) -> FittedAudio:
    """Fits recordings; `found` are the names of the folders."""
    label = class_label(declared.classes, found, declared.encoding)
    return FittedAudio(
        inputs=[StoredSpec([declared.frames, declared.bins, 1], "float32")],
        labels=[label.stored],
        rate=declared.rate,
        seconds=declared.seconds,
        window=declared.window,
        hop=declared.hop,
        spectrum=declared.spectrum,
        bins=declared.bins,
        low=declared.low,
        high=declared.highest,
        normalize=declared.normalize,
        label=label,
    )


def fit_table(declared: DeclaredTable, train: Rows, every: Rows) -> FittedTable:
    """Fits tables: numbers to the rows of `train`, names that must all be known to `every` row."""
    columns = [_fit_column(declared, column, train, every) for column in declared.columns]
    labels = [_fit_label(label, every) for label in declared.labels]
    return FittedTable(
        inputs=input_specs(columns),
        labels=[label.stored for label in labels],
        delimiter=declared.delimiter,
        decimal=declared.decimal,
        missing=list(declared.missing),
        columns=columns,
        label_columns=[label.name for label in declared.labels],
        label=labels,
    )


def _fit_column(
    declared: DeclaredTable, column: DeclaredNumber | DeclaredCategory, train: Rows, every: Rows
) -> Column:
    if isinstance(column, DeclaredNumber):
        return _fit_number(declared, column, train)
    categories = column.categories
    if categories is None:
        rows = every if column.unknown == "error" else train
        categories = ordered({trimmed(row[column.name]) for row in rows()} - set(declared.missing))
    if not categories:
        raise DataError(f"column '{column.name}' has no category; every cell is missing.")
    if column.encoding == "index" and "none" in (column.missing, column.unknown):
        raise DataError(
            f'column \'{column.name}\': "none" goes with one-hot only; an index needs a position: use "own".'
        )
    return CategoryColumn(
        column.name, column.input, list(categories), column.encoding, column.missing, column.unknown
    )


def _fit_number(declared: DeclaredTable, column: DeclaredNumber, train: Rows) -> NumberColumn:
    needs = column.scaling != "none" or column.missing in ("mean", "median")
    values = _numbers(declared, column.name, train) if needs else []
    if needs and not values:
        raise DataError(f"column '{column.name}' has no number to learn `missing` and `scaling` from.")
    fill = 0.0
    if column.missing in ("mean", "median"):
        fill = _mean(values) if column.missing == "mean" else float(median(values))
    elif isinstance(column.missing, float):
        fill = column.missing
    subtract, divide = 0.0, 1.0
    if column.scaling == "standard":
        subtract = _mean(values)
        divide = math.sqrt(_mean([(value - subtract) ** 2 for value in values])) or 1.0
    elif column.scaling == "minmax":
        subtract = min(values)
        divide = max(values) - subtract or 1.0
    rule: Literal["error", "fill"] = "error" if column.missing == "error" else "fill"
    return NumberColumn(column.name, column.input, rule, fill, subtract, divide, column.indicator)


def _numbers(declared: DeclaredTable, name: str, rows: Rows) -> list[float]:
    cells = (trimmed(row[name]) for row in rows())
    return [parse_number(cell, declared.decimal, name) for cell in cells if cell not in declared.missing]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _fit_label(declared: object, every: Rows) -> Label:
    if not isinstance(declared, DeclaredClass):
        return NumberLabel()
    found = {trimmed(row[declared.name]) for row in every()} if declared.classes is None else ()
    return class_label(declared.classes, found, declared.encoding)


def fit_text(
    declared: DeclaredText, train: Iterable[str], every: Iterable[str], found: Iterable[str]
) -> FittedText:
    """Fits texts; `found` are the names of classes. Tokens that must all be known are from `every` text."""
    vocabulary, merges = _vocabulary(declared, every if declared.unknown == "error" else train)
    with_class = declared.labels != "none"
    label = class_label(declared.classes, found, declared.encoding) if with_class else None
    by_column = declared.labels == "column"
    text = FittedText(
        inputs=[],
        labels=[],
        normalize=declared.normalize,
        lower=declared.lower,
        tokenizer=declared.tokenizer,
        punctuation=declared.punctuation,
        tokens=vocabulary,
        merges=merges,
        unknown=declared.unknown,
        length=declared.length,
        stride=declared.stride or declared.length,
        text_column=declared.text_column if by_column else None,
        label_column=declared.label_column if by_column else None,
        delimiter=declared.delimiter,
        label=label,
    )
    return with_specs(text)


def with_specs(text: FittedText) -> FittedText:
    """Returns `text` with the shapes and dtypes of its arrays."""
    ids = StoredSpec([text.length], "uint8" if text.ids <= 256 else "int32")
    return replace(text, inputs=[ids], labels=[text.label.stored if text.label else ids])


def _vocabulary(declared: DeclaredText, texts: Iterable[str]) -> tuple[list[str], list[Pair]]:
    if declared.tokenizer == "bytes":
        return [], []
    own = (declared.labels != "none") + (declared.unknown == "own")
    if declared.tokenizer == "pairs":
        if declared.vocabulary is None or declared.vocabulary < 256 + own:
            raise DataError(
                f'tokenizer = "pairs" needs `vocabulary`, at least {256 + own}: all bytes have an id.'
            )
        counts: Counter[bytes] = Counter()
        for text in texts:
            counts.update(pieces(normalize(text, declared.normalize == "nfc", declared.lower)))
        return [], find_merges(counts, declared.vocabulary - 256 - own)
    if declared.tokens is not None:
        return list(declared.tokens), []
    counted: Counter[str] = Counter()
    for text in texts:
        plain = normalize(text, declared.normalize == "nfc", declared.lower)
        counted.update(tokens(declared.tokenizer, declared.punctuation, plain))
    if not counted:
        raise DataError("The texts have no token to learn from; are the files empty?")
    room = None if declared.vocabulary is None else declared.vocabulary - own
    if declared.unknown == "error" and room is not None and len(counted) > room:
        raise DataError(
            f"The texts have {len(counted)} different tokens, over the vocabulary of {declared.vocabulary}; "
            'raise it, or set unknown = "own" or "drop".'
        )
    return most_frequent(counted, room), []


def resolve(declared: Preprocess) -> Fitted | None:
    """Returns the fitted preprocessing if all is declared; None if something must be fitted to data."""

    def no_rows() -> Iterable[Mapping[str, str]]:
        raise _NeedsDataError

    try:
        match declared:
            case DeclaredImage(classes=[*_]):
                return fit_image(declared, ())
            case DeclaredAudio(classes=[*_]):
                return fit_audio(declared, ())
            case DeclaredTable():
                return fit_table(declared, no_rows, no_rows)
            case DeclaredText() if _declares_all(declared):
                return fit_text(declared, (), (), ())
            case _:
                return None
    except _NeedsDataError:
        return None


class _NeedsDataError(Exception):
    """Fitting needs rows of data."""


def _declares_all(declared: DeclaredText) -> bool:
    tokens_known = declared.tokenizer == "bytes" or (
        declared.tokens is not None and declared.tokenizer != "pairs"
    )
    return tokens_known and (declared.labels == "none" or declared.classes is not None)
