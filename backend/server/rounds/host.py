"""The host of one task in federated rounds.

`RoundEventHandler` passes events to the machines, `RoundEffectRunner` performs their effects, and
`AggregationJobs` runs what takes time.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from backend.errors import SlowUploadError
from backend.protocols.rounds.federated import Round
from backend.protocols.rounds.lots import Lots
from backend.protocols.rounds.phases import RoundPhase
from backend.server.hosting.clients.admission import check_room
from backend.server.hosting.clients.client_link import ClientLink, ConnectedClient, Presence
from backend.server.hosting.clients.connected_clients import presence_of, wire_phase
from backend.server.hosting.host_events import FrameReceived
from backend.server.hosting.limits import USUAL, TaskLimits
from backend.server.hosting.mailbox import Mailbox
from backend.server.hosting.task_host import TaskHost
from backend.server.observers.observer import NO_OBSERVERS, Observer, Observers
from backend.server.privacy.privacy_budget import PrivacyBudget
from backend.server.rounds.aggregation_jobs import AggregationJobs
from backend.server.rounds.effect_runner import RoundEffectRunner
from backend.server.rounds.event_handler import RoundEventHandler
from backend.server.rounds.negotiation import negotiate, seated_household
from backend.server.rounds.reaggregation.reaggregations import Reaggregations
from backend.server.rounds.reputations import reputation_records
from backend.server.rounds.round_host_events import HelloReceived, RollbackRequested, RoundHostEvent
from backend.server.rounds.state import RoundState
from backend.server.rounds.suspect_report import suspect_rows, tolerance
from backend.server.tasks.task import Task
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import BlobStore, ReputationRecord, VersionRecord
from backend.stores.updates.kept_updates import KeptUpdates
from backend.wire import messages
from backend.wire.client_id import client_id


class RoundsHost(TaskHost):
    """Owns one task's machine, clients, uploads and the aggregate of the open round.

    Time is the event loop's; `clock` gives the time of day (Unix seconds) for the records. `observer`
    receives events; `limits` bound what clients may request. `account` is the account of [privacy], whose
    noise is made from random bytes of `draw`. `lots` decide who is selected; they are secret, and the same
    after a restart, so that a round that was open gets its cohort again. `scratch` is an existing folder for
    the updates of a robust rule; by default the system's. `reputations` are the recorded ones. `kept` keeps
    single updates after their round; None keeps none. A try of another rule on them takes
    `reaggregation_slot`, by default one of its own.
    """

    def __init__(
        self,
        task: Task,
        history: VersionHistory,
        blobs: BlobStore,
        evaluate: bool,
        clock: Callable[[], float] = time.time,
        observer: Observer = NO_OBSERVERS,
        limits: TaskLimits = USUAL,
        account: PrivacyBudget | None = None,
        draw: Callable[[int], bytes] = secrets.token_bytes,
        lots: Lots | None = None,
        scratch: Path | None = None,
        reputations: Sequence[ReputationRecord] = (),
        kept: KeptUpdates | None = None,
        reaggregation_slot: asyncio.Semaphore | None = None,
    ) -> None:
        observers = Observers([observer])
        lots = lots or Lots(secrets.token_bytes(32))
        machine = _machine(task, history, account, lots)
        self._state = state = RoundState(
            task, history, machine, observers, limits, account, draw, scratch, lots, reputations, kept
        )
        mailbox: Mailbox[RoundHostEvent] = Mailbox(task.file.name, self._turn, self._next_due)
        super().__init__(task, history, mailbox, state.connected, state.background, observers)
        self._event_handler = RoundEventHandler(state)
        self._jobs = AggregationJobs(state, blobs, mailbox.put, clock, evaluate)
        self._effect_runner = RoundEffectRunner(state, self._jobs)
        self.reaggregations: Reaggregations | None = None
        if kept is not None:
            slot = reaggregation_slot or asyncio.Semaphore(1)
            self.reaggregations = Reaggregations(task, history, blobs, kept, evaluate, scratch, slot, draw)

    # Called by the socket.

    async def join(self, hello: messages.Hello, link: ClientLink) -> str:
        """Adds a client and returns its id. An older connection of the same client is closed.

        Raises BusyError, UnfitError where the task does not add up updates in any way that the client offers,
        and what AdmissionControl raises.
        """
        name = client_id(hello.token)
        self.admission.check(name, link.identity)
        aggregation = negotiate(self.task.file.security, hello.aggregation, hello.min_masked)
        household = seated_household(self.task.file, link)
        client = ConnectedClient(
            name, hello.kind, hello.backend, link, aggregation, hello.min_masked, household
        )
        check_room(client.id, self._state.connected.clients, self._state.limits.max_clients, "participants")
        await self._mailbox.put(HelloReceived(client))
        return client.id

    async def hear(self, client: str, link: ClientLink, message: messages.ClientFrame) -> None:
        """Queues a frame after the client's hello. Waits while the mailbox is full."""
        await self._mailbox.put(FrameReceived(client, link, message))

    def take(self, client: str, link: ClientLink, chunk: messages.Chunk) -> bool:
        """Stores a chunk that no decision depends on, as for most chunks, without passing the mailbox.

        Returns False for any other chunk, which has to pass the mailbox by `hear`.
        """
        return self._event_handler.chunk_taken(client, link, chunk, asyncio.get_running_loop().time())

    # Called for the owner.

    async def restore(self, number: int, reason: str) -> VersionRecord:
        """Records an earlier version as the next one, and returns that.

        An open round is abandoned for that `reason`. Raises OrderError while this cannot be, NotFoundError,
        GoneError or StoreError.
        """
        kept = await self.history.read_version(number)
        done: asyncio.Future[VersionRecord] = asyncio.get_running_loop().create_future()
        await self._mailbox.put(RollbackRequested(kept, reason, done))
        return await done

    async def lift_suspicion(self, client: str) -> None:
        """See TaskHost."""
        book = self._state.book
        lifted = book.lifted(client) if book else None
        if book is None or lifted is None:
            await super().lift_suspicion(client)
            return
        await self.history.write_reputations(reputation_records([lifted]))
        book.settle(lifted)

    # Queries.

    @property
    def phase(self) -> messages.Phase:
        """See TaskHost."""
        return wire_phase(self._state.machine.phase)

    @property
    def needed(self) -> int:
        """See TaskHost."""
        return self._state.machine.needed()

    @property
    def reason_to_finish(self) -> str | None:
        """See TaskHost."""
        return self._state.machine.reason_to_finish()

    @property
    def quiet(self) -> bool:
        """See TaskHost."""
        return self._state.machine.phase in (RoundPhase.PAUSED, RoundPhase.FINISHED)

    @property
    def round(self) -> int:
        """See TaskHost."""
        return self._state.machine.round

    @property
    def privacy(self) -> dict[str, Any] | None:
        """See TaskHost."""
        return self._state.privacy

    @property
    def tolerance(self) -> dict[str, Any] | None:
        """See TaskHost."""
        masked = self._state.masked
        if masked is not None and len(masked.groups) > 1:
            return tolerance(self.task.file, sum(map(len, masked.left)), len(masked.left))
        expected = self.task.file.coordination.min_available_clients
        return tolerance(self.task.file, self._state.accumulator.cohort or expected)

    @property
    def suspects(self) -> list[dict[str, Any]] | None:
        """See TaskHost."""
        return suspect_rows(self._state.book) if self._state.book else None

    @property
    def presences(self) -> list[Presence]:
        """See TaskHost."""
        return [presence_of(client, self._state.machine) for client in self._connected.clients.values()]

    @property
    def received(self) -> int:
        """See TaskHost."""
        return self._state.uploads.received

    # The loop.

    def _start(self) -> None:
        self._jobs.start()

    async def _stop(self) -> None:
        if self.reaggregations is not None:
            await self.reaggregations.stop()
        await super()._stop()
        self._jobs.stop()

    def _turn(self, event: RoundHostEvent | None, now: float) -> None:
        if event is not None:
            self._effect_runner.perform(self._event_handler.handle(event, now), now)
            self._state.connected.state_changed(now)
        self._on_time(now)

    def _next_due(self) -> float | None:
        masked = self._state.masked.timer() if self._state.masked else None
        times = (
            self._state.machine.timer(),
            masked,
            self._state.uploads.timer(),
            self._state.connected.timer(),
        )
        return min((at for at in times if at is not None), default=None)

    def _on_time(self, now: float) -> None:
        timer = self._state.machine.timer()
        if timer is not None and now >= timer:
            self._effect_runner.perform(self._state.machine.time_passed(now), now)
            self._state.connected.state_changed(now)
        masked = self._state.masked
        if masked is not None and (due := masked.timer()) is not None and now >= due:
            self._effect_runner.perform(masked.time_passed(now), now)
            self._state.connected.state_changed(now)
        for client, number in self._state.uploads.stalled(now):
            error = SlowUploadError("The upload is too slow. Try a better connection.")
            self._state.connected.tell_credits(self._state.uploads.drop(client, now))
            self._effect_runner.perform(self._state.machine.update_failed(client, number, error, now), now)
        self._state.connected.tell_credits(self._state.uploads.fill(now))
        self._state.connected.tell_state(self._state.machine, self.history.accepted, now)


def _machine(task: Task, history: VersionHistory, account: PrivacyBudget | None, lots: Lots) -> Round:
    """Returns the round machine, restored from the task's records."""
    plan = task.plan()
    if account is not None and account.most is not None:
        budget = replace(plan.stop, participations=account.most, epsilon=account.privacy.epsilon or 0.0)
        plan = replace(plan, stop=budget)
    progress = history.progress(plan.stop)
    if account is not None:
        opened, made = history.round + history.lost, history.current.version
        progress.participations = account.taken(history.accepted, opened, made)
    version, repeats = history.current.version, history.repeats
    checked = history.checked
    return Round(plan, history.round, version, progress, history.accepted, lots, repeats, checked)
