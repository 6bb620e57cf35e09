"""Selects what a bundle measures: the losses of the outputs, their weighted sum, and the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from converter.conversion_task import ConversionTask
from converter.objectives.compiled_objectives import compiled_losses, compiled_metrics
from converter.objectives.losses import OutputLoss, compiled_loss, named_loss
from converter.objectives.metrics import OutputMetric, label_of_metric, make_metric
from converter.padding.real_rows import Rows
from converter.refusal import Refusal, escaped
from converter.tracing.model_ports import ModelPorts, Port

# Limits of what an update may report (backend/formats/manifest.py).
MAX_METRICS, MAX_NAME = 16, 64


@dataclass(frozen=True)
class Objective:
    """Loss, weight of the loss, metrics and labels of one output."""

    output: Port
    label: Port
    loss: OutputLoss | None
    weight: float
    metrics: tuple[OutputMetric, ...]


@dataclass(frozen=True)
class Objectives:
    """The objectives of all outputs; an entry is None for an output without loss and metrics."""

    parts: tuple[Objective | None, ...]
    class_weight: tuple[float, ...] | None = None

    @property
    def labels(self) -> tuple[Port, ...]:
        """Returns the labels in the outputs' order."""
        return tuple(part.label for part in self.parts if part is not None)

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """Returns name, kind and number of rows (absent if 1) of each metric of `measure`."""
        used_names: set[str] = set()
        described: list[dict[str, Any]] = []
        for part in self._parts_with_labels():
            prefix = f"{part.output.name}_" if len(self.parts) > 1 else ""
            if part.loss is not None and self.several_losses:
                described.append({"name": f"{prefix}loss", "kind": "ratio"})
            described += [
                metric_row(_free_name(prefix, metric, used_names), metric) for metric in part.metrics
            ]
        return described

    @property
    def measured(self) -> list[tuple[str, OutputMetric]]:
        """Returns the metrics, each with the name of its output."""
        return [(part.output.name, metric) for part in self._parts_with_labels() for metric in part.metrics]

    @property
    def own(self) -> bool:
        """Returns whether any loss is the owner's code."""
        return any(part.loss is not None and part.loss.own for part in self._parts_with_labels())

    @property
    def several_losses(self) -> bool:
        """Returns whether each loss is reported separately, as Keras does for more than one loss."""
        return sum(part.loss is not None for part in self._parts_with_labels()) > 1

    @property
    def mean_over_rows(self) -> bool:
        """Returns whether every loss is a plain mean over the real rows."""
        parts = [part for part in self._parts_with_labels() if part.loss is not None]
        return all(part.output.shape and part.loss and part.loss.mean_over_rows for part in parts)

    def loss_name(self, output: int) -> str | None:
        """Returns the name of an output's loss, or None."""
        part = self.parts[output]
        return part.loss.name if part is not None and part.loss is not None else None

    def trained(self, count: int) -> list[tuple[int, ...]]:
        """Returns the numbers of the trainable variables, of which there are `count`: all at once."""
        return [tuple(range(count))]

    def without_gradient(self, number: int) -> str:
        """Returns the sentence that refuses a model whose weights all have a gradient of 0."""
        del number
        return (
            "The loss has no gradient: no weight of the model changes it. Check that the loss reads the "
            "outputs, that no layer rounds, compares or stops the gradient on the way, and that a loss of "
            "probabilities gets them: end the model with softmax or sigmoid, or set from_logits = true."
        )

    def weigh_classes(self, labels: Sequence[Any], rows: Rows) -> Rows:
        """Returns the rows of a training step, weighted by class as in `Model.fit`."""
        if self.class_weight is None:
            return rows
        (y,) = labels
        if y.dtype != tf.int32:
            y = tf.cast(y[:, 0], tf.int32) if y.shape[-1] == 1 else tf.argmax(y, -1, tf.int32)
        return Rows(rows.weight * tf.gather(tf.constant(self.class_weight), y), rows.exists)

    def measure(
        self, labels: Sequence[Any], outputs: Sequence[Any], rows: Rows, inputs: Sequence[Any] = ()
    ) -> tuple[list[Any], Any]:
        """Returns the scalar loss, alone in a list, and the metrics [M, 2] of a batch; None without any."""
        del inputs
        loss, metrics = 0.0, []
        measured = [output for part, output in zip(self.parts, outputs, strict=True) if part is not None]
        for part, y, output in zip(self._parts_with_labels(), labels, measured, strict=True):
            if part.loss is not None:
                part_loss = part.loss.of(y, output, rows)
                loss += part_loss if part.weight == 1.0 else part_loss * part.weight
                if self.several_losses:
                    metrics.append(loss_row(part_loss, rows))
            metrics += [metric.of(y, output, rows) for metric in part.metrics]
        return [loss], tf.concat(metrics, 0) if metrics else None

    @property
    def labelled(self) -> tuple[Objective, ...]:
        """Returns the objectives that have a label, in the labels' order."""
        return tuple(self._parts_with_labels())

    def _parts_with_labels(self) -> list[Objective]:
        return [part for part in self.parts if part is not None]


def choose_objectives(model: Any, task: ConversionTask, model_ports: ModelPorts) -> Objectives:
    """Selects losses and metrics from the task file, else those that the model was compiled with."""
    outputs = model_ports.outputs
    losses, weights = _losses(model, task, outputs)
    if task.loss_weights:
        weights = by_output(task.loss_weights, outputs, "loss_weights")
    if task.metrics is None:
        plain, counted = compiled_metrics(model)
    else:
        plain, counted = metrics_by_output(task.metrics, outputs), [[] for _ in outputs]
    parts = map(_objective, outputs, losses, map(_weight, weights), plain, counted)
    objectives = Objectives(tuple(parts), task.class_weight)
    _check_class_weight(objectives)
    check_metrics(objectives.metrics)
    return objectives


def check_metrics(metrics: list[dict[str, Any]]) -> None:
    """Raises Refusal where there are more metrics, or longer names, than an update may report."""
    if len(metrics) > MAX_METRICS:
        raise _bad(
            f"The losses and metrics of all outputs make {len(metrics)} metrics; at most {MAX_METRICS} fit, "
            "so name fewer metrics."
        )
    long = [metric["name"] for metric in metrics if len(metric["name"]) > MAX_NAME]
    if long:
        raise _bad(
            f"The metric's name {long[0]} is longer than {MAX_NAME} letters; shorten the output's name."
        )
    for metric in metrics:
        if escaped(metric["name"]) != metric["name"]:
            raise _bad(
                f"The metric's name {metric['name']} has characters that cannot be shown; name it with "
                "letters, digits and spaces."
            )


def _check_class_weight(objectives: Objectives) -> None:
    if objectives.class_weight is None:
        return
    labels = objectives.labels
    classes = 0
    if len(labels) == 1:
        (label,) = labels
        classes = (label.classes or 0) if label.shape == () else max(label.shape[0], 2)
    if len(labels) != 1 or len(labels[0].shape) > 1 or not classes:
        raise _bad(
            "`class_weight` needs one output whose labels are one class an example; "
            "use sample weights in the shards instead."
        )
    if len(objectives.class_weight) != classes:
        raise _bad(
            f"`class_weight` has {len(objectives.class_weight)} numbers, but there are {classes} classes."
        )


def by_output(value: Any, outputs: Sequence[Port], word: str) -> list[Any]:
    """Returns each output's entry of a table by names, a list in order, or one entry for all.

    An output without an entry gets None.
    """
    names = [port.name for port in outputs]
    if isinstance(value, list | tuple):
        if len(value) != len(names):
            raise _bad(
                f"`{word}` has {len(value)} entries, but the model has the outputs {', '.join(names)}."
            )
        return list(value)
    if isinstance(value, dict) and ("name" in names or not isinstance(value.get("name"), str)):
        unknown = [key for key in value if key not in names]
        if unknown:
            raise _bad(f"`{word}` names the output {unknown[0]}; the model has {', '.join(names)}.")
        return [value.get(name) for name in names]
    return [value] * len(names)


def metrics_by_output(value: Any, outputs: Sequence[Port]) -> list[list[Any]]:
    """Returns each output's list of metrics; a model with one output may have a plain list."""
    if not value:
        return [[] for _ in outputs]
    if len(outputs) == 1 and isinstance(value, list | tuple):
        return [_flat(value)]
    return [_flat(entry) for entry in by_output(value, outputs, "metrics")]


def _flat(entry: Any) -> list[Any]:
    if isinstance(entry, list | tuple):
        return [item for part in entry for item in _flat(part)]
    return [] if entry is None else [entry]


def _losses(
    model: Any, task: ConversionTask, outputs: Sequence[Port]
) -> tuple[list[OutputLoss | None], list[Any]]:
    """Returns each output's loss and the weight that `compile` gave it."""
    weights: list[Any] = [None] * len(outputs)
    if task.loss is not None:
        losses = [_task_loss(entry) for entry in by_output(task.loss, outputs, "loss")]
    else:
        entries = compiled_losses(model)
        losses = [None if entry is None else compiled_loss(entry.argument) for entry in entries]
        weights = [None if entry is None else entry.weight for entry in entries]
    if not any(losses):
        if getattr(model, "compiled", False):
            raise _bad(
                "The model was compiled without a loss; give one to an output, by compile() or by loss under "
                "[model] in the task file. Losses that layers add (add_loss) count beside it."
            )
        raise _bad('No loss: write loss = "..." under [model] in the task file, or compile the model.')
    return losses, weights


def _task_loss(entry: Any) -> OutputLoss | None:
    if isinstance(entry, dict):
        settings = dict(entry)
        return named_loss(str(settings.pop("name", "")), settings)
    return None if entry is None else named_loss(entry, {})


def _weight(entry: Any) -> float:
    if entry is None:
        return 1.0
    try:
        return float(entry)
    except (TypeError, ValueError) as error:
        raise _bad(
            f"The model was compiled with {entry!r:.40} as a weight of its loss, which is no number. The "
            'third value of `compile()` are loss weights: write `metrics=["accuracy"]` and save it again.'
        ) from error


def _objective(
    output: Port, loss: OutputLoss | None, weight: float, metrics: list[Any], weighted: list[Any]
) -> Objective | None:
    if loss is None and not metrics and not weighted:
        return None
    loss = loss and loss.fitted(output)
    label = loss.label(output) if loss is not None else label_of_metric((metrics + weighted)[0], output)
    output_metrics = [make_metric(m, label, output, weighted=False) for m in metrics]
    output_metrics += [make_metric(m, label, output, weighted=True) for m in weighted]
    return Objective(output, label, loss, weight, tuple(output_metrics))


def loss_row(loss: Any, rows: Rows) -> Any:
    """Returns the row [1, 2] of `metrics` that reports a scalar loss of a batch."""
    return tf.stack([loss * rows.count, rows.count])[None]


def metric_row(name: str, metric: OutputMetric) -> dict[str, Any]:
    """Returns a metric's entry in the manifest."""
    entry = {"name": name, "kind": metric.counting.kind, "rows": metric.counting.count}
    return {key: value for key, value in entry.items() if (key, value) != ("rows", 1)}


def unused_name(name: str, used_names: set[str]) -> str:
    """Returns the name, with a number where it is in use, and adds it to `used_names`."""
    stem, number = name, 1
    while name in used_names:
        name, number = f"{stem}_{number}", number + 1
    used_names.add(name)
    return name


def _free_name(prefix: str, metric: OutputMetric, used_names: set[str]) -> str:
    """Returns Keras' name of a metric, made unique by `weighted_` or a number."""
    name = prefix + metric.name
    if name in used_names and metric.weighted:
        name = f"{prefix}weighted_{metric.name}"
    return unused_name(name, used_names)


def _bad(message: str) -> Refusal:
    return Refusal(message, "bad-task")
