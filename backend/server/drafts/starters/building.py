"""Builds the chosen starter model for a draft's data, as a file that is then converted like an upload."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from backend.datasets.inspection.example_shape import ExampleShape, of_pictures, of_recordings
from backend.errors import NotWantedError
from backend.formats.file_hash import file_sha256
from backend.numerics.preprocess.declared import DeclaredAudio, DeclaredImage, Preprocess
from backend.server.drafts.record import Draft, StoredFile
from backend.server.drafts.starters.choice import check_fits, preprocess_of, with_answer
from backend.server.drafts.starters.starters import data_of

# The folder of the job's result within a draft's, and the file in it.
BUILT, MODEL = "built", "model.keras"
# Entries of [data.preprocess] that do not change what a model takes or answers.
_NO_SHAPE = ("scale", "mean", "std", "fit", "resize", "background", "normalize")
# Kinds whose shape follows from the declaration alone, once the classes are named.
_DECLARED = ("image", "audio")
_INDEX = 'choose the encoding "index" under preprocessing'


@dataclass(frozen=True)
class ModelShape:
    """What the builder gets (converter/starter_models/shape.py), and the [model] that fits its answer."""

    shape: dict[str, Any]
    loss: str
    metrics: tuple[str, ...]


def inputs_of(draft: Draft) -> list[Any]:
    """Returns everything that the starter model of a draft depends on."""
    preprocess = {key: value for key, value in preprocess_of(draft).items() if key not in _NO_SHAPE}
    classes = preprocess.get("classes")
    stored = draft.files.get("data")
    if preprocess.get("kind") in _DECLARED and isinstance(classes, list):
        # Other pictures, or other names, of as many classes do not change the model.
        return [draft.starter, {**preprocess, "classes": len(classes)}, None]
    return [draft.starter, preprocess, None if stored is None else stored.sha256]


def is_ready(draft: Draft) -> bool:
    """Whether a starter is chosen, and the draft says enough about its data to build it."""
    preprocess = preprocess_of(draft)
    if draft.starter is None or "kind" not in preprocess:
        return False
    classes = preprocess.get("classes")
    declared = preprocess["kind"] in _DECLARED and isinstance(classes, list) and len(classes) > 1
    return declared or "data" in draft.files


def shape_without_data(declared: Preprocess) -> ExampleShape | None:
    """Returns the shape of pictures or recordings with declared classes; None where data must be measured."""
    if isinstance(declared, DeclaredAudio):
        return of_recordings(declared)
    return of_pictures(declared) if isinstance(declared, DeclaredImage) else None


def model_shape(name: str, example: ExampleShape) -> ModelShape:
    """Returns what the starter `name` is built for. Raises NotWantedError if it does not fit."""
    check_fits(name, data_of(example.kind, example.input))
    form, output, loss, metrics = _answer(example)
    shape = {"input": example.input, "form": form, "output": output, "tokens": example.tokens}
    return ModelShape(shape, loss, metrics)


def stored_model(name: str, path: Path, now: float) -> StoredFile:
    """Returns the record of a built model, as if it had been uploaded."""
    return StoredFile(f"{name}.keras", ".keras", path.stat().st_size, file_sha256(path), now)


def take_built(draft: Draft, folder: Path, result: dict[str, Any]) -> None:
    """Makes a built model the draft's model file, and writes its loss and metrics into the task file."""
    draft.files["model"] = msgspec.convert(result["file"], StoredFile)
    (folder / BUILT / MODEL).replace(folder / MODEL)
    draft.task = with_answer(draft.task, result["loss"], result["metrics"])


def _answer(example: ExampleShape) -> tuple[str, list[int], str, tuple[str, ...]]:
    """Returns the form of the answer, its shape, and the loss and metrics for it."""
    if not example.labels:
        return "next", [example.classes], "sparse_categorical_crossentropy", ("accuracy",)
    match example.encoding:
        case None:
            return "numbers", example.label, "mean_squared_error", ("mae",)
        case "index":
            # Even a data set of one class needs a second answer.
            classes = max(2, example.classes)
            return "classes", [classes], "sparse_categorical_crossentropy", ("accuracy",)
        case "one-hot":
            return "classes", [example.classes], "categorical_crossentropy", ("accuracy",)
        case "number":
            if example.classes != 2:
                raise NotWantedError(f"There are {example.classes} classes as one number; {_INDEX}.")
            return "binary", [1], "binary_crossentropy", ("accuracy",)
