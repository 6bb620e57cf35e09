"""Runs the model of a bundle as its users would: compiled by Keras, one `train_on_batch` after the other."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import tree
from keras.src.trainers.data_adapters.data_adapter_utils import class_weight_to_sample_weights
from numpy.typing import NDArray

from converter.conversion_task import ConversionTask
from converter.objectives.compile_arguments import compile_arguments, output_structure
from converter.objectives.keras_objects import keras_optimizer
from converter.objectives.objective_selection import Objective, Objectives
from converter.tracing.attribute_patch import patched_attributes
from converter.tracing.model_ports import ModelPorts
from converter.tracing.random_inputs import mean_draws
from converter.validation.second_opinion.fixed_draws import fixed_draws
from converter.validation.second_opinion.model_copy import ModelCopy, Vector, at_positions
from converter.validation.second_opinion.sample_batches import SampleBatch


class KerasCopy(ModelCopy):
    """The model of `model.keras`, compiled as the task says."""

    def __init__(
        self,
        file: Path,
        traced: Any,
        task: ConversionTask,
        model_ports: ModelPorts,
        objectives: Objectives,
        custom: Path | None,
    ) -> None:
        super().__init__(file, traced, task, model_ports, custom)
        self._objectives = objectives
        self._arguments = compile_arguments(self.model, task, model_ports.outputs)
        self.reset()

    def reset(self) -> None:
        """Compiles the model again, with a new optimizer."""
        optimizer = keras_optimizer(self._task.optimizer, self.model)
        # A model's class may have its own `compile`, which takes other arguments.
        keras.Model.compile(
            self.model, optimizer=optimizer, run_eagerly=True, jit_compile=False, **self._arguments
        )

    def train(self, batch: SampleBatch, uniforms: Sequence[NDArray[np.float32]]) -> dict[str, float]:
        """Takes a step; `gradients` then has the gradient of each trainable variable.

        Returns the loss and the metrics. Raises OtherDrawsError.
        """
        self.gradients = [np.zeros(v.shape, np.float32) for v in self._trainable]
        data = self._inputs(batch), self._labels(batch), self._weights(batch)
        with self._tapped(), fixed_draws(uniforms):
            return dict(self.model.train_on_batch(*data, return_dict=True))

    def evaluate(self, batch: SampleBatch) -> dict[str, float]:
        """Returns loss and metrics as `Model.evaluate` gives them."""
        data = self._inputs(batch), self._labels(batch), self._at_positions(batch, batch.weight)
        with mean_draws():
            return dict(self.model.test_on_batch(*data, return_dict=True))

    def apply(self, gradients: list[Vector]) -> None:
        """Takes the optimizer's step with the given gradients."""
        self.model.optimizer.apply([tf.constant(part) for part in gradients], self._trainable)

    @property
    def names_each_output(self) -> bool:
        """Returns whether Keras' names of losses and metrics tell all outputs apart."""
        graph = getattr(self.model, "_functional", None) or self.model
        leaves = self._outputs.values() if isinstance(self._outputs, dict) else tree.flatten(self._outputs)
        is_nested = any(tree.is_nested(leaf) for leaf in leaves)
        return not is_nested and len(set(graph.output_names)) == len(graph.output_names)

    @property
    def _outputs(self) -> Any:
        return output_structure(self.model)

    @contextlib.contextmanager
    def _tapped(self) -> Iterator[None]:
        optimizer = self.model.optimizer
        apply: Callable[..., Any] = optimizer.apply

        def tap(gradients: Any, variables: Any = None) -> Any:
            given = variables if variables is not None else self._trainable
            found = {id(v): g for g, v in zip(gradients, given, strict=True)}
            self.take([found[id(v)] for v in self._trainable])
            if all(gradient is None for gradient in gradients):
                return None
            with warnings.catch_warnings():
                # Keras warns where a variable has no gradient; it leaves such a variable as it is.
                warnings.simplefilter("ignore")
                return apply(gradients, variables)

        with patched_attributes(optimizer, {"apply": tap}):
            yield

    def _labels(self, batch: SampleBatch) -> Any:
        return self._packed([array[: batch.rows] for array in batch.y])

    def _packed(self, arrays: list[Any]) -> Any:
        """Packs an entry for each output with labels into the nesting of the outputs."""
        entries = iter(arrays)
        flat = [None if part is None else next(entries) for part in self._objectives.parts]
        if len(flat) == 1:
            return flat[0]
        return tree.pack_sequence_as(self._outputs, flat)

    def _weights(self, batch: SampleBatch) -> Any:
        weight = batch.weight
        if self._task.class_weight is not None:
            by_class = dict(enumerate(self._task.class_weight))
            labels = batch.y[0][: batch.rows]
            of_rows = np.asarray(class_weight_to_sample_weights(labels, by_class), np.float32)
            weight = of_rows if weight is None else weight * of_rows
        return self._at_positions(batch, weight)

    def _at_positions(self, batch: SampleBatch, weight: Vector | None) -> Any:
        """Gives every position of a sequence the weight of its example; Keras wants the loss's shape."""
        if weight is None:
            return None
        parts = [part for part in self._objectives.parts if part is not None]
        shapes = [_positions(part, y[: batch.rows]) for part, y in zip(parts, batch.y, strict=True)]
        return self._packed([at_positions(weight, shape) for shape in shapes])


def _positions(part: Objective, y: Any) -> tuple[int, ...]:
    """Returns the shape of an example's losses: () where it has one, as for the overlap of masks."""
    if part.loss is None:
        return part.output.shape[:-1]
    values = part.loss.loss.call(tf.constant(y), tf.fill((len(y), *part.output.shape), 0.5))
    return tuple(values.shape[1:])
