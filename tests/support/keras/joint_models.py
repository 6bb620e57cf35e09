"""Models that the Keras guides train by an own `train_step`, as functional models, and their objectives."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

LATENT, EMBEDDING = 6, 5


def noise_like(tensor: Any, name: str) -> Any:
    """Standard normal numbers of a tensor's shape: the mean of draws, 0, outside training."""
    return layers.GaussianNoise(1.0, name=name)(ops.zeros_like(tensor))


def autoencoder() -> keras.Model:
    """A variational autoencoder (Kingma and Welling 2014) of images [8, 8, 1]."""
    image = keras.Input((8, 8, 1), name="image")
    hidden = layers.Dense(16, activation="relu", name="encoder")(layers.Flatten()(image))
    mean = layers.Dense(LATENT, name="mean")(hidden)
    log_variance = layers.Dense(LATENT, name="log_variance")(hidden)
    code = mean + ops.exp(0.5 * log_variance) * noise_like(mean, "noise")
    decoded = layers.Dense(16, activation="relu", name="decoder")(code)
    decoded = layers.Reshape((8, 8, 1))(layers.Dense(64, activation="sigmoid", name="pixels")(decoded))
    return keras.Model(
        image, {"reconstruction": decoded, "mean": mean, "log_variance": log_variance}, name="autoencoder"
    )


AUTOENCODER: list[dict[str, Any]] = [
    {
        "losses": [
            {
                "output": "reconstruction",
                "name": "binary_crossentropy",
                "target": "input:image",
                "weight": 64.0,
            },
            {"outputs": ["mean", "log_variance"], "name": "kl_divergence_to_normal"},
        ]
    }
]


def discriminator(dropout: float = 0.2) -> keras.Sequential:
    """Tells real images [8, 8, 1] from made ones, as a logit."""
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(8, 3, strides=2, padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Flatten(),
            layers.Dropout(dropout),
            layers.Dense(1),
        ],
        name="discriminator",
    )


def generator() -> keras.Sequential:
    """Makes images [8, 8, 1] of latent vectors."""
    return keras.Sequential(
        [
            keras.Input((LATENT,)),
            layers.Dense(4 * 4 * 8),
            layers.BatchNormalization(),
            layers.Reshape((4, 4, 8)),
            layers.Conv2DTranspose(8, 4, strides=2, padding="same", activation="relu"),
            layers.Conv2D(1, 3, padding="same", activation="sigmoid"),
        ],
        name="generator",
    )


def adversarial() -> keras.Model:
    """A small DCGAN (Radford et al. 2016), whose noise is drawn inside the model."""
    image = keras.Input((8, 8, 1), name="image")
    latent = noise_like(layers.Flatten()(image)[:, :LATENT], "noise")
    judge = discriminator()
    return keras.Model(image, {"real": judge(image), "fake": judge(generator()(latent))})


LOGITS = {"name": "binary_crossentropy", "from_logits": True}
ADVERSARIAL: list[dict[str, Any]] = [
    {
        "name": "discriminator",
        "trains": ["discriminator"],
        "optimizer": {"name": "adam", "learning_rate": 0.002, "beta_1": 0.5},
        "losses": [
            {"output": "real", "target": 1.0, **LOGITS},
            {"output": "fake", "target": 0.0, **LOGITS},
        ],
    },
    {
        "name": "generator",
        "optimizer": {"name": "adam", "learning_rate": 0.004, "beta_1": 0.5},
        "losses": [{"output": "fake", "target": 1.0, **LOGITS}],
    },
]


def siamese(inputs: tuple[str, ...]) -> keras.Model:
    """One embedding of several inputs [10]; a bias at its end would have no gradient but rounding errors."""
    embedding = keras.Sequential(
        [keras.Input((10,)), layers.Dense(16, activation="relu"), layers.Dense(EMBEDDING, use_bias=False)],
        name="embedding",
    )
    tensors = {name: keras.Input((10,), name=name) for name in inputs}
    return keras.Model(tensors, {name: embedding(tensor) for name, tensor in tensors.items()})


TRIPLET: list[dict[str, Any]] = [
    {"losses": [{"outputs": ["anchor", "positive", "negative"], "name": "triplet", "margin": 0.5}]}
]
CONTRASTIVE: list[dict[str, Any]] = [
    {"losses": [{"outputs": ["left", "right"], "name": "contrastive", "margin": 1.5}]}
]
