"""Losses, metrics and weights of examples on one small network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from tests.support.keras.cases import Case
from tests.support.keras.recipes import Recipe
from tests.support.keras.values import Values, class_numbers, counts, events, numbers, one_hot

layers = keras.layers
ADAM = {"name": "adam", "learning_rate": 0.01}


def network(units: int, activation: str | None = None) -> Callable[[], Any]:
    """A builder of a small network with `units` outputs."""

    def build() -> Any:
        hidden = layers.Dense(8, activation="tanh")
        return keras.Sequential([keras.Input((6,)), hidden, layers.Dense(units, activation=activation)])

    return build


def balanced() -> Any:
    """Rare classes weigh more; the metric is weighted like the loss. Comes compiled."""
    model = network(3, "softmax")()
    model.compile(
        loss="sparse_categorical_crossentropy",
        weighted_metrics=["accuracy"],
        optimizer=keras.optimizers.Adam(0.01),
    )
    return model


def pinball(y: Any, output: Any) -> Any:
    """The quantile loss for Keras, which has none: more than is right costs 0.2, less 0.8."""
    error = y - output
    return keras.ops.mean(keras.ops.maximum(0.8 * error, -0.2 * error), axis=-1)


def _case(name: str, note: str, build: Any, recipe: Recipe, labels: Values = numbers) -> Case:
    return Case(name, build, recipe, y=(labels,), note=note)


CASES = (
    _case(
        "huber",
        "Regression with the Huber loss.",
        network(2),
        Recipe({"name": "huber", "delta": 0.7}, ADAM, ["mae"]),
    ),
    _case(
        "poisson",
        "Regression of counts.",
        network(2, "exponential"),
        Recipe("poisson", ADAM, ["poisson"]),
        counts,
    ),
    _case(
        "log-cosh", "Regression with log-cosh.", network(2), Recipe("log_cosh", ADAM, ["mean_squared_error"])
    ),
    _case(
        "quantile",
        "Regression of a quantile.",
        network(2),
        Recipe({"name": "quantile", "quantile": 0.8}, ADAM, ["mae"], keras_loss=lambda: pinball),
    ),
    _case(
        "multi-label",
        "Several labels at once, from logits.",
        network(5),
        Recipe(
            {"name": "binary_crossentropy", "from_logits": True, "label_smoothing": 0.1},
            ADAM,
            ["binary_accuracy"],
        ),
        events,
    ),
    _case(
        "focal",
        "Focal crossentropy (Lin et al. 2017).",
        network(4, "softmax"),
        Recipe(
            {"name": "categorical_focal_crossentropy", "gamma": 1.5}, ADAM, ["top_k_categorical_accuracy"]
        ),
        one_hot,
    ),
    _case(
        "hinge",
        "A margin between classes.",
        network(4),
        Recipe("categorical_hinge", ADAM, ["categorical_hinge"]),
        one_hot,
    ),
    _case(
        "cosine",
        "Direction of a vector.",
        network(4),
        Recipe("cosine_similarity", ADAM, ["cosine_similarity"]),
    ),
    Case("balanced", balanced, y=(class_numbers,), class_weights=(0.5, 1.0, 3.0)),
)
