"""What a parameter store promises. Every implementation passes the same tests
(tests/integration/stores/parameters/)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from backend.errors import StoreError
from backend.numerics.aggregation.asynchronous import Assimilate, ClientResult, Memory
from backend.numerics.vectors import Vector

# So many turns are remembered: more than results can be under way at one time.
TURNS = 64


class ParametersGoneError(StoreError):
    """Nothing stands in the store (any more): it was restarted or emptied. Somebody has to begin again."""


class TakenOverError(StoreError):
    """Somebody else began with the parameters of this task since this store was opened."""


@dataclass(frozen=True)
class StoredParameters:
    """What stands in a store. `base` counts the results that were assimilated into `weights` [P].

    Nobody may write into the vectors.
    """

    weights: Vector
    memory: Memory
    base: int


@dataclass(frozen=True)
class Receipt(StoredParameters):
    """What stands there with one more result, whose `staleness` counts those since its own base.

    `lost` are the results since the beginning that another parameter server wrote over: `base` counts them,
    the weights do not have them. A part of a result that was written over is a part of one.
    `seconds` is how long the assimilation took, with reading and writing.
    """

    staleness: int
    lost: float
    seconds: float


class ParameterStore(Protocol):
    """Used by one thread at a time, unless an implementation says otherwise; calls block.

    Methods raise StoreError, in a sentence for the operator, when the medium fails. What stands here is no
    record: the host's checkpoint is, from which it begins again.
    """

    def begin(self, weights: Vector, memory: Memory, base: int) -> None:
        """Sets what stands here, for a new run or from a checkpoint.

        Other stores that were opened before for the same parameters, by another run, raise TakenOverError
        from now on.
        """
        ...

    def read(self) -> StoredParameters:
        """What stands here. Raises ParametersGoneError where nobody began."""
        ...

    def assimilate(self, recipe: Assimilate, result: ClientResult, base: int, turn: str) -> Receipt:
        """Takes one result in, trained from `base`, and says what stands here then.

        Counts the staleness itself. `turn` names the result: one that was taken in lately changes nothing,
        so that what failed half-way can be tried again. Raises ParametersGoneError where nobody began,
        ValueError where the vectors are of unlike lengths.
        """
        ...

    def clear(self) -> None:
        """Removes what stands here, unless somebody else began with it."""
        ...

    def close(self) -> None:
        """Ends the use. What stands here stays, unless it stands in this process."""
        ...


def check_fit(result: ClientResult, size: int) -> None:
    """Raises ValueError unless `result` has vectors of `size` values."""
    if not len(result.weights) == len(result.base) == size:
        raise ValueError(
            f"A result of {len(result.weights)} values from {len(result.base)}, and parameters of {size}, "
            "are of unlike models."
        )
