"""Writes a TF.js Layers model: Keras 3's configuration in Keras 2's form, for layers TF.js has.

The model is for prediction: settings that only training uses (initializers, regularizers, constraints) are
left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np

from converter.bundle.tfjs_graph_model import write_shards
from converter.refusal import Refusal

Config = dict[str, Any]

_CONVOLUTION = (
    "filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate", "activation", "use_bias",
)  # fmt: skip
_POOLING = ("pool_size", "strides", "padding", "data_format")
_RECURRENT = (
    "units", "activation", "use_bias", "dropout", "recurrent_dropout", "return_sequences", "return_state",
    "go_backwards",
)  # fmt: skip
# The settings that TF.js' layer of the same name reads with the same meaning. `_layer` refuses others.
LAYERS: dict[str, tuple[str, ...]] = {
    "Dense": ("units", "activation", "use_bias"),
    "Activation": ("activation",),
    "ReLU": ("max_value",),
    "LeakyReLU": (),
    "ELU": ("alpha",),
    "Softmax": ("axis",),
    "Conv1D": _CONVOLUTION,
    "Conv2D": _CONVOLUTION,
    "DepthwiseConv2D": (*_CONVOLUTION[1:], "depth_multiplier"),
    "SeparableConv2D": (*_CONVOLUTION, "depth_multiplier"),
    **{f"{kind}Pooling{n}D": _POOLING for kind in ("Max", "Average") for n in (1, 2)},
    **{f"Global{kind}Pooling{n}D": ("data_format",) for kind in ("Max", "Average") for n in (1, 2)},
    "BatchNormalization": ("axis", "momentum", "epsilon", "center", "scale"),
    "LayerNormalization": ("axis", "epsilon", "center", "scale"),
    "Flatten": ("data_format",),
    "Reshape": ("target_shape",),
    "Permute": ("dims",),
    "RepeatVector": ("n",),
    "ZeroPadding2D": ("padding", "data_format"),
    "UpSampling2D": ("size", "data_format", "interpolation"),
    "Dropout": ("rate",),
    "SpatialDropout1D": ("rate",),
    "GaussianNoise": ("stddev",),
    "GaussianDropout": ("rate",),
    "Embedding": ("input_dim", "output_dim"),
    "Add": (),
    "Average": (),
    "Multiply": (),
    "Maximum": (),
    "Minimum": (),
    "Concatenate": ("axis",),
    "Rescaling": ("scale", "offset"),
    "SimpleRNN": _RECURRENT,
    "LSTM": (*_RECURRENT, "recurrent_activation"),
    "GRU": (*_RECURRENT, "recurrent_activation", "reset_after"),
}
# Maps Keras 3's activation names to TF.js'. hard_sigmoid is missing: its slope differs in Keras 3.
ACTIVATIONS = {
    name: name
    for name in ("linear", "relu", "relu6", "elu", "selu", "sigmoid", "softmax", "softplus", "softsign",
                 "tanh", "log_softmax", "mish")
} | {"silu": "swish"}  # fmt: skip
# Settings of which TF.js supports one value only.
_ONLY: dict[str, tuple[Any, ...]] = {
    "groups": (1,),
    "keepdims": (False,),
    "mask_zero": (False,),
    "reset_after": (False,),
    "rms_scaling": (False,),
    "threshold": (0, 0.0),
    "stateful": (False,),
    "zero_output_for_mask": (False,),
    "sparse": (False,),
    "renorm": (False,),
}
# Settings of single layers that TF.js refuses to read, or reads and computes something else.
_ONLY_IN: dict[str, dict[str, tuple[Any, ...]]] = {
    "ELU": {"alpha": (1, 1.0)},
    "UpSampling2D": {"interpolation": ("nearest",)},
    "DepthwiseConv2D": {"dilation_rate": (1, [1, 1], (1, 1))},
}
# Layers that TF.js computes rightly for the last axis alone.
_LAST_AXIS = ("BatchNormalization", "Softmax")
_RENAMED = {"DepthwiseConv2D": {"kernel": "depthwise_kernel"}}


def write_layers_model(model: Any, directory: Path) -> None:
    """Creates `directory` and writes model.json and its weights into it. Raises Refusal."""
    serialized = json.loads(model.to_json())
    topology = {
        "class_name": serialized["class_name"],
        "config": _model(serialized["class_name"], serialized["config"]),
    }
    arrays = list(_weights(model))
    directory.mkdir()
    files = write_shards(b"".join(array.tobytes() for _, array in arrays), directory)
    specs = [{"name": name, "shape": list(array.shape), "dtype": "float32"} for name, array in arrays]
    content = {
        "format": "layers-model",
        "generatedBy": f"keras v{keras.__version__}",
        "convertedBy": "minga",
        "modelTopology": {"keras_version": "2.15.0", "backend": "tensorflow", "model_config": topology},
        "weightsManifest": [{"paths": files, "weights": specs}],
    }
    text = json.dumps(content, separators=(",", ":"))
    (directory / "model.json").write_text(text, "utf-8")


def _model(kind: str, config: Config) -> Config:
    if kind == "Sequential":
        return {"name": config["name"], "layers": [_layer(entry) for entry in config["layers"]]}
    if kind != "Functional":
        raise _refused(f"The model is a {kind}, no functional or sequential one")
    layers = []
    for entry in config["layers"]:
        calls = [_call(entry["name"], node) for node in entry["inbound_nodes"]]
        layers.append(_layer(entry) | {"name": entry["name"], "inbound_nodes": calls})
    return {
        "name": config["name"],
        "layers": layers,
        "input_layers": _places(config["input_layers"]),
        "output_layers": _places(config["output_layers"]),
    }


def _layer(entry: Config) -> Config:
    kind, config = entry["class_name"], entry["config"]
    name = config["name"]
    if kind == "InputLayer":
        shape, dtype = config["batch_shape"], config["dtype"]
        input_config = {"name": name, "batch_input_shape": shape, "dtype": dtype, "sparse": False}
        return {"class_name": kind, "config": input_config}
    if entry["module"] != "keras.layers" or kind not in LAYERS:
        raise _refused(f"TF.js Layers has no {kind} (the layer {name})")
    for key, values in (_ONLY | _ONLY_IN.get(kind, {})).items():
        if config.get(key, values[0]) not in values:
            raise _refused(f"TF.js Layers' {kind} has no {key}={config[key]} (the layer {name})")
    if kind in _LAST_AXIS and not _is_last_axis(config["axis"], entry):
        raise _refused(
            f"TF.js Layers' {kind} has only the last axis, not {config['axis']} (the layer {name})"
        )
    settings = {key: config[key] for key in LAYERS[kind] if key in config}
    for key in ("activation", "recurrent_activation"):
        if key in settings:
            settings[key] = _activation(settings[key], name)
    if kind == "LeakyReLU":
        settings["alpha"] = config["negative_slope"]
    elif config.get("negative_slope"):
        raise _refused(f"TF.js Layers' {kind} has no negative_slope (the layer {name})")
    if kind == "Conv1D" and config["padding"] == "causal":
        raise _refused(f"TF.js Layers' Conv1D has no causal padding (the layer {name})")
    return {"class_name": kind, "config": {"name": name, "trainable": True, "dtype": "float32", **settings}}


def _is_last_axis(axis: Any, entry: Config) -> bool:
    axes = axis if isinstance(axis, list | tuple) else [axis]
    shape = (entry.get("build_config") or {}).get("input_shape")
    last = len(shape) - 1 if isinstance(shape, list | tuple) else -1
    return len(axes) == 1 and axes[0] in (-1, last)


def _activation(value: Any, layer: str) -> str:
    if not isinstance(value, str) or value not in ACTIVATIONS:
        activation = value if isinstance(value, str) else value.get("config", value)
        raise _refused(
            f"TF.js Layers has no activation {str(activation)[:40]} as Keras 3 means it (layer {layer})"
        )
    return ACTIVATIONS[value]


def _call(name: str, node: Any) -> list[Any]:
    """Returns the call of the layer `name` as `[[layer, call, tensor, {}], ...]`."""
    places = list(_histories(node["args"]))
    unknown = {key for key, value in node["kwargs"].items() if key not in ("mask", "training") or value}
    constants = [one for one in _flat(node["args"]) if not _is_tensor(one)]
    if unknown or constants or not places:
        raise _refused(f"The layer {name} is called in a way that TF.js Layers does not know")
    return places


def _histories(node: Any) -> Iterator[list[Any]]:
    for one in _flat(node):
        if _is_tensor(one):
            yield [*one["config"]["keras_history"], {}]


def _flat(node: Any) -> Iterator[Any]:
    if isinstance(node, list):
        for child in node:
            yield from _flat(child)
    else:
        yield node


def _is_tensor(value: Any) -> bool:
    return isinstance(value, dict) and value.get("class_name") == "__keras_tensor__"


def _places(places: Any) -> list[Any]:
    """Returns one place `[layer, call, tensor]`, several, or places by name as a list of places."""
    if isinstance(places, dict):
        return [place for one in places.values() for place in _places(one)]
    return [places] if places and isinstance(places[0], str) else [p for one in places for p in _places(one)]


def _weights(model: Any) -> Iterator[tuple[str, Any]]:
    for layer in model.layers:
        renamed = _RENAMED.get(type(layer).__name__, {})
        for variable in layer.weights:
            if variable.dtype == "float32":  # Layers with random numbers keep a seed, which TF.js lacks.
                name = renamed.get(variable.name, variable.name)
                yield f"{layer.name}/{name}", np.asarray(variable, "<f4")


def _refused(what: str) -> Refusal:
    return Refusal(f"{what}. Take the TF.js graph model instead, which holds the same model as ops.")
