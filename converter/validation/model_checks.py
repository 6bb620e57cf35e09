"""Checks before tracing that a model can become a bundle; each refusal names the place."""

from __future__ import annotations

import math
import re
from typing import Any

import keras
import numpy as np

from converter.padding.activity_regularizers import SUMS
from converter.refusal import Refusal
from converter.sandbox.process_limits import Limits
from converter.validation.own_training import refuse_own_training

# What a layer may compute in.
_PRECISIONS = ("float32", "int32", "int64", "bool")
# TensorFlow accepts these scope names; keys of inputs and outputs become names beside them.
_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")


def check_model(model: Any) -> None:
    """Refuses a loaded model with open shapes, untraceable layers, or NaN or infinite weights."""
    _check_borders(model)
    _check_keys(model)
    _check_layers(model)
    _check_values(model)


def check_built(model: Any, name: str) -> None:
    """Refuses objects other than models, and models without known inputs; `name` is the file's."""
    if not isinstance(model, keras.Model):
        raise Refusal(f"{name} holds a {type(model).__name__}, no model; save it with model.save().")
    if isinstance(model, keras.Sequential) and not model.built:
        what = "knows no input shape" if model.layers else "has no layers"
        raise Refusal(f"The model {model.name} {what}; begin it with keras.Input(shape) and save it again.")
    if not getattr(model, "inputs", None):
        # The guides' models with a step of their own are classes that have no inputs either.
        refuse_own_training(model)
        raise Refusal(
            f"The model {model.name} has no fixed input; join its layers from keras.Input on, or call it as "
            "a layer: x = keras.Input(shape), then keras.Model(x, model(x)), and save that."
        )


def check_precision(model: Any) -> None:
    """Refuses layers that compute or keep weights in another precision than float32, and quantized ones."""
    for layer in model._flatten_layers():
        policy = layer.dtype_policy
        if policy.quantization_mode:
            raise Refusal(
                f"The layer {layer.name} is quantized ({policy.name}), and training needs float32 weights; "
                "save the model before model.quantize()."
            )
        for dtype in (policy.compute_dtype, policy.variable_dtype):
            if dtype not in _PRECISIONS:
                raise Refusal(
                    f"The layer {layer.name} computes in {policy.name}, but bundles train in float32, "
                    'without mixed precision; leave out keras.config.set_dtype_policy(...) and dtype="...", '
                    "build the model again and copy its weights by set_weights()."
                )


def check_batch(model: Any, batch_size: int) -> None:
    """Refuses a model whose inputs fix another batch size than the task's."""
    for tensor in model.inputs:
        if tensor.shape[0] not in (None, batch_size):
            raise Refusal(
                f"The input {tensor.name} has the fixed batch size {tensor.shape[0]}, but the task's is "
                f"{batch_size}; write batch_size = {tensor.shape[0]} under [model], or build the input "
                "without it.",
                "bad-task",
            )


def check_count(model: Any, limits: Limits) -> None:
    """Refuses a model with more parameters than allowed; its variables need no values yet."""
    count = sum(math.prod(variable.shape) for variable in model.variables)
    if count > limits.parameters:
        largest = max(model.variables, key=lambda v: math.prod(v.shape)).path
        raise Refusal(
            f"The model has {count} parameters; at most {limits.parameters} are allowed. "
            f"The largest is {largest}; make that layer smaller."
        )


def _check_borders(model: Any) -> None:
    for word, tensors in (("input", model.inputs), ("output", model.outputs)):
        for tensor in tensors:
            if any(n is None for n in tensor.shape[1:]):
                raise Refusal(
                    f"The {word} {tensor.name} has the open shape {tuple(tensor.shape)}; "
                    "give every dimension but the batch a number."
                )


def _check_keys(model: Any) -> None:
    graph = getattr(model, "_functional", None) or model
    for word, structure in (("input", graph._inputs_struct), ("output", graph._outputs_struct)):
        for key in structure if isinstance(structure, dict) else ():
            if not isinstance(key, str) or not _NAME.fullmatch(key):
                raise Refusal(
                    f"An {word} of the model has the key {key!r}; "
                    "use keys of letters, digits, . and _, a letter first."
                )


def _check_layers(model: Any) -> None:
    for layer in model._flatten_layers():
        if layer is not model and not _NAME.fullmatch(layer.name):
            raise Refusal(
                f"The layer {layer.name!r} has a name that a graph cannot hold; "
                "name it with letters, digits, . and _, a letter first."
            )
        regularizer = getattr(layer, "activity_regularizer", None)
        if regularizer is not None and type(regularizer) not in SUMS:
            raise Refusal(
                f"The layer {layer.name} has the activity regularizer {type(regularizer).__name__}, which "
                "padding would change; use L1, L2 or L1L2."
            )
        if getattr(layer, "lora_enabled", False):
            raise Refusal(
                f"The layer {layer.name} has LoRA enabled, but Keras sets both of its factors to 0 when it "
                "loads them, so that no step would ever move them; build the model without enable_lora(), "
                "or train the layer itself."
            )
        if 0 in _axes(layer):
            raise Refusal(
                f"The layer {layer.name} works across the examples of a batch (axis 0), which padding would "
                "change; use another axis."
            )


def _axes(layer: Any) -> list[Any]:
    if isinstance(layer, keras.layers.Normalization):
        # Its statistics are constants.
        return []
    axes = [getattr(layer, word, None) for word in ("axis", "axes")]
    return [axis for entry in axes for axis in (entry if isinstance(entry, list | tuple) else [entry])]


def _check_values(model: Any) -> None:
    if not model.weights:
        raise Refusal("The model has no weights, so it cannot learn; add a layer with some, such as Dense.")
    if not model.trainable_variables:
        raise Refusal(
            "The model has no trainable variables; set layer.trainable = True where it should learn."
        )
    for variable in model.variables:
        values = np.asarray(variable)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise Refusal(
                f"The variable {variable.path} holds NaN or infinity; save a model with finite weights."
            )
