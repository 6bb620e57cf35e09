"""Trace a Keras model into the four graphs of a bundle: train, apply, evaluate, predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from converter.draws import captured_draws
from converter.layout import Layout, join
from converter.objectives import Objectives
from converter.optimizers import Optimizer
from converter.padding import exact_padding
from converter.refusal import Refusal


@dataclass(frozen=True)
class Traced:
    """A graph as it was traced: its input placeholders and output tensors, in the manifest's order."""

    graph: Any
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


class Tracer:
    """Traces one model for one batch size. The layout, loss and optimizer are fixed at the start."""

    def __init__(
        self, model: Any, layout: Layout, objectives: Objectives, optimizer: Optimizer, batch_size: int
    ) -> None:
        self.model, self.layout, self.objectives, self.optimizer = model, layout, objectives, optimizer
        self.batch_size = batch_size
        self.input_shape = tuple(int(n) for n in model.inputs[0].shape[1:])
        self.input_dtype = _border_dtype(model.inputs[0].dtype)
        self.output_shape = tuple(int(n) for n in model.outputs[0].shape[1:])
        self.label_shape, self.label_dtype = objectives.label_spec(self.output_shape)

    def train(self) -> Traced:
        """(trainable, state, x, y, sample_weight, random_k) -> (loss, metrics, gradient, new_state)."""
        graph = tf.__internal__.FuncGraph("train")
        with graph.as_default():
            inputs, (trainable, state, x, y, weight) = self._inputs()
            variables = self.layout.split_trainable(trainable)
            with captured_draws() as draws, exact_padding(weight), tf.GradientTape() as tape:
                tape.watch(variables)
                output, new_state, losses = self._forward(variables, state, x, training=True)
                loss = self.objectives.mean_loss(y, output, weight) + sum(losses)
            gradients = tape.gradient(loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
            dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
            outputs = _outputs(
                loss=loss,
                metrics=self.objectives.mean_metrics(y, output, weight),
                gradient=join(dense),
                new_state=None if state is None else self.layout.join_state(new_state),
            )
        return Traced(graph, (*inputs, *draws.placeholders), outputs)

    def evaluate(self) -> Traced:
        """(trainable, state, x, y, sample_weight) -> (loss, metrics)."""
        graph = tf.__internal__.FuncGraph("evaluate")
        with graph.as_default():
            inputs, (trainable, state, x, y, weight) = self._inputs()
            output, losses = self._infer(trainable, state, x)
            outputs = _outputs(
                loss=self.objectives.mean_loss(y, output, weight) + sum(losses),
                metrics=self.objectives.mean_metrics(y, output, weight),
            )
        return Traced(graph, inputs, outputs)

    def predict(self) -> Traced:
        """(trainable, state, x) -> output."""
        graph = tf.__internal__.FuncGraph("predict")
        with graph.as_default():
            inputs, (trainable, state, x, _, _) = self._inputs(labels=False)
            output, _ = self._infer(trainable, state, x)
            outputs = _outputs(output=output)
        return Traced(graph, inputs, outputs)

    def apply(self) -> Traced:
        """(trainable, slots, gradient, learning_rate, step) -> (new_trainable, new_slots)."""
        graph = tf.__internal__.FuncGraph("apply")
        size, slot_count = self.layout.trainable, self.optimizer.slots
        with graph.as_default():
            trainable = _placeholder("trainable", (size,))
            slots = _placeholder("slots", (slot_count, size)) if slot_count else None
            gradient = _placeholder("gradient", (size,))
            rest = (gradient, _placeholder("learning_rate", ()), _placeholder("step", ()))
            new_trainable, new_slots = self.optimizer.step(trainable, slots, *rest)
            outputs = _outputs(new_trainable=new_trainable, new_slots=new_slots)
        return Traced(graph, tuple(t for t in (trainable, slots, *rest) if t is not None), outputs)

    def _inputs(self, labels: bool = True) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        batch = self.batch_size
        tensors = (
            _placeholder("trainable", (self.layout.trainable,)),
            _placeholder("state", (self.layout.state,)) if self.layout.state else None,
            _placeholder("x", (batch, *self.input_shape), self.input_dtype),
            _placeholder("y", (batch, *self.label_shape), self.label_dtype) if labels else None,
            _placeholder("sample_weight", (batch,)) if labels else None,
        )
        return tuple(t for t in tensors if t is not None), tensors

    def _infer(self, trainable: Any, state: Any, x: Any) -> tuple[Any, list[Any]]:
        # Recurrent layers draw masks here, too, that nothing reads; `freeze` refuses draws that are read.
        with captured_draws():
            output, _, losses = self._forward(
                self.layout.split_trainable(trainable), state, x, training=False
            )
        return output, losses

    def _forward(
        self, variables: list[Any], state: Any, x: Any, training: bool
    ) -> tuple[Any, list[Any], list[Any]]:
        output, new_state, losses = self.model.stateless_call(
            variables, self.layout.split_state(state), x, training=training, return_losses=True
        )
        if getattr(output, "_keras_mask", None) is not None:
            raise Refusal(
                "The output carries a mask; build Embedding with mask_zero=False and no Masking layer."
            )
        if output.shape != (self.batch_size, *self.output_shape):
            raise Refusal(f"The output has the shape {output.shape} instead of one row per example.")
        return output, new_state, losses


def _border_dtype(dtype: str) -> str:
    if dtype in ("float32", "int32"):
        return dtype
    if dtype in ("int64", "uint8", "int8", "int16", "uint16"):
        return "int32"
    raise Refusal(f"The input is {dtype}; declare it as float32 or int32.")


def _placeholder(name: str, shape: tuple[int, ...], dtype: str = "float32") -> Any:
    return tf.compat.v1.placeholder(dtype, shape, name)


def _outputs(**tensors: Any) -> tuple[Any, ...]:
    return tuple(tf.identity(tensor, name) for name, tensor in tensors.items() if tensor is not None)
