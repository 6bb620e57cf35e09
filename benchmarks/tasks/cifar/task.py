"""2,000 images of CIFAR-10 (Krizhevsky 2009), 200 of each class, measured on its 10,000 test images."""

from __future__ import annotations

import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import keras
import numpy as np

from benchmarks.tasks import Sources, Task

EXAMPLES = 2000
CLASSES = 10

layers = keras.layers


def prepare(data: Path, folder: Path, seed: int, examples: int | None) -> Sources:
    """Chooses equally many images of each class by the seed.

    If `examples` is given, equally many test images are chosen, too.
    """
    train, test = data / "cifar10_train.zip", data / "cifar10_test.zip"
    chosen = folder / "train.zip"
    choose(train, chosen, (examples or EXAMPLES) // CLASSES, seed)
    if examples is not None:
        choose(test, folder / "test.zip", examples // CLASSES, seed)
        test = folder / "test.zip"
    return Sources(chosen, test=test)


def choose(source: Path, target: Path, each: int, seed: int) -> None:
    """Writes `each` images of every class into the zip `target`."""
    random = np.random.default_rng(seed)
    with zipfile.ZipFile(source) as images, zipfile.ZipFile(target, "w") as chosen:
        classes: dict[str, list[str]] = defaultdict(list)
        for name in sorted(images.namelist()):
            classes[name.partition("/")[0]].append(name)
        for names in classes.values():
            for number in random.permutation(len(names))[:each]:
                chosen.writestr(names[number], images.read(names[number]))


def build() -> Any:
    """Builds a CNN, [32, 32, 3] to probabilities of ten classes; 89,834 parameters.

    It has no batch statistics.
    """
    stack: list[Any] = []
    for filters in (16, 32, 64):
        stack += [layers.Conv2D(filters, 3, padding="same", activation="relu"), layers.MaxPooling2D()]
    stack += [layers.Flatten(), layers.Dropout(0.3)]
    stack += [layers.Dense(64, activation="relu"), layers.Dropout(0.3)]
    return keras.Sequential([keras.Input((32, 32, 3)), *stack, layers.Dense(CLASSES, activation="softmax")])


TASK = Task(prepare, build, lambda: keras.optimizers.Adam(0.001), batch_size=32, every=25)
