"""4,000 images of CIFAR-10 (Krizhevsky 2009), 400 of each class, measured on 500 of its test images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras

from benchmarks.tasks import Sources, Task
from benchmarks.tasks.cifar.task import CLASSES, choose

EXAMPLES = 4000
# The number of training images per test image; there are few of the latter since each result is measured.
TRAIN_PER_TEST = 8

layers = keras.layers


def prepare(data: Path, folder: Path, seed: int, examples: int | None) -> Sources:
    """Chooses equally many images of each class by the seed."""
    each = (examples or EXAMPLES) // CLASSES
    choose(data / "cifar10_train.zip", folder / "train.zip", each, seed)
    choose(data / "cifar10_test.zip", folder / "test.zip", each // TRAIN_PER_TEST, seed)
    return Sources(folder / "train.zip", test=folder / "test.zip")


def build(filters: int = 16) -> Any:
    """Builds a ResNetV2 (He et al. 2016b), [32, 32, 3] to probabilities of ten classes.

    It has three residual blocks, the first with so many `filters`; its first convolution has a stride of 4.
    With 16 filters there are 78,330 parameters, including batch statistics, and with 44 582,526.
    """
    x = inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(filters, 3, strides=4, padding="same", use_bias=False)(x)
    for width, strides in ((filters, 1), (2 * filters, 2), (4 * filters, 2)):
        y = layers.ReLU()(layers.BatchNormalization(momentum=0.9)(x))
        short = layers.Conv2D(width, 1, strides=strides, use_bias=False)(y) if strides > 1 else x
        y = layers.Conv2D(width, 3, strides=strides, padding="same", use_bias=False)(y)
        y = layers.ReLU()(layers.BatchNormalization(momentum=0.9)(y))
        y = layers.Conv2D(width, 3, padding="same", use_bias=False)(y)
        x = layers.Add()([short, y])
    x = layers.GlobalAveragePooling2D()(layers.ReLU()(layers.BatchNormalization(momentum=0.9)(x)))
    return keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))


TASK = Task(prepare, build, lambda: keras.optimizers.Adam(0.001), batch_size=20, every=1)
