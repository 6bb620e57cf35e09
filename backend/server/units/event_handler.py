"""What happens to a task of work units, brought before its scheduler: frames of clients."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

from backend.errors import MingaError, ReplacedError, UpdateRefusedError, WrongLengthError
from backend.numerics.aggregation.update_checks import check_finite
from backend.protocols.rounds.cohort_member import too_much
from backend.protocols.units.records import PartialWork, UnitState
from backend.protocols.units.scheduler_effects import Effect, Judge, LeaseId, RefuseResult
from backend.server.hosting.client_link import ClientLink, ConnectedClient
from backend.server.observers import task_events
from backend.server.units.dispatcher import Dispatcher
from backend.server.units.results import ResultUploads
from backend.server.units.state import LeasedWork, UnitMember, UnitsState
from backend.server.units.work_generator import asked_of, examples_after, seconds_a_row
from backend.wire import messages, unit_messages

# A result of a unit in one of these states is compared with nothing.
_NOT_JUDGED = frozenset({UnitState.FAILED, UnitState.DROPPED})
OVER = "This work is over; ask for other."


@dataclass
class UnitEventHandler:
    """Turns each event into calls of the scheduler. Every method returns the effects to be performed."""

    at: UnitsState
    dealer: Dispatcher
    results: ResultUploads

    # Who is here.

    def entered(self, enlist: unit_messages.Enlist, client: ConnectedClient) -> list[Effect]:
        """A client is here; an older connection of the same client gives way."""
        effects: list[Effect] = []
        older = self.at.members.get(client.id)
        if older is not None:
            older.link.close(ReplacedError("You opened this task elsewhere; that connection goes on."))
            effects += self.left(client.id, older.link, lost=True)
        numbers = {shard.sha256: number for number, shard in enumerate(self.at.task.shards.train)}
        held = tuple(numbers[one] for one in enlist.shards if one in numbers)
        self.at.members[client.id] = UnitMember(client, client.link, held)
        self.at.connected.add(client)
        enlisted = unit_messages.Enlisted(
            task=self.at.task.file.name,
            client=client.id,
            bundle=self.at.task.bundle.address,
            chunk_bytes=self.at.limits.chunk_bytes,
        )
        self.at.connected.tell(client.id, enlisted)
        self.at.notice(task_events.ClientJoined(client.id, client.kind, client.backend))
        return effects

    def left(self, client: str, link: ClientLink, lost: bool) -> list[Effect]:
        """A client said goodbye, or its connection was `lost`: then it may come back with what it has."""
        member = self._current(client, link)
        if member is None:
            return []
        effects: list[Effect] = []
        for lease, work in self.dealer.open_of(client):
            self.results.drop_upload(client, lease)
            # Nobody but this connection knows the weights that it goes on from.
            if work.result is None and (not lost or work.start != "given"):
                effects += self._gave_back(client, lease, "stopping")
        self.at.last.pop(client, None)
        del self.at.members[client], self.at.connected.clients[client]
        self.dealer.left(client)
        self.at.machine.went(client)
        self.at.notice(task_events.ClientLeft(client, lost))
        return effects

    def sent_away(self, clients: Collection[str] | None, error: MingaError) -> list[Effect]:
        """The owner wants no connection with these."""
        effects: list[Effect] = []
        for client in list(self.at.members) if clients is None else clients:
            member = self.at.members.get(client)
            if member is not None:
                member.link.close(error)
                effects += self.left(client, member.link, lost=False)
        return effects

    # What they say.

    def heard(
        self, client: str, link: ClientLink, message: unit_messages.UnitsToServer, now: float
    ) -> Sequence[Effect]:
        """A client said something after it enlisted."""
        member = self._current(client, link)
        if member is None:
            return []  # It was replaced, or left, while this was under way.
        match message:
            case messages.Ready():
                return self._ready(client, member, message, now)
            case unit_messages.Want():
                # Of one unit alone it is clear which weights it goes on from.
                member.slots = min(message.slots, 1) if self.at.units.keeps_own else message.slots
                if member.ready:
                    self.at.machine.wants(client, message.slots)
                    self.dealer.wants(client)
            case unit_messages.Beat():
                return self._beat(client, message, now)
            case unit_messages.Result():
                return self._result(client, message, now)
            case messages.Chunk():
                return self._chunk(client, message, now)
            case unit_messages.Release():
                return self._gave_back(client, message.lease, message.cause)
            case messages.Leave():
                return self.left(client, link, lost=False)
            case unit_messages.Enlist():
                pass  # The shell lets one through, before all else.
        return []

    def _ready(self, client: str, member: UnitMember, ready: messages.Ready, now: float) -> list[Effect]:
        known, first = member.client, not member.ready
        known.backend = ready.backend
        self.at.connected.add(known)
        member.ready, member.step_ms = True, ready.step_ms
        self.at.machine.came(
            client,
            member.slots,
            member.shards,
            kind=f"{known.kind} {known.backend}",
            pace=seconds_a_row(self.at.task, ready.step_ms),
            trusted=client in self.at.units.trust.trusted,
        )
        if first:
            self.dealer.repeat(client, now)
        self.dealer.tell_standing(client)
        self.dealer.wants(client)
        return []

    def _beat(self, client: str, beat: unit_messages.Beat, now: float) -> Sequence[Effect]:
        effects = self.at.machine.heartbeat(client, beat.lease, now)
        if any(isinstance(effect, RefuseResult) for effect in effects):
            self.at.connected.tell(client, unit_messages.Drop(lease=beat.lease, reason=OVER))
            return []
        self.dealer.wants(client)
        return effects

    def _gave_back(self, client: str, lease: LeaseId, cause: str) -> Sequence[Effect]:
        work = self.dealer.work(client, lease)
        if work is None or work.result is not None:
            return []
        effects = self.at.machine.released(client, lease)
        if any(isinstance(effect, RefuseResult) for effect in effects):
            return []
        work.over = True
        self.results.drop_upload(client, lease)
        self.dealer.ended(lease)
        self.dealer.wants(client)
        self.at.notice(task_events.UnitReleased(client, lease, cause))
        return effects

    # Results.

    def _result(self, client: str, result: unit_messages.Result, now: float) -> Sequence[Effect]:
        work = self.dealer.work(client, result.lease)
        if work is None or work.over:
            self.results.reject(client, result.lease, "over", OVER)
            return []
        if work.result is not None:
            self._repeat_outcome(client, result.lease, work)
            return []
        error = too_much(asked_of(self.at.task, work.grant), result.examples, result.steps)
        if error is None and result.size != 4 * self.at.size:
            error = WrongLengthError(
                f"The update has {result.size} bytes; this model takes {4 * self.at.size}."
            )
        if error is not None:
            self.results.reject(client, result.lease, error.code, str(error))
            return self._gave_back(client, result.lease, "failed")
        self.results.begin_upload(client, result, now)
        return []

    def _repeat_outcome(self, client: str, lease: LeaseId, work: LeasedWork) -> None:
        """It lost the answer: the result is here."""
        self.at.connected.tell(client, unit_messages.Taken(lease=lease, waits=work.outcome is None))
        if work.outcome is not None:
            self.at.connected.tell(client, work.outcome)

    def _chunk(self, client: str, chunk: messages.Chunk, now: float) -> Sequence[Effect]:
        self.at.members[client].client.received += len(chunk.data)
        try:
            result = self.results.chunk(client, chunk, now)
        except WrongLengthError as error:
            self.results.drop_upload(client, chunk.round)
            self.results.reject(client, chunk.round, error.code, str(error))
            return self._gave_back(client, chunk.round, "failed")
        return [] if result is None else self._arrived(client, result, now)

    def chunk_taken(self, client: str, link: ClientLink, chunk: messages.Chunk, now: float) -> bool:
        """Stores a chunk that is due and not a result's last; whether it was one."""
        member = self._current(client, link)
        if member is None or not self.results.take(client, chunk, now):
            return False
        member.client.received += len(chunk.data)
        return True

    def stalled(self, now: float) -> list[Effect]:
        """Uploads of which too little came in too long a time are given up."""
        effects: list[Effect] = []
        for client, lease in self.results.stalled(now):
            self.results.drop_upload(client, lease)
            reason = "Too little of the update came in too long a time. Try a better connection."
            self.results.reject(client, lease, "slow-upload", reason)
            effects += self._gave_back(client, lease, "failed")
        return effects

    def _arrived(self, client: str, result: unit_messages.Result, now: float) -> Sequence[Effect]:
        """All of a result is here: it is looked at, and brought before the scheduler."""
        lease = result.lease
        work = self.at.works[lease]
        update, fault = self.results.finish_upload(client, lease)
        try:
            check_finite("loss", [result.loss])
            check_finite("list of metric sums", chain.from_iterable(result.sums))
            if len(result.sums) != sum(metric.rows for metric in self.at.task.bundle.manifest.metrics):
                raise WrongLengthError("The result counts other metrics than this model has.")
        except UpdateRefusedError as error:
            fault = fault or error
        effects = self.at.machine.returned(client, lease, now, self._part(work, result))
        if refused := next((one for one in effects if isinstance(one, RefuseResult)), None):
            work.over = True
            self.results.reject(client, lease, "over", refused.reason)
            self.dealer.ended(lease)
            return [one for one in effects if one is not refused]
        work.result, work.update, work.fault, work.came, work.over = result, update, fault, now, True
        late = now > work.grant.deadline
        self.at.notice(task_events.UnitReturned(client, lease, late))
        alone = any(
            isinstance(one, Judge) and one.leases == (lease,) and one.valid is None for one in effects
        )
        self.at.connected.tell(client, unit_messages.Taken(lease=lease, waits=not alone))
        self.dealer.returned(client, lease)
        if not alone:
            # Who is blended at once goes on from what that makes.
            self.dealer.wants(client)
        if not effects and self.at.machine.unit(work.grant.unit).state in _NOT_JUDGED:
            self.results.reject(client, lease, "over", OVER)
        return effects

    def _part(self, work: LeasedWork, result: unit_messages.Result) -> PartialWork | None:
        """As far as the client came, where it had to stop before the end of the unit."""
        grant = work.grant
        if result.steps == asked_of(self.at.task, grant).steps:
            return None
        return PartialWork(result.steps, examples_after(self.at.task, grant, result.steps))

    def _current(self, client: str, link: ClientLink) -> UnitMember | None:
        member = self.at.members.get(client)
        return member if member is not None and member.link is link else None
