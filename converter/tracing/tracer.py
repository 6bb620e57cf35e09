"""Traces a Keras model into the four graphs of a bundle: train, apply, evaluate, predict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf
from keras import tree

from converter.decompositions import use_decompositions
from converter.objectives.joint_objectives import JointObjectives
from converter.objectives.objective_selection import Objectives
from converter.optimizers import Optimizer, PartOptimizers
from converter.optimizers.gradient import Gradient, ReadSum, row_squares, tables_of, with_row_squares
from converter.padding.activity_regularizers import exact_activities
from converter.padding.batch_reductions import exact_reductions
from converter.padding.batch_statistics import exact_padding
from converter.padding.masked_recurrence import exact_recurrence
from converter.padding.real_rows import Rows
from converter.refusal import Refusal
from converter.tracing.layer_state import state_without_gradient
from converter.tracing.model_ports import ModelPorts, Port
from converter.tracing.random_inputs import captured_draws, mean_draws
from converter.tracing.vector_layout import Layout, join


@dataclass(frozen=True)
class Traced:
    """A traced graph: its input placeholders and output tensors, in the manifest's order.

    `reads` says, by numbers of trainable variables, of which and how the graph makes `row_squares`.
    """

    graph: Any
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    reads: Mapping[int, ReadSum] = field(default_factory=dict)


@dataclass(frozen=True)
class Batch:
    """The placeholders of a signature; absent ones are None or ()."""

    trainable: Any
    state: Any
    x: tuple[Any, ...]
    y: tuple[Any, ...]
    sample_weight: Any

    def tensors(self) -> tuple[Any, ...]:
        """Returns all placeholders in the manifest's order."""
        tensors = (self.trainable, self.state, *self.x, *self.y, self.sample_weight)
        return tuple(tensor for tensor in tensors if tensor is not None)


class Tracer:
    """Traces one model for one batch size, with fixed layout, losses and optimizer."""

    def __init__(
        self,
        model: Any,
        layout: Layout,
        model_ports: ModelPorts,
        objectives: Objectives | JointObjectives,
        optimizer: Optimizer | PartOptimizers,
        batch_size: int,
    ) -> None:
        self.model, self.layout, self.model_ports = model, layout, model_ports
        self.objectives, self.optimizer, self.batch_size = objectives, optimizer, batch_size
        # Names of state that layers also change outside of training, where a bundle keeps none.
        self.forgotten_state: list[str] = []

    def train(self) -> Traced:
        """Traces a training step.

        (trainable, state, x_i, y_j, sample_weight, random_k) -> (loss, metrics, gradient, row_squares,
        new_state).
        """
        graph = _graph("train", ("loss", "metrics", "gradient", "row_squares", "new_state"))
        with graph.as_default():
            batch = self._batch()
            variables = self.layout.split_trainable(batch.trainable)
            rows = Rows.of(batch.sample_weight)
            parts = self.objectives.trained(len(variables))
            with captured_draws() as draws, tf.GradientTape(persistent=len(parts) > 1) as tape:
                tape.watch(variables)
                with self._exact(rows, batch.x):
                    outputs, new_state, added = self._forward(variables, batch, training=True)
                weighted = self.objectives.weigh_classes(batch.y, rows)
                losses, metrics = self.objectives.measure(batch.y, outputs, weighted, batch.x)
                # What layers add, such as a regularization, belongs to every objective.
                objectives = [loss + sum(added) for loss in losses]
            gradients = _gradients(tape, objectives, variables, parts)
            reads = self.optimizer.table_reads(
                {number: self.layout.entries[number].name for number in tables_of(gradients)}
            )
            results = _outputs(
                loss=sum(losses[1:], objectives[0]),
                metrics=metrics,
                gradient=join([tf.convert_to_tensor(gradient) for gradient in gradients]),
                row_squares=row_squares(gradients, reads) if reads else None,
                new_state=self.layout.join_state(new_state),
            )
        return Traced(graph, (*batch.tensors(), *draws.placeholders), results, reads)

    def evaluate(self) -> Traced:
        """Traces (trainable, state, x_i, y_j, sample_weight) -> (loss, metrics)."""
        graph = _graph("evaluate", ("loss", "metrics"))
        with graph.as_default():
            batch = self._batch()
            rows = Rows.of(batch.sample_weight)
            with self._exact(rows, batch.x):
                outputs, added = self._infer(batch)
            losses, metrics = self.objectives.measure(batch.y, outputs, rows, batch.x)
            results = _outputs(loss=sum(losses) + sum(added), metrics=metrics)
        return Traced(graph, batch.tensors(), results)

    def predict(self) -> Traced:
        """Traces (trainable, state, x_i) -> output_k."""
        graph = _graph("predict", [f"output_{k}" for k in range(len(self.model_ports.outputs))])
        with graph.as_default():
            batch = self._batch(labels=False)
            outputs, _ = self._infer(batch)
            results = _outputs(**{f"output_{k}": output for k, output in enumerate(outputs)})
        return Traced(graph, batch.tensors(), results)

    def apply(self, tables: Sequence[int] = ()) -> Traced:
        """Traces the optimizer's step; `tables` are the variables whose `row_squares` it takes.

        (trainable, slots, gradient, row_squares, learning_rate, step, past_steps) -> (new_trainable,
        new_slots).
        """
        graph = _graph("apply", ("new_trainable", "new_slots"))
        size, slot_count = self.layout.trainable, self.optimizer.slots
        read = sum(self.layout.entries[k].size for k in tables)
        with graph.as_default():
            inputs = {
                "trainable": _placeholder("trainable", (size,)),
                "slots": _placeholder("slots", (slot_count, size)) if slot_count else None,
                "gradient": _placeholder("gradient", (size,)),
                "row_squares": _placeholder("row_squares", (read,)) if tables else None,
                "learning_rate": _placeholder("learning_rate", ()),
                "step": _placeholder("step", ()),
                "past_steps": _placeholder("past_steps", ()) if self.optimizer.schedule else None,
            }
            gradient, squares = inputs["gradient"], inputs["row_squares"]
            taken = with_row_squares(gradient, squares, tables, self.layout) if tables else Gradient(gradient)
            others = {name: t for name, t in inputs.items() if name not in ("gradient", "row_squares")}
            new_trainable, new_slots = self.optimizer.step(self.layout, gradient=taken, **others)
            outputs = _outputs(new_trainable=new_trainable, new_slots=new_slots)
        return Traced(graph, tuple(t for t in inputs.values() if t is not None), outputs)

    @contextmanager
    def _exact(self, rows: Rows, inputs: tuple[Any, ...]) -> Iterator[None]:
        with exact_padding(rows), exact_activities(self.model, rows), exact_reductions(rows, inputs):
            yield

    def _batch(self, labels: bool = True) -> Batch:
        return Batch(
            _placeholder("trainable", (self.layout.trainable,)),
            _placeholder("state", (self.layout.state,)) if self.layout.state else None,
            self._ports("x", self.model_ports.inputs),
            self._ports("y", self.objectives.labels) if labels else (),
            _placeholder("sample_weight", (self.batch_size,)) if labels else None,
        )

    def _ports(self, letter: str, ports: tuple[Port, ...]) -> tuple[Any, ...]:
        return tuple(
            _placeholder(f"{letter}_{i}", (self.batch_size, *port.shape), port.dtype)
            for i, port in enumerate(ports)
        )

    def _infer(self, batch: Batch) -> tuple[list[Any], list[Any]]:
        with mean_draws():
            variables = self.layout.split_trainable(batch.trainable)
            outputs, state, losses = self._forward(variables, batch, training=False)
        self.forgotten_state = self.layout.assigned(state)
        return outputs, losses

    def _forward(
        self, variables: list[Any], batch: Batch, training: bool
    ) -> tuple[list[Any], list[Any], list[Any]]:
        with use_decompositions(), exact_recurrence(), state_without_gradient():
            packed, new_state, losses = self.model.stateless_call(
                variables,
                self.layout.split_state(batch.state),
                self.model_ports.pack(batch.x),
                training=training,
                return_losses=True,
            )
        outputs = tree.flatten(packed)
        for port, output in zip(self.model_ports.outputs, outputs, strict=True):
            if output.shape != (self.batch_size, *port.shape):
                raise Refusal(
                    f"The output {port.name} has the shape {output.shape} instead of one row per example; "
                    "keep the first axis, that of the examples, in every layer and function."
                )
        return outputs, new_state, losses


def _gradients(tape: Any, losses: list[Any], variables: list[Any], parts: list[tuple[int, ...]]) -> list[Any]:
    """Returns the gradient of each variable: that of the loss whose part names it."""
    gradients: list[Any] = [None] * len(variables)
    for loss, part in zip(losses, parts, strict=True):
        own = [variables[number] for number in part]
        for number, gradient in zip(part, _gradient(tape, loss, own), strict=True):
            gradients[number] = gradient
    return gradients


def _gradient(tape: Any, loss: Any, variables: list[Any]) -> list[Any]:
    try:
        return list(tape.gradient(loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO))
    except LookupError as error:
        op = str(error).rpartition(": ")[2].rstrip(".")
        raise Refusal(
            f"The model needs the op {op}, which has no gradient in TensorFlow; write that part with other "
            "layers or functions of keras.ops."
        ) from error


def _placeholder(name: str, shape: tuple[int, ...], dtype: str = "float32") -> Any:
    return tf.compat.v1.placeholder(dtype, shape, name)


def _graph(name: str, outputs: Iterable[str]) -> Any:
    """Returns an empty graph in which no layer can take the names of the outputs."""
    graph = tf.__internal__.FuncGraph(name)
    for output in outputs:
        graph.unique_name(output)
    return graph


def _outputs(**tensors: Any) -> tuple[Any, ...]:
    # A name that ends with / is taken as it stands.
    return tuple(tf.identity(tensor, f"{name}/") for name, tensor in tensors.items() if tensor is not None)
