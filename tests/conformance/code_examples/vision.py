"""Keras' code examples for vision that classify images, videos, points and bags."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

from tests.conformance.code_examples.own_layers import (
    Involution,
    MILAttention,
    PatchEncoder,
    Patches,
    TransformerBlock,
)

SPARSE = "sparse_categorical_crossentropy"
LOGITS = keras.losses.SparseCategoricalCrossentropy


def classifier(inputs: Any, x: Any, optimizer: Any = "adam") -> Any:
    """A model that ends in the logits of five classes."""
    model = keras.Model(inputs, layers.Dense(5)(x))
    model.compile(optimizer, LOGITS(from_logits=True), metrics=["accuracy"])
    return model


def mnist_convnet() -> Any:
    model = keras.Sequential(
        [
            keras.Input((12, 12, 1)),
            layers.Conv2D(4, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(8, 3, activation="relu"),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
    return model


def image_classification_from_scratch() -> Any:
    inputs = keras.Input((16, 16, 3))
    x = layers.Rescaling(1.0 / 255)(inputs)
    x = layers.Activation("relu")(
        layers.BatchNormalization()(layers.Conv2D(8, 3, strides=2, padding="same")(x))
    )
    before = x
    for size in (8, 12):
        for _ in range(2):
            x = layers.SeparableConv2D(size, 3, padding="same")(layers.Activation("relu")(x))
            x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        x = layers.add([x, layers.Conv2D(size, 1, strides=2, padding="same")(before)])
        before = x
    x = layers.Dropout(0.25)(layers.GlobalAveragePooling2D()(x))
    model = keras.Model(inputs, layers.Dense(1)(x))
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(3e-4), loss, metrics=[keras.metrics.BinaryAccuracy(name="acc")])
    return model


def augmented(inputs: Any) -> Any:
    """Augmentation inside the model, as most examples of vision have it."""
    x = layers.RandomFlip("horizontal")(inputs)
    return layers.RandomZoom(0.2, 0.2)(layers.RandomRotation(0.02)(x))


def vision_transformer() -> Any:
    inputs = keras.Input((8, 8, 3))
    encoded = PatchEncoder(16, 8)(Patches(2)(augmented(inputs)))
    for _ in range(2):
        x = layers.LayerNormalization(epsilon=1e-6)(encoded)
        x = layers.Add()([layers.MultiHeadAttention(2, 8, dropout=0.1)(x, x), encoded])
        y = layers.Dense(16, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(x))
        encoded = layers.Add()([layers.Dense(8)(layers.Dropout(0.1)(y)), x])
    x = layers.Dropout(0.5)(layers.Flatten()(layers.LayerNormalization(epsilon=1e-6)(encoded)))
    return classifier(inputs, x, keras.optimizers.AdamW(1e-3, weight_decay=1e-4))


def mlp_mixer() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = layers.Dense(8)(Patches(2)(inputs))
    for _ in range(2):
        y = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        y = layers.Dense(16)(layers.Dense(16, activation="gelu")(y))
        x = x + layers.Permute((2, 1))(y)
        x = x + layers.Dense(8)(layers.Dense(16, activation="gelu")(layers.LayerNormalization()(x)))
    return classifier(inputs, layers.GlobalAveragePooling1D()(x))


def gated_mlp() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = layers.Dense(8)(Patches(2)(inputs))
    u, v = ops.split(layers.Dense(16, activation="gelu")(layers.LayerNormalization()(x)), 2, axis=2)
    v = layers.Permute((2, 1))(layers.LayerNormalization(epsilon=1e-6)(v))
    v = layers.Permute((2, 1))(layers.Dense(16, bias_initializer="ones")(v))
    return classifier(inputs, layers.GlobalAveragePooling1D()(x + layers.Dense(8)(u * v)))


def conv_mixer() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = layers.BatchNormalization()(layers.Activation("gelu")(layers.Conv2D(8, 2, strides=2)(inputs)))
    for _ in range(2):
        y = layers.BatchNormalization()(
            layers.Activation("gelu")(layers.DepthwiseConv2D(3, padding="same")(x))
        )
        x = layers.Add()([y, x])
        x = layers.BatchNormalization()(layers.Activation("gelu")(layers.Conv2D(8, 1)(x)))
    return classifier(inputs, layers.GlobalAvgPool2D()(x))


def compact_convolutional_transformer() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(8, 3, use_bias=False, activation="relu", padding="same")(inputs)
    x = layers.Reshape((16, 8))(layers.MaxPooling2D(2)(x))
    x = positions_added(x)
    y = layers.LayerNormalization(epsilon=1e-5)(x)
    x = x + layers.MultiHeadAttention(2, 8, dropout=0.1)(y, y)
    weights = ops.softmax(layers.Dense(1)(layers.LayerNormalization(epsilon=1e-5)(x)), axis=1)
    pooled = ops.squeeze(ops.matmul(ops.transpose(weights, (0, 2, 1)), x), axis=-2)
    return classifier(inputs, pooled, keras.optimizers.AdamW())


def positions_added(x: Any) -> Any:
    """Adds an embedding of positions to features."""
    return PatchEncoder(x.shape[1], x.shape[2])(x)


def perceiver() -> Any:
    inputs = keras.Input((8, 8, 3))
    data = PatchEncoder(16, 8)(Patches(2)(inputs))
    # The latent array: one learned row for each position, the same for each image.
    latent = PatchEncoder(4, 8)(ops.zeros_like(data[:, :4, :]))
    for _ in range(2):
        attended = layers.Attention(use_scale=True, dropout=0.2)([latent, data, data])
        latent = layers.LayerNormalization()(attended + latent)
        latent = TransformerBlock(8, 2, 16)(latent)
    return classifier(inputs, layers.GlobalAveragePooling1D()(latent))


def swin_transformer() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = ops.reshape(PatchEncoder(16, 8)(Patches(2)(inputs)), (-1, 4, 4, 8))
    for shift in (0, 1):
        y = ops.roll(layers.LayerNormalization()(x), (-shift, -shift), axis=(1, 2))
        windows = ops.transpose(ops.reshape(y, (-1, 2, 2, 2, 2, 8)), (0, 1, 3, 2, 4, 5))
        windows = ops.reshape(windows, (-1, 4, 4, 8))
        y = layers.MultiHeadAttention(2, 4, attention_axes=(2,))(windows, windows)
        y = ops.transpose(ops.reshape(y, (-1, 2, 2, 2, 2, 8)), (0, 1, 3, 2, 4, 5))
        x = x + ops.roll(ops.reshape(y, (-1, 4, 4, 8)), (shift, shift), axis=(1, 2))
    corners = [x[:, i::2, j::2, :] for i in (0, 1) for j in (0, 1)]
    merged = layers.Dense(16, use_bias=False)(ops.concatenate(corners, axis=-1))
    return classifier(inputs, layers.GlobalAveragePooling2D()(merged))


def external_attention() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = PatchEncoder(16, 8)(Patches(2)(inputs))
    attention = ops.softmax(layers.Dense(4)(layers.LayerNormalization()(x)), axis=1)
    attention = attention / (1e-9 + ops.sum(attention, axis=-1, keepdims=True))
    return classifier(inputs, layers.GlobalAveragePooling1D()(x + layers.Dense(8)(attention)))


def involutional_network() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = layers.ReLU()(Involution(3)(inputs))
    x = layers.ReLU()(Involution(3)(layers.MaxPooling2D(2)(x)))
    return classifier(inputs, layers.Dense(16, activation="relu")(layers.Flatten()(x)))


def pointnet() -> Any:
    def block(x: Any, filters: int) -> Any:
        return layers.Activation("relu")(
            layers.BatchNormalization(momentum=0.0)(layers.Conv1D(filters, 1)(x))
        )

    inputs = keras.Input((16, 3))
    x = layers.GlobalMaxPooling1D()(block(inputs, 8))
    regular = keras.regularizers.OrthogonalRegularizer(0.001)
    x = layers.Dense(9, kernel_initializer="zeros", bias_initializer="ones", kernel_regularizer=regular)(x)
    x = layers.Dot(axes=(2, 1))([inputs, layers.Reshape((3, 3))(x)])
    x = layers.GlobalMaxPooling1D()(block(x, 16))
    return classifier(inputs, layers.Dropout(0.3)(layers.Dense(8, activation="relu")(x)))


def image_3d_classification() -> Any:
    inputs = keras.Input((8, 8, 8, 1))
    x = layers.Conv3D(4, 3, activation="relu")(inputs)
    x = layers.BatchNormalization()(layers.MaxPool3D(2)(x))
    x = layers.Dropout(0.3)(layers.Dense(8, activation="relu")(layers.GlobalAveragePooling3D()(x)))
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))
    schedule = keras.optimizers.schedules.ExponentialDecay(1e-4, 100000, 0.96, staircase=True)
    model.compile(keras.optimizers.Adam(schedule), "binary_crossentropy", metrics=["acc"])
    return model


def video_classification_rnn() -> Any:
    frames, mask = keras.Input((4, 6)), keras.Input((4,), dtype="bool")
    x = layers.GRU(8, return_sequences=True)(frames, mask=mask)
    x = layers.Dense(8, activation="relu")(layers.Dropout(0.4)(layers.GRU(4)(x)))
    model = keras.Model([frames, mask], layers.Dense(5, activation="softmax")(x))
    model.compile("adam", SPARSE, metrics=["accuracy"])
    return model


def video_transformer() -> Any:
    inputs = keras.Input((4, 8))
    x = TransformerBlock(8, 1, 4)(PatchEncoder(4, 8)(inputs))
    return classifier(inputs, layers.Dropout(0.5)(layers.GlobalMaxPooling1D()(x)))


def vivit() -> Any:
    inputs = keras.Input((4, 8, 8, 1))
    x = layers.Reshape((8, 8))(layers.Conv3D(8, (2, 4, 4), strides=(2, 4, 4), padding="valid")(inputs))
    x = TransformerBlock(8, 2, 16)(PatchEncoder(8, 8)(x))
    return classifier(inputs, layers.GlobalAvgPool1D()(layers.LayerNormalization(epsilon=1e-6)(x)))


def attention_mil() -> Any:
    bags = [keras.Input((4, 4)) for _ in range(3)]
    first, second = layers.Dense(8, activation="relu"), layers.Dense(4, activation="relu")
    embedded = [second(first(layers.Flatten()(bag))) for bag in bags]
    stacked = ops.stack(embedded, axis=1)
    alphas = MILAttention(8)(stacked)
    pooled = layers.Flatten()(ops.sum(alphas * stacked, axis=1))
    model = keras.Model(bags, layers.Dense(2, activation="softmax")(pooled))
    model.compile("adam", SPARSE, metrics=["accuracy"])
    return model


def token_learner() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = ops.reshape(PatchEncoder(16, 8)(Patches(2)(inputs)), (-1, 4, 4, 8))
    maps = layers.Conv2D(3, 3, padding="same", activation="sigmoid")(layers.LayerNormalization()(x))
    maps = ops.expand_dims(ops.transpose(ops.reshape(maps, (-1, 16, 3)), (0, 2, 1)), -1)
    learned = ops.mean(maps * ops.reshape(x, (-1, 1, 16, 8)), axis=2)
    return classifier(inputs, layers.GlobalAvgPool1D()(TransformerBlock(8, 2, 16)(learned)))


EXAMPLES = {
    "mnist_convnet": mnist_convnet,
    "image_classification_from_scratch": image_classification_from_scratch,
    "image_classification_with_vision_transformer": vision_transformer,
    "mlp_image_classification (MLP-Mixer)": mlp_mixer,
    "mlp_image_classification (gMLP)": gated_mlp,
    "convmixer": conv_mixer,
    "cct": compact_convolutional_transformer,
    "perceiver_image_classification": perceiver,
    "swin_transformers": swin_transformer,
    "eanet": external_attention,
    "involution": involutional_network,
    "pointnet": pointnet,
    "3D_image_classification": image_3d_classification,
    "video_classification": video_classification_rnn,
    "video_transformers": video_transformer,
    "vivit": vivit,
    "attention_mil_classification": attention_mil,
    "token_learner": token_learner,
}
