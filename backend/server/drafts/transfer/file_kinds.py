"""Which files an owner may bring, told by name and first bytes; what is inside is looked at elsewhere."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath

from backend.errors import RefusedFileError
from backend.server.drafts.record import FileKind

# So many first bytes tell a file's kind.
HEAD_BYTES = 16
NAME_CHARACTERS = 120

_ZIP, _HDF5 = b"PK\x03\x04", b"\x89HDF\r\n\x1a\n"
_TEXT = (".csv", ".tsv", ".txt", ".md")


@dataclass(frozen=True)
class _Wanted:
    """Which suffixes are taken, with the beginnings of such files (none: text), and what to bring."""

    beginnings: dict[str, tuple[bytes, ...]]
    remedy: str


_WANTED: dict[FileKind, _Wanted] = {
    "model": _Wanted(
        {".keras": (_ZIP, _HDF5), ".h5": (_HDF5,), ".hdf5": (_HDF5,), ".zip": (_ZIP,)},
        'save the model with model.save("model.keras"), or zip the folder of a SavedModel or a TF.js model',
    ),
    "data": _Wanted(
        {
            ".zip": (_ZIP,),
            ".npz": (_ZIP,),
            ".parquet": (b"PAR1",),
            ".feather": (b"ARROW1",),
            ".arrow": (b"ARROW1",),
            **dict.fromkeys(_TEXT, ()),
        },
        "bring a zip of folders with pictures or texts, a CSV, Parquet or Feather file, a text, or an .npz",
    ),
}
_PICKLE = "a pickle, which is a program and never opened"
_ARCHIVE = "an archive of another kind than zip"
_KNOWN = {
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
    """A file's name for people: without folders and characters that do not show. Raises RefusedFileError."""
    last = name.replace("\\", "/").rpartition("/")[2]
    shown = "".join(one for one in last if unicodedata.category(one)[0] != "C").strip()
    if not shown or not shown.strip("."):
        raise RefusedFileError("The file has no name; give it one, such as model.keras.")
    stem, suffix = PurePosixPath(shown).stem, PurePosixPath(shown).suffix
    return stem[: NAME_CHARACTERS - len(suffix)] + suffix


def suffix_of(kind: FileKind, name: str) -> str:
    """The suffix of a file that may be brought. Raises RefusedFileError that says what to bring."""
    suffix = PurePosixPath(name).suffix.lower()
    wanted = _WANTED[kind]
    if suffix in wanted.beginnings:
        return suffix
    what = _KNOWN.get(suffix, f"no {kind} that can be read here")
    raise RefusedFileError(f"{name} is {what}; {wanted.remedy}.")


def check_head(kind: FileKind, name: str, head: bytes) -> None:
    """Raises RefusedFileError where a file does not begin as its name says."""
    suffix, wanted = suffix_of(kind, name), _WANTED[kind]
    if not head:
        raise RefusedFileError(f"{name} is empty; {wanted.remedy}.")
    beginnings = wanted.beginnings[suffix]
    if beginnings and not head.startswith(beginnings):
        raise RefusedFileError(
            f"{name} does not begin as a {suffix} file does: it is damaged, or of another kind. "
            "Open it where you made it, and save it again."
        )
    if not beginnings and b"\0" in head:
        raise RefusedFileError(f"{name} is no text; save it as UTF-8 text.")
