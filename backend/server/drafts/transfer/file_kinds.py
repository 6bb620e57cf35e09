"""Checks by name and first bytes which files an owner may upload; the content is inspected later."""

from __future__ import annotations

import codecs
import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath

from backend.errors import RefusedFileError
from backend.server.drafts.record import FileKind

# First bytes of a file that determine its kind.
HEAD_BYTES = 16
NAME_CHARACTERS = 120

_ZIP, _HDF5 = b"PK\x03\x04", b"\x89HDF\r\n\x1a\n"
_TABLES = (".csv", ".tsv")
_TEXT = (*_TABLES, ".txt", ".md")


@dataclass(frozen=True)
class _AcceptedFiles:
    """Accepted suffixes with the first bytes of such files (none: text), and what to upload instead."""

    beginnings: dict[str, tuple[bytes, ...]]
    remedy: str


_ACCEPTED: dict[FileKind, _AcceptedFiles] = {
    "model": _AcceptedFiles(
        {".keras": (_ZIP, _HDF5), ".h5": (_HDF5,), ".hdf5": (_HDF5,), ".zip": (_ZIP,)},
        'save the model with model.save("model.keras"), or zip the folder of a SavedModel or a TF.js model',
    ),
    "data": _AcceptedFiles(
        {
            ".zip": (_ZIP,),
            ".npz": (_ZIP,),
            ".parquet": (b"PAR1",),
            ".feather": (b"ARROW1",),
            ".arrow": (b"ARROW1",),
            **dict.fromkeys(_TEXT, ()),
        },
        "bring a zip of folders with pictures, recordings (WAV) or texts, a CSV, Parquet or Feather file, "
        "a text, or an .npz",
    ),
}
_PICKLE = "a pickle, which is a program and never opened"
_ARCHIVE = "an archive of another kind than zip"
_REFUSED = {
    ".pkl": _PICKLE,
    ".pickle": _PICKLE,
    ".joblib": _PICKLE,
    ".npy": "a single array",
    ".pt": "a PyTorch file",
    ".pth": "a PyTorch file",
    ".onnx": "an ONNX model, which cannot be trained",
    ".tflite": "a TensorFlow Lite model, which cannot be trained",
    ".safetensors": "a file of weights without layers",
    ".pb": "a single graph",
    ".json": "a single JSON file",
    ".py": "a program, and programs are never run here",
    ".ipynb": "a notebook, and programs are never run here",
    ".tar": _ARCHIVE,
    ".gz": _ARCHIVE,
    ".bz2": _ARCHIVE,
    ".xz": _ARCHIVE,
    ".7z": _ARCHIVE,
    ".rar": _ARCHIVE,
    ".xls": "a spreadsheet; save it as CSV",
    ".xlsx": "a spreadsheet; save it as CSV",
    ".jpg": "a single picture",
    ".jpeg": "a single picture",
    ".png": "a single picture",
}


def clean_name(name: str) -> str:
    """Returns a file's name without folders and invisible characters. Raises RefusedFileError."""
    last = name.replace("\\", "/").rpartition("/")[2]
    visible = "".join(char for char in last if unicodedata.category(char)[0] != "C").strip()
    if not visible or not visible.strip("."):
        raise RefusedFileError("The file has no name; give it one, such as model.keras.")
    stem, suffix = PurePosixPath(visible).stem, PurePosixPath(visible).suffix
    return stem[: NAME_CHARACTERS - len(suffix)] + suffix


def suffix_of(kind: FileKind, name: str) -> str:
    """Returns the suffix of an accepted file. Raises RefusedFileError that says what to upload."""
    suffix = PurePosixPath(name).suffix.lower()
    accepted = _ACCEPTED[kind]
    if suffix in accepted.beginnings:
        return suffix
    what = _REFUSED.get(suffix, f"no {kind} that can be read here")
    raise RefusedFileError(f"{name} is {what}; {accepted.remedy}.")


def check_head(kind: FileKind, name: str, head: bytes) -> None:
    """Raises RefusedFileError if a file's first bytes do not match its suffix."""
    suffix, accepted = suffix_of(kind, name), _ACCEPTED[kind]
    if not head:
        raise RefusedFileError(f"{name} is empty; {accepted.remedy}.")
    beginnings = accepted.beginnings[suffix]
    if beginnings and not head.startswith(beginnings):
        raise RefusedFileError(
            f"{name} does not begin like a {suffix} file: it is damaged or of another type. Open it in the "
            f"program that made it, and save it again."
        )
    utf16 = suffix in _TABLES and head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if not beginnings and b"\0" in head and not utf16:
        raise RefusedFileError(f"{name} is no text; save it as UTF-8 text.")
