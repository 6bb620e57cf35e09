"""Reads a TF.js Layers `model.json` with its weights, saved by TF.js or its Python converter."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from converter.readers.json_text import MAX_JSON_BYTES, read_json
from converter.readers.keras2.compile_config import upgrade_training
from converter.readers.keras2.config_upgrade import upgrade_model
from converter.readers.model_source import Source
from converter.readers.weights import assign, finish, targets
from converter.refusal import Refusal

_DTYPES = {"float32": "<f4", "int32": "<i4", "bool": "|b1", "uint8": "|u1", "uint16": "<u2", "float16": "<f2"}
_AGAIN = "save the model again with model.save() of TF.js"
Named = list[tuple[str, np.ndarray[Any, Any]]]


def read_tfjs(path: Path, max_bytes: int) -> Source:
    """Reads the TF.js Layers model in `path`, a model.json beside its weights. Raises Refusal."""
    if path.stat().st_size > MAX_JSON_BYTES:
        raise Refusal(f"{path.name} is larger than {MAX_JSON_BYTES >> 20} MiB; use a smaller model.")
    model = read_json(path.read_bytes(), path.name)
    if isinstance(model, dict) and {"class_name", "config"} <= set(model):
        raise Refusal(
            f"{path.name} holds a Keras model without its weights (as model.to_json() writes it); save the "
            'whole model with model.save("model.keras").'
        )
    if not isinstance(model, dict) or not isinstance(model.get("modelTopology"), dict):
        raise Refusal(f"{path.name} is no model of TF.js, it has no modelTopology; {_AGAIN}.")
    topology = model["modelTopology"]
    if model.get("format") == "graph-model" or "node" in topology:
        raise Refusal(
            f"{path.name} is a graph model, which has ops but no layers and cannot be trained; "
            "convert the Keras model itself, or save a layers model."
        )
    config = topology.get("model_config") or topology
    training = model.get("trainingConfig") or topology.get("training_config")
    upgraded = upgrade_model(config)

    def fill(built: Any) -> None:
        fill_ordered(built, upgraded, list(_weights(path.parent, model.get("weightsManifest"), max_bytes)))

    old = not str(topology.get("keras_version")).startswith("3.")
    return Source(upgraded, fill, upgrade_training(training), old_sigmoid=old)


def fill_ordered(model: Any, config: dict[str, Any], named: Named) -> None:
    """Assigns weights in TF.js' order (trainable ones first) or in Python's (by layer).

    Names and shapes decide which order it is. Raises Refusal where neither fits.
    """
    entries = [entry for entry in config["config"]["layers"] if entry["class_name"] != "InputLayer"]
    layers = [model.get_layer(entry["config"]["name"]) for entry in entries]
    layers = [layer for layer in layers if layer.weights]
    by_layer = [(layer.name, v) for layer in layers for v in targets(layer)]
    trainable = [(layer.name, v) for layer in layers for v in layer.trainable_weights]
    rest = [(layer.name, v) for layer in layers for v in layer.non_trainable_weights]
    for order in (trainable + rest, by_layer):
        if _fits(order, named, {layer.name for layer in layers}):
            for (name, variable), (_, array) in zip(order, named, strict=True):
                assign(name, [variable], [array])
            return finish(model, {id(variable) for _, variable in order})
    raise Refusal(
        f"The weights of the TF.js model ({', '.join(n for n, _ in named[:8])}, ...) are not those of its "
        f"layers; {_AGAIN}."
    )


def _fits(order: list[tuple[str, Any]], named: Named, layers: set[str]) -> bool:
    if len(order) != len(named):
        return False
    for (layer, variable), (name, array) in zip(order, named, strict=True):
        first, last = name.split("/")[0], re.sub(r"(:0|_\d+)$", "", name.split("/")[-1])
        if tuple(variable.shape) != array.shape or (first in layers and first != layer):
            return False
        if not last.endswith(variable.name):  # Keras 3 calls depthwise_kernel kernel
            return False
    return True


def _weights(folder: Path, manifest: Any, max_bytes: int) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    if not isinstance(manifest, list):
        raise Refusal(f"model.json names no weights; {_AGAIN}.")
    remaining = max_bytes
    for group in manifest:
        try:
            paths, specs = list(group["paths"]), list(group["weights"])
        except (TypeError, KeyError) as error:
            raise Refusal(f"The list of weights in model.json is damaged; {_AGAIN}.") from error
        content = bytearray()
        for name in paths:
            file = _file(folder, name)
            remaining -= file.stat().st_size
            if remaining < 0:
                raise Refusal("The weights of the TF.js model are over the limit; train a smaller model.")
            content += file.read_bytes()
        offset = 0
        for spec in specs:
            array, offset = _array(spec, content, offset)
            # The optimizer's state is not imported: every round starts its own.
            if spec.get("group") != "optimizer":
                yield str(spec["name"]), array


def _file(folder: Path, name: Any) -> Path:
    plain = isinstance(name, str) and re.fullmatch(r"[\w][\w .()-]*", name) and len(name) < 200
    file = folder / str(name) if plain else folder
    if not plain or file.is_symlink() or not file.is_file():
        raise Refusal(
            f"model.json asks for the weights {str(name)[:80]!r}, which is no file beside it; "
            "put all files of the model into one folder."
        )
    return file


def _array(spec: Any, content: bytearray, offset: int) -> tuple[np.ndarray[Any, Any], int]:
    try:
        packed = spec.get("quantization") or {}
        shape = [int(n) for n in spec["shape"]]
        kind = str(packed.get("dtype") or spec["dtype"])
        count = math.prod(shape)
        end = offset + count * np.dtype(_DTYPES[kind]).itemsize
        if min([count, *shape]) < 0 or end > len(content):
            raise ValueError
        values = np.frombuffer(bytes(content[offset:end]), _DTYPES[kind]).reshape(shape)
        if packed and kind != "float16":
            values = values * np.float32(packed["scale"]) + np.float32(packed["min"])
        if packed:
            values = values.astype(_DTYPES[str(spec["dtype"])])
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError) as error:
        name = spec.get("name") if isinstance(spec, dict) else spec
        raise Refusal(
            f"The weights {str(name)[:60]} of the TF.js model are cut short or of an unknown kind; {_AGAIN}."
        ) from error
    return values, end
