"""A case of the conformance suite: a model, its task file, the same said to Keras, and its data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import tree
from numpy.typing import NDArray

SEED = 20
Array = NDArray[Any]
Values = Callable[[np.random.Generator, tuple[int, ...]], Array]


@dataclass(frozen=True)
class Batch:
    """Arrays for each input and for each output that is measured, and the examples' weights."""

    x: tuple[Array, ...]
    y: tuple[Array, ...]
    sample_weight: NDArray[np.float32]

    def named(self) -> dict[str, Array]:
        """The arrays by the names of a bundle's signatures."""
        arrays = {f"x_{i}": array for i, array in enumerate(self.x)}
        arrays |= {f"y_{j}": array for j, array in enumerate(self.y)}
        return arrays | {"sample_weight": self.sample_weight}

    def rows(self, count: int) -> Batch:
        """The first `count` examples."""
        x, y = tuple(a[:count] for a in self.x), tuple(a[:count] for a in self.y)
        return Batch(x, y, self.sample_weight[:count])


def numbers(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Normal float32 numbers."""
    return generator.normal(0.0, 1.0, shape).astype(np.float32)


def counts(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Whole, not negative float32 numbers."""
    return generator.poisson(2.0, shape).astype(np.float32)


def events(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """0.0 or 1.0, each on its own."""
    return generator.integers(0, 2, shape).astype(np.float32)


def one_hot(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A single 1.0 along the last axis."""
    return np.eye(shape[-1], dtype=np.float32)[generator.integers(0, shape[-1], shape[:-1])]


def class_numbers(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """int32 labels for outputs of `shape`, whose last axis is the classes."""
    return generator.integers(0, shape[-1], shape[:-1]).astype(np.int32)


def tokens(vocabulary: int, lowest: int = 0) -> Values:
    """int32 token ids from `lowest` to below `vocabulary`; `lowest` = 0 may be masked."""

    def values(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return generator.integers(lowest, vocabulary, shape).astype(np.int32)

    return values


@dataclass(frozen=True)
class Case:
    """A model, what its task file says under [model], and the same as arguments of `Model.compile`.

    `compile` is None where the model comes compiled. `x` and `y` make the values of each input and of each
    output; None in `y` stands for an output without labels.
    """

    name: str
    build: Callable[[], Any]
    table: str
    compile: Callable[[], dict[str, Any]] | None = None
    x: tuple[Values, ...] = (numbers,)
    y: tuple[Values | None, ...] = (numbers,)
    batch_size: int = 8

    def task_toml(self) -> str:
        """The smallest task file that the converter accepts for this case."""
        return f'name = "{self.name}"\n\n[model]\nbatch_size = {self.batch_size}\n{self.table}\n'

    def model(self) -> Any:
        """The model with the same first weights every time."""
        keras.utils.set_random_seed(SEED)
        model = self.build()
        # Zero biases and unit scales would hide mistakes in their gradients.
        generator = np.random.default_rng(SEED)
        for variable in model.trainable_variables:
            noise = generator.normal(0.0, 0.05, variable.shape).astype(np.float32)
            variable.assign(np.asarray(variable) + noise)
        return model

    def compiled(self) -> Any:
        """The model as Keras trains it."""
        model = self.model()
        if self.compile is not None:
            model.compile(**self.compile())
        return model

    def batches(self, count: int = 10) -> list[Batch]:
        """`count` batches; the third is weighted unevenly, the fourth padded."""
        generator = np.random.default_rng(SEED + 1)
        model = self.build()
        return [self._batch(generator, model, i) for i in range(count)]

    def _batch(self, generator: np.random.Generator, model: Any, index: int) -> Batch:
        x = [make(generator, self._shape(t)) for make, t in zip(self.x, model.inputs, strict=True)]
        measured = zip(self.y, model.outputs, strict=True)
        y = [make(generator, self._shape(t)) for make, t in measured if make is not None]
        weight = np.ones(self.batch_size, np.float32)
        if index == 2:
            weight = generator.uniform(0.25, 2.0, self.batch_size).astype(np.float32)
        if index == 3:
            weight[-3:] = 0.0
            for array in x + y:
                array[-3:] = 0
        return Batch(tuple(x), tuple(y), weight)

    def _shape(self, tensor: Any) -> tuple[int, ...]:
        return (self.batch_size, *tensor.shape[1:])


def pack_inputs(model: Any, arrays: tuple[Array, ...]) -> Any:
    """Arrays in the nesting of the model's inputs."""
    graph = getattr(model, "_functional", None) or model
    return tree.pack_sequence_as(graph._inputs_struct, list(arrays))


def pack_outputs(case: Case, model: Any, arrays: list[Any]) -> Any:
    """One entry for each output with labels, in the nesting of the model's outputs; None for the others."""
    graph = getattr(model, "_functional", None) or model
    entries = iter(arrays)
    flat = [None if make is None else next(entries) for make in case.y]
    if len(flat) == 1:
        return flat[0]
    structure = graph._outputs_struct
    return dict(zip(sorted(structure), flat, strict=True)) if isinstance(structure, dict) else flat
