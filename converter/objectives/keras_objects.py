"""Builds Keras' own losses, metrics and optimizers for what a task file names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from converter.objectives.losses import Quantile
from converter.objectives.metrics import NAMES
from converter.optimizers.settings import LEARNING_RATES


def keras_losses(value: Any) -> Any:
    """Returns a task file's `loss` with Keras' objects for the names and tables in it."""
    return _each(value, _loss)


def keras_metrics(value: Any) -> Any:
    """Returns a task file's `metrics` with Keras' objects for the names and tables in it."""
    return _each(value, _metric)


def keras_optimizer(table: dict[str, Any] | None, model: Any) -> Any:
    """Returns the optimizer that `table` names, or without a table a fresh one like the model's own."""
    if table is None:
        kind = type(model.optimizer)
        # A factor of the loss, by which Keras divides the gradient again, would show in the gradient only.
        return kind.from_config(model.optimizer.get_config() | {"loss_scale_factor": None})
    settings = dict(table)
    name = settings.pop("name")
    rate = settings.get("learning_rate", LEARNING_RATES.get(name, 0.001))
    if name == "momentum":
        name, settings = "sgd", {"momentum": 0.9} | settings
    if schedule := settings.pop("schedule", None):
        settings["learning_rate"] = _schedule(dict(schedule), rate)
    excluded = settings.pop("exclude_from_weight_decay", None)
    optimizer = _class_of(keras.optimizers, name)(**settings)
    if excluded:
        optimizer.exclude_from_weight_decay(var_names=excluded)
    return optimizer


def _schedule(settings: dict[str, Any], rate: float) -> Any:
    name = settings.pop("name")
    begin = {} if name == "piecewise_constant_decay" else {"initial_learning_rate": rate}
    return _class_of(keras.optimizers.schedules, name)(**begin, **settings)


def _each(value: Any, make: Callable[[str, dict[str, Any]], Any]) -> Any:
    if isinstance(value, str):
        return make(value, {})
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return make(value["name"], {key: entry for key, entry in value.items() if key != "name"})
    if isinstance(value, dict):
        return {key: _each(entry, make) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_each(entry, make) for entry in value]
    return value


def _loss(name: str, settings: dict[str, Any]) -> Any:
    if name == "quantile":
        return Quantile(**settings)
    if not settings:
        return keras.losses.get(name)
    kind = _class_of(keras.losses, name) or _class_of(keras.losses, keras.losses.get(name).__name__)
    return kind(**settings)


def _metric(name: str, settings: dict[str, Any]) -> Any:
    # Keras alone knows which accuracy fits an output.
    if name.lower() in ("accuracy", "acc"):
        return name
    return (_class_of(keras.metrics, name) or NAMES[name])(name=name, **settings)


def _class_of(module: Any, name: str) -> Any:
    """Returns the module's class of a name in snake case or unchanged, or None."""
    wanted = name.replace("_", "").lower()
    kinds = (kind for key, kind in vars(module).items() if key.lower() == wanted and isinstance(kind, type))
    return next(kinds, None)
