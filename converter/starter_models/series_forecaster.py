"""Builds a forecaster for time series: causal convolutions with growing gaps (van den Oord et al. 2016)."""

from __future__ import annotations

from typing import Any

from keras import Model, layers

from converter.starter_models.shape import StarterShape

_WIDTH, _KERNEL, _MOST_LAYERS = 32, 3, 6


def build(shape: StarterShape) -> Any:
    """Each convolution looks back twice as far as the one before; together they see the whole window."""
    series = shape.input_layer()
    x = layers.Conv1D(_WIDTH, 1, name="widen")(series)
    gap = 1
    for number in range(1, _MOST_LAYERS + 1):
        if number > 1 and gap * (_KERNEL - 1) >= shape.input[0]:
            break
        y = layers.Conv1D(
            _WIDTH, _KERNEL, padding="causal", dilation_rate=gap, activation="relu", name=f"conv_{number}"
        )(x)
        x = layers.Add(name=f"sum_{number}")([x, y])
        gap *= 2
    # The last place has seen all others, as far as the gaps reach; the mean stands for what lies before.
    last = layers.Flatten(name="last")(layers.Cropping1D((shape.input[0] - 1, 0), name="crop")(x))
    mean = layers.GlobalAveragePooling1D(name="mean")(x)
    x = layers.Dense(_WIDTH, activation="relu", name="dense")(layers.Concatenate(name="both")([last, mean]))
    return Model(series, shape.answer(x), name="series_forecaster")
