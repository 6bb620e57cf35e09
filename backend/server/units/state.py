"""What the parts of the host of a task of work units work on together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from backend.errors import UpdateRefusedError
from backend.formats.task_file import Units
from backend.numerics.aggregation.asynchronous import Memory
from backend.numerics.vectors import Vector
from backend.protocols.rounds.stop_rules import RunProgress
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import ClientId, Effect, GrantLease, LeaseId, UnitId
from backend.server.hosting.background_tasks import BackgroundTasks
from backend.server.hosting.client_link import ClientLink, ConnectedClient
from backend.server.hosting.connected_clients import ConnectedClients
from backend.server.hosting.limits import TaskLimits
from backend.server.hosting.uploads import UpdateUploads
from backend.server.observers.observer import Observer
from backend.server.observers.task_events import TaskEvent
from backend.server.tasks.task import Task
from backend.server.units.epoch_record import Epoch
from backend.server.units.parameters.server_pool import ParameterServers
from backend.server.units.parameters.snapshots import SnapshotStore
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import AssimilationRecord, EvaluationRecord
from backend.wire import unit_messages
from backend.wire.fields import WireFrame

# Something that happened, to be brought before the scheduler at the time it is given.
Event: TypeAlias = Callable[[float], Sequence[Effect]]


@dataclass
class UnitMember:
    """A connected client. `slots` is how many units it takes, once it is `ready`.

    `told` is the last word on why it has no unit. `results` counts what it sent over this connection, and
    `own` says that the newest of it may be gone on from.
    """

    client: ConnectedClient
    link: ClientLink
    shards: tuple[int, ...]
    ready: bool = False
    slots: int = 0
    step_ms: float = 0.0
    told: str | None = None
    results: int = 0
    own: bool = False


@dataclass
class LeasedWork:
    """A lease as it was told. `result` is what came of it, `fault` what is wrong with that.

    `update` is its vector while it is needed, also while it is `blending`; `own` are the weights that it
    went on from where those were the client's. `outcome` is the last that its client was told of it; `over`
    once no result can come.
    """

    grant: GrantLease
    epoch: int
    began: float
    kind: str
    backend: str
    start: unit_messages.Start = "given"
    elasticity: float = 0.0
    result: unit_messages.Result | None = None
    update: Vector | None = None
    own: Vector | None = None
    blending: bool = False
    fault: UpdateRefusedError | None = None
    came: float | None = None
    outcome: WireFrame | None = None
    over: bool = False


@dataclass(frozen=True)
class Credited:
    """What a client was credited so far."""

    units: int = 0
    examples: int = 0


@dataclass
class UnitsState:
    """One task's scheduler and all that stands around it. Changed by the host's loop alone.

    `weights`, `memory` and `base` are the newest that parameter servers gave back. `works` are the leases of
    this epoch and the last. Results of `blending` are on their way into the model. `last` are the weights
    that a client of Downpour goes on from. `credits` are those of the epochs before. `rows` are assimilations
    that are not recorded yet, the last of which is the `number`th; `means` what the stop rules were shown of
    epochs. `recording` counts epochs that are being written down. `changed` is set by what a checkpoint
    shows. `begun` is set once units may be dealt out, `closed` when all of the epoch are over.
    """

    task: Task
    units: Units
    history: VersionHistory
    machine: Scheduler
    servers: ParameterServers
    snapshots: SnapshotStore
    observer: Observer
    limits: TaskLimits
    progress: RunProgress
    epoch: Epoch
    base: int
    weights: Vector
    memory: Memory
    uploads: UpdateUploads = field(init=False)
    background: BackgroundTasks = field(init=False)
    connected: ConnectedClients = field(default_factory=ConnectedClients)
    members: dict[ClientId, UnitMember] = field(default_factory=dict)
    works: dict[LeaseId, LeasedWork] = field(default_factory=dict)
    of_unit: dict[UnitId, list[LeaseId]] = field(default_factory=dict)
    last: dict[ClientId, Vector] = field(default_factory=dict)
    credits: dict[ClientId, Credited] = field(default_factory=dict)
    number: int = 0
    rows: list[AssimilationRecord] = field(default_factory=list)
    means: list[EvaluationRecord] = field(default_factory=list)
    blending: set[UnitId] = field(default_factory=set)
    recording: int = 0
    held: bool = False
    ending: str | None = None
    finished: str | None = None
    begun: bool = False
    closed: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def notice(self, event: TaskEvent) -> None:
        """Tells whoever watches."""
        self.observer.notice(self.task.file.name, event)

    def __post_init__(self) -> None:
        self._ahead = self.base - self.number
        self.uploads = UpdateUploads(self.limits)
        self.background = BackgroundTasks(self.task.file.name, self.notice)

    @property
    def steady(self) -> bool:
        """Whether `weights` hold those results, and no others, whose servers' answers were heard."""
        return self.base - self.number == self._ahead

    def clock(self) -> float:
        """The time of the loop."""
        return asyncio.get_running_loop().time()

    @property
    def size(self) -> int:
        """Number of values of the task's flat vector."""
        return self.task.bundle.manifest.parameters.total

    @property
    def dealing(self) -> bool:
        """Whether units are handed out now."""
        return self.begun and not (self.held or self.closed or self.finished)

    def credited(self, client: ClientId) -> Credited:
        """What a client was credited, with this epoch's."""
        before, given = self.credits.get(client, Credited()), self.epoch.given.get(client)
        if given is None:
            return before
        return Credited(before.units + given.accepted, before.examples + given.examples)

    def reason_to_finish(self) -> str | None:
        """Why no more epochs follow; None while they do."""
        if self.ending is not None:
            return self.ending
        if (reason := self.progress.reason()) is not None:
            return reason
        if self.history.round >= self.units.epochs:
            return f"All {self.units.epochs} epochs are over."
        return None
