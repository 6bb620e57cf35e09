"""Look into a .keras file (a zip of JSON and HDF5) before Keras builds anything from it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from converter.refusal import Refusal

MAX_CONFIG_BYTES = 16 << 20

# Layers that run code of their own or read files named in the model.
REFUSED_LAYERS = {
    "Lambda": "it carries Python code",
    "TFSMLayer": "it loads a SavedModel from a path",
    "JaxLayer": "it carries JAX code",
    "FlaxLayer": "it carries Flax code",
    "TorchModuleWrapper": "it carries PyTorch code",
    "StringLookup": "it works on strings and may read files",
    "IntegerLookup": "it is a lookup table and may read files",
    "TextVectorization": "it works on strings and may read files",
    "Hashing": "it works on strings",
}


def check_archive(path: Path, max_bytes: int) -> None:
    """Refuse what is no .keras file, unpacks to over `max_bytes`, or names code not Keras' own."""
    if path.suffix != ".keras":
        raise Refusal(f'{path.name} is not a .keras file; save the model with model.save("model.keras").')
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(item.file_size for item in archive.infolist())
            if unpacked > max_bytes or archive.getinfo("config.json").file_size > MAX_CONFIG_BYTES:
                raise Refusal(
                    f"{path.name} unpacks to {unpacked} bytes, over the limit; train a smaller model."
                )
            config = json.loads(archive.read("config.json"))
            archive.getinfo("model.weights.h5")
    except OSError as error:
        raise Refusal(f"{path.name} cannot be read ({error.strerror}); check the path.") from error
    except (zipfile.BadZipFile, KeyError, ValueError, RecursionError) as error:
        raise Refusal(
            f"{path.name} is damaged or no Keras 3 file; save it again with model.save()."
        ) from error
    _check_config(config)


def _check_config(config: Any) -> None:
    waiting = [config]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, dict):
            waiting.extend(node.values())
            if "class_name" in node:
                _check_class(node)


def _check_class(node: dict[str, Any]) -> None:
    kind, module = node["class_name"], node.get("module")
    settings = node.get("config")
    name = settings.get("name", kind) if isinstance(settings, dict) else settings or kind
    if kind == "__lambda__":
        raise Refusal("The model holds a Python lambda; use Keras' own layers and activations instead.")
    if kind in REFUSED_LAYERS:
        raise Refusal(f"The layer {name} is a {kind}: {REFUSED_LAYERS[kind]}; use Keras' own layers instead.")
    plain_value = module is None and str(kind).startswith("__")
    if not plain_value and str(module).split(".")[0] != "keras":
        raise Refusal(
            f"{name} is a custom {kind} from {module}; a model may use only what Keras itself brings."
        )
