"""Selects the objectives that a task file declares: losses by their outputs, targets, labels, variables."""

from __future__ import annotations

from typing import Any

from converter.conversion_task import ConversionTask
from converter.objectives.joint_objectives import (
    DeclaredLoss,
    DeclaredMetric,
    JointObjective,
    JointObjectives,
    LossTarget,
)
from converter.objectives.losses import OutputLoss, named_loss
from converter.objectives.metrics import label_of_metric, make_metric
from converter.objectives.objective_selection import Objective, check_metrics, metrics_by_output
from converter.objectives.objective_tables import INPUT, LossTable, bad_objectives
from converter.objectives.output_functions import FUNCTIONS, OutputFunction, output_function
from converter.objectives.trained_parts import trained_parts
from converter.tracing.model_ports import ModelPorts, Port


def choose_joint_objectives(model: Any, task: ConversionTask, model_ports: ModelPorts) -> JointObjectives:
    """Selects the objectives of a task file with [[model.objectives]]. Raises Refusal."""
    selection = _Selection(model_ports)
    parts = trained_parts(model, task.objectives)
    # Labels stand in the order of the outputs, whichever objective comes first.
    for loss in sorted((loss for table in task.objectives for loss in table.losses), key=selection.place):
        selection.loss(loss)
    chosen = tuple(
        JointObjective(table.name, tuple(selection.loss(loss) for loss in table.losses), part)
        for table, part in zip(task.objectives, parts, strict=True)
    )
    metrics = [
        selection.metric(number, spec)
        for number, specs in enumerate(metrics_by_output(task.metrics, model_ports.outputs))
        for spec in specs
    ]
    objectives = JointObjectives(chosen, tuple(selection.labelled), tuple(metrics))
    check_metrics(objectives.metrics)
    return objectives


class _Selection:
    """Collects the labels that losses and metrics need, each once. Owns `labelled`."""

    def __init__(self, model_ports: ModelPorts) -> None:
        self._ports = model_ports
        self._numbers = {port.name: number for number, port in enumerate(model_ports.outputs)}
        self.labelled: list[Objective] = []
        # What the first loss of an output compares it with; metrics of that output take the same.
        self._targets: dict[int, tuple[Port, LossTarget]] = {}

    def place(self, table: LossTable) -> int:
        """Returns the number of the first output that a loss takes."""
        return min(self._output(name) for name in table.outputs)

    def loss(self, table: LossTable) -> DeclaredLoss:
        """Returns the loss that a table declares."""
        numbers = tuple(self._output(name) for name in table.outputs)
        ports = [self._ports.outputs[number] for number in numbers]
        if table.name in FUNCTIONS:
            function = output_function(table.name, table.settings, ports)
            target = self._function_target(function, table, ports[0])
            title = table.name if len(ports) > 1 else ports[0].name
            return DeclaredLoss(title, numbers, function, target, table.weight)
        if len(ports) > 1:
            raise bad_objectives(
                f"give the loss {table.name} several outputs; it takes one, and {', '.join(FUNCTIONS)} "
                "take several"
            )
        loss = named_loss(table.name, dict(table.settings))
        label = loss.label(ports[0])
        target = self._target(table, label, ports[0], loss)
        self._targets.setdefault(numbers[0], (label, target))
        return DeclaredLoss(ports[0].name, numbers, loss, target, table.weight)

    def metric(self, number: int, spec: Any) -> DeclaredMetric:
        """Returns a metric of an output; it compares with what the first loss of the output compares."""
        output = self._ports.outputs[number]
        if number not in self._targets:
            label = label_of_metric(spec, output)
            self._targets[number] = label, LossTarget(label, self._label(label, output, None))
        label, target = self._targets[number]
        metric = make_metric(spec, label, output, weighted=False)
        title = f"{output.name}_{metric.name}" if len(self._ports.outputs) > 1 else metric.name
        return DeclaredMetric(title, number, metric, target)

    def _output(self, name: str) -> int:
        if name not in self._numbers:
            raise bad_objectives(f"name the output {name}; the model has {', '.join(self._numbers)}")
        return self._numbers[name]

    def _function_target(self, function: OutputFunction, table: LossTable, output: Port) -> LossTarget:
        if function.label is not None:
            return self._target(table, function.label, output)
        if table.target is not None:
            raise bad_objectives(f"give the loss {table.name} a `target`, which it does not take")
        return LossTarget(None)

    def _target(
        self, table: LossTable, label: Port, output: Port, loss: OutputLoss | None = None
    ) -> LossTarget:
        """Returns the target of a loss that compares `output` with a `label`."""
        if table.target is None:
            return LossTarget(label, self._label(label, output, loss))
        if isinstance(table.target, str):
            return LossTarget(
                label, model_input=self._input(table.target.removeprefix(INPUT), label, table.name)
            )
        if label.dtype == "int32" and not _is_class(table.target, label):
            raise bad_objectives(
                f"give the loss {table.name} the `target` {table.target:g}; of {label.name} it takes a class "
                "number"
            )
        return LossTarget(label, constant=float(table.target))

    def _input(self, name: str, label: Port, loss: str) -> int:
        for number, port in enumerate(self._ports.inputs):
            if port.name == name:
                if (port.shape, port.dtype) != (label.shape, label.dtype):
                    raise bad_objectives(
                        f"compare {label.name} with the input {name} of {port.dtype} {list(port.shape)}, "
                        f"where the loss {loss} takes {label.dtype} {list(label.shape)}"
                    )
                return number
        names = ", ".join(port.name for port in self._ports.inputs)
        raise bad_objectives(f"name the input {name}; the model has {names}")

    def _label(self, label: Port, output: Port, loss: OutputLoss | None) -> int:
        """Returns the number of a label in the shards; losses of one output share it."""
        for number, known in enumerate(self.labelled):
            if known.label == label:
                return number
            if known.label.name == label.name:
                raise bad_objectives(
                    f"need two different labels of {label.name}: class numbers and numbers of its own shape"
                )
        self.labelled.append(Objective(output, label, loss, 1.0, ()))
        return len(self.labelled) - 1


def _is_class(value: float, label: Port) -> bool:
    return value == int(value) and 0 <= value < (label.classes or 2**24)
