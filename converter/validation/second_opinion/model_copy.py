"""Loads the model of a bundle once more, run eagerly by Keras and without the tracer's changes."""

from __future__ import annotations

import contextlib
import io
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import tree
from numpy.typing import NDArray

from converter.conversion_task import ConversionTask
from converter.optimizers.gradient import ReadSum, row_squares
from converter.readers.custom_layers import import_custom, own_lambdas
from converter.readers.sequential_build import sequentials_built_once
from converter.tracing.model_ports import ModelPorts
from converter.tracing.random_inputs import mean_draws
from converter.validation.second_opinion.sample_batches import SampleBatch

Vector = NDArray[np.float32]


class ModelCopy(ABC):
    """The model of `model.keras`; a subclass trains it as Keras' users would.

    `traced` is the model that the converter read; it gives the compiled losses that the task does not name.
    `custom` is the owner's Python file, or None. `gradients` has the gradient of each trainable variable in
    the last step.
    """

    def __init__(
        self, file: Path, traced: Any, task: ConversionTask, model_ports: ModelPorts, custom: Path | None
    ) -> None:
        objects = import_custom(custom) if custom else {}
        # Keras prints; standard output is reserved for the answer.
        with (
            contextlib.redirect_stdout(io.StringIO()),
            keras.saving.custom_object_scope(objects),
            sequentials_built_once(),
            own_lambdas(custom) if custom else contextlib.nullcontext(),
        ):
            self.model = keras.saving.load_model(file, compile=False, safe_mode=custom is None)
            if traced.compiled:
                self.model.compile_from_config(traced.get_compile_config())
        self._task, self._ports = task, model_ports
        self.gradients: list[Vector] = []
        self._taken: list[Any] = []

    @abstractmethod
    def reset(self) -> None:
        """Takes an optimizer that has taken no steps."""

    @abstractmethod
    def train(self, batch: SampleBatch, uniforms: Sequence[NDArray[np.float32]]) -> dict[str, float]:
        """Takes a step; `gradients` then has the gradient of each trainable variable.

        Returns the loss and the metrics. Raises OtherDrawsError.
        """

    @abstractmethod
    def evaluate(self, batch: SampleBatch) -> dict[str, float]:
        """Returns loss and metrics of a batch, without a step."""

    @abstractmethod
    def apply(self, gradients: list[Vector]) -> None:
        """Takes the optimizer's step with the given gradients."""

    @property
    @abstractmethod
    def names_each_output(self) -> bool:
        """Returns whether the names of losses and metrics tell all outputs apart."""

    def take(self, gradients: Sequence[Any]) -> None:
        """Keeps the gradients that the optimizers get: dense, by rows, or None."""
        self._taken = list(gradients)
        self.gradients = [dense(g, v) for g, v in zip(gradients, self._trainable, strict=True)]

    def row_squares(self, reads: Mapping[int, ReadSum]) -> Vector:
        """Returns the squares [Q] of tables that the last step took in (converter/optimizers/gradient.py)."""
        slices = {number: self._taken[number] for number in reads}
        for number, gradient in slices.items():
            if not isinstance(gradient, tf.IndexedSlices):
                whole = self.gradients[number]
                slices[number] = tf.IndexedSlices(whole, tf.range(len(whole)), whole.shape)
        return np.asarray(row_squares(slices, reads), np.float32)

    def vector(self) -> Vector:
        """Returns all variables as a bundle's flat vector [P]."""
        values = [np.asarray(v, np.float32).ravel() for v in self._trainable + self._state]
        return np.concatenate(values) if values else np.zeros(0, np.float32)

    def state_values(self) -> list[Vector]:
        """Returns the float variables that only the model's layers change."""
        return [np.array(v, np.float32) for v in self._state]

    def assign(self, vector: Vector) -> None:
        """Sets all variables from a bundle's flat vector."""
        offset = 0
        for variable in self._trainable + self._state:
            size = int(np.prod(variable.shape))
            variable.assign(vector[offset : offset + size].reshape(variable.shape))
            offset += size

    def predict(self, batch: SampleBatch) -> list[NDArray[Any]]:
        """Returns the outputs of all rows, padding included, in the bundle's order."""
        with mean_draws():
            return list(tree.flatten(self.model.predict_on_batch(self._ports.pack(batch.x))))

    @property
    def _trainable(self) -> list[Any]:
        return list(self.model.trainable_variables)

    @property
    def _state(self) -> list[Any]:
        return [v for v in self.model.non_trainable_variables if v.dtype == keras.config.floatx()]

    def _inputs(self, batch: SampleBatch) -> Any:
        return self._ports.pack([array[: batch.rows] for array in batch.x])


def dense(gradient: Any, variable: Any) -> Vector:
    """Returns a gradient as Keras gives it, perhaps None or by rows, as an array of the variable's shape."""
    if gradient is None:
        return np.zeros(variable.shape, np.float32)
    return np.asarray(tf.convert_to_tensor(gradient), np.float32)


def at_positions(weight: Vector, shape: Sequence[int]) -> Vector:
    """Gives all positions of inner axes `shape` the weight [B] of their example, which Keras does not."""
    return np.broadcast_to(weight.reshape(-1, *[1] * len(shape)), (len(weight), *shape)).copy()
