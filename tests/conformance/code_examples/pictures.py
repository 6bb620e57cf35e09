"""Keras' code examples for vision that give pictures, masks, places, embeddings or letters."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

from tests.conformance.code_examples.own_layers import CTCLayer, PatchEncoder, Patches
from tests.conformance.code_examples.own_training import (
    CenteredRMSprop,
    OwnLoss,
    OwnStep,
    Pair,
    SupervisedContrastiveLoss,
    box_loss,
    charbonnier_loss,
    contrastive_loss,
    dice_loss,
)


def compiled(model: Any, loss: Any, optimizer: Any = "adam", **settings: Any) -> Any:
    model.compile(optimizer, loss, **settings)
    return model


def convolved(x: Any, filters: int, **settings: Any) -> Any:
    """A convolution, batch normalization and relu."""
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False, **settings)(x)
    return layers.ReLU()(layers.BatchNormalization()(x))


def unet() -> Any:
    inputs = keras.Input((16, 16, 3))
    x = convolved(inputs, 4, strides=2)
    before = x
    for filters in (6, 8):
        x = layers.Activation("relu")(x)
        x = layers.BatchNormalization()(layers.SeparableConv2D(filters, 3, padding="same")(x))
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        x = layers.add([x, layers.Conv2D(filters, 1, strides=2, padding="same")(before)])
        before = x
    for filters in (8, 6, 4):
        x = layers.Activation("relu")(x)
        x = layers.BatchNormalization()(layers.Conv2DTranspose(filters, 3, padding="same")(x))
        x = layers.UpSampling2D(2)(x)
        x = layers.add([x, layers.Conv2D(filters, 1, padding="same")(layers.UpSampling2D(2)(before))])
        before = x
    outputs = layers.Conv2D(3, 3, activation="softmax", padding="same")(x)
    return compiled(keras.Model(inputs, outputs), "sparse_categorical_crossentropy")


def deeplab() -> Any:
    inputs = keras.Input((16, 16, 3))
    low = convolved(inputs, 4, strides=2)
    x = convolved(low, 8, strides=2)
    pooled = layers.AveragePooling2D(pool_size=(4, 4))(x)
    pooled = layers.UpSampling2D((4, 4), interpolation="bilinear")(convolved(pooled, 4))
    branches = [convolved(x, 4, dilation_rate=rate) for rate in (1, 2, 3)]
    x = convolved(layers.Concatenate()([pooled, *branches]), 4)
    x = layers.Concatenate()([layers.UpSampling2D((2, 2), interpolation="bilinear")(x), low])
    x = layers.UpSampling2D((2, 2), interpolation="bilinear")(convolved(x, 4))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return compiled(keras.Model(inputs, layers.Conv2D(3, 1, padding="same")(x)), loss, metrics=["accuracy"])


def boundary_aware_segmentation() -> Any:
    inputs = keras.Input((8, 8, 3))
    coarse = layers.Conv2D(1, 3, padding="same", activation="sigmoid")(convolved(inputs, 4))
    refined = layers.Conv2D(1, 3, padding="same", activation="sigmoid")(convolved(coarse, 4))
    model = keras.Model(inputs, [coarse, refined])
    return compiled(model, [dice_loss, dice_loss], metrics=[["mae"], ["mae"]])


def super_resolution() -> Any:
    inputs = keras.Input((6, 6, 1))
    x = layers.Conv2D(8, 5, padding="same", activation="relu", kernel_initializer="orthogonal")(inputs)
    x = layers.Conv2D(4, 3, padding="same", activation="relu")(x)
    x = ops.transpose(ops.reshape(x, (-1, 6, 6, 2, 2)), (0, 1, 3, 2, 4))
    return compiled(keras.Model(inputs, ops.reshape(x, (-1, 12, 12, 1))), "mse")


def low_light_restoration() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = convolved(inputs, 4)
    weights = layers.Dense(4, activation="sigmoid")(layers.GlobalAveragePooling2D(keepdims=True)(x))
    x = layers.Add()([layers.Conv2D(3, 3, padding="same")(x * weights), inputs])
    return compiled(keras.Model(inputs, x), charbonnier_loss)


def zero_dce() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = inputs
    curves = layers.Conv2D(6, 3, padding="same", activation="tanh")(convolved(x, 4))
    for curve in ops.split(curves, 2, axis=3):
        x = x + curve * (ops.square(x) - x)
    return compiled(OwnStep(inputs, x), None)


def autoencoder() -> Any:
    inputs = keras.Input((12, 12, 1))
    x = layers.Conv2D(4, 3, activation="relu", padding="same")(inputs)
    x = layers.MaxPooling2D(2, padding="same")(x)
    x = layers.Conv2DTranspose(4, 3, strides=2, activation="relu", padding="same")(x)
    x = layers.Conv2D(1, 3, activation="sigmoid", padding="same")(x)
    return compiled(keras.Model(inputs, x), "binary_crossentropy")


def siamese_contrastive() -> Any:
    x = keras.Input((8, 8, 1))
    y = layers.AveragePooling2D(2)(layers.Conv2D(4, 3, activation="tanh")(layers.BatchNormalization()(x)))
    embedding = keras.Model(x, layers.Dense(4, activation="tanh")(layers.Flatten()(y)))
    first, second = keras.Input((8, 8, 1)), keras.Input((8, 8, 1))
    squares = ops.sum(ops.square(embedding(first) - embedding(second)), axis=1, keepdims=True)
    distance = ops.sqrt(ops.maximum(squares, keras.config.epsilon()))
    outputs = layers.Dense(1, activation="sigmoid")(layers.BatchNormalization()(distance))
    model = keras.Model([first, second], outputs)
    return compiled(model, contrastive_loss, "RMSprop", metrics=["accuracy"])


def siamese_lambda() -> Any:
    first, second = keras.Input((6,)), keras.Input((6,))
    shared = layers.Dense(4, activation="relu")
    distance = layers.Lambda(lambda pair: abs(pair[0] - pair[1]))([shared(first), shared(second)])
    model = keras.Model([first, second], layers.Dense(1, activation="sigmoid")(distance))
    return compiled(model, "binary_crossentropy")


def metric_learning() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(8, 3, strides=2, activation="relu")(inputs))
    return compiled(OwnStep(inputs, layers.UnitNormalization()(layers.Dense(4)(x))), None)


def supervised_contrastive() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(8, 3, strides=2, activation="relu")(inputs))
    model = keras.Model(inputs, layers.Dense(4, activation="relu")(x))
    return compiled(model, SupervisedContrastiveLoss(0.05))


def knowledge_distillation() -> Any:
    inputs = keras.Input((6,))
    return compiled(OwnLoss(inputs, layers.Dense(3)(layers.Dense(4, activation="relu")(inputs))), "mse")


def contrastive_pretraining() -> Any:
    inputs = keras.Input((6,))
    return compiled(
        Pair(keras.Model(inputs, layers.Dense(4)(inputs)), keras.Sequential([layers.Dense(3)])), None
    )


def gradient_centralization() -> Any:
    model = keras.Sequential(
        [keras.Input((8, 8, 3)), layers.Conv2D(4, 3, activation="relu"), layers.Flatten()]
    )
    model.add(layers.Dense(1, activation="sigmoid"))
    return compiled(model, "binary_crossentropy", CenteredRMSprop(1e-4))


def captcha_ocr() -> Any:
    images, labels = keras.Input((16, 8, 1), name="image"), keras.Input((3,), name="label")
    x = layers.MaxPooling2D(2)(layers.Conv2D(4, 3, activation="relu", padding="same")(images))
    x = layers.Dense(8, activation="relu")(layers.Reshape((8, 16))(x))
    x = layers.Bidirectional(layers.LSTM(8, return_sequences=True, dropout=0.25))(x)
    outputs = CTCLayer(name="ctc_loss")(labels, layers.Dense(6, activation="softmax", name="letters")(x))
    return compiled(keras.Model([images, labels], outputs), None)


def handwriting_recognition() -> Any:
    inputs = keras.Input((16, 8, 1))
    x = layers.Reshape((8, 16))(layers.MaxPooling2D(2)(layers.Conv2D(4, 3, padding="same")(inputs)))
    x = layers.Bidirectional(layers.LSTM(8, return_sequences=True))(x)
    return compiled(keras.Model(inputs, layers.Dense(6)(x)), keras.losses.CTC())


def object_detection() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = PatchEncoder(16, 8)(Patches(2)(inputs))
    x = layers.Add()([layers.MultiHeadAttention(2, 8, dropout=0.1)(x, x), x])
    x = layers.Dense(8, activation="gelu")(layers.Dropout(0.3)(layers.Flatten()(x)))
    optimizer = keras.optimizers.AdamW(1e-3, weight_decay=1e-4)
    return compiled(keras.Model(inputs, layers.Dense(4)(x)), keras.losses.MeanSquaredError(), optimizer)


def retinanet_heads() -> Any:
    inputs = keras.Input((8, 8, 3))
    fine = convolved(inputs, 4, strides=2)
    coarse = convolved(fine, 4, strides=2)
    fine = layers.Conv2D(4, 1)(fine) + layers.UpSampling2D(2)(coarse)
    places = [layers.Reshape((-1, 4))(layers.Conv2D(4, 3, padding="same")(x)) for x in (fine, coarse)]
    kinds = [layers.Reshape((-1, 3))(layers.Conv2D(3, 3, padding="same")(x)) for x in (fine, coarse)]
    outputs = {"box": layers.Concatenate(axis=1)(places), "kind": layers.Concatenate(axis=1)(kinds)}
    focal = keras.losses.BinaryFocalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.SGD(0.01, momentum=0.9)
    model = keras.Model(inputs, outputs)
    return compiled(
        model, {"box": box_loss, "kind": focal}, optimizer, loss_weights={"box": 0.5, "kind": 1.0}
    )


def keypoint_detection() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = layers.Dropout(0.3)(convolved(inputs, 4))
    x = layers.SeparableConv2D(6, 5, strides=2, activation="relu")(x)
    return compiled(keras.Model(inputs, layers.SeparableConv2D(6, 2, activation="sigmoid")(x)), "mse")


def next_frame_prediction() -> Any:
    inputs = keras.Input((3, 6, 6, 1))
    x = layers.ConvLSTM2D(4, 3, padding="same", return_sequences=True, activation="relu")(inputs)
    x = layers.BatchNormalization()(x)
    x = layers.Conv3D(1, 3, activation="sigmoid", padding="same")(x)
    return compiled(keras.Model(inputs, x), "binary_crossentropy")


EXAMPLES = {
    "oxford_pets_image_segmentation": unet,
    "deeplabv3_plus": deeplab,
    "basnet_segmentation": boundary_aware_segmentation,
    "super_resolution_sub_pixel": super_resolution,
    "mirnet": low_light_restoration,
    "zero_dce": zero_dce,
    "autoencoder": autoencoder,
    "siamese_contrastive": siamese_contrastive,
    "siamese_contrastive (with Lambda)": siamese_lambda,
    "metric_learning": metric_learning,
    "supervised_contrastive_learning": supervised_contrastive,
    "knowledge_distillation": knowledge_distillation,
    "simsiam": contrastive_pretraining,
    "gradient_centralization": gradient_centralization,
    "captcha_ocr": captcha_ocr,
    "handwriting_recognition": handwriting_recognition,
    "object_detection_using_vision_transformer": object_detection,
    "retinanet": retinanet_heads,
    "keypoint_detection": keypoint_detection,
    "conv_lstm": next_frame_prediction,
}
