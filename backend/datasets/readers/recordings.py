"""Reads recordings (WAV files) from folders named by their class, as log spectrograms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.datasets.readers.class_folders import class_names, folder_chunks
from backend.datasets.readers.files import Files, folder_of, list_files
from backend.datasets.readers.source import Array, Broken, ExampleChunk, HoldoutSplit
from backend.errors import DataError
from backend.numerics.preprocess.declared import DeclaredAudio
from backend.numerics.preprocess.fitted import FittedAudio
from backend.numerics.preprocess.fitting import fit_audio
from backend.numerics.preprocess.labels import class_value
from backend.numerics.preprocess.spectrogram import audio_values
from backend.numerics.preprocess.wav import AudioRecording, open_wav

WAV_SUFFIXES = (".wav", ".wave")
# Recordings that are not read, so that one of them is named instead of being passed over.
OTHER_SUFFIXES = (".mp3", ".m4a", ".aac", ".ogg", ".opus", ".flac", ".wma", ".aif", ".aiff", ".webm", ".amr")
CONVERT = "Save them as WAV, for example by `ffmpeg -i in.mp3 out.wav`"


def fit_recordings(declared: DeclaredAudio, path: Path) -> FittedAudio:
    """Fits the classes, which are the folder names. Raises DataError."""
    return fit_audio(declared, class_names(recordings(path)))


def recordings(path: Path) -> Files:
    """Lists the recordings at `path`; reading those that are not WAV says what to do. Raises DataError."""
    files = list_files(path)
    if not any((name or path.name).lower().endswith(WAV_SUFFIXES) for name in files.names):
        others = [name for name in files.names if (name or path.name).lower().endswith(OTHER_SUFFIXES)]
        if others:
            raise DataError(f"{files.where(others[0])} is not WAV, and only WAV is read here. {CONVERT}.")
    return files.ending(*WAV_SUFFIXES, *OTHER_SUFFIXES)


def recording_chunks(
    fitted: FittedAudio, path: Path, split: HoldoutSplit, broken: Broken
) -> Iterator[ExampleChunk]:
    """Yields one example per file. Raises DataError."""
    files = recordings(path)
    yield from folder_chunks(files, split, broken, partial(_example, fitted, files))


def read_recording(files: Files, name: str) -> AudioRecording:
    """Opens one recording. Raises DataError that does not name the file."""
    if (name or files.root.name).lower().endswith(OTHER_SUFFIXES):
        raise DataError(f"it is not WAV, and only WAV is read here. {CONVERT}.")
    return open_wav(files.read(name))


def _example(fitted: FittedAudio, files: Files, name: str) -> tuple[NDArray[np.float32], Array] | DataError:
    try:
        label = class_value(fitted.label, folder_of(name))
        return audio_values(fitted, read_recording(files, name)), label
    except DataError as error:
        return DataError(f"{files.where(name)}: {error}")
