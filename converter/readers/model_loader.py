"""Loads a model of any format safely and refuses what cannot become a bundle."""

from __future__ import annotations

import contextlib
import copy
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from converter.readers.config_check import OwnCode, check_compiled, check_config
from converter.readers.custom_layers import import_custom, own_lambdas
from converter.readers.file_kind import read_source
from converter.readers.keras2.hard_sigmoid import keep_hard_sigmoid
from converter.readers.layer_count import check_layer_count
from converter.readers.model_source import Source
from converter.readers.sequential_build import sequentials_built_once
from converter.refusal import Refusal
from converter.sandbox.process_limits import Limits
from converter.tracing.failed_calls import failed_layer, keras_reason, remedy_of
from converter.validation.model_checks import check_built, check_count, check_model, check_precision
from converter.validation.own_training import refuse_own_training

# Raised by Keras and TensorFlow if a configuration or weights do not fit.
_FAULTS = (TypeError, ValueError, KeyError, AttributeError, ImportError, OSError, IndexError, RuntimeError,
           ArithmeticError, NotImplementedError, AssertionError)  # fmt: skip


def load_model(path: Path, limits: Limits, custom: Path | None = None) -> Any:
    """Returns the model with its recurrent layers set to unroll. Raises Refusal.

    `path` is a `.keras`, `.h5`, a SavedModel folder, a TF.js model.json, or a zip of a folder. `custom` is
    the owner's Python file, run before loading; with it custom layers and Lambda are allowed.
    """
    objects = import_custom(custom) if custom else {}
    with tempfile.TemporaryDirectory() as folder, keras.saving.custom_object_scope(objects):
        try:
            source = read_source(path, Path(folder), limits.file_bytes)
            check_config(source.config, objects if custom else None)
            check_compiled(source.compiled, objects if custom else None)
        except OwnCode as error:
            raise (error.missing_in(custom.name) if custom else error) from error.__cause__
        check_layer_count(source.config, path.name)
        with own_lambdas(custom) if custom else contextlib.nullcontext():
            model = _build(source, path.name, limits, safe=custom is None)
            _fill(model, source, path.name)
    model.minga_own_file, model.minga_unrolled = source.own, []
    check_model(model)
    _unroll(model)
    return model


def _build(source: Source, name: str, limits: Limits, safe: bool) -> Any:
    """Builds the model and counts its parameters before its variables get memory.

    A stateless scope keeps the variables empty. The owner's own code is built without it, since it may create
    variables in ways that such a scope forbids.
    """
    scope = keras.StatelessScope() if safe else None
    with scope or contextlib.nullcontext(), sequentials_built_once():
        try:
            keras.utils.set_random_seed(0)  # layers with random numbers save their seed in the file
            model = keras.saving.deserialize_keras_object(_free_batch(source.config), safe_mode=safe)
            if isinstance(model, keras.Model) and not getattr(model, "inputs", None):
                # The cause of a model without layers that are joined: its parts train by an own step.
                refuse_own_training(model)
            _call_unbuilt(model)
            check_built(model, name)
            check_precision(model)
            check_count(model, limits)
        except BaseException as error:
            if scope:
                scope.initialize_variables = False
            keras.backend.clear_session()
            if isinstance(error, RecursionError):
                raise Refusal(
                    f"{name} is nested too deeply, or has a chain of more layers than Keras can follow "
                    "(about 900); use fewer layers or nested models."
                ) from error
            if isinstance(error, _FAULTS):
                raise _cannot_load(name, error) from error
            raise
    return model


def _call_unbuilt(model: Any) -> None:
    """Calls the layers of a Sequential that Keras left unbuilt, so that the layer at fault raises."""
    parts = getattr(model, "_layers", [])
    if not isinstance(model, keras.Sequential) or getattr(model, "_functional", None) is not None:
        return
    if parts and isinstance(parts[0], keras.layers.InputLayer):
        x = parts[0].output
        for layer in parts[1:]:
            x = layer(x)


def _fill(model: Any, source: Source, name: str) -> None:
    try:
        source.fill(model)
        if source.old_sigmoid:
            keep_hard_sigmoid(model)
    except _FAULTS as error:
        raise _cannot_load(name, error) from error
    try:
        if source.compiled:
            model.compile_from_config(source.compiled)
    except _FAULTS as error:
        raise Refusal(
            f"Keras cannot load the loss, metrics or optimizer that {name} was compiled with: "
            f"{keras_reason(error)}. Save the model before compile(), and name them under [model] in the "
            "task file."
        ) from error


def _cannot_load(name: str, error: BaseException) -> Refusal:
    if (place := failed_layer(error)) is not None:
        return Refusal(
            f"{place} cannot be built from {name}: {keras_reason(error)}. {remedy_of(error)}, and save the "
            "model again with model.save(), from a current Keras."
        )
    return Refusal(
        f"Keras cannot load {name}: {keras_reason(error)}. Save it again with model.save(), from a current "
        "Keras."
    )


def _free_batch(config: Mapping[str, Any]) -> dict[str, Any]:
    # A Sequential built by its first call stores that batch's size as if it were fixed. The configuration is
    # copied because Keras modifies it while reading.
    copied = copy.deepcopy(dict(config))
    settings = copied.get("config")
    if copied.get("class_name") == "Sequential" and isinstance(settings, dict):
        layers = settings.get("layers")
        first = layers[0].get("config") if isinstance(layers, list) and layers else None
        for settings_of, key in ((settings, "build_input_shape"), (first, "batch_shape")):
            shape = settings_of.get(key) if isinstance(settings_of, dict) else None
            if isinstance(settings_of, dict) and isinstance(shape, list) and shape:
                settings_of[key] = [None, *shape[1:]]
    return copied


def _unroll(model: Any) -> None:
    # TF.js has no gradient for loops over TensorLists.
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.RNN) and not layer.unroll:
            layer.unroll = True
            model.minga_unrolled.append(layer)
