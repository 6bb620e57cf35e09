"""Detects the format of a model path and reads it."""

from __future__ import annotations

import re
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
_AGAIN = "copy or download it again, or save it again with model.save()"
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
_HDF5, _ZIP = b"\x89HDF\r\n\x1a\n", b"PK\x03\x04"
_MODELS = (".keras", ".h5", ".hdf5")
# What other files begin with, after blanks and in lower case where it is text.
_HEADS = (
    (rb"\s*<(!doctype|html|\?xml)", "a web page and no model; download the file itself"),
    (rb"version https://git-lfs", "a pointer of Git LFS and no model; fetch the file with `git lfs pull`"),
    (rb"\x80[\x02-\x05]", f"a pickle, which is a program and never opened; {_SAVE}"),
    (rb"gguf", f"a GGUF file, weights without layers of Keras; {_SAVE}"),
    (rb".{8}\{", f"a safetensors file, weights without layers; {_SAVE}"),
    (rb"\x08.{1,24}(onnx|pytorch)", f"an ONNX model, which cannot be trained; {_SAVE}"),
    (rb".{4}tfl3", f"a TensorFlow Lite model, which cannot be trained; {_SAVE}"),
    (rb"\x1f\x8b|bzh|\xfd7zxz|7z\xbc\xaf", "packed; unpack it and give the model in it"),
)


def read_source(path: Path, folder: Path, max_bytes: int) -> Source:
    """Reads the model from `path`, a file or folder of any format; `folder` is for unpacking.

    Raises Refusal, which names the file and what to save instead.
    """
    try:
        if path.is_dir():
            return _folder(path, folder, max_bytes)
        if path.stat().st_size == 0:
            raise Refusal(f"{path.name} is empty; {_SAVE}.")
        return _file(path, folder, max_bytes)
    except OSError as error:
        raise Refusal(f"{path.name} cannot be read ({error.strerror or error}); check the path.") from error


def _file(path: Path, folder: Path, max_bytes: int) -> Source:
    suffix = path.suffix.lower()
    if suffix in _FOREIGN:
        raise Refusal(
            f"{path.name} is {_FOREIGN[suffix]}; {_SAVE}, or as .h5, SavedModel or TF.js model.json."
        )
    if suffix == ".json":
        return read_tfjs(path, max_bytes)
    # The content counts: downloads are renamed, and before 2.12 Keras 2 wrote HDF5 as .keras.
    # h5py.is_hdf5 also looks at bytes 512, 1024, 2048 and so on, where the weights in a zip may begin.
    with path.open("rb") as file:
        head = file.read(64)
    if head.startswith(_HDF5):
        return read_h5(path, max_bytes)
    for pattern, what in _HEADS:
        if re.match(pattern, head.lower(), re.DOTALL):
            raise Refusal(f"{path.name} is {what}.")
    if suffix in (".h5", ".hdf5") and not head.startswith(_ZIP):
        return read_h5(path, max_bytes)
    if suffix == ".keras" and not head.startswith(_ZIP):
        return read_keras(path, folder, max_bytes)
    if suffix == ".zip" or head.startswith(_ZIP):
        return _zip(path, folder, max_bytes)
    raise Refusal(
        f"{path.name} is no file of Keras or TF.js; {_SAVE}, or as .h5, SavedModel or TF.js model.json."
    )


def _zip(path: Path, folder: Path, max_bytes: int) -> Source:
    if not zipfile.is_zipfile(path):
        again = "zip the model's folder again" if path.suffix.lower() == ".zip" else _AGAIN
        raise Refusal(f"{path.name} is damaged or no zip file; {again}.")
    root = folder / "unpacked"
    with open_zip(path, max_bytes) as archive:
        names = archive.namelist()
        if {CONFIG, WEIGHTS} <= set(names) or (path.suffix == ".keras" and {CONFIG, WEIGHTS} & set(names)):
            return read_keras(path, folder, max_bytes)
        if any(name.endswith("/data.pkl") for name in names):
            raise Refusal(f"{path.name} is a PyTorch file; {_SAVE}.")
        if root.exists():
            raise Refusal(f"{path.name} lies in a zip file and is a zip file, but no .keras file; {_SAVE}.")
        root.mkdir()
        unpack(archive, root, max_bytes)
    while True:
        entries = [p for p in root.iterdir() if p.name != "__MACOSX"]
        if len(entries) == 1 and entries[0].is_dir():
            root = entries[0]
        elif len(entries) == 1 and entries[0].suffix == ".zip":
            raise Refusal(f"{path.name} holds another zip file, {entries[0].name}; give that one.")
        else:
            return _folder(root, folder, max_bytes, path.name)


def _folder(path: Path, folder: Path, max_bytes: int, name: str | None = None) -> Source:
    name = name or path.name
    if (path / "saved_model.pb").is_file():
        return read_saved_model(path, max_bytes, name)
    if (path / "model.json").is_file():
        return read_tfjs(path / "model.json", max_bytes)
    if (path / CONFIG).is_file() and (path / WEIGHTS).is_file():
        raise Refusal(
            f"{name} holds the unpacked parts of a .keras file; give the .keras file itself, or zip the "
            "parts without their folder, and call that model.keras."
        )
    models = sorted(p for p in path.iterdir() if p.suffix.lower() in _MODELS and p.is_file())
    if len(models) == 1 and not models[0].is_symlink():
        # The bundle gets the model as Keras saves it, since the path given is not that of the model's file.
        return replace(_file(models[0], folder, max_bytes), own=False)
    if models:
        raise Refusal(
            f"{name} holds {len(models)} models ({', '.join(p.name for p in models[:4])}); give one of them."
        )
    raise Refusal(
        f"{name} holds neither a SavedModel (saved_model.pb) nor a TF.js model "
        f"(model.json), nor a .keras or .h5 file; {_SAVE}."
    )
