"""Recurrent networks, which the converter unrolls."""

from __future__ import annotations

from typing import Any

import keras

from tests.support.keras.cases import Case
from tests.support.keras.recipes import Recipe
from tests.support.keras.values import class_numbers, events, sentences, tokens

layers = keras.layers


def lstm() -> Any:
    """Two LSTM layers, one after the other."""
    return keras.Sequential(
        [
            keras.Input((5, 4)),
            layers.LSTM(6, return_sequences=True),
            layers.LSTM(6),
            layers.Dense(1, activation="sigmoid"),
        ]
    )


def gru() -> Any:
    """GRU in both conventions of its reset gate, one running backwards."""
    return keras.Sequential(
        [
            keras.Input((5, 4)),
            layers.GRU(6, return_sequences=True),
            layers.GRU(6, reset_after=False, go_backwards=True),
            layers.Dense(1, activation="sigmoid"),
        ]
    )


def bidirectional() -> Any:
    """Bidirectional layers, joined and summed."""
    return keras.Sequential(
        [
            keras.Input((4, 3)),
            layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
            layers.Bidirectional(layers.GRU(4), merge_mode="sum"),
            layers.Dense(3, activation="softmax"),
        ]
    )


def simple_rnn() -> Any:
    """SimpleRNN with a state for each step, measured at each step."""
    return keras.Sequential(
        [keras.Input((6, 3)), layers.SimpleRNN(6, return_sequences=True), layers.Dense(2)]
    )


def stacked_dropout() -> Any:
    """Stacked layers with dropout of inputs, of states, and between them."""
    return keras.Sequential(
        [
            keras.Input((4, 4)),
            layers.LSTM(5, return_sequences=True, dropout=0.2, recurrent_dropout=0.2),
            layers.Dropout(0.3),
            layers.GRU(5, dropout=0.2, recurrent_dropout=0.1),
            layers.Dense(3, activation="softmax"),
        ]
    )


def stacked_cells() -> Any:
    """One RNN layer over stacked cells."""
    cells = [layers.LSTMCell(5), layers.GRUCell(4)]
    return keras.Sequential([keras.Input((4, 3)), layers.RNN(cells), layers.Dense(3, activation="softmax")])


def masked() -> Any:
    """Embedding with mask, GRU and LSTM that skip what is masked."""
    return keras.Sequential(
        [
            keras.Input((6,), dtype="int32"),
            layers.Embedding(12, 6, mask_zero=True),
            layers.GRU(6, return_sequences=True),
            layers.LSTM(6),
            layers.Dense(1, activation="sigmoid"),
        ]
    )


def tagger() -> Any:
    """A class for each word: loss and metrics count only what is not masked."""
    return keras.Sequential(
        [
            keras.Input((6,), dtype="int32"),
            layers.Embedding(12, 6, mask_zero=True),
            layers.GRU(6, return_sequences=True),
            layers.Dense(4, activation="softmax"),
        ]
    )


def time_distributed() -> Any:
    """A small convolutional network for each step, then a GRU."""
    return keras.Sequential(
        [
            keras.Input((3, 6, 6, 1)),
            layers.TimeDistributed(layers.Conv2D(4, 3, activation="relu")),
            layers.TimeDistributed(layers.GlobalAveragePooling2D()),
            layers.GRU(4),
            layers.Dense(3, activation="softmax"),
        ]
    )


def conv_lstm() -> Any:
    """ConvLSTM2D over a film of three images (Shi et al. 2015)."""
    return keras.Sequential(
        [
            keras.Input((3, 5, 5, 1)),
            layers.ConvLSTM2D(3, 3, padding="same"),
            layers.Conv2D(1, 3, padding="same"),
        ]
    )


def seq2seq() -> Any:
    """GRU encoder whose last state starts the decoder (Sutskever et al. 2014)."""
    source = keras.Input((5,), dtype="int32", name="source")
    target = keras.Input((4,), dtype="int32", name="target")
    _, state = layers.GRU(6, return_state=True)(layers.Embedding(10, 5)(source))
    x = layers.GRU(6, return_sequences=True)(layers.Embedding(10, 5)(target), initial_state=state)
    return keras.Model([source, target], layers.Dense(10, activation="softmax")(x))


_ADAM = {"name": "adam", "learning_rate": 0.01}
_EVENTS = Recipe("binary_crossentropy", _ADAM, ["accuracy"])
_CLASSES = Recipe("sparse_categorical_crossentropy", _ADAM, ["accuracy"])

CASES = (
    Case("lstm", lstm, _EVENTS, y=(events,)),
    Case("gru", gru, _EVENTS, y=(events,)),
    Case("bidirectional", bidirectional, _CLASSES, y=(class_numbers,), batch_size=6),
    Case("simple-rnn", simple_rnn, Recipe("mse", {"name": "rmsprop", "learning_rate": 0.01}, ["mae"])),
    Case("stacked-dropout", stacked_dropout, _CLASSES, y=(class_numbers,), batch_size=6),
    Case("stacked-cells", stacked_cells, _CLASSES, y=(class_numbers,), batch_size=6),
    Case("masked", masked, _EVENTS, x=(sentences(12),), y=(events,), batch_size=6),
    Case("tagger", tagger, _CLASSES, x=(sentences(12),), y=(class_numbers,), batch_size=6),
    Case("time-distributed", time_distributed, _CLASSES, y=(class_numbers,), batch_size=4),
    Case("conv-lstm", conv_lstm, Recipe("mse", _ADAM, ["mae"]), batch_size=4),
    Case("seq2seq", seq2seq, _CLASSES, x=(tokens(10), tokens(10)), y=(class_numbers,), batch_size=4),
)
