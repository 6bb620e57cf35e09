"""Autoencoders."""

from __future__ import annotations

from typing import Any

import keras

from tests.support.keras.cases import Case
from tests.support.keras.recipes import Recipe
from tests.support.keras.values import fractions, numbers, zeros

layers = keras.layers


def autoencoder() -> Any:
    """Convolutional autoencoder with transposed convolutions and a crossentropy for each pixel."""
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2, padding="same"),
            layers.Conv2D(4, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2, padding="same"),
            layers.Conv2DTranspose(4, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2DTranspose(4, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2D(1, 3, padding="same", activation="sigmoid"),
        ]
    )


def sparse_autoencoder() -> Any:
    """Dense autoencoder of noisy inputs with shared sizes and a Kullback-Leibler loss."""
    x = inputs = keras.Input((8,))
    x = layers.GaussianNoise(0.1)(x)
    x = layers.Dense(3, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(8, activation="softmax")(x))


def _encoded(inputs: Any) -> tuple[Any, Any]:
    x = layers.Dense(8, activation="tanh")(inputs)
    return layers.Dense(2)(x), layers.Dense(2)(x)


def vae() -> Any:
    """Variational autoencoder (Kingma and Welling 2014) of built-in parts: the divergence is an output."""
    ops = keras.ops
    inputs = keras.Input((6,))
    mean, log_variance = _encoded(inputs)
    normal = layers.GaussianNoise(1.0)(ops.zeros_like(mean))
    z = mean + ops.exp(0.5 * log_variance) * normal
    rebuilt = layers.Dense(6, name="rebuilt")(layers.Dense(8, activation="tanh")(z))
    divergence = -0.5 * ops.mean(1.0 + log_variance - mean**2 - ops.exp(log_variance), axis=1, keepdims=True)
    return keras.Model(
        inputs, {"rebuilt": rebuilt, "divergence": layers.Identity(name="divergence")(divergence)}
    )


_ADAM = {"name": "adam", "learning_rate": 0.005}
_VAE = Recipe(
    {"divergence": "mae", "rebuilt": "mse"}, _ADAM, loss_weights={"divergence": 0.1, "rebuilt": 1.0}
)

CASES = (
    Case(
        "autoencoder",
        autoencoder,
        Recipe("binary_crossentropy", _ADAM, ["mae"]),
        x=(fractions,),
        y=(fractions,),
        batch_size=4,
    ),
    Case(
        "sparse-autoencoder",
        sparse_autoencoder,
        Recipe("kl_divergence", _ADAM, ["cosine_similarity"]),
        y=(fractions,),
    ),
    Case("vae", vae, _VAE, y=(zeros, numbers)),
)
