"""Detects the format of a model path and reads it."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

from converter.readers.h5_file import read_h5
from converter.readers.keras_file import CONFIG, WEIGHTS, read_keras
from converter.readers.model_source import Source
from converter.readers.saved_model import read_saved_model
from converter.readers.tfjs_model import read_tfjs
from converter.readers.zip_files import open_zip, unpack
from converter.refusal import Refusal

_SAVE = 'save the model with model.save("model.keras")'
_FOREIGN = {
    ".pkl": "a pickle, which is a program and never opened",
    ".pickle": "a pickle, which is a program and never opened",
    ".joblib": "a pickle, which is a program and never opened",
    ".pt": "a PyTorch file",
    ".pth": "a PyTorch file",
    ".onnx": "an ONNX model, which cannot be trained",
    ".tflite": "a TensorFlow Lite model, which cannot be trained",
    ".pb": "a single graph",
    ".npz": "a file of arrays without layers",
    ".ckpt": "a checkpoint without layers",
    ".index": "a checkpoint without layers",
}
_HDF5 = b"\x89HDF\r\n\x1a\n"


def read_source(path: Path, folder: Path, max_bytes: int) -> Source:
    """Reads the model from `path`, a file or folder of any format; `folder` is for unpacking.

    Raises Refusal, which names the file and what to save instead.
    """
    try:
        if path.is_dir():
            return _folder(path, max_bytes)
        if path.stat().st_size == 0:
            raise Refusal(f"{path.name} is empty; {_SAVE}.")
        return _file(path, folder, max_bytes)
    except OSError as error:
        raise Refusal(f"{path.name} cannot be read ({error.strerror or error}); check the path.") from error


def _file(path: Path, folder: Path, max_bytes: int) -> Source:
    suffix = path.suffix.lower()
    if suffix in (".h5", ".hdf5"):
        return read_h5(path, max_bytes)
    if suffix == ".json":
        return read_tfjs(path, max_bytes)
    if suffix == ".keras" and _begins_as_hdf5(path):
        return read_h5(path, max_bytes)  # before 2.12 Keras 2 wrote HDF5 under this suffix
    if suffix == ".keras":
        return read_keras(path, folder, max_bytes)
    if suffix == ".zip":
        return _zip(path, folder, max_bytes)
    what = _FOREIGN.get(suffix, "no file of Keras or TF.js")
    raise Refusal(f"{path.name} is {what}; {_SAVE}, or as .h5, SavedModel or TF.js model.json.")


def _begins_as_hdf5(path: Path) -> bool:
    # h5py.is_hdf5 also looks at bytes 512, 1024, 2048 and so on, where the weights in a zip may begin.
    with path.open("rb") as file:
        return file.read(len(_HDF5)) == _HDF5


def _zip(path: Path, folder: Path, max_bytes: int) -> Source:
    if not zipfile.is_zipfile(path):
        raise Refusal(f"{path.name} is damaged or no zip file; zip the model's folder again.")
    root = folder / "unpacked"
    root.mkdir()
    with open_zip(path, max_bytes) as archive:
        if {CONFIG, WEIGHTS} <= set(archive.namelist()):
            return read_keras(path, folder, max_bytes)
        unpack(archive, root, max_bytes)
    while True:
        entries = [p for p in root.iterdir() if p.name != "__MACOSX"]
        if len(entries) == 1 and entries[0].is_dir():
            root = entries[0]
        elif len(entries) == 1 and entries[0].suffix in (".keras", ".h5", ".hdf5"):
            return replace(_file(entries[0], folder, max_bytes), own=False)
        else:
            return _folder(root, max_bytes, path.name)


def _folder(path: Path, max_bytes: int, name: str | None = None) -> Source:
    if (path / "saved_model.pb").is_file():
        return read_saved_model(path, max_bytes)
    if (path / "model.json").is_file():
        return read_tfjs(path / "model.json", max_bytes)
    raise Refusal(
        f"{name or path.name} holds neither a SavedModel (saved_model.pb) nor a TF.js model "
        f"(model.json); {_SAVE}."
    )
