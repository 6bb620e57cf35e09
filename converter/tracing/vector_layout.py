"""Lays out a model's variables in one flat vector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from converter.refusal import Refusal

_CONSTANT = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@dataclass(frozen=True)
class Entry:
    """One variable: its row-major float32 values begin at `offset` of the flat vector."""

    name: str
    shape: tuple[int, ...]
    offset: int
    trainable: bool

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Layout:
    """The layout of a model's variables: trainable ones, then float state.

    Seed generators are left out, and state of whole numbers, such as the count of an adapted Normalization,
    is a constant of the graphs.
    """

    def __init__(self, model: Any) -> None:
        self.trainable_variables: list[Any] = list(model.trainable_variables)
        self._non_trainable: list[Any] = list(model.non_trainable_variables)
        self.state_variables = [v for v in self._non_trainable if not (_is_seed(v) or _is_constant(v))]
        # Values as arrays: a variable cannot be read while a graph is traced.
        self._constants = {id(v): np.asarray(v) for v in self._non_trainable if _is_constant(v)}
        self.entries: list[Entry] = []
        offset = 0
        for variable in self.trainable_variables + self.state_variables:
            if variable.dtype in _CONSTANT:
                raise Refusal(
                    f"The variable {variable.path} is {variable.dtype} and trainable, but whole numbers have "
                    "no gradient; declare it with trainable=False, or as float32."
                )
            if variable.dtype != "float32":
                raise Refusal(
                    f"The variable {variable.path} is {variable.dtype}; build the model in float32."
                )
            shape = tuple(int(n) for n in variable.shape)
            trainable = offset < self._count(self.trainable_variables)
            self.entries.append(Entry(variable.path, shape, offset, trainable))
            offset += math.prod(shape)
        self.trainable = self._count(self.trainable_variables)
        self.state = offset - self.trainable

    def part(self, numbers: Sequence[int]) -> Layout:
        """Returns the layout of the trainable variables with these numbers, in a separate vector."""
        own = [self.trainable_variables[number] for number in numbers]
        return Layout(SimpleNamespace(trainable_variables=own, non_trainable_variables=[]))

    @staticmethod
    def _count(variables: list[Any]) -> int:
        return sum(math.prod(v.shape) for v in variables)

    def values(self) -> NDArray[np.float32]:
        """Returns the model's current values as one vector [P], float32."""
        variables = self.trainable_variables + self.state_variables
        flat = [np.asarray(v, dtype="<f4").ravel() for v in variables]
        return np.concatenate(flat) if flat else np.zeros(0, "<f4")

    def split_trainable(self, vector: Any) -> list[Any]:
        """Splits a tensor [T] into one tensor per trainable variable."""
        return _split(vector, [e for e in self.entries if e.trainable])

    def split_state(self, vector: Any | None) -> list[Any]:
        """Splits a tensor [S] into one per non-trainable variable.

        State of whole numbers gets its value as a constant, and seed generators one that is never read.
        """
        parts = iter(_split(vector, [e for e in self.entries if not e.trainable]))
        given = []
        for variable in self._non_trainable:
            if id(variable) in self._constants:
                given.append(tf.constant(self._constants[id(variable)], variable.dtype))
            else:
                given.append(tf.zeros(variable.shape, variable.dtype) if _is_seed(variable) else next(parts))
        return given

    def assigned(self, values: list[Any]) -> list[str]:
        """Returns the names of non-trainable float variables whose values are not those of `split_state`."""
        return [
            variable.path
            for variable, value in zip(self._non_trainable, values, strict=True)
            if not _is_seed(variable) and not _is_given(value)
        ]

    def join_state(self, values: list[Any]) -> Any | None:
        """Joins the non-trainable variables' values into a tensor [S], the inverse of `split_state`.

        None for a model without float state. Raises Refusal where a layer has changed state of whole numbers.
        """
        state = []
        for variable, value in zip(self._non_trainable, values, strict=True):
            if id(variable) in self._constants:
                _check_unchanged(variable, value, self._constants[id(variable)])
            elif not _is_seed(variable):
                state.append(value)
        return join(state) if state else None


def join(tensors: list[Any]) -> Any:
    """Joins tensors of any shape into one vector, in order."""
    flat = [tf.reshape(t, [-1]) for t in tensors]
    return flat[0] if len(flat) == 1 else tf.concat(flat, 0)


def _split(vector: Any, entries: list[Entry]) -> list[Any]:
    if not entries:
        return []
    parts = tf.split(vector, [e.size for e in entries]) if len(entries) > 1 else [vector]
    return [tf.reshape(part, e.shape) for part, e in zip(parts, entries, strict=True)]


def _check_unchanged(variable: Any, value: Any, constant: NDArray[Any]) -> None:
    static = tf.get_static_value(value)
    if static is None or not np.array_equal(static, constant):
        raise Refusal(
            f"The variable {variable.path} is {variable.dtype} and its layer changes it while training, but "
            "the state of a model is a vector of float32; declare the variable as float32."
        )


def _is_given(value: Any) -> bool:
    """Returns whether a value is still a part of the state that was fed, or a constant."""
    op = value.op
    while op.type in ("Reshape", "Identity", "StopGradient"):
        op = op.inputs[0].op
    return op.type in ("SplitV", "Placeholder", "Const")


def _is_constant(variable: Any) -> bool:
    return variable.dtype in _CONSTANT and not _is_seed(variable)


def _is_seed(variable: Any) -> bool:
    # Keras names the seeds itself; they are the only integer variables of layers with random numbers.
    return bool(variable.name == "seed_generator_state" and variable.dtype != "float32")
