"""What a store promises. Every implementation passes the same tests (tests/integration/stores/).

All methods raise StoreError, in a sentence for the operator, when the medium fails. Nothing that returned is
lost by a crash of the process.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class VersionRecord:
    """One model version. Times are seconds (Unix).

    `state` is the address of the server optimizer's state, `control` that of the server's control variate.
    `privacy` says what noise is in it, and to which norm updates after it are clipped.
    `let_go` says when the three blobs were let go to save space; None while they are kept.
    """

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
    control: str | None = None
    let_go: float | None = None
    privacy: dict[str, Any] | None = None


@dataclass(frozen=True)
class EvaluationRecord:
    """A version measured on held-out examples: by the server on the task's, or by clients on theirs."""

    version: int
    loss: float
    metrics: dict[str, float]
    source: Literal["server", "clients"] = "server"
    examples: int = 0


@dataclass(frozen=True)
class RoundRecord:
    """A round that is over. `outcome` is `version` or `abandoned`, `reason` says why it was abandoned.

    `refused` counts the updates refused since the round before it was recorded, `refusals` by their code.
    `accepted_by` counts the accepted ones by kind and backend of their clients, such as `browser webgpu`.
    `losses` are percentiles (`p10`, `p50`, `p90`) of the losses that clients told, for the task's owner;
    empty where single updates are not seen.
    """

    round: int
    version: int
    cohort: int
    accepted: int
    refused: int
    outcome: str
    reason: str
    seconds: float
    ended: float
    refusals: dict[str, int] = field(default_factory=dict)
    accepted_by: dict[str, int] = field(default_factory=dict)
    losses: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ContributionRecord:
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
    contributions: list[ContributionRecord] = field(default_factory=list)
    version: VersionRecord | None = None


@dataclass(frozen=True)
class AssimilationRecord:
    """A result of a work unit that is in the model, the `number`th of the run from 1 on.

    It began at the weights with `base` results in them, `staleness` more came before it; `seconds` is how
    long its `client` had it, `lost` how many results were written over by then. `loss` and `metrics` are the
    model's right after it on held-out examples; None where that was not measured (yet).
    """

    number: int
    epoch: int
    unit: int
    shard: int
    first: int
    examples: int
    client: str
    kind: str
    backend: str
    base: int
    staleness: int
    seconds: float
    lost: float
    at: float
    loss: float | None = None
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckpointRecord:
    """From where a run of work units goes on: the model with `base` results in it, in `epoch`.

    `weights` and `slot` are addresses of vectors, the latter with `count` what the assimilation remembers.
    `content` is what the host keeps beside it.
    """

    at: float
    epoch: int
    base: int
    weights: str
    slot: str | None
    count: int
    content: bytes


@dataclass(frozen=True)
class CheckpointWrite:
    """A checkpoint, and what is in it since the one before: both are recorded, or none of it."""

    checkpoint: CheckpointRecord
    assimilations: list[AssimilationRecord] = field(default_factory=list)


class Records(Protocol):
    """Facts about tasks. A run is the history of one task with one bundle, from version 0."""

    async def open_run(self, task: str, bundle: str) -> int:
        """Number of the run of `task` with `bundle`; made when it is new. Each opening is counted."""
        ...

    async def openings(self, run: int) -> int:
        """How often the run was opened, this time included."""
        ...

    async def record(self, run: int, result: RoundResult) -> None:
        """Adds a round, its version if it made one, and its contributions, all or nothing.

        A version or round that exists already is a StoreError.
        """
        ...

    async def pass_on(
        self, run: int, passage: CheckpointWrite, result: RoundResult | None = None
    ) -> set[str]:
        """Adds assimilations, puts a checkpoint in the place of the one before, and records the round that
        `result` is, where it closes one; all or nothing. Addresses of the checkpoint before that nothing
        names any more.
        """
        ...

    async def checkpoint(self, run: int) -> CheckpointRecord | None:
        """The last one; None before any."""
        ...

    async def assimilations(
        self, run: int, after: int = 0, last: int | None = None
    ) -> list[AssimilationRecord]:
        """Those after number `after`, oldest first; given `last`, only so many, the newest."""
        ...

    async def add_measurement(self, run: int, number: int, loss: float, metrics: dict[str, float]) -> None:
        """What the model was measured to be after an assimilation that is recorded."""
        ...

    async def add_first_version(self, run: int, version: VersionRecord) -> None:
        """Adds version 0 when the run has none."""
        ...

    async def add_evaluation(self, run: int, evaluation: EvaluationRecord) -> None:
        """Adds or replaces the evaluation of a version by the same source."""
        ...

    async def last_round(self, run: int) -> int:
        """Number of the last recorded round; 0 before the first."""
        ...

    async def versions(self, run: int) -> list[VersionRecord]:
        """All versions, oldest first."""
        ...

    async def evaluations(self, run: int) -> list[EvaluationRecord]:
        """All evaluations, by version, then source."""
        ...

    async def contributions(self, run: int) -> list[ContributionRecord]:
        """Sums over the rounds for each client, the largest number of accepted updates first."""
        ...

    async def rounds(
        self, run: int, after: int = 0, last: int | None = None, before: int | None = None
    ) -> list[RoundRecord]:
        """Rounds after number `after`, oldest first. Given `before`, only those before that number; given
        `last`, only so many, the newest.
        """
        ...

    async def let_go(self, run: int, versions: Collection[int], now: float) -> set[str]:
        """Marks versions as let go. The addresses of their blobs that nothing kept of any run names."""
        ...

    async def named(self) -> set[str]:
        """Addresses of the blobs of all kept versions and checkpoints, and of the bundles of all runs."""
        ...

    async def bundles(self) -> set[str]:
        """Addresses of the bundles of all runs."""
        ...

    async def gone(self, address: str) -> tuple[str, int] | None:
        """Task and version whose weights lay at `address` before they were let go."""
        ...

    async def forget_task(self, task: str) -> None:
        """Removes all runs of a task with everything that belongs to them."""
        ...

    async def check(self) -> None:
        """Returns if something could be recorded now."""
        ...

    async def close(self) -> None:
        """Ends all use."""
        ...


class Writing(Protocol):
    """Blobs that are about to be recorded."""

    async def put(self, data: bytes | memoryview) -> str:
        """Address of `data`, stored durably. It is not dropped before the writing ends."""
        ...


class BlobStore(Protocol):
    """Immutable bytes under their SHA-256."""

    async def put(self, data: bytes | memoryview) -> str:
        """Address of `data`, stored durably. Storing the same bytes twice is one blob."""
        ...

    async def put_file(self, path: Path) -> str:
        """Address of the bytes in the file at `path`, which is read in blocks and left as it is.

        These are parts of tasks: they are not dropped while this process runs.
        """
        ...

    def writing(self) -> AbstractContextManager[Writing]:
        """To put blobs and record them: what is put within is not dropped before its end."""
        ...

    async def read(self, address: str, verify: bool = False) -> bytes:
        """The bytes. NotFoundError if there are none; with `verify`, StoreError if they were damaged."""
        ...

    async def path(self, address: str) -> Path:
        """A local file with the bytes, to be read only. NotFoundError if there are none."""
        ...

    async def drop(self, addresses: Iterable[str]) -> int:
        """Deletes blobs, but for those being written and parts of tasks; the number of bytes freed."""
        ...

    async def release(self, addresses: Collection[str]) -> int:
        """Drops blobs that are no parts of a task any more, but for those being written; bytes freed."""
        ...

    async def sweep(self, keep: Collection[str]) -> int:
        """Drops every blob that is not in `keep`, and what a killed process left behind; bytes freed."""
        ...

    async def check(self) -> None:
        """Returns if something could be stored now."""
        ...
