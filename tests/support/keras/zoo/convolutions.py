"""Every kind of convolution and pooling."""

from __future__ import annotations

from typing import Any

import keras

from tests.support.keras.cases import Case
from tests.support.keras.recipes import Recipe
from tests.support.keras.values import class_numbers

layers = keras.layers


def classifier(shape: tuple[int, ...], *body: Any) -> Any:
    """`body` between an input and a softmax over four classes."""
    head = layers.Dense(4, activation="softmax")
    return keras.Sequential([keras.Input(shape), *body, layers.Flatten(), head])


def cnn() -> Any:
    """Convolution, pooling, dense: the digits task's relatives."""
    return classifier(
        (12, 12, 3),
        layers.Conv2D(8, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(12, 3, strides=2, activation="relu"),
    )


def separable() -> Any:
    """Separable convolutions with strides and a depth multiplier (Chollet 2017)."""
    return classifier(
        (9, 9, 3),
        layers.SeparableConv2D(6, 3, padding="same", activation="relu"),
        layers.SeparableConv2D(8, 3, strides=2, depth_multiplier=2, activation="relu"),
        layers.AveragePooling2D(2),
    )


def depthwise() -> Any:
    """Depthwise convolutions with strides, a depth multiplier and an even kernel."""
    return classifier(
        (9, 9, 3),
        layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2, activation="relu"),
        layers.DepthwiseConv2D(2, strides=2, activation="relu"),
    )


def dilated() -> Any:
    """Dilated convolutions, plain and depthwise."""
    return classifier(
        (10, 10, 2),
        layers.Conv2D(6, 3, dilation_rate=2, padding="same", activation="relu"),
        layers.Conv2D(6, 3, dilation_rate=(1, 3), activation="relu"),
        layers.DepthwiseConv2D(2, dilation_rate=2, activation="relu"),
    )


def transposed() -> Any:
    """Transposed convolutions with strides, `same` and `valid`."""
    return keras.Sequential(
        [
            keras.Input((4, 4, 3)),
            layers.Conv2DTranspose(6, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2DTranspose(4, 2, strides=1, activation="relu"),
            layers.Conv2D(1, 3, padding="same"),
        ]
    )


def conv1d() -> Any:
    """1-D: plain, separable, depthwise, transposed, strided, pooled."""
    return classifier(
        (16, 3),
        layers.Conv1D(6, 3, padding="same", activation="relu"),
        layers.MaxPooling1D(2),
        layers.SeparableConv1D(6, 3, activation="relu"),
        layers.Conv1DTranspose(5, 3, strides=2, padding="same", activation="relu"),
        layers.DepthwiseConv1D(3, strides=2, activation="relu"),
        layers.AveragePooling1D(2),
    )


def conv3d() -> Any:
    """3-D convolution and pooling of a short film."""
    return classifier(
        (4, 6, 6, 2),
        layers.Conv3D(4, 3, padding="same", activation="relu"),
        layers.MaxPooling3D((1, 2, 2)),
        layers.Conv3D(4, 2, strides=2, activation="relu"),
    )


def grouped() -> Any:
    """Grouped convolutions (Xie et al. 2017) and a 1 x 1 convolution behind them."""
    return classifier(
        (8, 8, 4),
        layers.Conv2D(8, 3, groups=2, padding="same", activation="relu"),
        layers.Conv2D(8, 3, groups=4, strides=2, activation="relu"),
        layers.Conv2D(4, 1, activation="relu"),
    )


def reshaping() -> Any:
    """Zero padding, cropping, up-sampling, permuting and reshaping between convolutions."""
    return classifier(
        (6, 6, 2),
        layers.ZeroPadding2D(((1, 0), (2, 1))),
        layers.Conv2D(4, 3, activation="relu"),
        layers.UpSampling2D(2, interpolation="bilinear"),
        layers.Cropping2D(((1, 2), (0, 3))),
        layers.UpSampling2D((1, 2)),
        layers.Permute((2, 1, 3)),
        layers.Conv2D(3, 3, strides=2, activation="relu"),
        layers.GlobalMaxPooling2D(keepdims=True),
        layers.Reshape((3,)),
    )


def inception() -> Any:
    """Branches of different kernels, joined by their channels (Szegedy et al. 2015)."""
    x = inputs = keras.Input((8, 8, 3))
    for _ in range(2):
        branches = [
            layers.Conv2D(4, 1, padding="same", activation="relu")(x),
            layers.Conv2D(4, 3, padding="same", activation="relu")(layers.Conv2D(3, 1)(x)),
            layers.Conv2D(4, (1, 5), padding="same", activation="relu")(x),
            layers.Conv2D(3, 1)(layers.MaxPooling2D(3, 1, padding="same")(x)),
        ]
        x = layers.MaxPooling2D()(layers.Concatenate()(branches))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(x))


_ADAM = {"name": "adam", "learning_rate": 0.002}
_CLASSES = Recipe("sparse_categorical_crossentropy", _ADAM, ["accuracy"])


def _case(build: Any) -> Case:
    return Case(build.__name__, build, _CLASSES, y=(class_numbers,), batch_size=6)


CASES = (
    Case("cnn", cnn, _CLASSES, y=(class_numbers,)),
    _case(separable),
    _case(depthwise),
    _case(dilated),
    Case("transposed", transposed, Recipe("mse", metrics=["mae"]), batch_size=6),
    _case(conv1d),
    _case(conv3d),
    _case(grouped),
    _case(reshaping),
    _case(inception),
)
