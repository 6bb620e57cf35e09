"""Upgrades configurations of Keras 2 and of TF.js to the form that Keras 3 writes.

Keras 3 reads some of the older forms itself, but not recurrent, depthwise and attention layers, nor nested
models; it also looks up their classes by bare name. The upgrade gives every class its module, so that one
check (converter/readers/config_check.py) holds for all.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import keras

from converter.readers.config_check import OwnCode
from converter.readers.keras2.layer_calls import call_arguments, first_calls, output_place
from converter.readers.refused_layers import REFUSED_LAYERS
from converter.refusal import Refusal

MODELS = {
    "Functional": "keras.src.models.functional",
    "Sequential": "keras",
    "Model": "keras.src.models.functional",
}
_OPS = ("numpy", "nn", "math", "core", "linalg")
_KINDS = (
    ("keras.layers", keras.layers),
    ("keras.initializers", keras.initializers),
    ("keras.regularizers", keras.regularizers),
    ("keras.constraints", keras.constraints),
    ("keras.optimizers.schedules", keras.optimizers.schedules),
)
_RENAMED = {"BatchNormalizationV1": "BatchNormalization", "BatchNormalizationV2": "BatchNormalization"} | {
    f"{name}V{number}": name for name in ("LSTM", "GRU", "LayerNormalization", "Dense") for number in (1, 2)
}
# Settings of Keras 2 without effect in Keras 3: memory layout, speed, inferable shapes, leftovers.
_IDLE = {
    *("implementation", "input_length", "query_shape", "key_shape", "value_shape", "build_input_shape"),
    *("input_dtype", "batch_input_shape", "vocabulary_size", "seed_generator"),
    *("fn", "jit_compile", "is_legacy_optimizer"),
}
_IDLE_IN = {
    "SeparableConv1D": {"kernel_initializer", "kernel_regularizer", "kernel_constraint"},
    "SeparableConv2D": {"kernel_initializer", "kernel_regularizer", "kernel_constraint"},
}


def upgrade_model(entry: Any) -> dict[str, Any]:
    """Returns the model's entry `{"class_name": ..., "config": ...}` in Keras 3's form.

    Raises Refusal.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("config"), dict | list):
        raise Refusal(
            "The model was saved without its layers; save it with model.save(), not only its weights."
        )
    kind = str(entry.get("class_name"))
    if kind not in MODELS:
        raise Refusal(
            f"The model is a custom class {kind}, whose layers are not in the file; build it with "
            "keras.Input and keras.Model, then save it."
        )
    config = entry["config"]
    if isinstance(config, list):
        config = {"name": "sequential", "layers": config}
    if not isinstance(config.get("layers"), list):
        raise Refusal(f"The model {config.get('name', kind)} lists no layers; save it with model.save().")
    upgraded = _sequential(config) if kind == "Sequential" else _functional(config)
    module = MODELS[kind]
    kind = "Functional" if kind == "Model" else kind
    return {"module": module, "class_name": kind, "config": upgraded, "registered_name": None}


def _sequential(config: dict[str, Any]) -> dict[str, Any]:
    layers = [_layer(layer) for layer in config["layers"]]
    first = config["layers"][0] if config["layers"] else {}
    settings = first.get("config") if isinstance(first, dict) else None
    settings = settings if isinstance(settings, dict) else {}
    shape = settings.get("batch_input_shape")
    if shape and layers[0]["class_name"] != "InputLayer":
        is_embedding = layers[0]["class_name"] == "Embedding"
        dtype = "int32" if is_embedding else dtype_name(settings.get("dtype")) or "float32"
        layers.insert(
            0, _input({"batch_input_shape": shape, "dtype": dtype, "name": f"{settings['name']}_input"})
        )
    upgraded = {"name": config.get("name", "sequential"), "layers": layers}
    if config.get("build_input_shape"):
        upgraded["build_input_shape"] = _plain(config["build_input_shape"])
    return upgraded


def _functional(config: dict[str, Any]) -> dict[str, Any]:
    first = first_calls(config)
    layers = []
    for entry in config["layers"]:
        layer = _layer(entry)
        name = layer["config"]["name"] = entry.get("name", layer["config"].get("name"))
        layer["name"] = name
        recurrent = layer["class_name"] in ("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "ConvLSTM2D")
        layer["inbound_nodes"] = [
            node
            if isinstance(node, dict) and "args" in node
            else call_arguments(node, name, first, recurrent)
            for node in entry.get("inbound_nodes", [])
        ]
        layers.append(layer)
    kinds = {layer["name"]: layer["class_name"] for layer in layers}
    calls = [node for entry in config["layers"] for node in entry.get("inbound_nodes", [])]
    modern = any(isinstance(node, dict) and "args" in node for node in calls)
    return {
        "name": config.get("name", "model"),
        "trainable": config.get("trainable", True),
        "layers": layers,
        "input_layers": config["input_layers"],
        "output_layers": config["output_layers"]
        if modern
        else output_place(config["output_layers"], first, kinds),
    }


def _layer(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict) or not isinstance(entry.get("config"), dict | list):
        raise Refusal("The list of layers is damaged; save the model again with model.save().")
    kind = str(entry.get("class_name"))
    kind = _RENAMED.get(kind, kind)
    if kind in MODELS:
        return upgrade_model(entry)
    config = entry["config"]
    if kind == "InputLayer":
        return _input(config)
    place = f"The layer {config.get('name', kind)}"
    if kind in REFUSED_LAYERS:
        raise Refusal(f"{place} is a {kind}: {REFUSED_LAYERS[kind]}.")
    if kind in ("TFOpLambda", "SlicingOpLambda", "TensorFlowOpLayer"):
        operation = config.get("function", kind)
        raise Refusal(
            f"{place} calls TensorFlow's {operation} directly, which Keras 3 cannot load; "
            "use a Keras layer for it (keras.layers.Add, Multiply, Activation, Rescaling, ...)."
        )
    if kind == "ThresholdedReLU":
        kind, config = (
            "ReLU",
            {k: v for k, v in config.items() if k != "theta"} | {"threshold": config.get("theta", 1.0)},
        )
    module = entry.get("module")
    if isinstance(module, str) and module.startswith("keras.src.ops."):
        return {"module": module, "class_name": kind, "config": config, "registered_name": None}
    calls = entry.get("inbound_nodes") or [None]
    plain_op = "dtype" not in config and "trainable" not in config and isinstance(calls[0], dict)
    if plain_op and (module := _op_module(kind)):  # Keras 3's .h5 leaves out the module of keras.ops
        return {"module": module, "class_name": kind, "config": config, "registered_name": None}
    return upgrade_object(
        {"class_name": kind, "config": config, "registered_name": entry.get("registered_name")}, place
    )


def _op_module(kind: str) -> str | None:
    for part in _OPS:
        if isinstance(vars(importlib.import_module(f"keras.src.ops.{part}")).get(kind), type):
            return f"keras.src.ops.{part}"
    return None


def _input(config: dict[str, Any]) -> dict[str, Any]:
    shape = config.get("batch_shape") or config.get("batch_input_shape")
    if config.get("ragged") or config.get("sparse"):
        raise Refusal(
            f"The input {config.get('name')} is ragged or sparse; use a dense input of fixed shape."
        )
    settings = {
        "batch_shape": _plain(shape),
        "dtype": dtype_name(config.get("dtype")) or "float32",
        "name": config["name"],
    }
    return {"module": "keras.layers", "class_name": "InputLayer", "config": settings, "registered_name": None}


def upgrade_object(entry: dict[str, Any], place: str, kinds: Any = _KINDS) -> dict[str, Any]:
    """Returns a layer, initializer, schedule, ... in Keras 3's form.

    `kinds` are the modules to look in.
    """
    kind = str(entry["class_name"]).rpartition(">")[2]
    config = entry.get("config") or {}
    for module, space in kinds:
        cls = vars(space).get(kind)
        if inspect.isclass(cls):
            return {
                "module": module,
                "class_name": kind,
                "config": _settings(cls, kind, config, place),
                "registered_name": None,
            }
    custom_class = keras.saving.get_registered_object(str(entry.get("registered_name") or kind))
    if custom_class is not None:
        return {
            "module": None,
            "class_name": kind,
            "config": config,
            "registered_name": custom_class.__name__,
        }
    raise OwnCode(f"{place} is a {kind}, which Keras 3 does not have", kind)


def _settings(cls: type, kind: str, config: dict[str, Any], place: str) -> dict[str, Any]:
    parameters = _parameters(cls)
    settings = {}
    for key, value in _renamed(kind, config).items():
        if key == "dtype":
            settings[key] = dtype_name(value)
        elif key in parameters:
            settings[key] = _value(value, place)
        elif not _idle(kind, key, value):
            raise Refusal(
                f"{place} sets {key} = {str(value)[:40]}, which Keras 3 does not know for {kind}; "
                "build that layer without it and save the model again."
            )
    return settings


def _idle(kind: str, key: str, value: Any) -> bool:
    if key in _IDLE or key in _IDLE_IN.get(kind, ()):
        return True
    return value in (None, False, "auto") or (key == "groups" and value == 1)


def _renamed(kind: str, config: dict[str, Any]) -> dict[str, Any]:
    config = dict(config)
    if kind == "LeakyReLU" and "alpha" in config:
        config["negative_slope"] = config.pop("alpha")
    if kind == "GRU" and "reset_after" not in config:
        # TF.js and early Keras had only this form; Keras 3's default is the other one.
        config["reset_after"] = False
    if kind == "BatchNormalization" and isinstance(config.get("axis"), list):
        config["axis"] = config["axis"][0]
    return config


def _value(value: Any, place: str) -> Any:
    if isinstance(value, list):
        return [_value(item, place) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("class_name") == "__tuple__":
        return _plain(value)
    if value.get("class_name") == "function":
        return value["config"]
    if value.get("class_name") in MODELS:
        return upgrade_model(value)
    return upgrade_object(value, place) if "class_name" in value else value


def _plain(value: Any) -> Any:
    if isinstance(value, dict) and value.get("class_name") == "__tuple__":
        value = value["items"]
    return [_plain(item) for item in value] if isinstance(value, list) else value


def dtype_name(value: Any) -> str | None:
    """Returns a dtype such as `"float32"` from its name or from a policy's configuration."""
    if isinstance(value, dict):
        value = (value.get("config") or {}).get("name")
    return str(value) if value is not None else None


def _parameters(cls: type) -> set[str]:
    names: set[str] = set()
    for parent in cls.__mro__:
        if "__init__" not in vars(parent) or parent is object:
            continue
        parameters = inspect.signature(vars(parent)["__init__"]).parameters.values()
        names |= {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        if not any(p.kind == p.VAR_KEYWORD for p in parameters):
            break
    return names
