"""Measures the objectives of a task file: each has its own losses and trains its own variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from converter.objectives.losses import OutputLoss
from converter.objectives.metrics import OutputMetric
from converter.objectives.objective_selection import Objective, loss_row, metric_row, unused_name
from converter.objectives.output_functions import OutputFunction
from converter.objectives.trained_parts import Part
from converter.padding.real_rows import Rows
from converter.tracing.model_ports import Port


@dataclass(frozen=True)
class LossTarget:
    """What outputs are compared with: a label, an input (by their numbers), a constant, or nothing.

    `port` gives shape and dtype; None where the loss takes no target.
    """

    port: Port | None
    label: int | None = None
    model_input: int | None = None
    constant: float = 0.0

    def tensor(self, labels: Sequence[Any], inputs: Sequence[Any], rows: Rows) -> Any:
        """Returns the target [B, ...] of a batch; None without one."""
        if self.port is None:
            return None
        if self.label is not None:
            return labels[self.label]
        if self.model_input is not None:
            return inputs[self.model_input]
        value = tf.cast(self.constant, self.port.dtype)
        return tf.fill([int(rows.exists.shape[0]), *self.port.shape], value)


@dataclass(frozen=True)
class DeclaredLoss:
    """One loss of an objective over the outputs of these numbers; `title` is its name in reports."""

    title: str
    outputs: tuple[int, ...]
    loss: OutputLoss | OutputFunction
    target: LossTarget
    weight: float

    def of(self, labels: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], rows: Rows) -> Any:
        """Returns the scalar loss of the real rows, without its weight."""
        taken = [outputs[number] for number in self.outputs]
        target = self.target.tensor(labels, inputs, rows)
        if isinstance(self.loss, OutputFunction):
            return self.loss.of(target, taken, rows)
        return self.loss.of(target, taken[0], rows)


@dataclass(frozen=True)
class DeclaredMetric:
    """A metric of one output; `title` is its name in reports."""

    title: str
    output: int
    metric: OutputMetric
    target: LossTarget


@dataclass(frozen=True)
class JointObjective:
    """The weighted losses that train the variables of these numbers."""

    name: str
    losses: tuple[DeclaredLoss, ...]
    part: Part


@dataclass(frozen=True)
class JointObjectives:
    """All objectives of a model, measured in one pass at the same weights.

    `labelled` has an entry for each label in the shards. Each objective's loss is reported where there are
    several, and each of an objective's losses where it has several.
    """

    objectives: tuple[JointObjective, ...]
    labelled: tuple[Objective, ...]
    declared_metrics: tuple[DeclaredMetric, ...]

    @property
    def labels(self) -> tuple[Port, ...]:
        """Returns the labels in the shards' order."""
        return tuple(part.label for part in self.labelled)

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """Returns name, kind and number of rows (absent if 1) of each metric of `measure`."""
        used: set[str] = set()
        described = [
            {"name": unused_name(f"{title}_loss", used), "kind": "ratio"} for title in self.loss_titles()
        ]
        return described + [
            metric_row(unused_name(declared.title, used), declared.metric)
            for declared in self.declared_metrics
        ]

    @property
    def measured(self) -> list[tuple[str, OutputMetric]]:
        """Returns the metrics, each with its name in reports."""
        return [(declared.title, declared.metric) for declared in self.declared_metrics]

    @property
    def own(self) -> bool:
        """Returns whether any loss is the owner's code: a task file cannot name such a loss."""
        return False

    @property
    def mean_over_rows(self) -> bool:
        """Returns whether every loss is a plain mean over the real rows."""
        return all(
            isinstance(loss.loss, OutputFunction) or (loss.loss.mean_over_rows and loss.target.port.shape)
            for loss in self._losses()
            if loss.target.port is not None
        )

    def loss_name(self, output: int) -> str | None:
        """Returns the name of the first loss of an output alone, or None."""
        return next((loss.loss.name for loss in self._losses() if loss.outputs == (output,)), None)

    def trained(self, count: int) -> list[Part]:
        """Returns the numbers of the trainable variables, of which there are `count`, of each objective."""
        del count
        return [objective.part for objective in self.objectives]

    def without_gradient(self, number: int) -> str:
        """Returns the sentence that refuses the objective of this number, whose gradient is 0."""
        return (
            f"The objective {self.objectives[number].name} has no gradient: none of the variables that it "
            "trains changes its losses. Check `trains` and the outputs of its losses, and that no layer "
            "rounds, compares or stops the gradient on the way."
        )

    def weigh_classes(self, labels: Sequence[Any], rows: Rows) -> Rows:
        """Returns the rows as they are: class weights cannot be combined with objectives."""
        del labels
        return rows

    def measure(
        self, labels: Sequence[Any], outputs: Sequence[Any], rows: Rows, inputs: Sequence[Any]
    ) -> tuple[list[Any], Any]:
        """Returns the scalar loss of each objective, and the metrics [M, 2] of a batch, None without any."""
        totals, reported = [], []
        for objective in self.objectives:
            losses = [loss.of(labels, inputs, outputs, rows) for loss in objective.losses]
            weights = [loss.weight for loss in objective.losses]
            totals.append(weighted_sum(losses, weights))
            reported += [totals[-1]] * (len(self.objectives) > 1) + losses * (len(losses) > 1)
        metrics = [loss_row(loss, rows) for loss in reported]
        for declared in self.declared_metrics:
            target = declared.target.tensor(labels, inputs, rows)
            metrics.append(declared.metric.of(target, outputs[declared.output], rows))
        return totals, tf.concat(metrics, 0) if metrics else None

    def loss_titles(self) -> list[str]:
        """Returns the titles of the losses that `measure` reports, in its order."""
        titles = []
        several = len(self.objectives) > 1
        for objective in self.objectives:
            prefix = f"{objective.name}_" if several else ""
            titles += [objective.name] * several
            titles += [prefix + loss.title for loss in objective.losses] * (len(objective.losses) > 1)
        return titles

    def _losses(self) -> list[DeclaredLoss]:
        return [loss for objective in self.objectives for loss in objective.losses]


def weighted_sum(losses: Iterable[Any], weights: Iterable[float]) -> Any:
    """Returns the sum of scalars, each times its weight."""
    terms = [loss if weight == 1.0 else loss * weight for loss, weight in zip(losses, weights, strict=True)]
    return sum(terms[1:], terms[0])
