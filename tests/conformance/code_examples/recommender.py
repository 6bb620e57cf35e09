"""Keras' code examples for recommenders and tables: embeddings, towers, crosses, gates."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

from tests.conformance.code_examples.own_layers import GraphAttention, PatchEncoder, TransformerBlock
from tests.conformance.code_examples.own_training import Pair

SIZE = 10


def ids(name: str, length: int = 1) -> Any:
    return keras.Input((length,), dtype="int32", name=name)


def embedded(x: Any, size: int = 8) -> Any:
    """An embedding of one number, without the axis of length 1."""
    return layers.Flatten()(
        layers.Embedding(SIZE, size, embeddings_regularizer=keras.regularizers.l2(1e-6))(x)
    )


def event(inputs: Any, x: Any, **settings: Any) -> Any:
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy", metrics=["auc"], **settings)
    return model


def collaborative_filtering() -> Any:
    user, film = ids("user"), ids("film")
    match = layers.Dot(1)([embedded(user), embedded(film)])
    match = match + embedded(user, 1) + embedded(film, 1)
    model = keras.Model([user, film], ops.sigmoid(match))
    model.compile(keras.optimizers.Adam(0.001), keras.losses.BinaryCrossentropy())
    return model


def two_towers() -> Any:
    user, item = ids("user"), ids("item")
    towers = [layers.Dense(4)(layers.Dense(8, activation="relu")(embedded(one))) for one in (user, item)]
    model = keras.Model({"user": user, "item": item}, layers.Dot(1)(towers))
    model.compile(keras.optimizers.Adagrad(0.1), "mse", metrics=[keras.metrics.RootMeanSquaredError()])
    return model


def two_towers_retrieval() -> Any:
    user = ids("user")
    model = Pair(keras.Model(user, embedded(user)), keras.Sequential([layers.Dense(4)]))
    model.compile("adam")
    return model


def behavior_sequence_transformer() -> Any:
    films, target, ratings = ids("films", 5), ids("target"), keras.Input((5,), name="ratings")
    table = layers.Embedding(SIZE, 8)
    sequence = table(films) * ops.expand_dims(ratings, -1)
    sequence = PatchEncoder(6, 8)(ops.concatenate([sequence, table(target)], axis=1))
    x = layers.Flatten()(TransformerBlock(8, 2, 8)(sequence))
    x = layers.Dropout(0.1)(layers.LeakyReLU()(layers.BatchNormalization()(layers.Dense(8)(x))))
    model = keras.Model([films, target, ratings], layers.Dense(1)(x))
    model.compile(keras.optimizers.Adagrad(0.01), "mse", metrics=["mae"])
    return model


def wide_and_deep() -> Any:
    numbers, kind = keras.Input((6,), name="numbers"), ids("kind")
    hot = layers.CategoryEncoding(num_tokens=SIZE, output_mode="one_hot")(kind)
    wide = layers.BatchNormalization()(layers.concatenate([numbers, hot]))
    deep = layers.concatenate([numbers, embedded(kind)])
    for _ in range(2):
        deep = layers.Dropout(0.1)(layers.ReLU()(layers.BatchNormalization()(layers.Dense(8)(deep))))
    model = keras.Model(
        [numbers, kind], layers.Dense(3, activation="softmax")(layers.concatenate([wide, deep]))
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["sparse_categorical_accuracy"])
    return model


def deep_and_cross() -> Any:
    numbers, kind = keras.Input((6,)), ids("kind")
    x0 = cross = layers.concatenate([numbers, embedded(kind)])
    for _ in range(2):
        cross = x0 * layers.Dense(x0.shape[-1])(cross) + cross
    return event([numbers, kind], layers.concatenate([layers.BatchNormalization()(cross), x0]))


def feature_hashing() -> Any:
    kind = ids("kind")
    hashed = layers.Hashing(num_bins=6)(kind)
    return event(kind, layers.Flatten()(layers.Embedding(6, 4)(hashed)))


def feature_lookup() -> Any:
    kind = keras.Input((1,), dtype="string", name="kind")
    lookup = layers.StringLookup(vocabulary=["a", "b"], output_mode="one_hot")
    return event(kind, lookup(kind))


def memory_efficient_embeddings() -> Any:
    item = ids("item")
    quotient = layers.Embedding(4, 8)(ops.floor_divide(item, 3))
    remainder = layers.Embedding(3, 8)(ops.mod(item, 3))
    return event(item, layers.Flatten()(quotient * remainder))


def tab_transformer() -> Any:
    numbers, kinds = keras.Input((3,)), [ids(f"kind_{k}") for k in range(3)]
    columns = ops.stack([embedded(kind) for kind in kinds], axis=1)
    x = TransformerBlock(8, 2, 8)(PatchEncoder(3, 8)(columns))
    x = layers.concatenate([layers.Flatten()(x), layers.LayerNormalization(epsilon=1e-6)(numbers)])
    x = layers.Dropout(0.2)(layers.Dense(8, activation="selu")(layers.BatchNormalization()(x)))
    return event([numbers, *kinds], x)


def gated_residual_networks() -> Any:
    numbers = keras.Input((6,))
    x = layers.Dense(8, activation="elu")(numbers)
    x = layers.Dropout(0.2)(layers.Dense(8)(x))
    gated = layers.Dense(8)(x) * layers.Dense(8, activation="sigmoid")(x)
    x = layers.LayerNormalization()(layers.Dense(8)(numbers) + gated)
    chosen = ops.expand_dims(ops.softmax(layers.Dense(6)(x)), -1)
    return event(numbers, layers.Flatten()(ops.expand_dims(numbers, -1) * chosen))


def neural_decision_forest() -> Any:
    numbers = keras.Input((6,))
    decisions = ops.expand_dims(
        layers.Dense(8, activation="sigmoid")(layers.BatchNormalization()(numbers)), 2
    )
    decisions = ops.concatenate([decisions, 1.0 - decisions], axis=2)
    ways = ops.ones_like(decisions[:, :1, :1])
    for level, begin in enumerate((1, 2)):
        ways = ops.tile(ops.reshape(ways, (-1, 2**level, 1)), (1, 1, 2))
        ways = ways * decisions[:, begin : begin + 2**level, :]
    probabilities = layers.Dense(3, use_bias=False, activation="softmax")(ops.reshape(ways, (-1, 4)))
    model = keras.Model(numbers, probabilities)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["sparse_categorical_accuracy"])
    return model


def deep_learning_recommendation() -> Any:
    numbers, kinds = keras.Input((4,)), [ids(f"kind_{k}") for k in range(2)]
    parts = [layers.Dense(8, activation="relu")(numbers), *(embedded(kind) for kind in kinds)]
    pairs = [layers.Dot(1)([a, b]) for k, a in enumerate(parts) for b in parts[:k]]
    return event(
        [numbers, *kinds], layers.Dense(8, activation="relu")(layers.concatenate([parts[0], *pairs]))
    )


def imbalanced_classification() -> Any:
    model = keras.Sequential([keras.Input((8,)), layers.Normalization(mean=0.5, variance=2.0)])
    for part in (
        layers.Dense(8, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(1, activation="sigmoid"),
    ):
        model.add(part)
    metrics = [
        getattr(keras.metrics, kind)() for kind in ("FalseNegatives", "TruePositives", "Precision", "Recall")
    ]
    model.compile(keras.optimizers.Adam(1e-2), "binary_crossentropy", metrics=metrics)
    return model


def customer_lifetime_value() -> Any:
    numbers = keras.Input((8,))
    x = layers.Dense(8, activation="relu", kernel_initializer="he_normal")(numbers)
    outputs = [layers.Dense(1, activation="softplus", name=name)(x) for name in ("value", "days")]
    model = keras.Model(numbers, outputs)
    model.compile("adam", {"value": "huber", "days": "poisson"}, loss_weights={"value": 1.0, "days": 0.2})
    return model


def graph_attention() -> Any:
    nodes, joined = keras.Input((6, 4)), keras.Input((6, 6))
    x = GraphAttention(4)([GraphAttention(8)([nodes, joined]), joined])
    model = keras.Model([nodes, joined], layers.Dense(3)(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), loss, metrics=["acc"])
    return model


EXAMPLES = {
    "collaborative_filtering_movielens": collaborative_filtering,
    "keras_rs two-tower (rating)": two_towers,
    "keras_rs two-tower (retrieval)": two_towers_retrieval,
    "movielens_recommendations_transformers": behavior_sequence_transformer,
    "wide_deep_cross_networks (wide and deep)": wide_and_deep,
    "wide_deep_cross_networks (cross)": deep_and_cross,
    "structured_data_classification (hashing)": feature_hashing,
    "structured_data_classification (lookup)": feature_lookup,
    "movielens_recommendations_embeddings": memory_efficient_embeddings,
    "tabtransformer": tab_transformer,
    "classification_with_grn_and_vsn": gated_residual_networks,
    "deep_neural_decision_forests": neural_decision_forest,
    "keras_rs dlrm": deep_learning_recommendation,
    "imbalanced_classification": imbalanced_classification,
    "customer_lifetime_value": customer_lifetime_value,
    "gat_node_classification": graph_attention,
}
