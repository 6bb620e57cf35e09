"""Each optimizer, with schedules, clipping and accumulation, on one small network."""

from __future__ import annotations

from typing import Any

import keras

from tests.support.keras.cases import Case
from tests.support.keras.recipes import Recipe
from tests.support.keras.values import class_numbers

layers = keras.layers


def network() -> Any:
    """A dense network with a scale that can be left out of weight decay."""
    return keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(8, activation="tanh"),
            layers.LayerNormalization(),
            layers.Dense(3, activation="softmax"),
        ]
    )


def _case(note: str, optimizer: str, learning_rate: float | None = 0.01, **settings: Any) -> Case:
    table = (
        {"name": optimizer} | ({} if learning_rate is None else {"learning_rate": learning_rate}) | settings
    )
    recipe = Recipe("sparse_categorical_crossentropy", table, ["accuracy"])
    name = note.split(":")[0].replace(" ", "-").lower()
    return Case(name, network, recipe, y=(class_numbers,), note=f"Optimizer {note}.")


CASES = (
    _case("sgd: the gradient alone", "sgd", 0.1),
    _case(
        "nesterov: momentum that looks ahead, the gradient clipped by its norm",
        "sgd",
        0.05,
        momentum=0.9,
        nesterov=True,
        clipnorm=0.1,
    ),
    _case(
        "rmsprop: centered, with momentum",
        "rmsprop",
        momentum=0.5,
        centered=True,
        schedule={"name": "exponential_decay", "decay_steps": 3, "decay_rate": 0.8, "staircase": True},
    ),
    _case("adagrad: values clipped", "adagrad", 0.05, clipvalue=0.02),
    _case("adadelta: steps from the steps before", "adadelta", 1.0),
    _case("amsgrad: adam with the largest second moment", "adam", amsgrad=True),
    _case(
        "adamw: decay but for scales, a warmed-up cosine schedule, the whole gradient clipped",
        "adamw",
        weight_decay=0.1,
        exclude_from_weight_decay=["bias", "gamma", "beta"],
        global_clipnorm=0.5,
        schedule={"name": "cosine_decay", "decay_steps": 12, "warmup_target": 0.03, "warmup_steps": 3},
    ),
    _case("adamax: adam with the largest gradient", "adamax"),
    _case("nadam: adam that looks ahead", "nadam"),
    _case("lion: the sign of the momentum", "lion", 0.003, weight_decay=0.01),
    _case("ftrl: with both kinds of regularization", "ftrl", 0.1, l1_regularization_strength=0.001),
    _case(
        "accumulated: three gradients for one update, steps of the rate",
        "sgd",
        None,
        momentum=0.9,
        gradient_accumulation_steps=3,
        schedule={"name": "piecewise_constant_decay", "boundaries": [1], "values": [0.1, 0.05]},
    ),
)
