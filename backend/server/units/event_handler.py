"""The event handler of work units: passes the mailbox's events to the scheduler and the host's parts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from backend.errors import MingaError, ReplacedError
from backend.protocols.client.client_kind import kind_of
from backend.protocols.units.scheduler_effects import Effect, RefuseResult
from backend.server.hosting import host_events
from backend.server.hosting.clients.client_link import ClientLink
from backend.server.hosting.clients.exact_clients import compared_program, objection
from backend.server.observers import task_events
from backend.server.units import unit_host_events as events
from backend.server.units.assimilator import Assimilator
from backend.server.units.board.announcements import Announcer
from backend.server.units.dispatcher import Dispatcher
from backend.server.units.effect_runner import UnitEffectRunner
from backend.server.units.epoch_controller import EpochController
from backend.server.units.evaluation.schedule import EvaluationSchedule
from backend.server.units.results.result_receiver import OVER, ResultReceiver
from backend.server.units.results.result_uploads import ResultUploads
from backend.server.units.state import UnitMember, UnitsState
from backend.server.units.work_generator import seconds_a_row
from backend.wire import messages, unit_messages

OVERWRITTEN = "Another result arrived at the same moment and overwrote it in the model. It stays credited."


class UnitEventHandler:
    """Owns the members. Calls the scheduler for each event; `handle` returns the effects."""

    def __init__(
        self,
        state: UnitsState,
        dispatcher: Dispatcher,
        uploads: ResultUploads,
        assimilator: Assimilator,
        controller: EpochController,
        effect_runner: UnitEffectRunner,
        evaluation: EvaluationSchedule,
        announcer: Announcer,
    ) -> None:
        self._state = state
        self._dispatcher = dispatcher
        self._uploads = uploads
        self._receiver = ResultReceiver(state, dispatcher, uploads)
        self._assimilator = assimilator
        self._controller = controller
        self._effect_runner = effect_runner
        self._evaluation = evaluation
        self._announcer = announcer

    def handle(self, event: events.UnitHostEvent, now: float) -> Sequence[Effect]:
        """Handles one event and returns the effects to perform."""
        match event:
            case events.ClientEnlisted():
                return self._enlisted(event)
            case events.UnitFrameReceived():
                return self._frame(event.client, event.link, event.message, now)
            case host_events.ConnectionLost():
                return self._left(event.client, event.link, lost=True)
            case host_events.ClientsDismissed():
                return self._dismissed(event.clients, event.error)
            case host_events.PauseRequested():
                return self._controller.pause(event.cut)
            case host_events.ResumeRequested():
                return self._controller.resume()
            case host_events.FinishRequested():
                return self._controller.finish(event.reason, event.cut, wait=event.cut)
            case events.ParametersReady():
                return self._controller.begin()
            case events.ResultsValidated():
                self._effect_runner.judged(event.judge, event.verdicts, now)
            case events.AssimilationSucceeded():
                self._assimilated(event)
            case events.AssimilationFailed():
                self._assimilator.failed(event.blend)
                return self._controller.finish(event.reason, cut=True)
            case events.TakeOutEnded():
                self._taken_out(event)
            case events.TakeOutFailed():
                self._state.model.taken_out(None)
                return self._controller.finish(event.reason, cut=True)
            case events.EpochRecorded():
                return self._recorded(event)
            case events.UnitWeightsEvaluated():
                self._evaluation.evaluated(event.result)
        return []

    def timed_out(self, now: float) -> Sequence[Effect]:
        """Drops results whose bytes or salts do not come, and returns the effects to perform."""
        self._receiver.committed.time_passed(now)
        return self._receiver.stalled(now)

    def timer(self) -> float | None:
        """Returns when the next salt of a result is due."""
        return self._receiver.committed.timer()

    def chunk_taken(self, client: str, link: ClientLink, chunk: messages.Chunk, now: float) -> bool:
        """Stores a chunk that is expected and not a result's last. Returns False for any other chunk."""
        member = self._current(client, link)
        if member is None or not self._uploads.take(client, chunk, now):
            return False
        member.client.received += len(chunk.data)
        return True

    # Members.

    def _enlisted(self, event: events.ClientEnlisted) -> list[Effect]:
        state, client = self._state, event.client
        effects: list[Effect] = []
        older = state.clients.members.get(client.id)
        if older is not None:
            older.link.close(ReplacedError("You opened this task elsewhere; that connection continues."))
            effects += self._left(client.id, older.link, lost=True)
        numbers = {shard.sha256: number for number, shard in enumerate(state.task.shards.train)}
        shards = tuple(numbers[address] for address in event.enlist.shards if address in numbers)
        state.clients.members[client.id] = UnitMember(client, client.link, shards)
        state.connected.add(client)
        enlisted = unit_messages.Enlisted(
            task=state.task.file.name,
            client=client.id,
            bundle=state.task.bundle.address,
            chunk_bytes=state.limits.chunk_bytes,
            # A unit from own weights starts where the one before ended: nothing is buffered.
            offline=0 if state.units.keeps_own else state.units.offline,
        )
        state.connected.tell(client.id, enlisted)
        state.notice(task_events.ClientJoined(client.id, client.kind, client.backend))
        self._announcer.greet(client.id)
        return effects

    def _left(self, client: str, link: ClientLink, lost: bool) -> list[Effect]:
        """Removes a client. If its connection was `lost`, it may reconnect and continue its leases."""
        if self._current(client, link) is None:
            return []
        effects: list[Effect] = []
        for lease, work in self._dispatcher.open_of(client):
            self._uploads.drop_upload(client, lease)
            self._receiver.committed.drop(lease)
            # Only this connection knows the own weights that such a unit starts from.
            if work.result is None and (not lost or work.start != "given"):
                effects += self._receiver.release(client, lease, "stopping")
        self._state.clients.forget_own(client)
        del self._state.clients.members[client]
        self._state.connected.remove(client)
        self._dispatcher.left(client)
        self._state.scheduler.client_disconnected(client)
        self._state.notice(task_events.ClientLeft(client, lost))
        return effects

    def _dismissed(self, clients: Collection[str] | None, error: MingaError) -> list[Effect]:
        members = self._state.clients.members
        effects: list[Effect] = []
        for client in list(members) if clients is None else clients:
            member = members.get(client)
            if member is not None:
                member.link.close(error)
                effects += self._left(client, member.link, lost=False)
        return effects

    def _current(self, client: str, link: ClientLink) -> UnitMember | None:
        member = self._state.clients.members.get(client)
        return member if member is not None and member.link is link else None

    # Frames.

    def _frame(
        self, client: str, link: ClientLink, message: unit_messages.UnitsToServer, now: float
    ) -> Sequence[Effect]:
        member = self._current(client, link)
        if member is None:
            return []  # A newer connection replaced it, or it left, before this event.
        match message:
            case messages.Ready():
                if refusal := objection(self._state.task, member.client.kind, message):
                    return self._dismissed([client], refusal)
                self._ready(client, member, message)
            case unit_messages.Want():
                member.slots = message.slots
                if member.ready:
                    self._state.scheduler.set_slots(client, message.slots, message.offline)
                    self._dispatcher.wants(client)
            case unit_messages.Beat():
                return self._heartbeat(client, message, now)
            case unit_messages.Result():
                return self._receiver.offered(client, message, now)
            case unit_messages.Salt():
                return self._receiver.committed.salt_told(client, message, now)
            case messages.Chunk():
                return self._receiver.chunk(client, message, now)
            case unit_messages.Release():
                return self._receiver.release(client, message.lease, message.cause)
            case messages.Leave():
                return self._left(client, link, lost=False)
            case unit_messages.Enlist():
                pass  # The socket handler accepts it only as the first frame.
        return []

    def _ready(self, client: str, member: UnitMember, ready: messages.Ready) -> None:
        connected, first = member.client, not member.ready
        connected.backend = ready.backend
        self._state.connected.add(connected)
        program = compared_program(self._state.task, ready)
        member.ready, member.step_ms, member.program = True, ready.step_ms, program
        self._state.scheduler.client_connected(
            client,
            member.slots,
            member.shards,
            kind=kind_of(connected.kind, connected.backend, program),
            pace=seconds_a_row(self._state.task, ready.step_ms),
            trusted=client in self._state.units.trust.trusted,
            household=self._state.households.of(client, member.link),
        )
        if first:
            self._dispatcher.repeat(client)
            self._tell_overwritten(client)
        self._dispatcher.tell_standing(client)
        self._dispatcher.wants(client)

    def _heartbeat(self, client: str, beat: unit_messages.Beat, now: float) -> Sequence[Effect]:
        if effects := self._resumed(client, beat.lease, now):
            return effects
        sending = self._uploads.expects(client, beat.lease)
        effects = self._state.scheduler.heartbeat(client, beat.lease, now, beat.steps, sending)
        if any(isinstance(effect, RefuseResult) for effect in effects):
            self._state.connected.tell(client, unit_messages.Drop(lease=beat.lease, reason=OVER))
            return []
        self._dispatcher.wants(client)
        return effects

    def _resumed(self, client: str, lease: int, now: float) -> Sequence[Effect]:
        """Gives a client work again that it gave back and has a checkpoint of, if nobody else got it."""
        state = self._state
        work = state.leases.of_client(client, lease)
        if work is None or not work.over or work.start != "given" or not state.run.granting:
            return []
        effects = state.scheduler.resumed(client, lease, work.grant.base, now)
        if effects:
            self._dispatcher.resumed(lease)
        return effects

    # Jobs.

    def _assimilated(self, event: events.AssimilationSucceeded) -> None:
        self._assimilator.succeeded(event)
        settled = not self._state.model.assimilating
        for client in self._state.overwritten.blended(event.blend, event.receipt, settled):
            self._tell_overwritten(client)
        self._dispatcher.wants(event.blend.client)
        self._effect_runner.tidy(event.blend.unit)
        self._evaluation.assimilated(self._state.model.base)

    def _tell_overwritten(self, client: str) -> None:
        """Tells a client which of its results in the model were overwritten; one that is away, later."""
        if client in self._state.clients.members:
            for lease in self._state.overwritten.take(client):
                self._state.connected.tell(client, unit_messages.Drop(lease=lease, reason=OVERWRITTEN))

    def _taken_out(self, event: events.TakeOutEnded) -> None:
        state = self._state
        state.model.taken_out(event.receipt, event.results)
        state.records.changed.set()
        state.notice(task_events.ResultsTakenOut(event.client, state.run.epoch.number, event.results))
        self._dispatcher.tell_standing(event.client)

    def _recorded(self, event: events.EpochRecorded) -> Sequence[Effect]:
        if event.version is not None:
            self._evaluation.recorded(event.version)
        return self._controller.recorded(event.epoch, event.version.version if event.version else None)
