"""Builds a network for pictures like MobileNetV2 (Sandler et al. 2018), with fewer and narrower blocks."""

from __future__ import annotations

from typing import Any

from keras import Model, layers

from converter.starter_models.shape import StarterShape

# Channels and stride of each block; a block widens its channels by this factor inside.
_BLOCKS = ((16, 1), (24, 2), (24, 1), (32, 2), (32, 1), (64, 2), (64, 1))
_WIDEN, _GROUPS = 4, 8


def build(shape: StarterShape) -> Any:
    """Inverted residual blocks of depthwise convolutions.

    Groups of channels are normalized instead of batches: volunteers' batches differ too much for the latter
    (Hsieh et al. 2020).
    """
    picture = shape.input_layer()
    # Small pictures are not halved before the first block.
    stride = 2 if min(shape.input[:2]) >= 48 else 1
    x = layers.Conv2D(16, 3, stride, padding="same", use_bias=False, name="stem")(picture)
    x = _normalized(x, "stem")
    for number, (channels, stride) in enumerate(_BLOCKS, 1):
        x = _block(x, channels, stride, f"block_{number}")
    x = layers.Conv2D(128, 1, use_bias=False, name="head")(x)
    x = layers.GlobalAveragePooling2D(name="mean")(_normalized(x, "head"))
    x = layers.Dropout(0.2, name="dropout")(x)
    return Model(picture, shape.answer(x), name="mobile_net")


def _block(x: Any, channels: int, stride: int, name: str) -> Any:
    before = x
    x = layers.Conv2D(_WIDEN * x.shape[-1], 1, use_bias=False, name=f"{name}_widen")(x)
    x = _normalized(x, f"{name}_widen")
    x = layers.DepthwiseConv2D(3, stride, padding="same", use_bias=False, name=f"{name}_depthwise")(x)
    x = _normalized(x, f"{name}_depthwise")
    x = layers.Conv2D(channels, 1, use_bias=False, name=f"{name}_narrow")(x)
    x = layers.GroupNormalization(_GROUPS, name=f"{name}_narrow_norm")(x)
    return layers.Add(name=f"{name}_sum")([before, x]) if before.shape == x.shape else x


def _normalized(x: Any, name: str) -> Any:
    x = layers.GroupNormalization(_GROUPS, name=f"{name}_norm")(x)
    return layers.ReLU(6.0, name=f"{name}_relu")(x)
