"""Layers that a graph repeats step by step are weighed before their steps are traced."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf

from converter.refusal import Refusal
from converter.tracing import loop_lengths
from tests.integration.converter.conftest import Convert

pytestmark = pytest.mark.tensorflow
L = keras.layers
FuncGraph = tf.__internal__.FuncGraph
STEPS = 50
LAYERS: dict[str, Callable[[], Any]] = {
    "lstm": lambda: L.LSTM(3),
    "gru": lambda: L.GRU(3, return_sequences=True),
    "simple": lambda: L.SimpleRNN(3, go_backwards=True),
    "cells": lambda: L.RNN([L.LSTMCell(3), L.GRUCell(2)]),
    "both-ways": lambda: L.Bidirectional(L.LSTM(3, return_sequences=True)),
    "distributed": lambda: L.TimeDistributed(L.Dense(2)),
    "loop-in-loop": lambda: L.TimeDistributed(L.LSTM(2)),
}


def model(*parts: Any, shape: tuple[int, ...] = (STEPS, 4)) -> Any:
    return keras.Sequential([keras.Input(shape), *parts, L.Flatten(), L.Dense(1)])


def ops_of(network: Any, shape: tuple[int, ...]) -> int:
    with FuncGraph("trace").as_default() as graph:
        network(tf.compat.v1.placeholder("float32", (2, *shape)))
    return len(graph.get_operations())


def weight_of(network: Any, shape: tuple[int, ...]) -> float:
    for layer in network._flatten_layers():
        if isinstance(layer, L.RNN):
            layer.unroll = True
    weights = loop_lengths.LoopWeights()
    with loop_lengths._shortened(weights), FuncGraph("trace").as_default():
        network(tf.compat.v1.placeholder("float32", (2, *shape)))
    return sum(loop.steps * loop.ops for loop in weights.outer)


@pytest.mark.parametrize("name", list(LAYERS))
def test_the_weight_is_about_the_number_of_ops_of_the_unrolled_layer(name: str) -> None:
    shape = (STEPS, 20, 4) if name == "loop-in-loop" else (STEPS, 4)
    network = model(*([L.Masking()] if name == "lstm" else []), LAYERS[name](), shape=shape)
    assert 0.9 < weight_of(network, shape) / ops_of(network, shape) < 1.25


def test_the_sentence_says_which_length_is_possible(
    convert: Convert, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_lengths, "MAX_STEP_OPS", 400)
    with pytest.raises(Refusal, match="layer reader takes 50 steps") as refused:
        convert(model(L.LSTM(3, name="reader")))
    found = re.search(r"up to (\d+) steps", str(refused.value))
    assert found
    assert 20 <= int(found[1]) < 30


def test_that_length_converts(convert: Convert, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_lengths, "MAX_STEP_OPS", 400)
    assert convert(model(L.LSTM(3, name="reader"), shape=(20, 4))).manifest["parameters"]


def test_layers_without_steps_are_not_weighed() -> None:
    assert not loop_lengths.has_loops(model(L.Conv1D(2, 3)))
