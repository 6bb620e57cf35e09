"""Contract of the parameter stores. tests/integration/stores/parameters/ tests every implementation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from backend.errors import StoreError
from backend.numerics.aggregation.asynchronous import Assimilate, ClientResult, Memory
from backend.numerics.vectors import Vector

# How many result ids a store remembers: more than the results that can be in progress at one time.
REMEMBERED_RESULTS = 64


class ParametersGoneError(StoreError):
    """The store holds no parameters, or lost them in a restart. The task's host must call `begin` again."""


@dataclass(frozen=True)
class StoredParameters:
    """The content of a store. `base` counts the results that were assimilated into `weights` [P].

    The vectors are shared and must not be written to.
    """

    weights: Vector
    memory: Memory
    base: int


@dataclass(frozen=True)
class Receipt(StoredParameters):
    """The content of a store after one assimilation. `staleness` counts the results since its base.

    `lost` counts the results since `begin` that another parameter server overwrote: `base` counts them, but
    the weights do not contain them. A result that was overwritten in some shards counts as a fraction.
    `seconds` is the duration of the assimilation, including reading and writing. `held` are the ids of the
    newest results that the weights contain whole; None where no result is ever lost.
    """

    staleness: int
    lost: float
    seconds: float
    held: tuple[str, ...] | None = None


class ParameterStore(Protocol):
    """Holds the parameters of one run while results are assimilated. Calls block.

    One thread at a time may use it, unless an implementation allows more. Methods raise StoreError, with a
    sentence for the operator, when the medium fails. The content need not be durable: the host restores it
    from its checkpoint.
    """

    def begin(self, weights: Vector, memory: Memory, base: int) -> None:
        """Sets the parameters, for a new run or from a checkpoint.

        Stores that another run opened earlier for the same parameters raise TakenOverError from then on.
        """
        ...

    def read(self) -> StoredParameters:
        """Returns the parameters. Raises ParametersGoneError before `begin`."""
        ...

    def assimilate(self, recipe: Assimilate, result: ClientResult, base: int, result_id: str) -> Receipt:
        """Assimilates one result that was trained from `base`, and returns the parameters after it.

        The store computes the staleness. A result whose `result_id` was assimilated lately changes nothing,
        so an assimilation that failed half-way can be retried. With the recipe `shifted`, the result is a
        change of the weights, which `base` counts, too. Raises ParametersGoneError before `begin`, and
        ValueError when the vectors differ in length.
        """
        ...

    def clear(self) -> None:
        """Removes the parameters, unless another run called `begin` for them."""
        ...

    def close(self) -> None:
        """Closes the store. The parameters remain, unless they are in this process's memory."""
        ...


def check_fit(result: ClientResult, size: int) -> None:
    """Raises ValueError unless `result` has vectors of `size` values."""
    if not len(result.weights) == len(result.base) == size:
        raise ValueError(
            f"A result of {len(result.weights)} values from {len(result.base)}, and parameters of {size}, "
            "belong to different models."
        )
