"""What a store promises. Every implementation passes the same tests (tests/stores/).

All methods raise StoreError, in a sentence for the operator, when the medium fails. Nothing that returned is
lost by a crash of the process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class VersionRecord:
    """One model version. `state` is the address of the server optimizer's state; times are seconds (Unix)."""

    version: int
    round: int
    weights: str
    state: str | None
    accepted: int
    examples: int
    loss: float | None
    metrics: dict[str, float]
    seconds: float
    created: float


@dataclass(frozen=True)
class EvaluationRecord:
    """A version measured on the held-out shards."""

    version: int
    loss: float
    metrics: dict[str, float]


@dataclass(frozen=True)
class RoundRecord:
    """A round that is over. `outcome` is `version` or `abandoned`, `reason` says why it was abandoned."""

    round: int
    version: int
    cohort: int
    accepted: int
    refused: int
    outcome: str
    reason: str
    seconds: float
    ended: float


@dataclass(frozen=True)
class Contribution:
    """What one client gave to a task so far, or within one round."""

    client: str
    kind: str
    backend: str
    accepted: int
    refused: int
    examples: int


@dataclass(frozen=True)
class RoundResult:
    """All that one round leaves behind: recorded together or not at all."""

    round: RoundRecord
    contributions: list[Contribution] = field(default_factory=list)
    version: VersionRecord | None = None


class Records(Protocol):
    """Facts about tasks. A run is the history of one task with one bundle, from version 0."""

    async def open_run(self, task: str, bundle: str) -> int:
        """Number of the run of `task` with `bundle`; made when it is new."""
        ...

    async def record(self, run: int, result: RoundResult) -> None:
        """Adds a round, its version if it made one, and its contributions, all or nothing.

        A version or round that exists already is a StoreError.
        """
        ...

    async def add_first_version(self, run: int, version: VersionRecord) -> None:
        """Adds version 0 when the run has none."""
        ...

    async def add_evaluation(self, run: int, evaluation: EvaluationRecord) -> None:
        """Adds or replaces the evaluation of a version."""
        ...

    async def last_round(self, run: int) -> int:
        """Number of the last recorded round; 0 before the first."""
        ...

    async def versions(self, run: int) -> list[VersionRecord]:
        """All versions, oldest first."""
        ...

    async def evaluations(self, run: int) -> list[EvaluationRecord]:
        """All evaluations, by version."""
        ...

    async def contributions(self, run: int) -> list[Contribution]:
        """Sums over the rounds for each client, the largest number of accepted updates first."""
        ...

    async def rounds(self, run: int) -> list[RoundRecord]:
        """All rounds, oldest first."""
        ...

    async def close(self) -> None:
        """Ends all use."""
        ...


class Blobs(Protocol):
    """Immutable bytes under their SHA-256."""

    async def put(self, data: bytes) -> str:
        """Address of `data`, stored durably. Storing the same bytes twice is one blob."""
        ...

    async def put_file(self, path: Path) -> str:
        """Address of the bytes in the file at `path`, which is read in blocks and left as it is."""
        ...

    async def read(self, address: str, verify: bool = False) -> bytes:
        """The bytes. NotFoundError if there are none; with `verify`, StoreError if they were damaged."""
        ...

    async def path(self, address: str) -> Path:
        """A local file with the bytes, to be read only. NotFoundError if there are none."""
        ...
