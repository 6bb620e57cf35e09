"""Defaults of Keras 3 for optimizer and schedule settings, and the ranges that keep formulas finite."""

from __future__ import annotations

import re
from typing import Any

from converter.refusal import Refusal

Value = float | bool | None

_MOMENTS: dict[str, Any] = {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
DEFAULTS: dict[str, dict[str, Any]] = {
    "sgd": {"momentum": 0.0, "nesterov": False},
    "momentum": {"momentum": 0.9, "nesterov": False},
    "rmsprop": {"rho": 0.9, "momentum": 0.0, "epsilon": 1e-7, "centered": False},
    "adagrad": {"initial_accumulator_value": 0.1, "epsilon": 1e-7},
    "adadelta": {"rho": 0.95, "epsilon": 1e-7},
    "adam": _MOMENTS | {"amsgrad": False},
    "adamw": {"weight_decay": 0.004} | _MOMENTS | {"amsgrad": False},
    "adamax": _MOMENTS,
    "nadam": _MOMENTS,
    "lion": {"beta_1": 0.9, "beta_2": 0.99},
    "ftrl": {
        "learning_rate_power": -0.5,
        "initial_accumulator_value": 0.1,
        "l1_regularization_strength": 0.0,
        "l2_regularization_strength": 0.0,
        "l2_shrinkage_regularization_strength": 0.0,
        "beta": 0.0,
    },
}
# Optimizers not listed use 0.001.
LEARNING_RATES = {"sgd": 0.01, "momentum": 0.01}
# Settings that every optimizer accepts in addition.
COMMON_SETTINGS = (
    "weight_decay",
    "exclude_from_weight_decay",
    "clipnorm",
    "clipvalue",
    "global_clipnorm",
    "gradient_accumulation_steps",
)
_STAIRS: dict[str, Any] = {"staircase": False}
# The required settings, then the defaults of the optional ones.
SCHEDULE_DEFAULTS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "exponential_decay": (("decay_steps", "decay_rate"), _STAIRS),
    "inverse_time_decay": (("decay_steps", "decay_rate"), _STAIRS),
    "polynomial_decay": (("decay_steps",), {"end_learning_rate": 1e-4, "power": 1.0, "cycle": False}),
    "piecewise_constant_decay": (("boundaries", "values"), {}),
    "cosine_decay": (("decay_steps",), {"alpha": 0.0, "warmup_target": None, "warmup_steps": 0.0}),
    "cosine_decay_restarts": (("first_decay_steps",), {"t_mul": 2.0, "m_mul": 1.0, "alpha": 0.0}),
}

_FLAGS = {"nesterov", "centered", "amsgrad", "staircase", "cycle"}
_LISTS = {"boundaries", "values"}
_STEPS = (1.0, 2.0**24)
# Half-open ranges [low, high).
RANGES = {
    "learning_rate": (0.0, 1e6),
    "momentum": (0.0, 1.0),
    "rho": (0.0, 1.0),
    "beta_1": (0.0, 1.0),
    "beta_2": (0.0, 1.0),
    "epsilon": (1e-12, 1.0),
    "weight_decay": (0.0, 1.0),
    "clipnorm": (0.0, 1e6),
    "clipvalue": (0.0, 1e6),
    "global_clipnorm": (0.0, 1e6),
    "gradient_accumulation_steps": (2.0, 1e6),
    "learning_rate_power": (-1.0, 1e-9),
    "initial_accumulator_value": (0.0, 1e6),
    "l1_regularization_strength": (0.0, 1e6),
    "l2_regularization_strength": (0.0, 1e6),
    "l2_shrinkage_regularization_strength": (0.0, 1e6),
    "beta": (0.0, 1e6),
    "decay_steps": _STEPS,
    "first_decay_steps": _STEPS,
    "warmup_steps": (0.0, 2.0**24),
    "decay_rate": (1e-9, 1e6),
    "end_learning_rate": (0.0, 1e6),
    "warmup_target": (0.0, 1e6),
    "power": (0.0, 1e3),
    "alpha": (0.0, 1e6),
    "t_mul": (1.0, 1e6),
    "m_mul": (1e-9, 1e6),
}
_WHOLE = {"gradient_accumulation_steps"}


def refuse(message: str) -> Refusal:
    """Returns a Refusal of a task file's content."""
    return Refusal(message, "bad-task")


def check_setting(owner: str, key: str, value: Any) -> None:
    """Raises Refusal unless `value` fits the setting `key` of the optimizer or schedule `owner`."""
    if key in _FLAGS:
        if not isinstance(value, bool):
            raise refuse(f"The {owner}'s `{key}` must be true or false.")
    elif key == "exclude_from_weight_decay":
        _check_patterns(owner, key, value)
    elif key in _LISTS:
        if not isinstance(value, list | tuple) or not value or not all(_is_number(item) for item in value):
            raise refuse(f"The {owner}'s `{key}` must be a list of numbers.")
    else:
        low, high = RANGES[key]
        if not _is_number(value) or not low <= value < high:
            raise refuse(f"The {owner}'s `{key}` must be a number from {low:g} to below {high:g}.")
        if key in _WHOLE and value != int(value):
            raise refuse(f"The {owner}'s `{key}` must be a whole number.")


def _check_patterns(owner: str, key: str, value: Any) -> None:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise refuse(f'The {owner}\'s `{key}` must be a list of names, for example ["bias", "gamma"].')
    for item in value:
        try:
            re.compile(item)
        except re.error as error:
            raise refuse(f"The {owner}'s `{key}` has {item!r}, which is no pattern ({error}).") from error


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
