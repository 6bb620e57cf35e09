"""The families of keras.applications, each in its smallest variant at the smallest images that it takes.

They are no part of the zoo's CASES: a family has up to fifty million parameters, and one step says whether
its bundle is right (tests/support/keras/application_steps.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import keras
import numpy as np

from tests.support.keras.cases import Batch, Case
from tests.support.keras.recipes import Recipe
from tests.support.keras.values import Values, class_numbers, levels, numbers

CLASSES = 10
_RECIPE = Recipe(
    "sparse_categorical_crossentropy", {"name": "momentum", "learning_rate": 0.001}, ["accuracy"]
)
_apps = keras.applications


class Application(Case):
    """A family; its batch is both weighted unevenly and padded."""

    def batches(self, count: int = 1) -> list[Batch]:
        weighted, padded = super().batches(4)[2:]
        weight = np.where(padded.sample_weight > 0.0, weighted.sample_weight, np.float32(0.0))
        return [Batch(padded.x, padded.y, weight)] * count


def _built(constructor: Callable[..., Any], size: int, settings: dict[str, Any]) -> Any:
    return constructor(weights=None, classes=CLASSES, input_shape=(size, size, 3), **settings)


def _application(
    constructor: Callable[..., Any], size: int = 32, x: Values = numbers, **settings: Any
) -> Application:
    said = "".join(f", {key} {value}" for key, value in settings.items())
    return Application(
        constructor.__name__.lower(),
        partial(_built, constructor, size, settings),
        _RECIPE,
        x=(x,),
        y=(class_numbers,),
        noise=0.0,
        note=f"{constructor.__name__}, {size} x {size}{said}",
    )


CASES = (
    _application(_apps.ConvNeXtTiny, x=levels),
    _application(_apps.DenseNet121),
    _application(_apps.EfficientNetB0, x=levels),
    _application(_apps.EfficientNetV2B0, x=levels),
    _application(_apps.InceptionResNetV2, 75),
    _application(_apps.InceptionV3, 75),
    _application(_apps.MobileNet, alpha=0.25),
    _application(_apps.MobileNetV2, alpha=0.35),
    _application(_apps.MobileNetV3Small, x=levels, alpha=0.75),
    _application(_apps.NASNetMobile),
    _application(_apps.ResNet50),
    _application(_apps.ResNet50V2),
    _application(_apps.VGG16, x=levels),
    _application(_apps.Xception, 71),
)
APPLICATIONS: dict[str, Application] = {case.name: case for case in CASES}


def missing_families() -> list[str]:
    """Returns the modules of keras.applications from which no case is; VGG19 is a larger VGG16."""
    public = {v.__module__ for v in vars(_apps).values() if callable(v)}
    built = {case.build.args[0].__module__ for case in CASES if isinstance(case.build, partial)}
    return sorted(public - built - {"keras.src.applications.vgg19"})
