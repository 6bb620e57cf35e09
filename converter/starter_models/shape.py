"""Defines what a starter model is made for: the shape of its input, and the form of its answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, get_args

import keras

from converter.refusal import Refusal

# `classes`: the class; `binary`: yes or no; `numbers`: numbers; `next`: the next token at each place.
Form = Literal["classes", "binary", "numbers", "next"]
_MAX_VALUES = 1 << 24
_MAX_DIMENSIONS = 4


@dataclass(frozen=True)
class StarterShape:
    """Input and answer of one example.

    `input` is the shape of its input, which holds tokens below `tokens`, or numbers where that is 0. `output`
    is the shape of its numbers, else [n] of n classes or tokens.
    """

    input: tuple[int, ...]
    form: Form
    output: tuple[int, ...]
    tokens: int = 0

    def input_layer(self) -> Any:
        """Returns the Keras input."""
        return keras.Input(self.input, dtype="int32" if self.tokens else "float32", name="input")

    def answer(self, x: Any) -> Any:
        """Adds the last layer: probabilities of classes or tokens, or numbers."""
        dense = keras.layers.Dense
        match self.form:
            case "binary":
                return dense(1, activation="sigmoid", name="answer")(x)
            case "numbers":
                numbers = dense(prod(self.output), name="answer")(x)
                if len(self.output) == 1:
                    return numbers
                return keras.layers.Reshape(self.output, name="shaped")(numbers)
            case _:
                return dense(self.output[0], activation="softmax", name="answer")(x)


def read_shape(text: str) -> StarterShape:
    """Reads the JSON of a StarterShape. Raises Refusal for anything else."""
    try:
        table = json.loads(text)
        shape = StarterShape(
            _sides(table["input"]), table["form"], _sides(table["output"]), int(table["tokens"])
        )
    except (ValueError, KeyError, TypeError) as error:
        raise Refusal(f"The shape of the starter model cannot be read ({error!r}).") from error
    if shape.form not in get_args(Form) or not 0 <= shape.tokens <= _MAX_VALUES:
        raise Refusal("The shape of the starter model names an unknown form, or too many tokens.")
    return shape


def _sides(value: Any) -> tuple[int, ...]:
    sides = tuple(int(side) for side in value)
    if len(sides) > _MAX_DIMENSIONS or not all(side >= 1 for side in sides) or prod(sides) > _MAX_VALUES:
        raise ValueError(f"{list(sides)} is no shape")
    return sides
