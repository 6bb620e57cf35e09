"""Bounds layers that a bundle holds step by step: recurrent layers and TimeDistributed.

TF.js has no gradient for loops, so a graph repeats the ops of one step for every step. Before that is traced,
a few steps of each layer are, by which the whole is weighed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import keras
import tensorflow as tf

from converter.refusal import Refusal
from converter.tracing.attribute_patch import patched_attributes

# Ops of a forward pass: 1,860 steps of an LSTM, 870 of a GRU. They convert within minutes, to 40 MB.
MAX_STEP_OPS = 30_000
# Steps that are traced; the ops around a loop, such as transposing its inputs, are shared among them.
_TRACED = 16


@dataclass
class Loop:
    """A layer that repeats its `ops` ops for each of its steps."""

    layer: str
    steps: int
    ops: float


@dataclass
class LoopWeights:
    """The loops of a model, gathered by a trace; the loops within a loop count as its ops."""

    outer: list[Loop] = field(default_factory=list)
    _enclosing: list[Loop] = field(default_factory=list)
    _untraced: float = 0

    def run(self, layer: Any, steps: int, trace: Callable[[], Any]) -> Any:
        """Calls `trace`, which traces `_TRACED` of the layer's steps; returns its result. Raises Refusal."""
        loop = Loop(layer.name, steps, 1)
        self._enclosing.append(loop)
        before = self._count()
        # Loops within loops could take too long to be weighed.
        least = max(_ops_traced(), math.prod(outer.steps for outer in self._enclosing))
        if least > MAX_STEP_OPS:
            raise _refusal(loop, least)
        result = trace()
        traced = min(steps, _TRACED)
        loop.ops = (self._count() - before) / traced
        self._untraced += loop.ops * (steps - traced)
        self._enclosing.pop()
        if not self._enclosing:
            self.outer.append(loop)
        return result

    def check(self) -> None:
        """Refuses loops of more than MAX_STEP_OPS together, by the layer that has most of them."""
        total = sum(loop.steps * loop.ops for loop in self.outer)
        if total > MAX_STEP_OPS:
            raise _refusal(max(self.outer, key=lambda loop: loop.steps * loop.ops), total)

    def _count(self) -> float:
        return _ops_traced() + self._untraced


def _ops_traced() -> int:
    return len(tf.compat.v1.get_default_graph().get_operations())


def has_loops(model: Any) -> bool:
    """Returns whether a layer of the model is unrolled."""
    return any(isinstance(layer, _LOOPING) for layer in model._flatten_layers())


def check_loops(trace: Callable[[], Any]) -> None:
    """Refuses a model whose loops make a graph too large; `trace` traces its forward pass."""
    weights = LoopWeights()
    with _shortened(weights):
        trace()
    weights.check()


_LOOPING = (keras.layers.RNN, keras.layers.TimeDistributed)


@contextmanager
def _shortened(weights: LoopWeights) -> Iterator[None]:
    """While open, looping layers take few steps; their outputs are padded to the usual length."""
    recurrent, distributed = (kind.call for kind in _LOOPING)

    def call_recurrent(
        layer: Any, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool = False
    ) -> Any:
        result = weights.run(
            layer,
            sequences.shape[1],
            lambda: recurrent(layer, sequences[:, :_TRACED], initial_state, _first(mask), training),
        )
        if not layer.return_sequences:
            return result
        if layer.return_state:
            return _padded(result[0], sequences), *result[1:]
        return _padded(result, sequences)

    def call_distributed(layer: Any, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        result = weights.run(
            layer,
            inputs.shape[1],
            lambda: distributed(layer, inputs[:, :_TRACED], training=training, mask=_first(mask)),
        )
        return _padded(result, inputs)

    with (
        patched_attributes(keras.layers.RNN, {"call": call_recurrent}),
        patched_attributes(keras.layers.TimeDistributed, {"call": call_distributed}),
    ):
        yield


def _first(mask: Any) -> Any:
    return None if mask is None else mask[:, :_TRACED]


def _padded(outputs: Any, inputs: Any) -> Any:
    missing = max(0, inputs.shape[1] - _TRACED)
    return tf.pad(outputs, [[0, 0], [0, missing]] + [[0, 0]] * (len(outputs.shape) - 2))


def _refusal(loop: Loop, total: float) -> Refusal:
    possible = int(loop.steps * MAX_STEP_OPS / total)
    return Refusal(
        f"The layer {loop.layer} takes {loop.steps:,} steps one after the other, and the model "
        f"{total:,.0f} operations for such steps, over the limit of {MAX_STEP_OPS:,}; sequences of up to "
        f"{possible:,} steps are possible. Cut them, or shorten them before the layer, by Conv1D with "
        "strides or AveragePooling1D."
    )
