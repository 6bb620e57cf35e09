"""A case of the conformance suite: a model, its task file, the same setup for Keras, and its data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import tree
from numpy.typing import NDArray

from tests.support.keras.recipes import Recipe
from tests.support.keras.values import Array, Values, numbers

SEED = 20


@dataclass(frozen=True)
class Batch:
    """Arrays for each input and for each measured output, and the examples' weights."""

    x: tuple[Array, ...]
    y: tuple[Array, ...]
    sample_weight: NDArray[np.float32]

    def named(self) -> dict[str, Array]:
        """Returns the arrays by the names of a bundle's signatures."""
        arrays = {f"x_{i}": array for i, array in enumerate(self.x)}
        arrays |= {f"y_{j}": array for j, array in enumerate(self.y)}
        return arrays | {"sample_weight": self.sample_weight}

    def rows(self, count: int) -> Batch:
        """Returns the first `count` examples."""
        x, y = tuple(a[:count] for a in self.x), tuple(a[:count] for a in self.y)
        return Batch(x, y, self.sample_weight[:count])


@dataclass(frozen=True)
class Allowance:
    """A larger limit than the suite's, and the reason why float32 cannot do better."""

    limit: float
    reason: str


@dataclass(frozen=True)
class Case:
    """A model, its task file and arguments of `Model.compile`, and makers of its data.

    `recipe` is None where the model is already compiled. `x` and `y` make the values of each input and of
    each output; None in `y` marks an output without labels. `class_weights`, if any, has a weight for each
    class of the first labels. `noise` is the deviation of the noise added to the first weights. `layers` is
    the Python file with the model's own layer classes.
    """

    name: str
    build: Callable[[], Any]
    recipe: Recipe | None = None
    x: tuple[Values, ...] = (numbers,)
    y: tuple[Values | None, ...] = (numbers,)
    batch_size: int = 8
    class_weights: tuple[float, ...] = ()
    noise: float = 0.05
    note: str = ""
    allowance: Allowance | None = None
    layers: Path | None = None

    @property
    def exercises(self) -> str:
        """Returns the purpose of the case."""
        return self.note or (self.build.__doc__ or "").splitlines()[0]

    def task_toml(self) -> str:
        """Returns the smallest task file that the converter accepts for this case."""
        recipe = self.recipe.toml() if self.recipe else ""
        return f'name = "{self.name}"\n\n[model]\nbatch_size = {self.batch_size}\n{recipe}'

    def model(self) -> Any:
        """Returns the model, always with the same first weights."""
        keras.backend.clear_session()
        keras.utils.set_random_seed(SEED)
        model = self.build()
        # Zero biases and unit scales would hide mistakes in their gradients.
        generator = np.random.default_rng(SEED)
        for variable in model.trainable_variables:
            noise = generator.normal(0.0, self.noise, variable.shape).astype(np.float32)
            variable.assign(np.asarray(variable) + noise)
        return model

    def compiled(self) -> Any:
        """Returns the model as Keras trains it."""
        model = self.model()
        if self.recipe is not None:
            model.compile(**self.recipe.arguments())
        return model

    def batches(self, count: int = 10) -> list[Batch]:
        """Returns `count` batches; the third is weighted unevenly, the fourth padded."""
        generator = np.random.default_rng(SEED + 1)
        model = self.build()
        return [self._batch(generator, model, i) for i in range(count)]

    def _batch(self, generator: np.random.Generator, model: Any, index: int) -> Batch:
        x = [make(generator, self._shape(t)) for make, t in zip(self.x, model.inputs, strict=True)]
        measured = zip(self.y, model.outputs, strict=True)
        y = [make(generator, self._shape(t)) for make, t in measured if make is not None]
        weight = np.ones(self.batch_size, np.float32)
        if self.class_weights:
            weight = np.asarray(self.class_weights, np.float32)[y[0]]
        if index == 2:
            weight = weight * generator.uniform(0.25, 2.0, self.batch_size).astype(np.float32)
        if index == 3:
            weight[-3:] = 0.0
            for array in x + y:
                array[-3:] = array[0]
        return Batch(tuple(x), tuple(y), weight)

    def _shape(self, tensor: Any) -> tuple[int, ...]:
        return (self.batch_size, *tensor.shape[1:])


def pack_inputs(model: Any, arrays: tuple[Array, ...]) -> Any:
    """Packs arrays into the nesting of the model's inputs."""
    graph = getattr(model, "_functional", None) or model
    return tree.pack_sequence_as(graph._inputs_struct, list(arrays))


def pack_outputs(case: Case, model: Any, arrays: list[Any]) -> Any:
    """Packs an entry for each output with labels (None for others) into the outputs' nesting."""
    graph = getattr(model, "_functional", None) or model
    entries = iter(arrays)
    flat = [None if make is None else next(entries) for make in case.y]
    if len(flat) == 1:
        return flat[0]
    structure = graph._outputs_struct
    return dict(zip(sorted(structure), flat, strict=True)) if isinstance(structure, dict) else flat
