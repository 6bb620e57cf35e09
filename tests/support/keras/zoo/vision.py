"""Small relatives of the well-known image networks."""

from __future__ import annotations

from typing import Any

import keras

from tests.support.keras.cases import Case
from tests.support.keras.recipes import Recipe
from tests.support.keras.values import class_numbers, events

layers = keras.layers
CLASSES = 4


def _normalized(x: Any, activation: str | None = "relu") -> Any:
    x = layers.BatchNormalization(momentum=0.9)(x)
    return layers.Activation(activation)(x) if activation else x


def _logits(inputs: Any, x: Any) -> Any:
    return keras.Model(inputs, layers.Dense(CLASSES)(layers.GlobalAveragePooling2D()(x)))


def resnet() -> Any:
    """Pre-activation residual blocks with BatchNormalization (He et al. 2016); comes compiled."""
    x = inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(8, 3, padding="same", use_bias=False)(x)
    for filters, strides in ((8, 1), (12, 2)):
        y = _normalized(x)
        short = layers.Conv2D(filters, 1, strides=strides, use_bias=False)(y) if strides > 1 else x
        y = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(y)
        y = layers.Conv2D(filters, 3, padding="same", use_bias=False)(_normalized(y))
        x = layers.Add()([short, y])
    model = _logits(inputs, _normalized(x))
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        optimizer=keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
    )
    return model


def mobilenet() -> Any:
    """Inverted residuals with depthwise convolutions and relu6 (Sandler et al. 2018)."""
    x = inputs = keras.Input((8, 8, 3))
    x = _normalized(layers.Conv2D(6, 3, strides=2, padding="same", use_bias=False)(x), "relu6")
    for filters, strides in ((6, 1), (8, 2)):
        y = _normalized(layers.Conv2D(12, 1, use_bias=False)(x), "relu6")
        y = layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(y)
        y = layers.Conv2D(filters, 1, use_bias=False)(_normalized(y, "relu6"))
        y = _normalized(y, None)
        x = layers.Add()([x, y]) if strides == 1 else y
    return _logits(inputs, x)


def densenet() -> Any:
    """Every layer sees all before it; transitions halve the size (Huang et al. 2017)."""
    x = inputs = keras.Input((8, 8, 3))
    for _ in range(2):
        for _ in range(2):
            y = layers.Conv2D(4, 3, padding="same", use_bias=False)(_normalized(x))
            x = layers.Concatenate()([x, y])
        x = layers.AveragePooling2D(2)(layers.Conv2D(6, 1, use_bias=False)(_normalized(x)))
    return _logits(inputs, x)


def unet() -> Any:
    """Down and up again with connections across; a class for each pixel (Ronneberger et al. 2015)."""
    inputs = keras.Input((8, 8, 2))
    first = layers.Conv2D(4, 3, padding="same", activation="relu")(inputs)
    second = layers.Conv2D(6, 3, padding="same", activation="relu")(layers.MaxPooling2D()(first))
    middle = layers.Conv2D(8, 3, padding="same", activation="relu")(layers.MaxPooling2D()(second))
    x = layers.Conv2DTranspose(6, 2, strides=2, padding="same")(middle)
    x = layers.Conv2D(6, 3, padding="same", activation="relu")(layers.Concatenate()([x, second]))
    x = layers.Conv2D(4, 3, padding="same", activation="relu")(layers.UpSampling2D()(x))
    x = layers.Concatenate()([x, first])
    return keras.Model(inputs, layers.Conv2D(3, 1, activation="softmax")(x))


def efficientnet() -> Any:
    """Inverted residuals with squeeze-and-excitation, swish, dropped branches (Tan and Le 2019)."""
    x = inputs = keras.Input((8, 8, 3))
    x = _normalized(layers.Conv2D(6, 3, strides=2, padding="same", use_bias=False)(x), "swish")
    for _ in range(2):
        y = _normalized(layers.Conv2D(12, 1, use_bias=False)(x), "swish")
        y = _normalized(layers.DepthwiseConv2D(3, padding="same", use_bias=False)(y), "swish")
        squeezed = layers.Reshape((1, 1, 12))(layers.GlobalAveragePooling2D()(y))
        squeezed = layers.Conv2D(3, 1, activation="swish")(squeezed)
        y = layers.Multiply()([y, layers.Conv2D(12, 1, activation="sigmoid")(squeezed)])
        y = _normalized(layers.Conv2D(6, 1, use_bias=False)(y), None)
        x = layers.Add()([x, layers.Dropout(0.2, noise_shape=(None, 1, 1, 1))(y)])
    return _logits(inputs, x)


def convnext() -> Any:
    """Depthwise 7 x 7, LayerNormalization, gelu, an inverted bottleneck (Liu et al. 2022)."""
    x = inputs = keras.Input((8, 8, 3))
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Conv2D(6, 2, strides=2)(x))
    for _ in range(2):
        y = layers.DepthwiseConv2D(7, padding="same")(x)
        y = layers.LayerNormalization(epsilon=1e-6)(y)
        y = layers.Dense(6)(layers.Dense(24, activation="gelu")(y))
        x = layers.Add()([x, y])
    return _logits(inputs, x)


def vit() -> Any:
    """Patches as tokens with learned places, self-attention (Dosovitskiy et al. 2021)."""
    inputs = keras.Input((8, 8, 3))
    x = layers.Reshape((4, 12))(layers.Conv2D(12, 4, strides=4)(inputs))
    x = x + layers.Embedding(4, 12)(keras.ops.arange(4))
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(2, 6, dropout=0.1)(y, y)
        y = layers.Dense(24, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(12)(y)
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    return keras.Model(inputs, layers.Dense(CLASSES)(x))


def mixer() -> Any:
    """Dense layers across patches, then across channels (Tolstikhin et al. 2021)."""
    inputs = keras.Input((8, 8, 3))
    x = layers.Reshape((16, 8))(layers.Conv2D(8, 2, strides=2)(inputs))
    for _ in range(2):
        y = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        y = layers.Dense(16)(layers.Dense(12, activation="gelu")(y))
        x = layers.Add()([x, layers.Permute((2, 1))(y)])
        y = layers.Dense(16, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(8)(y)])
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    return keras.Model(inputs, layers.Dense(CLASSES)(x))


def detector() -> Any:
    """A box and a class from one image, each with a loss of its own."""
    inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(6, 3, strides=2, activation="relu")(inputs)
    x = layers.Flatten()(layers.Conv2D(6, 2, activation="relu")(x))
    box = layers.Dense(4, activation="sigmoid", name="box")(x)
    thing = layers.Dense(3, activation="softmax", name="thing")(x)
    return keras.Model(inputs, {"box": box, "thing": thing})


_MOMENTUM = {"name": "momentum", "learning_rate": 0.02}
_LOGITS = {"name": "sparse_categorical_crossentropy", "from_logits": True}
_SGD = Recipe(_LOGITS, _MOMENTUM, ["accuracy"])
_ADAMW = Recipe(_LOGITS, {"name": "adamw", "learning_rate": 0.002, "weight_decay": 0.01}, ["accuracy"])


def _case(build: Any, recipe: Recipe) -> Case:
    return Case(build.__name__, build, recipe, y=(class_numbers,), batch_size=6)


CASES = (
    Case("resnet", resnet, y=(class_numbers,)),
    _case(mobilenet, _SGD),
    _case(densenet, _SGD),
    Case(
        "unet",
        unet,
        Recipe("sparse_categorical_crossentropy", _MOMENTUM, ["accuracy"]),
        y=(class_numbers,),
        batch_size=4,
    ),
    _case(efficientnet, _SGD),
    _case(convnext, _ADAMW),
    _case(vit, _ADAMW),
    _case(mixer, _ADAMW),
    Case(
        "detector",
        detector,
        Recipe(
            {"box": "huber", "thing": "sparse_categorical_crossentropy"},
            metrics={"box": ["mae"], "thing": ["accuracy"]},
            loss_weights={"box": 2.0, "thing": 0.5},
        ),
        y=(events, class_numbers),
        batch_size=6,
    ),
)
