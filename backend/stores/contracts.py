"""Contracts of the stores of records and blobs, and the records themselves.

Every implementation passes the tests in tests/integration/stores/. All methods raise StoreError, with a
sentence for the operator, when the medium fails. Once a method has returned, a crash of the process does not
lose its effect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

IntegrityOutcome: TypeAlias = Literal["passed", "failed", "undecided", "unmeasured"]
CheckCause: TypeAlias = Literal["schedule", "fall", "updates", "end"]


@dataclass(frozen=True)
class VersionRecord:
    """One model version. Times are seconds (Unix).

    `state` is the address of the server optimizer's state, `control` that of the server's control variate.
    `privacy` describes the noise in the version, and the norm to which later updates are clipped.
    `let_go` is when the three blobs were deleted to save space; None while they are kept.
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
    """Metrics of a version on held-out examples: the server's on the task's, or clients' on their own."""

    version: int
    loss: float
    metrics: dict[str, float]
    source: Literal["server", "clients"] = "server"
    examples: int = 0


@dataclass(frozen=True)
class IntegrityRecord:
    """A version's check for signs of a backdoor at time `at`, compared with version `against`, if any.

    `outcome` says whether it passed; `undecided` is a version that is not good enough to be judged, and
    `unmeasured` one that could not be measured. `parts` have `name`, `score` (None where unmeasured) and
    `reason`; `score` is the largest. `cause` is why it was checked. `accepted` is when the owner took it for
    clean in spite of its outcome; None otherwise. Times are Unix seconds.
    """

    version: int
    outcome: IntegrityOutcome
    score: float | None
    parts: list[dict[str, Any]]
    against: int | None
    cause: CheckCause
    at: float
    accepted: float | None = None


@dataclass(frozen=True)
class RoundRecord:
    """A finished round. `outcome` is `version` or `abandoned`; `reason` is why it was abandoned.

    `refused` counts the updates refused since the previous round was recorded, `refusals` by their code.
    `accepted_by` counts the accepted ones by kind and backend of their clients, such as `browser webgpu`.
    `losses` are percentiles (`p10`, `p50`, `p90`) of the losses that clients reported, for the task's owner;
    empty where the server does not see single updates. `rule` is the round's robust rule; empty for the mean.
    `left_out` has the clients whose accepted updates it did not use at all, for the task's owner; `uncounted`
    those whose updates did not count by their reputation. These are not among the `accepted` ones, nor are
    the `checked` updates of newcomers.
    The rule of a masked round compared the means of `groups_used` of its `groups`; 0 where it has no groups.
    `left_out_groups` has the clients of each group whose mean it did not use at all.
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
    rule: str = ""
    left_out: list[str] = field(default_factory=list)
    uncounted: list[str] = field(default_factory=list)
    groups: int = 0
    groups_used: int = 0
    left_out_groups: list[list[str]] = field(default_factory=list)
    checked: int = 0


@dataclass(frozen=True)
class ContributionRecord:
    """The contribution of one client to a task so far, or within one round."""

    client: str
    kind: str
    backend: str
    accepted: int
    refused: int
    examples: int


@dataclass(frozen=True)
class ReputationRecord:
    """The suspicion of a `subject` in rounds: an account, an invitation, or a client where it has neither.

    `client` sent its last update; `household` is a keyed digest, or "". For the other fields see Suspicion
    and JudgedRound. Clients without suspicion have no record.
    """

    subject: str
    client: str
    household: str
    score: float
    quarantined: bool
    quarantines: int
    served: int
    probation: int
    timeline: list[dict[str, Any]]


@dataclass(frozen=True)
class MeshGroupRecord:
    """A group of a mesh, of the newest version or of the open round: its members can certify what follows.

    `members` has their Ed25519 keys in hexadecimal by id; empty where none is known.
    """

    round: int
    group: int
    members: dict[str, str]


@dataclass(frozen=True)
class RoundResult:
    """The records of one finished round, which are written in one transaction.

    `mesh_groups` replace the recorded ones of a mesh; None leaves them as they are. `reputations` replace
    those of their subjects; None removes one. `checked` has the identities of newcomers whose updates were
    checked, each once.
    """

    round: RoundRecord
    contributions: list[ContributionRecord] = field(default_factory=list)
    version: VersionRecord | None = None
    mesh_groups: list[MeshGroupRecord] | None = None
    reputations: Mapping[str, ReputationRecord | None] = field(default_factory=dict)
    checked: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class AssimilationRecord:
    """A work-unit result that is in the model, the `number`th of the run, counted from 1.

    It counts as `examples` of the rows from `first` on; each row counts once in an epoch. Its steps begin at
    `first_step` of the training on those rows; other results have those before. They have `visits` examples,
    counted in each pass; None if unknown.
    Its training began at the weights with `base` results in them; `staleness` more were assimilated before
    it. `seconds` is how long its `client` had the unit. Of the results up to this one, other servers
    overwrote `lost`; the weights hold the others. `loss` and `metrics` are the model's on held-out examples
    right after it; `loss` is None if unmeasured.
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
    first_step: int = 0
    visits: int | None = None


@dataclass(frozen=True)
class CheckpointRecord:
    """The state from which a run of work units resumes: the model with `base` results in it, in `epoch`.

    `weights` and `slot` are addresses of vectors; `slot` and `count` are the assimilation's memory.
    `content` is the rest of the host's state, encoded.
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
    """A checkpoint and the assimilations since the previous one, written in one transaction."""

    checkpoint: CheckpointRecord
    assimilations: list[AssimilationRecord] = field(default_factory=list)


class Records(Protocol):
    """Stores the history of tasks. A run is the history of one task with one bundle, from version 0."""

    async def open_run(self, task: str, bundle: str) -> int:
        """Returns the number of the run of `task` with `bundle`, creating it if new. Counts each opening."""
        ...

    async def openings(self, run: int) -> int:
        """Returns how often the run was opened, including this time."""
        ...

    async def record(self, run: int, result: RoundResult) -> None:
        """Adds a round, its version if it made one, and its contributions, in one transaction.

        Raises StoreError when the version or round already exists.
        """
        ...

    async def write_reputations(self, run: int, changes: Mapping[str, ReputationRecord | None]) -> None:
        """Replaces the reputations of these subjects; None removes one."""
        ...

    async def reputations(self, run: int) -> list[ReputationRecord]:
        """Returns all reputations, by subject."""
        ...

    async def replace_mesh_groups(self, run: int, groups: Sequence[MeshGroupRecord]) -> None:
        """Records the groups whose members can certify what follows, in place of the earlier ones."""
        ...

    async def mesh_groups(self, run: int) -> list[MeshGroupRecord]:
        """Returns the groups whose members can certify what follows, by round, then number."""
        ...

    async def write_checkpoint(
        self, run: int, write: CheckpointWrite, result: RoundResult | None = None
    ) -> set[str]:
        """Adds assimilations, replaces the checkpoint, and records the round in `result` if it ends one.

        All in one transaction. Returns the addresses of the replaced checkpoint that nothing refers to now.
        """
        ...

    async def checkpoint(self, run: int) -> CheckpointRecord | None:
        """Returns the last checkpoint; None before the first."""
        ...

    async def assimilations(
        self, run: int, after: int = 0, last: int | None = None
    ) -> list[AssimilationRecord]:
        """Returns the assimilations after number `after`, oldest first; only the newest `last`, if given."""
        ...

    async def add_measurement(self, run: int, number: int, loss: float, metrics: dict[str, float]) -> None:
        """Adds the model's loss and metrics after a recorded assimilation."""
        ...

    async def add_first_version(self, run: int, version: VersionRecord) -> None:
        """Adds version 0 when the run has none."""
        ...

    async def add_evaluation(self, run: int, evaluation: EvaluationRecord) -> None:
        """Adds or replaces the evaluation of a version by the same source."""
        ...

    async def add_integrity(self, run: int, check: IntegrityRecord) -> None:
        """Adds or replaces the integrity check of a version."""
        ...

    async def integrity(self, run: int) -> list[IntegrityRecord]:
        """Returns all integrity checks, by version."""
        ...

    async def last_round(self, run: int) -> int:
        """Returns the number of the last recorded round; 0 before the first."""
        ...

    async def versions(self, run: int) -> list[VersionRecord]:
        """Returns all versions, oldest first."""
        ...

    async def evaluations(self, run: int) -> list[EvaluationRecord]:
        """Returns all evaluations, by version, then source."""
        ...

    async def contributions(self, run: int, client: str | None = None) -> list[ContributionRecord]:
        """Returns the sums over the rounds for each client, or for one; most accepted updates first."""
        ...

    async def checked(self, run: int) -> dict[str, int]:
        """Returns the number of rounds in which updates of each identity were checked in its probation."""
        ...

    async def rounds(
        self, run: int, after: int = 0, last: int | None = None, before: int | None = None
    ) -> list[RoundRecord]:
        """Returns the rounds after number `after` and before number `before`, oldest first.

        Given `last`, returns only the newest `last` of them.
        """
        ...

    async def let_go(self, run: int, versions: Collection[int], now: float) -> set[str]:
        """Marks the blobs of versions as deleted at `now`.

        Returns the addresses of those blobs to which no kept version and no checkpoint of any run refers.
        """
        ...

    async def named(self) -> set[str]:
        """Returns the addresses of the blobs of kept versions, of checkpoints, and of all runs' bundles."""
        ...

    async def bundles(self) -> set[str]:
        """Returns the addresses of the bundles of all runs."""
        ...

    async def gone(self, address: str) -> tuple[str, int] | None:
        """Returns the task and version whose deleted weights had `address`; None if there are none."""
        ...

    async def forget_task(self, task: str) -> None:
        """Removes all runs of a task with all their records."""
        ...

    async def check(self) -> None:
        """Returns if the records are writable now; raises StoreError otherwise."""
        ...

    async def close(self) -> None:
        """Closes the store."""
        ...


class Writing(Protocol):
    """Puts blobs that are about to be recorded, and protects them from deletion until then."""

    async def put(self, data: bytes | memoryview) -> str:
        """Stores `data` durably and returns its address. It is not dropped before the writing ends."""
        ...


class BlobStore(Protocol):
    """Stores immutable bytes under their SHA-256."""

    async def put(self, data: bytes | memoryview) -> str:
        """Stores `data` durably and returns its address. The same bytes stored twice are one blob."""
        ...

    async def put_file(self, path: Path) -> str:
        """Stores the bytes of the file at `path`, which is read in blocks, and returns their address.

        Such blobs are parts of tasks: they are not dropped while this process runs, until `release`.
        """
        ...

    def writing(self) -> AbstractContextManager[Writing]:
        """Returns a context for putting blobs and recording them: they are not dropped before its end."""
        ...

    async def read(self, address: str, verify: bool = False) -> bytes:
        """Returns the bytes. Raises NotFoundError if absent and, with `verify`, StoreError if damaged."""
        ...

    async def path(self, address: str) -> Path:
        """Returns the path of a local, read-only file with the bytes. Raises NotFoundError if absent."""
        ...

    async def drop(self, addresses: Iterable[str]) -> int:
        """Deletes blobs, except those being written and parts of tasks. Returns the bytes freed."""
        ...

    async def release(self, addresses: Collection[str]) -> int:
        """Drops former parts of tasks, except those being written. Returns the bytes freed."""
        ...

    async def sweep(self, keep: Collection[str]) -> int:
        """Drops blobs not in `keep`, and a killed process's temporary files. Returns the bytes freed."""
        ...

    async def check(self) -> None:
        """Returns if the store is writable now; raises StoreError otherwise."""
        ...
