"""Upgrades loss, metrics and optimizer of Keras 2 and TF.js to Keras 3's compile configuration."""

from __future__ import annotations

import inspect
import re
from typing import Any

import keras

from converter.readers.config_check import OwnCode
from converter.readers.keras2.config_upgrade import upgrade_object
from converter.refusal import Refusal

_LOSSES = (("keras.losses", keras.losses),)
_METRICS = (("keras.metrics", keras.metrics),)
_OPTIMIZERS = (
    ("keras.optimizers", keras.optimizers),
    ("keras.optimizers.schedules", keras.optimizers.schedules),
)
_OPTIMIZER_NAMES = {"rmsprop": "RMSprop", "momentum": "SGD"}
_SETTING_NAMES = {"lr": "learning_rate", "beta1": "beta_1", "beta2": "beta_2", "use_nesterov": "nesterov"}
_SPECIAL = {"accuracy", "acc", "crossentropy", "ce"}


def upgrade_training(training: Any) -> dict[str, Any] | None:
    """Returns the input of `Model.compile_from_config`, or None if the model was not compiled.

    Raises Refusal.
    """
    if not isinstance(training, dict):
        return None
    compiled: dict[str, Any] = {
        "optimizer": _optimizer(training.get("optimizer_config")),
        "loss": _each(training.get("loss"), _loss),
        "loss_weights": training.get("loss_weights"),
        "metrics": _metrics(training.get("metrics")),
        "weighted_metrics": _metrics(training.get("weighted_metrics")),
    }
    return {key: value for key, value in compiled.items() if value is not None}


def _optimizer(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    kind = str(entry.get("class_name", "")).rpartition(">")[2]
    kind = _OPTIMIZER_NAMES.get(kind.lower(), kind)
    if kind == "LossScaleOptimizer":
        raise Refusal(
            "The model's optimizer is a LossScaleOptimizer of mixed precision; compile the model with "
            "a plain optimizer in float32 and save it again."
        )
    settings = {_SETTING_NAMES.get(_snake(k), _snake(k)): v for k, v in (entry.get("config") or {}).items()}
    if kind == "RMSprop" and "rho" not in settings:
        settings["rho"] = settings.pop("decay", 0.9)  # TF.js calls rho decay
    decay = settings.pop("decay", None) or 0.0
    if decay and isinstance(settings.get("learning_rate"), int | float):
        schedule = {"initial_learning_rate": settings["learning_rate"], "decay_steps": 1, "decay_rate": decay}
        settings["learning_rate"] = {"class_name": "InverseTimeDecay", "config": schedule}
    return upgrade_object({"class_name": kind, "config": settings}, "The model's optimizer", _OPTIMIZERS)


def _loss(entry: Any) -> Any:
    if isinstance(entry, dict):
        if entry.get("class_name") == "function":
            return _loss(entry.get("config"))
        if (entry.get("config") or {}).get("reduction") == "auto":
            entry = entry | {"config": entry["config"] | {"reduction": "sum_over_batch_size"}}
        return upgrade_object(entry, "The model's loss", _LOSSES)
    return _resolved(entry, keras.losses, "loss")


def _metrics(entry: Any) -> Any:
    value = _each(entry, _metric)
    # Keras 2 writes one list for each output, which Keras 3 accepts only for several outputs.
    single = isinstance(value, list) and len(value) == 1 and isinstance(value[0], list)
    return value[0] if single else value


def _metric(entry: Any) -> Any:
    if isinstance(entry, dict):
        kind, config = str(entry.get("class_name")), entry.get("config") or {}
        if kind == "function":
            return _metric(config)
        if kind in ("MeanMetricWrapper", "SumOverBatchSizeMetricWrapper"):
            return _wrapped(str(config.get("name")), config.get("fn"))
        return upgrade_object(entry, "A metric of the model", _METRICS)
    return entry if entry in _SPECIAL else _resolved(entry, keras.metrics, "metric")


def _wrapped(name: str, function: Any) -> Any:
    # Before its first batch Keras 2 resolves "accuracy" of class numbers wrongly; Keras 3 is right.
    guessed = isinstance(function, str) and function.endswith("_accuracy") and not name.endswith(function)
    return "accuracy" if guessed and name.endswith(("accuracy", "acc")) else _metric(function)


def _resolved(name: Any, space: Any, word: str) -> Any:
    if name is None:
        return None
    for candidate in (str(name), _snake(str(name))):
        try:
            space.get(candidate)
        except ValueError:
            continue
        return candidate
    if inspect.isfunction(keras.saving.get_registered_object(str(name))):
        return {
            "module": "builtins",
            "class_name": "function",
            "config": str(name),
            "registered_name": "function",
        }
    raise OwnCode(
        f"The model was compiled with the {word} {str(name)[:60]}, which is not Keras' own",
        str(name)[:60],
        "on your own machine, convert it with `minga convert ... --custom layers.py`, the file that defines "
        f"it, or compile it with a {word} of Keras, or without any and name the {word} in the task file",
    )


def _each(entry: Any, convert: Any) -> Any:
    if isinstance(entry, list):
        return [_each(item, convert) for item in entry]
    if isinstance(entry, dict) and "class_name" not in entry:
        return {key: _each(value, convert) for key, value in entry.items()}
    return None if entry is None else convert(entry)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
