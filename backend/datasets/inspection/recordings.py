"""Inspects recordings in folders named by their class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import numpy as np

from backend.datasets.inspection.class_folders import class_balance, class_counts, some_of_each
from backend.datasets.inspection.findings import DataFindings, Picture, shown
from backend.datasets.inspection.images import write_small
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.readers.files import Files, folder_of
from backend.datasets.readers.recordings import read_recording
from backend.errors import DataError
from backend.numerics.preprocess.declared import DeclaredAudio
from backend.numerics.preprocess.fitted import FittedAudio
from backend.numerics.preprocess.fitting import fit_audio
from backend.numerics.preprocess.image import Pixels
from backend.numerics.preprocess.spectrogram import audio_values

_RATES = (8000, 16_000)
# Usual lengths of a clip in seconds. Longer ones would make spectrograms too large for phones.
_SECONDS = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
# At 16,000 samples a second, for up to two seconds: windows of 25 ms, 10 ms apart.
_WINDOW, _HOP, _HOP_SECONDS, _BINS = 400, 160, 2, 40


@dataclass(frozen=True)
class _Heard:
    """A recording that can be read; its samples are read again when they are drawn."""

    name: str
    rate: int
    seconds: float


def inspect_recordings(files: Files, model_input: ModelInput, folder: Path) -> DataFindings:
    """Inspects some recordings of each class and draws them in `folder`. Raises DataError."""
    classes, notes = class_counts(files, "recordings")
    heard: list[_Heard] = []
    for name in some_of_each(files, list(classes)):
        try:
            recording = read_recording(files, name)
            heard.append(_Heard(name, recording.rate, recording.frames / recording.rate))
        except DataError as error:
            notes.append(shown(f"{name}: {error}"))
    if not heard:
        raise DataError(f"None of these recordings can be read. {notes[-1]}")
    preprocess = _proposal(heard, list(classes), model_input)
    notes += [*_lengths(heard, preprocess["seconds"]), *class_balance(classes)]
    fitted, notes = _fitted(preprocess, notes)
    return DataFindings(
        kind="audio",
        examples=sum(classes.values()),
        classes={shown(name): count for name, count in classes.items()},
        pictures=_pictures(fitted, files, heard, folder, notes),
        notes=notes,
        preprocess=preprocess,
    )


def draw(values: np.ndarray[Any, Any]) -> Pixels:
    """Returns a spectrogram [frames, bins, 1] as gray [bins, frames, 1]: low bins below, loud ones light."""
    lowest, highest = float(values.min()), float(values.max())
    levels = (values[..., 0].T[::-1] - lowest) * (255 / (highest - lowest or 1.0))
    return np.ascontiguousarray(levels.astype(np.uint8)[..., None])


def _proposal(heard: list[_Heard], classes: list[str], model_input: ModelInput) -> dict[str, Any]:
    usual = median(one.rate for one in heard)
    rate = max((rate for rate in _RATES if rate <= usual), default=_RATES[0])
    length = median(one.seconds for one in heard)
    # A clip that misses a hundredth of a second is not a longer one.
    seconds = min((usual for usual in _SECONDS if usual >= 0.98 * length), default=_SECONDS[-1])
    hop = math.ceil(seconds / _HOP_SECONDS) * _HOP * rate // _RATES[-1]
    proposal = {
        "kind": "audio",
        "rate": rate,
        "seconds": seconds,
        "window": max(_WINDOW * rate // _RATES[-1], 2 * hop),
        "hop": hop,
        "bins": _BINS,
        "classes": classes,
        "encoding": model_input.encoding,
    }
    return proposal | _of_model(model_input, proposal)


def _of_model(model_input: ModelInput, proposal: dict[str, Any]) -> dict[str, Any]:
    """Returns the bins and the hop that make the shape of the model's input."""
    shape = model_input.shape
    if shape is None or len(shape) != 3 or shape[2] != 1:
        return {}
    frames, bins, _ = shape
    room = round(proposal["seconds"] * proposal["rate"]) - proposal["window"]
    for hop in range(room // max(1, frames), room // max(1, frames - 1) + 1):
        if hop >= 16 and room // hop + 1 == frames:
            return {"hop": hop, "bins": bins}
    return {"bins": bins}


def _fitted(preprocess: dict[str, Any], notes: list[str]) -> tuple[FittedAudio, list[str]]:
    """Returns the proposal fitted. A model's odd shape may make none: then that of the usual bins."""
    try:
        return fit_audio(msgspec.convert(preprocess, DeclaredAudio), ()), notes
    except msgspec.ValidationError as error:
        preprocess["bins"] = _BINS
        note = shown(f"No spectrogram has the shape of the model's input ({error}); change one of the two.")
        return fit_audio(msgspec.convert(preprocess, DeclaredAudio), ()), [*notes, note]


def _lengths(heard: list[_Heard], seconds: float) -> list[str]:
    shortest, longest = min(one.seconds for one in heard), max(one.seconds for one in heard)
    notes = [
        f"The recordings last {shortest:.1f} to {longest:.1f} seconds, an example is {seconds:g} seconds: "
        "the middle of longer ones; shorter ones lie in the middle of silence."
    ]
    if longest > 3 * seconds:
        notes.append("Much of the long recordings would not be used: cut them into clips.")
    return notes


def _pictures(
    fitted: FittedAudio, files: Files, heard: list[_Heard], folder: Path, notes: list[str]
) -> list[Picture]:
    pictures: list[Picture] = []
    for one in heard:
        try:
            drawn = draw(audio_values(fitted, read_recording(files, one.name)))
        except DataError as error:
            notes.append(shown(f"{one.name}: {error}"))
            continue
        file = f"{len(pictures)}.png"
        write_small(drawn, folder / file, max(drawn.shape))
        pictures.append(Picture(file, shown(folder_of(one.name)), drawn.shape[1], drawn.shape[0]))
    return pictures
