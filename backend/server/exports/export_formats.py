"""Lists the formats in which a version can be downloaded."""

from __future__ import annotations

from dataclasses import dataclass

from backend.errors import NotFoundError


@dataclass(frozen=True)
class Format:
    """A format: `title` is its name for people, `ending` its file suffix, `use` how to load it (Markdown).

    Formats that are `converted` are written by the converter's process, the others from the weights alone.
    """

    name: str
    title: str
    ending: str
    media_type: str
    use: str
    converted: bool = True


_ZIP, _BYTES = "application/zip", "application/octet-stream"

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        Format(
            "keras",
            "Keras",
            ".keras",
            _BYTES,
            "`keras.saving.load_model(FILE)`, Keras 3, compiled as the task trains it, if Keras can say so",
        ),
        Format(
            "saved-model",
            "SavedModel",
            "-saved-model.zip",
            _ZIP,
            "unpack it, then `tf.saved_model.load(FOLDER).serve(x)`, or any server of TensorFlow models",
        ),
        Format("onnx", "ONNX", ".onnx", _BYTES, "`onnxruntime.InferenceSession(FILE)`"),
        Format(
            "tfjs-graph",
            "TensorFlow.js graph model",
            "-tfjs-graph.zip",
            _ZIP,
            "unpack it, then `tf.loadGraphModel('model.json')`",
        ),
        Format(
            "tfjs-layers",
            "TensorFlow.js Layers",
            "-tfjs-layers.zip",
            _ZIP,
            "unpack it, then `tf.loadLayersModel('model.json')`",
        ),
        Format(
            "safetensors",
            "safetensors",
            ".safetensors",
            _BYTES,
            "`safetensors.numpy.load_file(FILE)`: the weights by name",
            converted=False,
        ),
        Format("npz", "NumPy", ".npz", _BYTES, "`numpy.load(FILE)`: the weights by name", converted=False),
    )
}


def format_of(name: str) -> Format:
    """Returns the format called `name`. Raises NotFoundError, which lists the formats."""
    if name not in FORMATS:
        raise NotFoundError(f"A version comes as {', '.join(FORMATS)}; '{name[:40]}' is none of them.")
    return FORMATS[name]
