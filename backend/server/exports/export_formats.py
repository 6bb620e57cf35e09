"""The formats in which a version can be had."""

from __future__ import annotations

from dataclasses import dataclass

from backend.errors import NotFoundError


@dataclass(frozen=True)
class Format:
    """`title` is its name for people, `ending` that of its file's name; `use` is how to load it, in Markdown.

    One that is `converted` is made by the converter's process, the others from the weights alone.
    """

    name: str
    title: str
    ending: str
    media_type: str
    use: str
    converted: bool = True


_ZIP, _BYTES = "application/zip", "application/octet-stream"

FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        Format("keras", "Keras", ".keras", _BYTES, "`keras.saving.load_model(FILE)`, Keras 3"),
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
    """Raises NotFoundError, which names those that there are."""
    if name not in FORMATS:
        raise NotFoundError(f"A version comes as {', '.join(FORMATS)}; '{name[:40]}' is none of them.")
    return FORMATS[name]
