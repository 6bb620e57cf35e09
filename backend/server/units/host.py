"""The host of one task of work units: owns its parts and mailbox, and handles the events in one loop."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from backend.server.hosting.clients.admission import check_room
from backend.server.hosting.clients.client_link import ClientLink, ConnectedClient, Presence
from backend.server.hosting.limits import USUAL, TaskLimits
from backend.server.hosting.mailbox import Mailbox
from backend.server.hosting.task_host import TaskHost
from backend.server.observers.observer import NO_OBSERVERS, Observer, Observers
from backend.server.tasks.task import Task
from backend.server.units import unit_host_events as events
from backend.server.units.assimilator import Assimilator
from backend.server.units.board.announcements import Announcer, phase_of, presence_of
from backend.server.units.dispatcher import Dispatcher, secret_chance
from backend.server.units.effect_runner import UnitEffectRunner
from backend.server.units.epoch_controller import EpochController
from backend.server.units.evaluation.schedule import EvaluationSchedule
from backend.server.units.event_handler import UnitEventHandler
from backend.server.units.parameters.server_pool import IN_MEMORY, ParameterDeployment
from backend.server.units.provisional.audit_evidence import AuditEvidence
from backend.server.units.provisional.take_outs import TakeOuts
from backend.server.units.records import CHECKPOINT_SECONDS, ClosedEpoch, UnitRecorder
from backend.server.units.results.result_uploads import ResultUploads
from backend.server.units.setup import RestoredState, create_state
from backend.server.units.state import UnitsState
from backend.server.units.unit_records import UnitRecords
from backend.server.units.validation.validator import ValidationJobs
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import AssimilationRecord, BlobStore
from backend.wire import messages, unit_messages
from backend.wire.client_id import client_id


class UnitsHost(TaskHost):
    """Owns the parts of one task of work units, and passes each event to them in one loop.

    Time is the event loop's; `clock` gives the time of day (Unix seconds). `scratch` is a folder for
    temporary files, `restored` is the state before a restart, `chance` draws from [0, 1). Checkpoints are at
    least `checkpoint_seconds` apart.
    """

    def __init__(
        self,
        task: Task,
        history: VersionHistory,
        blobs: BlobStore,
        evaluate: bool,
        scratch: Path,
        restored: RestoredState,
        clock: Callable[[], float] = time.time,
        observer: Observer = NO_OBSERVERS,
        limits: TaskLimits = USUAL,
        chance: Callable[[], float] = secret_chance,
        parameters: ParameterDeployment = IN_MEMORY,
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
    ) -> None:
        observers = Observers([observer])
        state = self._state = create_state(
            task, history, restored, scratch / secrets.token_hex(8), observers, limits, parameters
        )
        mailbox: Mailbox[events.UnitHostEvent] = Mailbox(task.file.name, self._turn, self._next_due)
        super().__init__(task, history, mailbox, state.connected, state.background, observers)
        post = mailbox.put
        self._dispatcher = Dispatcher(state, chance)
        self._uploads = ResultUploads(state)
        self._announcer = Announcer(state)
        self._recorder = UnitRecorder(state, clock, checkpoint_seconds)
        self._records = UnitRecords(state)
        observers.add(self._records)
        evidence, take_outs = AuditEvidence(state.snapshots), TakeOuts(state, post)
        self._validator = ValidationJobs(state, post, evidence)
        assimilator = Assimilator(state, post, clock, take_outs, evidence)
        self._controller = EpochController(state, self._dispatcher, self._record)
        self._controller.restore(state.run.epoch.number, restored.measured, restored.reason)
        self._effect_runner = UnitEffectRunner(
            state,
            self._dispatcher,
            self._uploads,
            self._validator,
            assimilator,
            self._controller,
            take_outs,
            evidence,
        )
        self._evaluation = EvaluationSchedule(
            state, blobs, self._recorder, self._controller, self._announcer, post, evaluate
        )
        self._event_handler = UnitEventHandler(
            state,
            self._dispatcher,
            self._uploads,
            assimilator,
            self._controller,
            self._effect_runner,
            self._evaluation,
            self._announcer,
        )

    # Called by the socket.

    async def join(self, enlist: unit_messages.Enlist, link: ClientLink) -> str:
        """Adds a client and returns its id. An older connection of the same client is closed.

        Raises BusyError, TooFastError, and what AdmissionControl raises.
        """
        name = client_id(enlist.token)
        self.admission.check(name, link.identity)
        check_room(name, self._state.clients.members, self._state.limits.max_clients, "participants")
        if name not in self._state.scheduler.clients():
            households, now = self._state.households, self._state.clock()
            suspended = self._state.scheduler.is_suspended(households.of(name, link), now)
            households.admit(name, link, suspended, now)
        client = ConnectedClient(name, enlist.kind, enlist.backend, link)
        await self._mailbox.put(events.ClientEnlisted(enlist, client))
        return name

    async def hear(self, client: str, link: ClientLink, message: unit_messages.UnitsToServer) -> None:
        """Queues a frame that a client sent after it enlisted. Waits while the mailbox is full."""
        await self._mailbox.put(events.UnitFrameReceived(client, link, message))

    def take(self, client: str, link: ClientLink, chunk: messages.Chunk) -> bool:
        """Stores a chunk that no decision depends on, without an event. Returns False for any other chunk."""
        return self._event_handler.chunk_taken(client, link, chunk, self._state.clock())

    # Read by pages and the API.

    @property
    def phase(self) -> messages.Phase:
        """See TaskHost."""
        return phase_of(self._state)

    @property
    def needed(self) -> int:
        """See TaskHost: one client with slots is enough."""
        return int(not any(member.slots for member in self._state.clients.members.values()))

    @property
    def reason_to_finish(self) -> str | None:
        """See TaskHost."""
        return self._state.run.finished or self._controller.reason()

    @property
    def quiet(self) -> bool:
        """See TaskHost."""
        state = self._state
        idle = state.run.finished is not None or (state.run.paused and not self._dispatcher.busy)
        return idle and not state.model.is_changing and state.records.written

    @property
    def round(self) -> int:
        """See TaskHost: the number of the epoch."""
        return self._state.run.epoch.number

    @property
    def state(self) -> UnitsState:
        """The task's state with its scheduler and parameter servers; callers only read it."""
        return self._state

    async def assimilations(self, after: int = 0, last: int | None = None) -> list[AssimilationRecord]:
        """Returns the newest `last` assimilations (None: all) after number `after`, recorded or not.

        Raises StoreError.
        """
        return await self._recorder.assimilations(after, last)

    async def unit_facts(self, unit: int) -> dict[str, Any]:
        """Returns the facts of a recent unit and the verdicts on its results. Raises NotFoundError."""
        return await self._records.facts(unit)

    @property
    def presences(self) -> list[Presence]:
        """See TaskHost."""
        is_busy = self._dispatcher.is_busy
        return [
            presence_of(member, is_busy(member.client.id)) for member in self._state.clients.members.values()
        ]

    @property
    def received(self) -> int:
        """See TaskHost."""
        return self._state.uploads.received

    @property
    def whole_traffic(self) -> tuple[int, int] | None:
        """See TaskHost."""
        return self._state.traffic

    def fetched(self, address: str, count: int) -> bool:
        """See TaskHost."""
        belongs = super().fetched(address, count)
        if belongs:
            self._state.totals.files += count
        return belongs

    def snapshot(self, address: str) -> Path | None:
        """Returns the file of weights that leases start from, by SHA-256; None if no such snapshot exists."""
        return self._state.snapshots.path(address)

    def _start(self) -> None:
        for job in (*self._evaluation.jobs(), self._begin(), self._recorder.write_checkpoints()):
            self._background.spawn(job)

    async def _stop(self) -> None:
        await super()._stop()
        self._validator.stop()
        await self._state.servers.stop()
        self._state.snapshots.close()

    def _turn(self, event: events.UnitHostEvent | None, now: float) -> None:
        perform, scheduler = self._effect_runner.perform, self._state.scheduler
        timer = scheduler.timer()
        has_news = event is not None or (timer is not None and now >= timer)
        if event is not None:
            perform(self._event_handler.handle(event, now), now)
            self._announcer.changed(now)
        timer = scheduler.timer()
        if timer is not None and now >= timer:
            perform(scheduler.time_passed(now), now)
            self._announcer.changed(now)
        perform(self._event_handler.timed_out(now), now)
        self._uploads.fill(now)
        while effects := self._controller.settle(now):
            perform(effects, now)
        self._dispatcher.dispatch(lambda effects: perform(effects, now), now, has_news)
        self._announcer.tell(now)

    def _next_due(self) -> float | None:
        state = self._state
        times = (
            state.scheduler.timer(),
            state.uploads.timer(),
            self._event_handler.timer(),
            self._controller.timer(),
            self._dispatcher.timer(state.clock()),
            self._announcer.timer(),
        )
        return min((due for due in times if due is not None), default=None)

    async def _begin(self) -> None:
        model, servers = self._state.model, self._state.servers
        await self._state.background.stored(
            lambda: servers.begin(model.weights, model.memory, model.base, model.lost)
        )
        await self._mailbox.put(events.ParametersReady())

    def _record(self, closed: ClosedEpoch) -> None:
        self._recorder.expect_epoch()
        self._state.background.spawn(self._record_epoch(closed))

    async def _record_epoch(self, closed: ClosedEpoch) -> None:
        version = await self._recorder.epoch(closed)
        await self._mailbox.put(events.EpochRecorded(closed.epoch, version))
        await self._evaluation.epoch_recorded(version, closed.snapshot)
