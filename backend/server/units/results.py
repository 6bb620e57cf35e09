"""Results of leases: their uploads, and what the scheduler makes of those that arrived."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from backend.errors import UpdateRefusedError, WrongLengthError
from backend.numerics.aggregation.update_checks import check_finite
from backend.numerics.vectors import Vector
from backend.protocols.rounds.cohort_member import too_much
from backend.protocols.units.records import PartialWork, UnitState
from backend.protocols.units.scheduler_effects import ClientId, Effect, Judge, LeaseId, RefuseResult
from backend.server.observers import task_events
from backend.server.units.dispatcher import Dispatcher
from backend.server.units.state import LeasedUnit, UnitsState
from backend.server.units.work_generator import asked_of, examples_after
from backend.wire import messages, unit_messages

# A result of a unit in one of these states is compared with nothing.
_NOT_JUDGED = frozenset({UnitState.FAILED, UnitState.DROPPED})
OVER = "This work is over; ask for other."


class ResultUploads:
    """Owns the uploads of a task: of one client there may be several, one for each lease."""

    def __init__(self, state: UnitsState) -> None:
        self._state = state
        self._coming: dict[str, unit_messages.Result] = {}

    def begin_upload(self, client: ClientId, result: unit_messages.Result, now: float) -> None:
        """Grants credit for it, at once or when there is room. What came of it before is forgotten."""
        key = _key(client, result.lease)
        self.drop_upload(client, result.lease)
        self._coming[key] = result
        offer = messages.Offer(
            round=result.lease,
            version=0,
            examples=result.examples,
            steps=result.steps,
            loss=result.loss,
            sums=[],
            size=result.size,
        )
        self._tell(self._state.uploads.grant(key, offer, now))

    def take(self, client: ClientId, chunk: messages.Chunk, now: float) -> bool:
        """Stores a chunk that is due and not a result's last; whether it was one."""
        credits = self._state.uploads.inner_chunk(_key(client, chunk.round), chunk, now)
        if credits is None:
            return False
        self._tell(credits)
        return True

    def chunk(self, client: ClientId, chunk: messages.Chunk, now: float) -> unit_messages.Result | None:
        """Stores a chunk; the result that is here whole now. Raises WrongLengthError."""
        key = _key(client, chunk.round)
        complete, credits = self._state.uploads.chunk(key, chunk, now)
        self._tell(credits)
        return self._coming.get(key) if complete else None

    def finish_upload(
        self, client: ClientId, lease: LeaseId
    ) -> tuple[Vector | None, UpdateRefusedError | None]:
        """Returns a complete update or its error, and frees its slot."""
        key = _key(client, lease)
        most = self._state.task.file.security.max_update_norm
        update: Vector | None = None
        fault: UpdateRefusedError | None = None
        try:
            # The slot's buffer is reused, so the update is copied.
            update = self._state.uploads.update(key, most).copy()
        except UpdateRefusedError as error:
            fault = error
        self.release_upload(client, lease)
        return update, fault

    def release_upload(self, client: ClientId, lease: LeaseId) -> None:
        """Frees the buffer of a complete result for the next upload."""
        key = _key(client, lease)
        self._coming.pop(key, None)
        now = self._state.clock()
        self._tell(self._state.uploads.done(key, lease, now))

    def drop_upload(self, client: ClientId, lease: LeaseId) -> None:
        """Drops the upload of a lease, if there is one."""
        key = _key(client, lease)
        if self._coming.pop(key, None) is not None:
            self._tell(self._state.uploads.drop(key, self._state.clock()))

    def stalled(self, now: float) -> list[tuple[ClientId, LeaseId]]:
        """Returns the clients and leases whose uploads are too slow."""
        return [(key.partition(" ")[0], lease) for key, lease in self._state.uploads.stalled(now)]

    def fill(self, now: float) -> None:
        """Assigns free slots to waiting uploads."""
        self._tell(self._state.uploads.fill(now))

    def reject(self, client: ClientId, lease: LeaseId, code: str, reason: str) -> None:
        """Tells a client that a result does not count, and remembers it for the record."""
        frame = unit_messages.Rejected(lease=lease, code=code, reason=reason[:500])
        work = self._state.leases.get(lease)
        if work is not None and work.grant.client == client:
            work.outcome = frame
        self._state.clients.forget_own(client)
        self._state.connected.tell(client, frame)
        self._state.run.epoch.refused.add(client, code)
        self._state.notice(task_events.UnitRejected(client, lease, code, frame.reason))

    def _tell(self, credits: Iterable[tuple[str, messages.Credit]]) -> None:
        self._state.connected.tell_credits((key.partition(" ")[0], credit) for key, credit in credits)


class ResultReceiver:
    """Passes complete results to the scheduler. Each method returns the effects to perform."""

    def __init__(self, state: UnitsState, dispatcher: Dispatcher, uploads: ResultUploads) -> None:
        self._state = state
        self._dispatcher = dispatcher
        self._uploads = uploads

    def release(self, client: str, lease: LeaseId, cause: str) -> Sequence[Effect]:
        """Releases a lease that its client gives back."""
        work = self._state.leases.of_client(client, lease)
        if work is None or work.result is not None:
            return []
        effects = self._state.scheduler.released(client, lease)
        if any(isinstance(effect, RefuseResult) for effect in effects):
            return []
        work.over = True
        self._uploads.drop_upload(client, lease)
        self._dispatcher.ended(lease)
        self._dispatcher.wants(client)
        self._state.notice(task_events.UnitReleased(client, lease, cause))
        return effects

    def offered(self, client: str, result: unit_messages.Result, now: float) -> Sequence[Effect]:
        """A client offers a result: its upload begins, or it is rejected."""
        work = self._state.leases.of_client(client, result.lease)
        if work is None or work.over:
            self._uploads.reject(client, result.lease, "over", OVER)
            return []
        if work.result is not None:
            self._repeat_outcome(client, result.lease, work)
            return []
        error = too_much(asked_of(self._state.task, work.grant), result.examples, result.steps)
        if error is None and result.size != 4 * self._state.size:
            error = WrongLengthError(
                f"The update has {result.size} bytes; this model takes {4 * self._state.size}."
            )
        if error is not None:
            self._uploads.reject(client, result.lease, error.code, str(error))
            return self.release(client, result.lease, "failed")
        self._uploads.begin_upload(client, result, now)
        return []

    def _repeat_outcome(self, client: str, lease: LeaseId, work: LeasedUnit) -> None:
        """It lost the answer: the result is here."""
        self._state.connected.tell(client, unit_messages.Taken(lease=lease, waits=work.outcome is None))
        if work.outcome is not None:
            self._state.connected.tell(client, work.outcome)

    def chunk(self, client: str, chunk: messages.Chunk, now: float) -> Sequence[Effect]:
        """A chunk of a result arrived."""
        self._state.clients.members[client].client.received += len(chunk.data)
        try:
            result = self._uploads.chunk(client, chunk, now)
        except WrongLengthError as error:
            self._uploads.drop_upload(client, chunk.round)
            self._uploads.reject(client, chunk.round, error.code, str(error))
            return self.release(client, chunk.round, "failed")
        return [] if result is None else self._arrived(client, result, now)

    def stalled(self, now: float) -> list[Effect]:
        """Uploads of which too little came in too long a time are given up."""
        effects: list[Effect] = []
        for client, lease in self._uploads.stalled(now):
            self._uploads.drop_upload(client, lease)
            reason = "Too little of the update came in too long a time. Try a better connection."
            self._uploads.reject(client, lease, "slow-upload", reason)
            effects += self.release(client, lease, "failed")
        return effects

    def _arrived(self, client: str, result: unit_messages.Result, now: float) -> Sequence[Effect]:
        """All of a result is here: it is looked at, and brought before the scheduler."""
        lease = result.lease
        work = self._state.leases[lease]
        update, fault = self._uploads.finish_upload(client, lease)
        try:
            check_finite("loss", [result.loss])
            check_finite("list of metric sums", chain.from_iterable(result.sums))
            if len(result.sums) != sum(metric.rows for metric in self._state.task.bundle.manifest.metrics):
                raise WrongLengthError("The result counts other metrics than this model has.")
        except UpdateRefusedError as error:
            fault = fault or error
        effects = self._state.scheduler.returned(client, lease, now, self._part(work, result))
        if refused := next((one for one in effects if isinstance(one, RefuseResult)), None):
            work.over = True
            self._uploads.reject(client, lease, "over", refused.reason)
            self._dispatcher.ended(lease)
            return [one for one in effects if one is not refused]
        work.result, work.update, work.fault, work.returned_at, work.over = result, update, fault, now, True
        late = now > work.grant.deadline
        self._state.notice(task_events.UnitReturned(client, lease, late))
        alone = any(
            isinstance(one, Judge) and one.leases == (lease,) and one.valid is None for one in effects
        )
        self._state.connected.tell(client, unit_messages.Taken(lease=lease, waits=not alone))
        self._dispatcher.returned(client, lease)
        if not alone:
            # Who is blended at once goes on from what that makes.
            self._dispatcher.wants(client)
        if not effects and self._state.scheduler.unit(work.grant.unit).state in _NOT_JUDGED:
            self._uploads.reject(client, lease, "over", OVER)
        return effects

    def _part(self, work: LeasedUnit, result: unit_messages.Result) -> PartialWork | None:
        """As far as the client came, where it had to stop before the end of the unit."""
        grant = work.grant
        if result.steps == asked_of(self._state.task, grant).steps:
            return None
        return PartialWork(result.steps, examples_after(self._state.task, grant, result.steps))


def _key(client: ClientId, lease: LeaseId) -> str:
    """A client of the uploads: one turn of a client."""
    return f"{client} {lease}"
