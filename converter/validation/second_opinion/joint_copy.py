"""Trains declared objectives as an own `train_step` would: Keras' losses, one gradient and optimizer each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import ops, tree
from keras.src.losses.losses import LossFunctionWrapper
from numpy.typing import NDArray

from converter.conversion_task import ConversionTask
from converter.objectives.joint_objectives import DeclaredLoss, JointObjectives, LossTarget
from converter.objectives.keras_objects import keras_losses, keras_optimizer
from converter.objectives.objective_tables import LossTable
from converter.tracing.model_ports import ModelPorts
from converter.tracing.random_inputs import mean_draws
from converter.validation.second_opinion.fixed_draws import fixed_draws
from converter.validation.second_opinion.model_copy import ModelCopy, Vector, at_positions
from converter.validation.second_opinion.sample_batches import SampleBatch


class JointCopy(ModelCopy):
    """The model of `model.keras` with the losses and optimizers of [[model.objectives]], run eagerly."""

    def __init__(
        self,
        file: Path,
        traced: Any,
        task: ConversionTask,
        model_ports: ModelPorts,
        objectives: JointObjectives,
        custom: Path | None,
    ) -> None:
        super().__init__(file, traced, task, model_ports, custom)
        self._objectives = objectives
        self._places = {port.name: number for number, port in enumerate(model_ports.outputs)}
        optimizer = getattr(self.model, "optimizer", None) or "sgd"
        keras.Model.compile(self.model, optimizer=optimizer, run_eagerly=True, jit_compile=False)
        self._optimizers: list[Any] = []
        self.reset()

    def reset(self) -> None:
        """Takes new optimizers, which have taken no steps."""
        tables = [table.optimizer or self._task.optimizer for table in self._task.objectives]
        self._optimizers = [keras_optimizer(table, self.model) for table in tables]

    def train(self, batch: SampleBatch, uniforms: Sequence[NDArray[np.float32]]) -> dict[str, float]:
        """Takes a step of each objective at the same weights. Raises OtherDrawsError."""
        with fixed_draws(uniforms), tf.GradientTape(persistent=True) as tape:
            outputs = tree.flatten(self.model(self._inputs(batch), training=True))
            losses = self._losses(batch, outputs)
            added = sum(self.model.losses)
            totals = [self._total(number, own) + added for number, own in enumerate(losses)]
        taken: list[Any] = [None] * len(self._trainable)
        for total, objective in zip(totals, self._objectives.objectives, strict=True):
            own = [self._trainable[number].value for number in objective.part]
            for number, gradient in zip(objective.part, tape.gradient(total, own), strict=True):
                taken[number] = gradient
        self.take(taken)
        logs = self._logs(batch, outputs, losses, added)
        pairs = zip(taken, self.gradients, strict=True)
        self._step([tf.constant(whole) if part is None else part for part, whole in pairs])
        return logs

    def evaluate(self, batch: SampleBatch) -> dict[str, float]:
        """Returns the losses and metrics of a batch at the weights as they are."""
        with mean_draws():
            outputs = tree.flatten(self.model(self._inputs(batch), training=False))
        return self._logs(batch, outputs, self._losses(batch, outputs), sum(self.model.losses))

    def apply(self, gradients: list[Vector]) -> None:
        """Takes each optimizer's step on its own variables."""
        self._step([tf.constant(gradient) for gradient in gradients])

    def _step(self, gradients: Sequence[Any]) -> None:
        for optimizer, objective in zip(self._optimizers, self._objectives.objectives, strict=True):
            variables = [self._trainable[number] for number in objective.part]
            optimizer.apply([gradients[number] for number in objective.part], variables)

    @property
    def names_each_output(self) -> bool:
        """Returns True: the names are the objectives'."""
        return True

    def _losses(self, batch: SampleBatch, outputs: list[Any]) -> list[list[Any]]:
        """Returns each loss of each objective, without its weight."""
        return [
            [
                self._loss(table, declared, batch, outputs)
                for table, declared in zip(tables.losses, objective.losses, strict=True)
            ]
            for tables, objective in zip(self._task.objectives, self._objectives.objectives, strict=True)
        ]

    def _total(self, number: int, losses: list[Any]) -> Any:
        tables = self._task.objectives[number].losses
        return sum(table.weight * loss for table, loss in zip(tables, losses, strict=True))

    def _loss(self, table: LossTable, declared: DeclaredLoss, batch: SampleBatch, outputs: list[Any]) -> Any:
        taken = [outputs[self._places[name]] for name in table.outputs]
        target = self._target(declared.target, batch)
        weight = np.ones(batch.rows, np.float32) if batch.weight is None else batch.weight
        if table.name in _FUNCTIONS:
            values = _FUNCTIONS[table.name](*taken, *([] if target is None else [target]), **table.settings)
            return ops.mean(ops.convert_to_tensor(weight) * values)
        loss = keras_losses({"name": table.name, **table.settings})
        if not isinstance(loss, keras.losses.Loss):
            loss = LossFunctionWrapper(loss)
        positions = at_positions(weight, taken[0].shape[1:-1]) if batch.weight is not None else None
        return loss(target, taken[0], sample_weight=positions)

    def _target(self, target: LossTarget, batch: SampleBatch) -> Any:
        if target.port is None:
            return None
        if target.label is not None:
            return batch.y[target.label][: batch.rows]
        if target.model_input is not None:
            return batch.x[target.model_input][: batch.rows]
        return np.full((batch.rows, *target.port.shape), target.constant, target.port.dtype)

    def _logs(
        self, batch: SampleBatch, outputs: list[Any], losses: list[list[Any]], added: Any
    ) -> dict[str, float]:
        """Returns the loss and what the bundle reports, by the manifest's names."""
        totals = [self._total(number, own) for number, own in enumerate(losses)]
        values = []
        for total, own in zip(totals, losses, strict=True):
            values += [total] * (len(totals) > 1) + own * (len(own) > 1)
        values += [
            _measured(declared.metric.metric, self._target(declared.target, batch), outputs[declared.output])
            for declared in self._objectives.declared_metrics
        ]
        names = [entry["name"] for entry in self._objectives.metrics]
        logs = {name: float(value) for name, value in zip(names, values, strict=True)}
        return {"loss": float(sum(totals) + added), **logs}


def _measured(like: Any, target: Any, output: Any) -> Any:
    metric = type(like).from_config(like.get_config())
    if len(output.shape) == 1:
        target, output = target[:, None], output[:, None]
    metric.update_state(target, output)
    return metric.result()


# The losses of converter/objectives/output_functions.py, written as the Keras guides write them.


def _kl_divergence(mean: Any, log_variance: Any) -> Any:
    values = ops.exp(log_variance) + ops.square(mean) - 1.0 - log_variance
    return 0.5 * ops.sum(ops.reshape(values, (len(values), -1)), axis=1)


def _triplet(anchor: Any, positive: Any, negative: Any, margin: float = 0.2) -> Any:
    near, far = (_distance(anchor, other) ** 2 for other in (positive, negative))
    return ops.relu(near - far + margin)


def _contrastive(first: Any, second: Any, differs: Any, margin: float = 1.0) -> Any:
    distance = _distance(first, second)
    return ops.where(
        ops.convert_to_tensor(differs) == 1,
        0.5 * ops.relu(margin - distance) ** 2,
        0.5 * distance**2,
    )


def _mean_output(output: Any) -> Any:
    return ops.mean(ops.reshape(output, (len(output), -1)), axis=1)


def _distance(first: Any, second: Any) -> Any:
    return ops.norm(ops.reshape(first - second, (len(first), -1)), axis=1)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "kl_divergence_to_normal": _kl_divergence,
    "triplet": _triplet,
    "contrastive": _contrastive,
    "mean_output": _mean_output,
}
