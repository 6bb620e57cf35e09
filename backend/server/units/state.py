"""The state of one task of work units, split by owner: model, run, leases, clients and records."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from backend.errors import UpdateRefusedError
from backend.formats.task_file import Units
from backend.numerics.aggregation.asynchronous import Memory
from backend.numerics.vectors import Vector
from backend.protocols.rounds.stop_rules import RunProgress
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import ClientId, GrantLease, LeaseId, UnitId
from backend.server.hosting.background_tasks import BackgroundTasks
from backend.server.hosting.clients.client_link import ClientLink, ConnectedClient
from backend.server.hosting.clients.connected_clients import ConnectedClients
from backend.server.hosting.limits import TaskLimits
from backend.server.hosting.uploads import UpdateUploads
from backend.server.observers.observer import Observer
from backend.server.observers.task_events import TaskEvent
from backend.server.tasks.task import Task
from backend.server.units.epoch_record import Epoch, Given
from backend.server.units.households import Households
from backend.server.units.parameters.overwritten_results import OverwrittenResults
from backend.server.units.parameters.server_pool import ParameterServers
from backend.server.units.parameters.snapshots import SnapshotStore
from backend.server.units.validation.usual_results import UsualResults
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import AssimilationRecord, EvaluationRecord
from backend.stores.parameters.contract import Receipt
from backend.wire import unit_messages
from backend.wire.fields import WireFrame


@dataclass
class UnitMember:
    """A connected client. Once it is `ready`, it trains up to `slots` units at the same time.

    `step_ms` is the time of one training step in milliseconds, as the client measured it. `idle_cause` is the
    last cause of idleness that was sent to it. `results` counts the results sent over this connection; `own`
    is True if its next unit may start from its own newest weights. `program` is the hash of what computes,
    where that gives the same bits on every machine.
    """

    client: ConnectedClient
    link: ClientLink
    shards: tuple[int, ...]
    ready: bool = False
    slots: int = 0
    step_ms: float = 0.0
    idle_cause: str | None = None
    results: int = 0
    own: bool = False
    program: str | None = None


@dataclass
class LeasedUnit:
    """A granted lease with its `result`, and the `fault` of an invalid one.

    `update` [P] is the result's vector, held until it is compared and no longer `assimilating`. `own` [P] are
    the client's own weights if training started from them. `outcome` is the newest frame sent to the client
    about the result. `over` is set when no result can arrive any more. Results with the same `program` have
    the same bits, if they are right; None if the client told none. A `provisional` result may be taken out of
    the model again.
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
    assimilating: bool = False
    fault: UpdateRefusedError | None = None
    returned_at: float | None = None
    outcome: WireFrame | None = None
    over: bool = False
    program: str | None = None
    provisional: bool = False


@dataclass(frozen=True)
class ClientCredit:
    """Units and examples credited to a client so far."""

    units: int = 0
    examples: int = 0


@dataclass
class ModelState:
    """The newest model of the parameter servers. Changed by the `Assimilator` alone.

    `base` counts the results in `weights`, `number` those whose receipts have arrived. `assimilating` are the
    units whose result is being added to the model, `taking_out` the jobs that take a client's results out.
    Of the results `lost` were overwritten by other parameter servers, and `removed` taken out again.
    """

    base: int
    weights: Vector
    memory: Memory
    number: int = 0
    lost: float = 0.0
    removed: int = 0
    assimilating: set[UnitId] = field(default_factory=set)
    taking_out: int = 0

    def __post_init__(self) -> None:
        self._offset = self.base - self.number

    @property
    def steady(self) -> bool:
        """Whether `weights` hold exactly the results whose receipts arrived."""
        return self.base - self.number == self._offset

    @property
    def contained(self) -> float:
        """The number of results in the weights, without those that were overwritten or taken out."""
        return max(0.0, self.number - self.lost - self.removed)

    def apply(self, receipt: Receipt) -> None:
        """Counts an assimilated result, and replaces the weights if those of the receipt are newer."""
        self._replace(receipt)
        self.number += 1

    @property
    def is_changing(self) -> bool:
        """Whether a result is being added or taken out."""
        return bool(self.assimilating or self.taking_out)

    def taken_out(self, receipt: Receipt | None, results: int = 0) -> None:
        """Takes the end of a job that took `results` out; None if it had none to take out."""
        self.taking_out -= 1
        if receipt is not None:
            self._offset += 1
            self.removed += results
            self._replace(receipt)

    def _replace(self, receipt: Receipt) -> None:
        if receipt.base > self.base:
            self.base, self.weights, self.memory = receipt.base, receipt.weights, receipt.memory
            self.lost = receipt.lost


@dataclass
class RunState:
    """The progress of the run. Changed by the `EpochController` alone.

    Leases may be granted after it has `begun`; `closed` is set when all units of the `epoch` are over.
    `paused` is set by the owner. `ending` is the reason why no further epoch follows, `finished` the reason
    why the task ended. `auditing`: the last epoch is closed, and waits for audits. `wait_at_end`: clients
    wait after the task ended, since its owner may resume it.
    """

    epoch: Epoch
    begun: bool = False
    closed: bool = False
    paused: bool = False
    ending: str | None = None
    finished: str | None = None
    auditing: bool = False
    wait_at_end: bool = False

    @property
    def granting(self) -> bool:
        """Whether leases are granted now."""
        closed = self.closed and not self.auditing
        return self.begun and not (self.paused or closed or self.finished)


class UnitLeases:
    """The leases of this epoch and the previous one. Added and removed by the `Dispatcher` alone."""

    def __init__(self) -> None:
        self._leases: dict[LeaseId, LeasedUnit] = {}
        self._of_unit: dict[UnitId, list[LeaseId]] = {}

    def __getitem__(self, lease: LeaseId) -> LeasedUnit:
        """Raises KeyError for an unknown or forgotten lease."""
        return self._leases[lease]

    def get(self, lease: LeaseId) -> LeasedUnit | None:
        """Returns the lease; None if it is unknown or forgotten."""
        return self._leases.get(lease)

    def of_client(self, client: ClientId, lease: LeaseId) -> LeasedUnit | None:
        """Returns the lease if it belongs to this client; otherwise None."""
        work = self._leases.get(lease)
        return work if work is not None and work.grant.client == client else None

    def of_unit(self, unit: UnitId) -> Sequence[LeaseId]:
        """Returns all leases of a unit."""
        return self._of_unit.get(unit, ())

    def before(self, epoch: int) -> list[LeaseId]:
        """Returns the leases of epochs before `epoch`."""
        return [lease for lease, work in self._leases.items() if work.epoch < epoch]

    def add(self, work: LeasedUnit) -> None:
        """Adds a lease."""
        self._leases[work.grant.lease] = work
        self._of_unit.setdefault(work.grant.unit, []).append(work.grant.lease)

    def remove(self, lease: LeaseId) -> None:
        """Removes a lease, and the list of its unit's leases."""
        self._of_unit.pop(self._leases.pop(lease).grant.unit, None)


@dataclass
class ClientState:
    """Connected clients and credits. `members` are changed by the `UnitEventHandler` alone.

    `own_weights` [P] are the weights that a client of Downpour starts its next unit from: the `Assimilator`
    sets them, and `forget_own` removes them. `credits` are from earlier epochs; the `EpochController` adds
    them.
    """

    members: dict[ClientId, UnitMember] = field(default_factory=dict)
    credits: dict[ClientId, ClientCredit] = field(default_factory=dict)
    own_weights: dict[ClientId, Vector] = field(default_factory=dict)

    def add_credits(self, given: dict[ClientId, Given]) -> None:
        """Adds the credit that clients earned in a closed epoch."""
        for client, contribution in given.items():
            self.credits[client] = self.credited(client, contribution)

    def credited(self, client: ClientId, given: Given | None) -> ClientCredit:
        """Returns a client's credit, including its contribution to the open epoch."""
        credit = self.credits.get(client, ClientCredit())
        if given is None:
            return credit
        return ClientCredit(credit.units + given.accepted, credit.examples + given.examples)

    def forget_own(self, client: ClientId) -> None:
        """Removes a client's own weights: its next unit starts from the model."""
        self.own_weights.pop(client, None)
        if (member := self.members.get(client)) is not None:
            member.own = False


@dataclass
class TrafficTotals:
    """Bytes of the whole training: those `sent` and `received` before this start, and of `files` since.

    `known` is False if the training began on a server that did not record them.
    """

    sent: int = 0
    received: int = 0
    files: int = 0
    known: bool = True


@dataclass
class RecordState:
    """The rows that the next checkpoint writes. The `UnitRecorder` reads them, and it alone removes rows.

    `rows` are assimilations not recorded yet, `means` the evaluations that the stop rules received.
    `recording` counts epochs that are being written; `changed` is set when a checkpoint is due.
    """

    rows: list[AssimilationRecord] = field(default_factory=list)
    means: list[EvaluationRecord] = field(default_factory=list)
    recording: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def written(self) -> bool:
        """Whether the last checkpoint and record hold all that is known."""
        return not (self.rows or self.recording or self.changed.is_set())

    def add_row(self, row: AssimilationRecord) -> None:
        """Adds the row of an assimilated result."""
        self.rows.append(row)
        self.changed.set()

    def add_mean(self, mean: EvaluationRecord) -> None:
        """Adds the mean evaluation of an epoch that the stop rules received."""
        self.means.append(mean)
        self.changed.set()

    def measured(self, number: int, evaluation: EvaluationRecord) -> bool:
        """Adds an evaluation to the row of an assimilation. Returns False if the row is recorded."""
        for index, row in enumerate(self.rows):
            if row.number == number:
                self.rows[index] = replace(row, loss=evaluation.loss, metrics=evaluation.metrics)
                self.changed.set()
                return True
        return False

    def remove_written(self, rows: Collection[AssimilationRecord]) -> list[AssimilationRecord]:
        """Removes recorded rows. Returns those that were evaluated after the record was made."""
        written = {row.number: row for row in rows}
        changed = [row for row in self.rows if row.number in written and row is not written[row.number]]
        self.rows = [row for row in self.rows if row.number not in written]
        return [row for row in changed if row.loss is not None]


@dataclass
class UnitsState:
    """One task's services, and its state by owner. Only the host's loop uses it.

    `takes_out`: results count before they are proven, and those of refuted clients are taken out again.
    """

    task: Task
    units: Units
    history: VersionHistory
    scheduler: Scheduler
    servers: ParameterServers
    snapshots: SnapshotStore
    observer: Observer
    limits: TaskLimits
    progress: RunProgress
    model: ModelState
    run: RunState
    clients: ClientState
    records: RecordState
    usual: UsualResults
    takes_out: bool = False
    totals: TrafficTotals = field(default_factory=TrafficTotals)
    overwritten: OverwrittenResults = field(default_factory=OverwrittenResults)
    leases: UnitLeases = field(default_factory=UnitLeases)
    connected: ConnectedClients = field(default_factory=ConnectedClients)
    uploads: UpdateUploads = field(init=False)
    households: Households = field(init=False)
    background: BackgroundTasks = field(init=False)

    def __post_init__(self) -> None:
        self.uploads = UpdateUploads(self.limits)
        self.households = Households(self.units.trust)
        self.background = BackgroundTasks(self.task.file.name, self.notice)

    def notice(self, event: TaskEvent) -> None:
        """Passes an event to the observers."""
        self.observer.notice(self.task.file.name, event)

    def clock(self) -> float:
        """Returns the time of the event loop in seconds."""
        return asyncio.get_running_loop().time()

    @property
    def traffic(self) -> tuple[int, int] | None:
        """Bytes sent, with those of files, and of results received in the whole training, if known."""
        if not self.totals.known:
            return None
        sent = self.totals.sent + self.totals.files + self.connected.sent
        return sent, self.totals.received + self.uploads.received

    @property
    def size(self) -> int:
        """Number of values (P) of the model's flat vector."""
        return self.task.bundle.manifest.parameters.total
