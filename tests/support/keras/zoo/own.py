"""Models with Layer classes of their owner, from a file given to `--custom`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras

from tests.support.keras.cases import Case
from tests.support.keras.recipes import Recipe
from tests.support.keras.values import numbers, zeros
from tests.support.keras.zoo.own_layers import Divergence, Gate, Sampling

layers = keras.layers


def own_vae() -> Any:
    """Variational autoencoder whose sampling and divergence are the owner's own Layer classes."""
    inputs = keras.Input((6,))
    x = layers.Dense(8, activation="tanh")(inputs)
    mean, log_variance = layers.Dense(2)(x), layers.Dense(2)(x)
    z = Sampling()([mean, log_variance])
    rebuilt = layers.Dense(6, name="rebuilt")(layers.Dense(8, activation="tanh")(z))
    divergence = Divergence(name="divergence")([mean, log_variance])
    return keras.Model(inputs, {"rebuilt": rebuilt, "divergence": divergence})


def own_layer() -> Any:
    """A Layer class of the owner with variables, settings and `keras.ops`."""
    return keras.Sequential([keras.Input((6,)), Gate(2.0), layers.Dense(8, "relu"), Gate(), layers.Dense(2)])


_ADAM = {"name": "adam", "learning_rate": 0.005}
_MOMENTUM = {"name": "momentum", "learning_rate": 0.02}
_LAYERS = Path(__file__).with_name("own_layers.py")

CASES = (
    Case(
        "own-vae",
        own_vae,
        Recipe(
            {"divergence": "mae", "rebuilt": "mse"},
            _MOMENTUM,
            loss_weights={"divergence": 0.1, "rebuilt": 1.0},
        ),
        y=(zeros, numbers),
        layers=_LAYERS,
    ),
    Case("own-layer", own_layer, Recipe("mse", _ADAM, ["mae"]), layers=_LAYERS),
)
