"""A case's loss, metrics and optimizer, for a task file and as arguments of `Model.compile`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import keras

Settings = dict[str, Any]


@dataclass(frozen=True)
class Recipe:
    """Loss, metrics and optimizer of a case.

    `loss`, `metrics` and `loss_weights` are as in a task file: names, tables with name and settings, or
    tables of these by output. `optimizer` is a table of the task file. `keras_loss` makes the argument of
    `Model.compile` for a loss that Keras does not have.
    """

    loss: Any
    optimizer: Settings = field(default_factory=lambda: {"name": "sgd", "learning_rate": 0.05})
    metrics: Any = ()
    loss_weights: Any = None
    keras_loss: Callable[[], Any] | None = None

    def toml(self) -> str:
        """Returns the lines under [model]."""
        said = {"loss": self.loss, "optimizer": self.optimizer, "loss_weights": self.loss_weights}
        if self.metrics:
            said["metrics"] = self.metrics
        return "".join(f"{key} = {_toml(value)}\n" for key, value in said.items() if value is not None)

    def arguments(self) -> Settings:
        """Returns the arguments of `Model.compile`."""
        return {
            "loss": self.keras_loss() if self.keras_loss else _objects(self.loss, keras.losses),
            "metrics": _objects(self.metrics, keras.metrics),
            "loss_weights": self.loss_weights,
            "optimizer": keras_optimizer(self.optimizer),
        }


def keras_optimizer(table: Settings) -> Any:
    """Returns Keras' optimizer for a table of the task file."""
    settings = dict(table)
    name = settings.pop("name")
    if name == "momentum":
        name, settings = "sgd", {"momentum": 0.9} | settings
    if schedule := settings.pop("schedule", None):
        settings["learning_rate"] = _schedule(schedule, settings.get("learning_rate"))
    excluded = settings.pop("exclude_from_weight_decay", None)
    optimizer = _class(keras.optimizers, name)(**settings)
    if excluded:
        optimizer.exclude_from_weight_decay(var_names=excluded)
    return optimizer


def _schedule(table: Settings, learning_rate: float | None) -> Any:
    settings = dict(table)
    schedule = _class(keras.optimizers.schedules, settings.pop("name"))
    begin = {} if learning_rate is None else {"initial_learning_rate": learning_rate}
    return schedule(**begin, **settings)


def _objects(value: Any, module: Any) -> Any:
    """Turns tables with a name and settings into objects of Keras; plain names are left to `compile`."""
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return _class(module, value["name"])(**value)
    if isinstance(value, dict):
        return {key: _objects(entry, module) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_objects(entry, module) for entry in value]
    return value


def _class(module: Any, name: str) -> Any:
    """Returns Keras' class of a name in snake case."""
    wanted = name.replace("_", "")
    (found,) = {value for key, value in vars(module).items() if key.lower() == wanted and key != name}
    return found


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)
