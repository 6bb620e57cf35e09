"""Lays out a model's variables in one flat vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from converter.refusal import Refusal


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
    """The layout of a model's variables: trainable ones, then float state, without seed generators."""

    def __init__(self, model: Any) -> None:
        self.trainable_variables: list[Any] = list(model.trainable_variables)
        self._non_trainable: list[Any] = list(model.non_trainable_variables)
        self.state_variables = [v for v in self._non_trainable if not _is_seed(v)]
        self.entries: list[Entry] = []
        offset = 0
        for variable in self.trainable_variables + self.state_variables:
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
        """Splits a tensor [S] into one per non-trainable variable; seed generators get a constant.

        The constant is never read.
        """
        parts = iter(_split(vector, [e for e in self.entries if not e.trainable]))
        return [tf.zeros(v.shape, v.dtype) if _is_seed(v) else next(parts) for v in self._non_trainable]

    def join_state(self, values: list[Any]) -> Any:
        """Joins the non-trainable variables' values into a tensor [S], the inverse of `split_state`."""
        state = [value for v, value in zip(self._non_trainable, values, strict=True) if not _is_seed(v)]
        return join(state)


def join(tensors: list[Any]) -> Any:
    """Joins tensors of any shape into one vector, in order."""
    flat = [tf.reshape(t, [-1]) for t in tensors]
    return flat[0] if len(flat) == 1 else tf.concat(flat, 0)


def _split(vector: Any, entries: list[Entry]) -> list[Any]:
    if not entries:
        return []
    parts = tf.split(vector, [e.size for e in entries]) if len(entries) > 1 else [vector]
    return [tf.reshape(part, e.shape) for part, e in zip(parts, entries, strict=True)]


def _is_seed(variable: Any) -> bool:
    # Keras names the seeds itself; they are the only integer variables of layers with random numbers.
    return bool(variable.name == "seed_generator_state" and variable.dtype != "float32")
