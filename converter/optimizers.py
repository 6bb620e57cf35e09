"""The optimizers, once, as pure functions on the flat vector; `apply` is traced from them.

Each factory closes over its hyper-parameters and returns a step
`(trainable [T], slots [K, T], gradient [T], learning_rate [], step []) -> (trainable [T], slots [K, T])`,
float32 throughout; `step` counts from 1. The formulas are those of Keras 3, so that a federated run can be
compared with a central one; slots start as zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from converter.refusal import Refusal

Step = Callable[[Any, Any, Any, Any, Any], tuple[Any, Any]]


def sgd() -> Step:
    """Plain stochastic gradient descent (Robbins and Monro 1951)."""

    def step(trainable: Any, slots: Any, gradient: Any, learning_rate: Any, step: Any) -> tuple[Any, Any]:
        del step
        return trainable - learning_rate * gradient, slots

    return step


def momentum(momentum: float = 0.9, nesterov: bool = False) -> Step:
    """Heavy ball (Polyak 1964) or Nesterov's look-ahead (Sutskever et al. 2013, eq. 3-4); slot: velocity."""

    def step(trainable: Any, slots: Any, gradient: Any, learning_rate: Any, step: Any) -> tuple[Any, Any]:
        del step
        change = learning_rate * gradient
        velocity = momentum * slots[0] - change
        moved = momentum * velocity - change if nesterov else velocity
        return trainable + moved, velocity[None]

    return step


def adam(beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7) -> Step:
    """Adam (Kingma and Ba 2015, sec. 2, the order with epsilon outside); slots are the two moments."""

    def step(trainable: Any, slots: Any, gradient: Any, learning_rate: Any, step: Any) -> tuple[Any, Any]:
        first, second = tf.unstack(slots)
        first += (gradient - first) * (1.0 - beta_1)
        second += (tf.square(gradient) - second) * (1.0 - beta_2)
        rate = learning_rate * tf.sqrt(_one_minus_power(beta_2, step)) / _one_minus_power(beta_1, step)
        moved = trainable - first * rate / (tf.sqrt(second) + epsilon)
        return moved, tf.stack([first, second])

    return step


def adamw(
    weight_decay: float = 0.004, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7
) -> Step:
    """Adam with decoupled weight decay on every trainable value (Loshchilov and Hutter 2019, alg. 2)."""
    update = adam(beta_1, beta_2, epsilon)

    def step(trainable: Any, slots: Any, gradient: Any, learning_rate: Any, step: Any) -> tuple[Any, Any]:
        decayed = trainable - trainable * (weight_decay * learning_rate)
        return update(decayed, slots, gradient, learning_rate, step)

    return step


def _one_minus_power(base: float, exponent: Any) -> Any:
    """1 - base ** exponent for 0 < base < 1, to float32 precision on every backend.

    WebGL's pow is too coarse for 1 - 0.999; a series does for small arguments what expm1 does on a CPU.
    """
    # Keras raises the float32 value of the base.
    x = exponent * math.log(float(np.float32(base)))
    series = 1.0 + x / 7.0
    for n in range(6, 1, -1):
        series = 1.0 + x / float(n) * series
    return tf.where(x > -0.5, -x * series, 1.0 - tf.exp(x))


@dataclass(frozen=True)
class Kind:
    """A named optimizer: its factory, number of slots and default hyper-parameters."""

    factory: Callable[..., Step]
    slots: int
    defaults: dict[str, float | bool] = field(default_factory=dict)


_ADAM: dict[str, float | bool] = {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
OPTIMIZERS: dict[str, Kind] = {
    "sgd": Kind(sgd, 0),
    "momentum": Kind(momentum, 1, {"momentum": 0.9, "nesterov": False}),
    "adam": Kind(adam, 2, _ADAM),
    "adamw": Kind(adamw, 2, {"weight_decay": 0.004} | _ADAM),
}
LEARNING_RATES = {"sgd": 0.01, "momentum": 0.01, "adam": 0.001, "adamw": 0.001}
# Half-open ranges [low, high) that keep every formula finite.
RANGES = {"learning_rate": (0.0, 1e6), "momentum": (0.0, 1.0), "beta_1": (1e-6, 1.0), "beta_2": (1e-6, 1.0),
          "epsilon": (1e-12, 1.0), "weight_decay": (0.0, 1.0)}  # fmt: skip


@dataclass(frozen=True)
class Optimizer:
    """What the manifest says about the optimizer, and its step."""

    name: str
    learning_rate: float
    slots: int
    hyperparameters: dict[str, float | bool]
    step: Step


def make_optimizer(table: dict[str, Any]) -> Optimizer:
    """The optimizer of a task file's `optimizer = {...}`. Raises Refusal naming the wrong key."""
    given = dict(table)
    name = given.pop("name")
    if name not in OPTIMIZERS:
        raise Refusal(
            f"The optimizer {name} is not supported; use one of {', '.join(OPTIMIZERS)}.", "bad-task"
        )
    kind = OPTIMIZERS[name]
    settings = {"learning_rate": LEARNING_RATES[name]} | kind.defaults
    for key, value in given.items():
        if key not in settings:
            raise Refusal(
                f"The optimizer {name} has no setting `{key}`; it has {', '.join(settings)}.", "bad-task"
            )
        settings[key] = _checked(key, value)
    learning_rate = float(settings.pop("learning_rate"))
    return Optimizer(name, learning_rate, kind.slots, settings, kind.factory(**settings))


def _checked(key: str, value: Any) -> float | bool:
    if key == "nesterov":
        if isinstance(value, bool):
            return value
        raise Refusal("The optimizer's `nesterov` must be true or false.", "bad-task")
    low, high = RANGES[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value < high:
        raise Refusal(f"The optimizer's `{key}` must be a number from {low} to below {high}.", "bad-task")
    return float(value)


def compiled_optimizer(model: Any) -> dict[str, Any]:
    """A model's compiled optimizer as a task file would write it. Raises Refusal if it is none of ours."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        raise Refusal(
            'No optimizer: write optimizer = { name = "adam" } under [model] in the task file.', "bad-task"
        )
    config = optimizer.get_config()
    name = type(optimizer).__name__.lower()
    extras = [k for k in ("clipnorm", "clipvalue", "global_clipnorm", "use_ema", "amsgrad") if config.get(k)]
    if name == "sgd" and config.get("momentum"):
        name = "momentum"
    if name not in OPTIMIZERS or extras or isinstance(config["learning_rate"], dict):
        raise Refusal(
            f"The compiled optimizer {name} ({', '.join(extras) or 'as configured'}) cannot be traced; "
            f"write an optimizer of {', '.join(OPTIMIZERS)} into the task file.",
            "bad-task",
        )
    keys = ["learning_rate", *OPTIMIZERS[name].defaults]
    return {"name": name} | {key: config[key] for key in keys}
