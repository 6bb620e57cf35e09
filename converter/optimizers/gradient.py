"""The gradient as an optimizer takes it in: values, and squares that Keras takes read by read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import tensorflow as tf

from converter.tracing.vector_layout import Layout

# What an optimizer adds up over the reads of a table: squares, or (Adamax) absolute values.
ReadSum = Literal["squares", "magnitudes"]


@dataclass(frozen=True)
class Gradient:
    """The gradient `values` [T].

    `read_squares` [T] are its squares where no table is read (None: everywhere). At a table, such as
    Embedding's, Keras 3 squares what each read of a row contributes and adds up the squares; for Adamax it
    adds up absolute values, and `read_squares` has the squares of these sums.
    """

    values: Any
    read_squares: Any = None

    @property
    def squares(self) -> Any:
        """Returns what a mean of squares takes in, [T]."""
        return tf.square(self.values) if self.read_squares is None else self.read_squares

    @property
    def magnitudes(self) -> Any:
        """Returns what a maximum of absolute values takes in, [T]."""
        return tf.abs(self.values) if self.read_squares is None else tf.sqrt(self.read_squares)

    def scaled(self, factor: Any) -> Gradient:
        """Returns the gradient times a scalar, or times a factor for each value."""
        squares = self.read_squares
        return Gradient(self.values * factor, None if squares is None else squares * tf.square(factor))


def tables_of(gradients: Sequence[Any]) -> tuple[int, ...]:
    """Returns the numbers of the trainable variables that the step reads row by row, and not otherwise."""
    return tuple(k for k, gradient in enumerate(gradients) if isinstance(gradient, tf.IndexedSlices))


def row_squares(gradients: Sequence[Any] | Mapping[int, Any], reads: Mapping[int, ReadSum]) -> Any:
    """Returns the squares of the tables' gradients [Q], in layout order, as Keras takes them."""
    sums = [_table_squares(gradients[number], kind) for number, kind in reads.items()]
    return sums[0] if len(sums) == 1 else tf.concat(sums, 0)


def _table_squares(slices: Any, kind: ReadSum) -> Any:
    parts = tf.square(slices.values) if kind == "squares" else tf.abs(slices.values)
    summed = tf.math.unsorted_segment_sum(parts, slices.indices, slices.dense_shape[0])
    return tf.reshape(summed if kind == "squares" else tf.square(summed), [-1])


def with_row_squares(gradient: Any, squares: Any, tables: Sequence[int], layout: Layout) -> Gradient:
    """Returns the gradient [T] with the squares [Q] of its tables; a negative one means its own square."""
    sizes = [entry.size for entry in layout.entries if entry.trainable]
    runs = _runs(sizes, tables)
    parts = tf.split(gradient, [size for size, _ in runs]) if len(runs) > 1 else [gradient]
    lengths = [size for size, is_table in runs if is_table]
    given = iter(tf.split(squares, lengths) if len(lengths) > 1 else [squares])
    taken = [
        _chosen(next(given), tf.square(part)) if is_table else tf.square(part)
        for part, (_, is_table) in zip(parts, runs, strict=True)
    ]
    return Gradient(gradient, taken[0] if len(taken) == 1 else tf.concat(taken, 0))


def _chosen(given: Any, own: Any) -> Any:
    return tf.where(given >= 0.0, given, own)


def _runs(sizes: Sequence[int], tables: Sequence[int]) -> list[tuple[int, bool]]:
    """Returns the lengths of the tables, and of what lies between them together."""
    runs: list[tuple[int, bool]] = []
    for k, size in enumerate(sizes):
        is_table = k in tables
        if runs and not is_table and not runs[-1][1]:
            size += runs.pop()[0]
        runs.append((size, is_table))
    return runs
