"""Models with shared parts, several inputs and several outputs."""

from __future__ import annotations

from typing import Any

import keras

from tests.support.keras.cases import Case
from tests.support.keras.recipes import Recipe
from tests.support.keras.values import class_numbers, counts, events, numbers, one_hot, tokens

layers = keras.layers


def siamese() -> Any:
    """One encoder for both inputs; their distance says whether they are alike (Bromley et al. 1993)."""
    encoder = keras.Sequential(
        [
            keras.Input((6, 6, 1)),
            layers.Conv2D(4, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(6, activation="tanh"),
        ],
        name="encoder",
    )
    left, right = keras.Input((6, 6, 1), name="left"), keras.Input((6, 6, 1), name="right")
    difference = layers.Subtract()([encoder(left), encoder(right)])
    distance = keras.ops.abs(difference)
    return keras.Model([left, right], layers.Dense(1, activation="sigmoid")(distance))


def triplet() -> Any:
    """Anchor, like and unlike through one encoder; the model's output is the loss (Schroff et al. 2015)."""
    encoder = keras.Sequential(
        [keras.Input((6,)), layers.Dense(8, activation="tanh"), layers.Dense(4), layers.UnitNormalization()],
        name="encoder",
    )
    anchor, like, unlike = (keras.Input((6,), name=name) for name in ("anchor", "like", "unlike"))
    near = keras.ops.sum(keras.ops.square(encoder(anchor) - encoder(like)), axis=1, keepdims=True)
    far = keras.ops.sum(keras.ops.square(encoder(anchor) - encoder(unlike)), axis=1, keepdims=True)
    return keras.Model([anchor, like, unlike], keras.ops.relu(near - far + 0.5))


def contrastive() -> Any:
    """Two views of each example against all others of the same row of views (Oord et al. 2018)."""
    views = keras.Input((2, 4, 5))
    x = layers.Dense(4)(layers.Dense(8, activation="relu")(views))
    x = layers.UnitNormalization()(x)
    alike = keras.ops.matmul(x[:, 0], keras.ops.transpose(x[:, 1], (0, 2, 1))) / 0.2
    return keras.Model(views, alike)


def several_inputs() -> Any:
    """Image, words and numbers of one example, joined by different merging layers."""
    image = keras.Input((6, 6, 1), name="image")
    words = keras.Input((4,), dtype="int32", name="words")
    amounts = keras.Input((5,), name="amounts")
    seen = layers.Dense(6)(layers.Flatten()(layers.Conv2D(3, 3, strides=2, activation="relu")(image)))
    read = layers.Dense(6)(layers.GlobalAveragePooling1D()(layers.Embedding(9, 4)(words)))
    counted = layers.Dense(6)(amounts)
    joined = [
        layers.Average()([seen, read, counted]),
        layers.Maximum()([seen, read]),
        layers.Minimum()([read, counted]),
        layers.Dot(axes=1)([seen, counted]),
    ]
    x = layers.Concatenate()(joined)
    return keras.Model([image, words, amounts], layers.Dense(3, activation="softmax")(x))


def several_outputs() -> Any:
    """Three heads with three losses, weighted, and one output that nobody measures."""
    inputs = keras.Input((8,))
    x = layers.Dense(12, activation="relu", name="features")(inputs)
    kind = layers.Dense(3, activation="softmax", name="kind")(x)
    price = layers.Dense(1, name="price")(x)
    visits = layers.Dense(1, activation="softplus", name="visits")(x)
    return keras.Model(inputs, {"kind": kind, "price": price, "visits": visits, "features": x})


def recommender() -> Any:
    """Users and things as embeddings, their dot product and biases (Koren et al. 2009)."""
    user = keras.Input((1,), dtype="int32", name="user")
    thing = keras.Input((1,), dtype="int32", name="thing")
    regularizer = keras.regularizers.L2(1e-3)

    def embedded(ids: Any, size: int) -> Any:
        return layers.Flatten()(layers.Embedding(10, size, embeddings_regularizer=regularizer)(ids))

    match = layers.Dot(axes=1)([embedded(user, 4), embedded(thing, 4)])
    return keras.Model([user, thing], layers.Add()([match, embedded(user, 1), embedded(thing, 1)]))


_ADAM = {"name": "adam", "learning_rate": 0.005}


CASES = (
    Case(
        "siamese",
        siamese,
        Recipe("binary_crossentropy", _ADAM, ["accuracy"]),
        x=(numbers, numbers),
        y=(events,),
        batch_size=6,
    ),
    Case("triplet", triplet, Recipe("mae", _ADAM), x=(numbers,) * 3),
    Case(
        "contrastive",
        contrastive,
        Recipe({"name": "categorical_crossentropy", "from_logits": True}, _ADAM, ["categorical_accuracy"]),
        y=(one_hot,),
        batch_size=6,
    ),
    Case(
        "several-inputs",
        several_inputs,
        Recipe("sparse_categorical_crossentropy", _ADAM, ["accuracy"]),
        x=(numbers, tokens(9), numbers),
        y=(class_numbers,),
    ),
    Case(
        "several-outputs",
        several_outputs,
        Recipe(
            {
                "kind": "sparse_categorical_crossentropy",
                "price": "mse",
                "visits": "poisson",
            },
            {"name": "momentum", "learning_rate": 0.02},
            {"kind": ["accuracy"], "price": ["mae", "root_mean_squared_error"]},
            {"kind": 1.0, "price": 0.5, "visits": 0.25},
        ),
        y=(None, class_numbers, numbers, counts),
    ),
    Case("recommender", recommender, Recipe("mse", _ADAM, ["mae"]), x=(tokens(10), tokens(10))),
)
