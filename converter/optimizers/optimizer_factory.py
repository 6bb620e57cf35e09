"""Builds the optimizer step that `apply` is traced from, from a task file or a compiled model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from converter.optimizers import update_rules, update_wrappers
from converter.optimizers.gradient import Gradient, ReadSum
from converter.optimizers.schedules import SCHEDULES, Schedule
from converter.optimizers.settings import (
    COMMON_SETTINGS,
    DEFAULTS,
    LEARNING_RATES,
    SCHEDULE_DEFAULTS,
    Value,
    check_setting,
    refuse,
)
from converter.optimizers.update_rules import Rule, Slots
from converter.tracing.vector_layout import Layout

FACTORIES: dict[str, Callable[..., Rule]] = {
    "sgd": update_rules.sgd,
    "momentum": update_rules.sgd,
    "rmsprop": update_rules.rmsprop,
    "adagrad": update_rules.adagrad,
    "adadelta": update_rules.adadelta,
    "adam": update_rules.adam,
    "adamw": update_rules.adam,
    "adamax": update_rules.adamax,
    "nadam": update_rules.nadam,
    "lion": update_rules.lion,
    "ftrl": update_rules.ftrl,
}


@dataclass(frozen=True)
class Optimizer:
    """The optimizer's entries in the manifest, and its arithmetic.

    `hyperparameters` are the numbers and switches, given or default. `schedule` is the name of the
    learning-rate schedule; its rates are inside `step`, so `learning_rate` is then the factor 1.0.
    """

    name: str
    learning_rate: float
    hyperparameters: dict[str, Value]
    schedule: str | None
    settings: dict[str, Any]
    rule: Rule
    rate: Schedule | None

    @property
    def slots(self) -> int:
        """Returns the number of rows [T] that the optimizer keeps between steps."""
        return self.rule.slots + bool(self.settings.get("gradient_accumulation_steps"))

    def table_reads(self, tables: Mapping[int, str]) -> dict[int, ReadSum]:
        """Returns what the step needs of each table (converter/optimizers/gradient.py), by its number.

        `tables` are names by number. Raises Refusal where a bundle could not give it.
        """
        kind = self._reads(next(iter(tables.values()))) if tables else None
        return {} if kind is None else dict.fromkeys(tables, kind)

    def _reads(self, table: str) -> ReadSum | None:
        settings = self.settings
        if settings.get("gradient_accumulation_steps"):
            return None
        if settings.get("clipvalue"):
            raise refuse(
                f"The optimizer's `clipvalue` would clip each read of {table} apart, which a bundle does "
                "not repeat; use clipnorm or global_clipnorm."
            )
        if settings.get("centered"):
            raise refuse(
                f"Keras' own {self.name} with `centered` fails where a row of {table} is read twice; "
                "leave `centered` out."
            )
        if settings.get("global_clipnorm"):
            return "squares"
        if settings.get("clipnorm") and self.rule.reads == "magnitudes":
            raise refuse(
                f"The optimizer {self.name} with clipnorm treats each read of {table} apart in two ways, "
                "which a bundle does not repeat; use global_clipnorm, or adam."
            )
        return self.rule.reads or ("squares" if settings.get("clipnorm") else None)

    def step(
        self,
        layout: Layout,
        trainable: Any,
        slots: Any,
        gradient: Gradient,
        learning_rate: Any,
        step: Any,
        past_steps: Any = None,
    ) -> tuple[Any, Any]:
        """Takes one step: maps tensors [T], [K, T] or None, Gradient, [], [], [] to [T] and [K, T] or None.

        `step` counts from 1 within a round. `past_steps`, the number of steps before the round, is read by a
        schedule only.
        """
        rows = _rows(slots, self.slots)
        updated, new_rows = self.update(layout, trainable, rows, gradient, learning_rate, step, past_steps)
        return updated, stacked(new_rows)

    def update(
        self,
        layout: Layout,
        trainable: Any,
        slots: Slots,
        gradient: Gradient,
        learning_rate: Any,
        step: Any,
        past_steps: Any,
    ) -> tuple[Any, Slots]:
        """Takes one step as `step` does, with a tuple of K vectors [T] for the slots."""
        clip = self._clip(layout)
        rule = self.rule
        if (decay := self.settings.get("weight_decay")) is not None:
            excluded = tuple(self.settings.get("exclude_from_weight_decay", ()))
            rule = update_wrappers.decayed(rule, decay, excluded, layout)
        if length := self.settings.get("gradient_accumulation_steps"):
            rule = update_wrappers.accumulated(rule, length, clip)
        else:
            gradient = clip(gradient)
        rate = learning_rate
        if self.rate is not None:
            rate = learning_rate * self.rate(past_steps + (step - 1.0))
        updated, new_slots = rule.update(trainable, slots, gradient, rate, step)
        return update_wrappers.constrained(updated, layout), new_slots

    def _clip(self, layout: Layout) -> update_wrappers.Clip:
        settings = self.settings
        if limit := settings.get("clipnorm"):
            return update_wrappers.clip_by_norm(limit, layout)
        if limit := settings.get("global_clipnorm"):
            return update_wrappers.clip_by_global_norm(limit)
        if limit := settings.get("clipvalue"):
            return update_wrappers.clip_by_value(limit)
        return lambda gradient: gradient


def _rows(slots: Any, count: int) -> tuple[Any, ...]:
    if count == 0:
        return ()
    return (tf.reshape(slots, [-1]),) if count == 1 else tuple(tf.unstack(slots))


def stacked(rows: Slots) -> Any:
    """Returns vectors [T] as one tensor [K, T]; None without any."""
    if not rows:
        return None
    return tf.reshape(rows[0], [1, -1]) if len(rows) == 1 else tf.stack(rows)


def make_optimizer(table: dict[str, Any]) -> Optimizer:
    """Builds the optimizer of a task file's `optimizer = {...}`. Raises Refusal naming the wrong key."""
    options = dict(table)
    name = options.pop("name")
    if name not in FACTORIES:
        raise refuse(f"The optimizer {name} is not supported; use one of {', '.join(FACTORIES)}.")
    schedule = options.pop("schedule", None)
    defaults = {"learning_rate": LEARNING_RATES.get(name, 0.001)} | DEFAULTS[name]
    for key, value in options.items():
        if key not in defaults and key not in COMMON_SETTINGS:
            raise refuse(
                f"The optimizer {name} has no setting `{key}`; "
                f"it has {', '.join([*defaults, *COMMON_SETTINGS])}."
            )
        check_setting("optimizer", key, value)
    if sum(bool(options.get(key)) for key in ("clipnorm", "clipvalue", "global_clipnorm")) > 1:
        raise refuse(
            "The optimizer may have one of clipnorm, clipvalue and global_clipnorm; keep one of them."
        )
    settings = defaults | options
    learning_rate = float(settings.pop("learning_rate"))
    rule_settings = {key: settings[key] for key in DEFAULTS[name] if key not in COMMON_SETTINGS}
    rate = None if schedule is None else _schedule(schedule, learning_rate, "learning_rate" in options)
    return Optimizer(
        name,
        learning_rate if rate is None else 1.0,
        {key: value for key, value in settings.items() if isinstance(value, bool | int | float)},
        None if schedule is None else schedule["name"],
        settings,
        FACTORIES[name](**rule_settings),
        rate,
    )


def _schedule(table: Any, learning_rate: float, is_given: bool) -> Schedule:
    if not isinstance(table, dict) or table.get("name") not in SCHEDULES:
        raise refuse(
            "The optimizer's `schedule` must be a table with a name, one of " + ", ".join(SCHEDULES) + "."
        )
    name = table["name"]
    settings = {key: value for key, value in table.items() if key != "name"}
    required, optional = SCHEDULE_DEFAULTS[name]
    for key, value in settings.items():
        if key not in required and key not in optional:
            raise refuse(
                f"The schedule {name} has no setting `{key}`; it has {', '.join([*required, *optional])}."
            )
        check_setting(f"schedule {name}", key, value)
    for key in required:
        if key not in settings:
            raise refuse(f"The schedule {name} needs `{key}`.")
    if name == "piecewise_constant_decay":
        if is_given:
            raise refuse(
                "The schedule piecewise_constant_decay has its own `values`; leave out `learning_rate`."
            )
        return SCHEDULES[name](**settings)
    return SCHEDULES[name](learning_rate, **settings)


def compiled_optimizer(model: Any) -> dict[str, Any]:
    """Returns a model's compiled optimizer as a task file's table. Raises Refusal if unsupported."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        raise refuse('No optimizer: write optimizer = { name = "adam" } under [model] in the task file.')
    name = type(optimizer).__name__.lower()
    refuse_own_optimizer(optimizer)
    config = optimizer.get_config()
    if name == "lossscaleoptimizer":
        raise refuse(
            "The compiled optimizer is a LossScaleOptimizer, which belongs to mixed precision; compile the "
            "model with the optimizer inside it, or write that one into the task file."
        )
    if name not in FACTORIES:
        raise refuse(
            f"The compiled optimizer {name} cannot be traced; "
            f"write an optimizer of {', '.join(FACTORIES)} into the task file."
        )
    if config.get("use_ema"):
        raise refuse(
            f"The compiled optimizer {name} averages weights (use_ema), which the rounds' mean replaces; "
            "compile it with use_ema=False or write an optimizer into the task file."
        )
    table = {"name": name} | {key: config[key] for key in DEFAULTS[name]}
    table |= {key: config[key] for key in COMMON_SETTINGS if config.get(key) is not None}
    rate = config["learning_rate"]
    return table | (_compiled_schedule(rate) if isinstance(rate, dict) else {"learning_rate": rate})


def refuse_own_optimizer(optimizer: Any) -> None:
    """Refuses an optimizer of the owner's, whatever it is called. Raises Refusal."""
    kind = type(optimizer)
    if kind is not getattr(keras.optimizers, kind.__name__, None):
        raise refuse(
            f"The compiled optimizer {kind.__name__} is own code, which a bundle cannot follow; write an "
            'optimizer of Keras, such as optimizer = { name = "adam" }, into the task file.'
        )


def _compiled_schedule(serialized: dict[str, Any]) -> dict[str, Any]:
    """Returns a serialized Keras schedule as the task-file keys `learning_rate` and `schedule`."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", str(serialized.get("class_name", ""))).lower()
    if name not in SCHEDULES or serialized.get("registered_name"):
        raise refuse(
            f"The compiled learning-rate schedule {serialized.get('class_name')} cannot be traced; write "
            f"schedule = {{ ... }} with one of {', '.join(SCHEDULES)} into the task file's optimizer."
        )
    config = {k: v for k, v in serialized["config"].items() if k != "name" and v is not None}
    rate = config.pop("initial_learning_rate", None)
    return ({} if rate is None else {"learning_rate": rate}) | {"schedule": {"name": name} | config}
