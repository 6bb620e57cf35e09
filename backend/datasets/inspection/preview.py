"""Previews examples before and after preprocessing, with exactly the values that a cut would store."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from backend.datasets.inspection.class_folders import some_of_each
from backend.datasets.inspection.findings import Kind, shown
from backend.datasets.inspection.images import write_small
from backend.datasets.inspection.preview_result import (
    MAX_SHOWN,
    MAX_TOKENS,
    MAX_VALUES,
    Cell,
    PreviewPart,
    PreviewResult,
    Seen,
    SeenColumn,
    Spread,
    Token,
)
from backend.datasets.inspection.recordings import draw
from backend.datasets.model_fit import check_fits
from backend.datasets.readers.dataset import chunks, fit
from backend.datasets.readers.files import folder_of, list_files
from backend.datasets.readers.images import SUFFIXES, decode_image
from backend.datasets.readers.recordings import read_recording, recordings
from backend.datasets.readers.rows import TableRows, read_rows
from backend.datasets.readers.source import Array, Broken, HoldoutSplit
from backend.datasets.sharding.cut import CutPlan
from backend.errors import DataError
from backend.formats.manifest import Manifest
from backend.numerics.preprocess.declared import Preprocess
from backend.numerics.preprocess.fitted import (
    Arrays,
    CategoryColumn,
    Column,
    Fitted,
    FittedAudio,
    FittedTable,
    FittedText,
    Image,
    StoredSpec,
)
from backend.numerics.preprocess.image import image_values, orient
from backend.numerics.preprocess.loading import load_values
from backend.numerics.preprocess.spectrogram import audio_values
from backend.numerics.preprocess.table import column_values, label_value, needed_columns, trimmed

_ROWS, _PICTURES = 6, 12
_LARGEST_SIDE = 256
_KINDS: dict[type[Fitted], Kind] = {
    Image: "image",
    FittedAudio: "audio",
    FittedTable: "table",
    FittedText: "text",
    Arrays: "array",
}


def preview(
    path: Path, declared: Preprocess, holdout: float, folder: Path, manifest: Manifest | None
) -> PreviewResult:
    """Fits `declared` to the data at `path` as a cut would, and preprocesses some examples.

    Pictures are written to `folder`. Raises DataError.
    """
    split = CutPlan(declared, holdout).split
    fitted = fit(declared, path, split)
    made = PreviewResult(_KINDS[type(fitted)], _parts(fitted.inputs), _parts(fitted.labels))
    match fitted:
        case Image():
            values = _pictures(made, fitted, path, folder)
        case FittedAudio():
            values = _spectrograms(made, fitted, path, folder)
        case FittedTable():
            values = _rows(made, fitted, path)
        case FittedText():
            values = _tokens(made, fitted, path, split)
        case Arrays():
            values = _arrays(made, fitted, path, split, folder)
    if values and fitted.inputs[0].dtype != "int32":
        loaded = load_values(np.stack(values), *declared.loading)
        made.spread = Spread(float(loaded.min()), float(loaded.mean()), float(loaded.max()))
    if manifest is not None:
        try:
            check_fits(fitted, manifest)
        except DataError as error:
            made.misfit = str(error)[:1000]
    return made


def _parts(specs: Sequence[StoredSpec]) -> list[PreviewPart]:
    return [PreviewPart(list(spec.shape), spec.dtype) for spec in specs]


def _pictures(made: PreviewResult, fitted: Image, path: Path, folder: Path) -> list[Array]:
    files = list_files(path).ending(*SUFFIXES)
    values: list[Array] = []
    for name in some_of_each(files, fitted.label.classes)[:_PICTURES]:
        try:
            rgba, orientation = decode_image(files.read(name))
        except DataError as error:
            made.broken.append(shown(f"{name}: {error}"))
            continue
        upright = np.ascontiguousarray(orient(rgba, orientation))
        after = image_values(fitted, rgba, orientation)
        before, into = f"{len(values)}.png", f"{len(values)}-in.png"
        write_small(upright, folder / before)
        write_small(after, folder / into, _LARGEST_SIDE)
        height, width = upright.shape[:2]
        made.pictures.append(Seen(before, into, shown(folder_of(name)), width, height))
        values.append(after)
    return values


def _spectrograms(made: PreviewResult, fitted: FittedAudio, path: Path, folder: Path) -> list[Array]:
    files = recordings(path)
    values: list[Array] = []
    for name in some_of_each(files, fitted.label.classes)[:_PICTURES]:
        try:
            after = audio_values(fitted, read_recording(files, name))
        except DataError as error:
            made.broken.append(shown(f"{name}: {error}"))
            continue
        into, drawn = f"{len(values)}-in.png", draw(after)
        write_small(drawn, folder / into, max(drawn.shape))
        made.pictures.append(Seen(None, into, shown(folder_of(name)), drawn.shape[1], drawn.shape[0]))
        values.append(after)
    return values


def _rows(made: PreviewResult, fitted: FittedTable, path: Path) -> list[Array]:
    made.columns = [SeenColumn(shown(one.column), in_words(one), "input") for one in fitted.columns]
    made.columns += [
        SeenColumn(shown(name), "what the model learns to tell", "label") for name in fitted.label_columns
    ]
    names = tuple(needed_columns(fitted))
    values: list[Array] = []
    for number, row in read_rows(
        TableRows(path, fitted.delimiter, fitted.decimal, tuple(fitted.missing), names)
    ):
        if len(made.rows) == _ROWS or number > 1000:
            break
        try:
            cells = _cells(fitted, row)
        except DataError as error:
            if len(made.broken) < MAX_SHOWN:
                made.broken.append(shown(f"row {number}, {error}"))
            continue
        made.rows.append(cells)
        pairs = zip(fitted.columns, cells, strict=False)
        inputs = [value for column, cell in pairs if column.input == 0 for value in cell.values]
        values.append(np.array(inputs, np.float32))
    # Cells are shortened for display, so rows with many categories may have different lengths.
    return values if len({len(one) for one in values}) == 1 else []


def _cells(fitted: FittedTable, row: dict[str, str]) -> list[Cell]:
    cells = [
        _cell(fitted, row[one.column], column_values(fitted, one, row[one.column])) for one in fitted.columns
    ]
    for name, label in zip(fitted.label_columns, fitted.label, strict=True):
        made = label_value(fitted, label, name, row[name])
        cells.append(_cell(fitted, row[name], made.astype(float).reshape(-1).tolist()))
    return cells


def _cell(fitted: FittedTable, raw: str, values: list[float]) -> Cell:
    missing = trimmed(raw) in fitted.missing
    return Cell(None if missing else shown(trimmed(raw)), values[:MAX_VALUES])


def in_words(column: Column) -> str:
    """Describes the preprocessing of a column, for people."""
    if isinstance(column, CategoryColumn):
        some = ", ".join(column.categories[:5]) + (", …" if len(column.categories) > 5 else "")
        which = f"one of {len(column.categories)}: {some}"
        return shown(f"{which}, as its number" if column.encoding == "index" else which)
    scaled = "a number, scaled" if (column.subtract, column.divide) != (0.0, 1.0) else "a number"
    return scaled if column.missing == "error" else f"{scaled}; {column.fill:.4g} where it is empty"


def _tokens(made: PreviewResult, fitted: FittedText, path: Path, split: HoldoutSplit) -> list[Array]:
    first_chunk = next(iter(chunks(fitted, path, split, _note(made))), None)
    if first_chunk is None:
        return []
    ids = first_chunk.x[0][0].reshape(-1)[:MAX_TOKENS].tolist()
    vocabulary = _vocabulary(fitted)
    made.tokens = [_token(fitted, vocabulary, number) for number in ids]
    if fitted.label is None:
        following = _token(fitted, vocabulary, int(first_chunk.y[0][0].reshape(-1)[len(ids) - 1]))
        made.label = following.text
    else:
        label = first_chunk.y[0][0].reshape(-1)
        at = int(label.argmax()) if fitted.label.encoding == "one-hot" else int(label[0])
        made.label = shown(fitted.label.classes[at])
    return []


def _vocabulary(fitted: FittedText) -> list[str]:
    """Returns the text of each token, starting with token `fitted.first`."""
    if fitted.tokenizer in ("characters", "words"):
        return list(fitted.tokens)
    pieces = [bytes([value]) for value in range(256)]
    for left, right in fitted.merges:
        pieces.append(pieces[left] + pieces[right])
    return [piece.decode("utf-8", "replace") for piece in pieces]


def _token(fitted: FittedText, vocabulary: list[str], number: int) -> Token:
    at = number - fitted.first
    is_known = 0 <= at < len(vocabulary)
    padding = fitted.label is not None and number == 0
    return Token(shown(vocabulary[at]) if is_known else "", number, not is_known and not padding)


def _arrays(
    made: PreviewResult, fitted: Arrays, path: Path, split: HoldoutSplit, folder: Path
) -> list[Array]:
    first_chunk = next(iter(chunks(fitted, path, split, _note(made))), None)
    if first_chunk is None:
        return []
    examples = list(islice(first_chunk.x[0], _PICTURES))
    labels = first_chunk.y[0] if first_chunk.y else None
    for number, example in enumerate(examples):
        if (pixels := _as_picture(example)) is None:
            break
        name = f"{number}-in.png"
        write_small(pixels, folder / name, _LARGEST_SIDE)
        label = "" if labels is None or labels[number].size > 1 else f"{labels[number].reshape(-1)[0]:g}"
        made.pictures.append(Seen(None, name, label, pixels.shape[1], pixels.shape[0]))
    return examples


def _as_picture(values: Array) -> Array | None:
    """Scales values to 8-bit levels [height, width, 1 or 3], the lowest black; None if no picture."""
    if values.ndim == 2:
        values = values[..., None]
    if values.ndim != 3 or values.shape[2] not in (1, 3) or not all(2 <= n <= 1024 for n in values.shape[:2]):
        return None
    if values.dtype == np.uint8:
        return values
    lowest, highest = float(values.min()), float(values.max())
    return ((values - lowest) * (255.0 / (highest - lowest or 1.0))).astype(np.uint8)


def _note(made: PreviewResult) -> Broken:
    def note(error: DataError) -> None:
        if len(made.broken) < MAX_SHOWN:
            made.broken.append(shown(str(error)))

    return note
