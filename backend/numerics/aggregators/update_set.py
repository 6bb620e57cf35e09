"""The updates that a rule aggregates: rows that are read block by block and mixed on the way.

A pre-aggregation is a matrix that mixes the rows of each block: no rows are ever copied as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.numerics.aggregators.column_blocks import block_columns, blocks_within, map_columns
from backend.numerics.aggregators.distances import Distances, Matrix, derived, measured, measured_norms
from backend.numerics.vectors import Vector64

# [rows, columns], float32 or float64.
Block: TypeAlias = NDArray[Any]
# So many float32 products are added up in float32; their sums are added up in float64.
_SUMMED_ROWS = 64
# OpenBLAS multiplies matrices in one thread up to so many products; its waiting threads would cost more than
# they save, as blocks are worked on in threads already.
_ONE_THREAD = 1 << 18
_LEAST_STEP = 32


class UpdateRow(Protocol):
    """One update [size], float32 or float64, in memory or elsewhere: a slice of it is an array."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def __getitem__(self, part: slice, /) -> NDArray[Any]: ...


# An array [n, size] is the fastest.
Updates: TypeAlias = Sequence[UpdateRow] | NDArray[Any]


class UpdateSet:
    """Weighted updates [len(self), size], only read.

    `weights`, float64 [len(self)], are positive. `dtype` is float64 if one update is, else float32. `unused`
    are the numbers of the given updates that the last `combine`, mixed or not, left out; None before one.
    """

    def __init__(self, updates: Updates, weights: Sequence[float] | None = None) -> None:
        """Raises ValueError for no updates, other shapes or types, or a weight that is not positive."""
        self._rows = updates
        self.size, self.dtype = _checked_shape(updates)
        self._matrix = updates if isinstance(updates, np.ndarray) and updates.dtype == self.dtype else None
        self.weights = _checked_weights(weights, len(updates))
        self.unused: list[int] | None = None
        self._given = self
        self._mixing: Matrix | None = None
        # The rows that these mix, and how: distances follow from theirs.
        self._source: UpdateSet | None = None
        self._step: Matrix | None = None

    def __len__(self) -> int:
        return len(self.weights)

    def mixed(self, mixing: Matrix, weights: Vector64) -> UpdateSet:
        """Returns the rows mixing @ self, [len(weights), size]; mixing is [len(weights), len(self)]."""
        result = UpdateSet(self._rows)
        result.weights = weights
        result._mixing = mixing if self._mixing is None else mixing @ self._mixing
        result._source, result._step = self, mixing
        result._given = self._given
        return result

    def chosen(self, numbers: Sequence[int]) -> UpdateSet:
        """Returns the rows with these numbers, in this order."""
        if self._mixing is not None:
            return self.mixed(np.eye(len(self))[list(numbers)], self.weights[list(numbers)])
        return UpdateSet([self._rows[number] for number in numbers], self.weights[list(numbers)].tolist())

    def with_row(self, row: UpdateRow) -> UpdateSet:
        """Returns these rows and another one [size], after them, with the weight 1."""
        result = UpdateSet([*self._rows, row])
        if self._mixing is not None:
            rows, columns = self._mixing.shape
            mixing = np.zeros((rows + 1, columns + 1))
            mixing[:rows, :columns], mixing[rows, columns] = self._mixing, 1.0
            result._mixing = mixing
        result.weights = np.append(self.weights, 1.0)
        return result

    @cached_property
    def distances(self) -> Distances:
        """Distances and inner products of the rows. Raises ValueError for an update that is not finite."""
        if self._source is not None and self._step is not None:
            found = derived(self._source.distances, self._step)
            if found is not None:
                return found
        return measured(self)

    @cached_property
    def norms(self) -> Vector64:
        """The rows' L2 norms [len(self)]. Raises ValueError for an update that is not finite."""
        if "distances" in self.__dict__ or self._source is not None:
            return self.distances.norms
        return measured_norms(self)

    def reader(self) -> BlockReader:
        """Returns a reader of blocks; each thread needs its own."""
        return BlockReader(self._rows, self._matrix, self._mixing, self.dtype)

    def mean(self) -> Vector64:
        """Returns the weighted mean, float64 [size]. Raises ValueError for an update that is not finite."""
        return self.combine(self.weights / self.weights.sum())

    def combine(self, factors: Vector64) -> Vector64:
        """Returns the sum of the rows times `factors` [len(self)], whose sizes add up to 1 or less: [size].

        Products are added up in the updates' type, sums of 64 in float64. Raises ValueError for an update
        that is not finite.
        """
        if self._mixing is not None:
            factors = factors @ self._mixing
        used = np.flatnonzero(factors)
        self._given.unused = np.flatnonzero(factors == 0.0).tolist()
        total = np.empty(self.size)

        def add_rows(columns: slice) -> bool:
            for part in blocks_within(columns, block_columns(1)):
                np.multiply(self._rows[used[0]][part], factors[used[0]], out=total[part], dtype=np.float64)
                for number in used[1:]:
                    total[part] += np.multiply(self._rows[number][part], factors[number], dtype=np.float64)
            return bool(np.isfinite(total[columns].sum()))

        def add_blocks(columns: slice) -> bool:
            reader = BlockReader(self._rows, self._matrix, None, self.dtype)
            scaled, finite = factors.astype(self.dtype), True
            with np.errstate(all="ignore"):
                width = min(block_columns(len(scaled)), _ONE_THREAD // min(len(scaled), _SUMMED_ROWS))
                for part in blocks_within(columns, width):
                    block, target = reader.view(part), total[part]
                    for start in range(0, len(scaled), _SUMMED_ROWS):
                        group = slice(start, start + _SUMMED_ROWS)
                        if start:
                            target += scaled[group] @ block[group]
                        else:
                            target[...] = scaled[group] @ block[group]
                    finite &= bool(np.isfinite(target.sum()))
            return finite

        if not len(used):
            total[...] = 0.0
            return total
        few = len(used) <= len(factors) // 4
        with np.errstate(invalid="ignore"):
            finite = all(map_columns(self.size, add_rows if few else add_blocks))
        if not finite:
            self.refuse_not_finite()
        return total

    def refuse_not_finite(self) -> None:
        """Raises ValueError if an update has a value that is not finite, with its number."""
        for number, row in enumerate(self._rows):
            for part in blocks_within(slice(0, self.size), block_columns(1)):
                if not np.isfinite(row[part]).all():
                    raise ValueError(
                        f"Update {number} of {len(self._rows)} holds NaN or infinity. Leave it out and "
                        "aggregate the others."
                    )


class BlockReader:
    """Reads blocks of rows, and mixes them."""

    def __init__(
        self, rows: Updates, matrix: NDArray[Any] | None, mixing: Matrix | None, dtype: np.dtype[Any]
    ) -> None:
        self._rows, self._matrix, self._dtype = rows, matrix, dtype
        self._mixing = None if mixing is None else mixing.astype(dtype)
        self._raw = self._mixed = np.empty(0, dtype)

    def view(self, part: slice) -> Block:
        """Returns the rows' values in `part`, valid until the next call. It must not be written to."""
        if self._mixing is None:
            return self._unmixed(part)
        self._mixed, out = _scratch(self._mixed, len(self._mixing), part)
        _mix(self._mixing, self._unmixed(part), out)
        return out

    def read(self, part: slice, out: Block) -> None:
        """Copies the rows' values in `part` to `out`."""
        if self._mixing is not None:
            _mix(self._mixing, self._unmixed(part), out)
        elif self._matrix is not None:
            out[...] = self._matrix[:, part]
        else:
            for row, target in zip(self._rows, out, strict=True):
                target[...] = row[part]

    def _unmixed(self, part: slice) -> Block:
        if self._matrix is not None:
            return self._matrix[:, part]
        self._raw, out = _scratch(self._raw, len(self._rows), part)
        for row, target in zip(self._rows, out, strict=True):
            target[...] = row[part]
        return out


def _mix(mixing: Block, rows: Block, out: Block) -> None:
    """Writes mixing @ rows to `out`, in products that are too small for BLAS to wake threads of its own."""
    step = _ONE_THREAD // mixing.size
    if step < _LEAST_STEP:
        step = rows.shape[1]
    for start in range(0, rows.shape[1], step):
        part = slice(start, start + step)
        np.matmul(mixing, rows[:, part], out=out[:, part])


def _scratch(old: Block, rows: int, part: slice) -> tuple[Block, Block]:
    """Returns memory for at least one block, `old` if it is enough, and an array [rows, columns] in it."""
    values = rows * (part.stop - part.start)
    memory = old if old.size >= values else np.empty(values, old.dtype)
    return memory, memory[:values].reshape(rows, -1)


def _checked_shape(updates: Updates) -> tuple[int, np.dtype[Any]]:
    if not len(updates):
        raise ValueError("There is no update to aggregate; wait for at least one.")
    shapes = {tuple(row.shape) for row in updates}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise ValueError(
            f"Updates are flat vectors of one length; these have the shapes {sorted(shapes)}. Flatten them "
            "in the order of the model's weights."
        )
    dtypes = {np.dtype(row.dtype) for row in updates}
    if not dtypes <= {np.dtype(np.float32), np.dtype(np.float64)}:
        raise ValueError(f"Updates are float32 or float64, not {', '.join(sorted(map(str, dtypes)))}.")
    return next(iter(shapes))[0], max(dtypes, key=lambda dtype: dtype.itemsize)


def _checked_weights(weights: Sequence[float] | None, count: int) -> Vector64:
    if weights is None:
        return np.ones(count)
    checked = np.asarray(weights, np.float64)
    if checked.shape != (count,) or not (np.isfinite(checked).all() and (checked > 0).all()):
        raise ValueError(f"{count} updates need {count} weights that are positive and finite, not {weights}.")
    return checked
