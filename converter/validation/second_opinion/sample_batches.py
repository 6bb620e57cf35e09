"""Makes the batches on which a bundle is compared with Keras: one padded, one weighted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from converter.objectives.joint_objectives import JointObjectives
from converter.objectives.objective_selection import Objective, Objectives
from converter.tracing.model_ports import ModelPorts, Port

Array = NDArray[Any]
# More rows would cost Keras' eager step time and show nothing else.
MAX_ROWS = 32
ONE_HOT = {
    "categorical_crossentropy",
    "categorical_focal_crossentropy",
    "categorical_hinge",
    "dice",
    "tversky",
}
BINARY = {"binary_crossentropy", "binary_focal_crossentropy", "hinge", "squared_hinge"}


@dataclass(frozen=True)
class SampleBatch:
    """One batch of the task's size: `rows` real examples, then padding as clients make it.

    `weight` [rows] are the examples' weights, None where Keras' users would give none.
    """

    x: tuple[Array, ...]
    y: tuple[Array, ...]
    rows: int
    weight: NDArray[np.float32] | None

    def feeds(self) -> dict[str, Array]:
        """Returns the arrays by the names of a bundle's signatures."""
        size = len(self.x[0])
        weight = np.zeros(size, np.float32)
        weight[: self.rows] = 1.0 if self.weight is None else self.weight
        named = {f"x_{i}": array for i, array in enumerate(self.x)}
        named |= {f"y_{i}": array for i, array in enumerate(self.y)}
        return named | {"sample_weight": weight}


@dataclass(frozen=True)
class Kind:
    """The kind of a batch's numbers: floats from `low` to `high`, whole numbers below the model's bound."""

    low: float
    high: float
    whole: bool


# A model may be defined only for some numbers: logarithms want positive ones, other layers class 0 or 1.
KINDS = (Kind(-1.0, 1.0, True), Kind(0.05, 0.95, True), Kind(0.05, 0.95, False), Kind(1.0, 2.0, False))


def sample_batches(
    model: Any, model_ports: ModelPorts, objectives: Objectives | JointObjectives, size: int
) -> Iterator[tuple[SampleBatch, SampleBatch]]:
    """Yields a padded and a weighted batch of `size` rows, for each of KINDS in turn."""
    bound = _whole_numbers_below(model)
    for number, kind in enumerate(KINDS):
        generator = np.random.default_rng(number)

        def arrays(
            generator: np.random.Generator = generator, kind: Kind = kind
        ) -> tuple[list[Array], list[Array]]:
            below = bound if kind.whole else 2
            x = [_input(generator, (size, *p.shape), p.dtype, kind, below) for p in model_ports.inputs]
            return x, [_label(generator, size, part) for part in objectives.labelled]

        rows = min(size, MAX_ROWS)
        weight = generator.uniform(0.25, 2.0, rows).astype(np.float32)
        yield _padded(*arrays(), (rows + 1) // 2, None), _padded(*arrays(), rows, weight)


def _padded(x: list[Array], y: list[Array], rows: int, weight: NDArray[np.float32] | None) -> SampleBatch:
    """Replaces the rows after `rows` by the first one, as clients do."""
    for array in x + y:
        array[rows:] = array[0]
    return SampleBatch(tuple(x), tuple(y), rows, weight)


def _whole_numbers_below(model: Any) -> int:
    """Returns a number that every embedding and one-hot layer of the model exceeds; 2 without any."""
    sizes = [
        size
        for layer in model._flatten_layers()
        if isinstance(layer, keras.layers.Embedding | keras.layers.CategoryEncoding)
        for size in (getattr(layer, "input_dim", None), getattr(layer, "num_tokens", None))
        if size
    ]
    return max(2, min(sizes, default=2))


def _input(generator: np.random.Generator, shape: tuple[int, ...], dtype: str, kind: Kind, below: int) -> Any:
    if dtype == "int32":
        return generator.integers(0, below, shape, np.int32)
    return generator.uniform(kind.low, kind.high, shape).astype(np.float32)


def _label(generator: np.random.Generator, size: int, part: Objective) -> Any:
    """Returns labels that the loss of an output is defined for."""
    port: Port = part.label
    shape = (size, *port.shape)
    if port.dtype == "int32":
        classes = port.classes or (part.output.shape[-1] if part.output.shape else 2)
        return generator.integers(0, max(classes, 1), shape, np.int32)
    name = part.loss.name if part.loss is not None else ""
    if name in BINARY or name in ONE_HOT:
        if name in BINARY or not port.shape or port.shape[-1] == 1:
            return generator.integers(0, 2, shape).astype(np.float32)
        return np.eye(port.shape[-1], dtype=np.float32)[generator.integers(0, port.shape[-1], shape[:-1])]
    values = generator.uniform(0.05, 0.95, shape)
    if name == "kl_divergence" and port.shape:
        values /= values.sum(-1, keepdims=True)
    return values.astype(np.float32)
