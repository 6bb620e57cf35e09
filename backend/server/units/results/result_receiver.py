"""Receives the results of leases, and passes complete ones to the scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from backend.errors import SlowUploadError, UpdateRefusedError, WrongLengthError
from backend.numerics.aggregation.update_checks import check_finite
from backend.numerics.vectors import Vector
from backend.protocols.rounds.cohort_member import too_much
from backend.protocols.units.records import PartialWork, UnitState
from backend.protocols.units.scheduler import NOT_COMPARABLE
from backend.protocols.units.scheduler_effects import Effect, Judge, LeaseId, RefuseResult
from backend.server.observers import task_events
from backend.server.units.dispatcher import Dispatcher
from backend.server.units.results.committed_results import CommittedResults
from backend.server.units.results.result_uploads import PARTIAL, ResultUploads
from backend.server.units.state import LeasedUnit, UnitsState
from backend.server.units.work_generator import examples_after, planned_work
from backend.wire import messages, unit_messages

# Results of units in these states are not compared.
_NOT_JUDGED = frozenset({UnitState.FAILED, UnitState.DROPPED})
OVER = "This unit has ended; ask for another."
ENDED = "The training ended first, so this unit is not needed any more. That is not held against you."


class ResultReceiver:
    """Passes complete results to the scheduler. Each method returns the effects to perform."""

    def __init__(self, state: UnitsState, dispatcher: Dispatcher, uploads: ResultUploads) -> None:
        self._state = state
        self._dispatcher = dispatcher
        self._uploads = uploads
        self.committed = CommittedResults(state, uploads, self._accept)

    def release(self, client: str, lease: LeaseId, cause: str) -> Sequence[Effect]:
        """Releases a lease that its client returns without a result."""
        work = self._state.leases.of_client(client, lease)
        if work is None or work.result is not None:
            return []
        effects = self._state.scheduler.released(client, lease, self._state.clock())
        if any(isinstance(effect, RefuseResult) for effect in effects):
            return []
        work.over = True
        self._uploads.drop_upload(client, lease)
        self.committed.drop(lease)
        self._dispatcher.ended(lease)
        self._dispatcher.wants(client)
        self._state.notice(task_events.UnitReleased(client, lease, cause))
        return effects

    def offered(self, client: str, result: unit_messages.Result, now: float) -> Sequence[Effect]:
        """Starts the upload of a result that a client offers, or rejects it."""
        work = self._state.leases.of_client(client, result.lease)
        if work is None or work.over:
            self._uploads.reject(client, result.lease, "over", OVER)
            return []
        if work.result is not None:
            self._repeat_outcome(client, result.lease, work)
            return []
        error = too_much(planned_work(self._state.task, work.grant), result.examples, result.steps)
        if error is None and result.size != 4 * self._state.size:
            error = WrongLengthError(
                f"The update has {result.size} bytes; this model takes {4 * self._state.size}."
            )
        if error is not None:
            self._uploads.reject(client, result.lease, error.code, str(error))
            return self.release(client, result.lease, "failed")
        if not self._state.scheduler.is_comparable(client, result.lease, self._part(work, result)):
            return self._not_comparable(client, result.lease, work)
        if work.program is None:
            self._uploads.begin_upload(client, result, now)
        else:
            self.committed.offered(client, result, now)
        return []

    def _not_comparable(self, client: str, lease: LeaseId, work: LeasedUnit) -> Sequence[Effect]:
        """Refuses a part that cannot be compared before it is sent. Its client gets its next unit at once."""
        self._uploads.drop_upload(client, lease)
        self.committed.drop(lease)
        effects = self._state.scheduler.recalled(client, lease)
        self._refuse(client, lease, work, PARTIAL, NOT_COMPARABLE)
        return [effect for effect in effects if not isinstance(effect, RefuseResult)]

    def _refuse(self, client: str, lease: LeaseId, work: LeasedUnit, code: str, reason: str) -> None:
        """Refuses a result that the scheduler does not take, and ends its lease."""
        work.over = True
        self._uploads.reject(client, lease, code, reason)
        self._dispatcher.ended(lease)
        self._dispatcher.wants(client)

    def _repeat_outcome(self, client: str, lease: LeaseId, work: LeasedUnit) -> None:
        """Sends the outcome again, for a client that did not receive it; the result has arrived."""
        self._state.connected.tell(client, unit_messages.Taken(lease=lease, waits=work.outcome is None))
        if work.outcome is not None:
            self._state.connected.tell(client, work.outcome)

    def chunk(self, client: str, chunk: messages.Chunk, now: float) -> Sequence[Effect]:
        """Stores a chunk of a result, and passes the result to the scheduler once it is complete."""
        self._state.clients.members[client].client.received += len(chunk.data)
        try:
            result = self._uploads.chunk(client, chunk, now)
        except WrongLengthError as error:
            self._uploads.drop_upload(client, chunk.round)
            self._uploads.reject(client, chunk.round, error.code, str(error))
            return self.release(client, chunk.round, "failed")
        return [] if result is None else self._arrived(client, result, now)

    def stalled(self, now: float) -> list[Effect]:
        """Drops uploads that are too slow, and rejects their results."""
        effects: list[Effect] = []
        error = SlowUploadError("The upload is too slow. Try a better connection.")
        for client, lease in self._uploads.stalled(now):
            self._uploads.drop_upload(client, lease)
            self.committed.drop(lease)
            self._uploads.reject(client, lease, error.code, str(error))
            effects += self.release(client, lease, "failed")
        return effects

    def _arrived(self, client: str, result: unit_messages.Result, now: float) -> Sequence[Effect]:
        """Passes a complete result on: immediately, or once it matches its commitment."""
        update, fault = self._uploads.finish_upload(client, result.lease)
        work = self._state.leases.get(result.lease)
        if work is None:
            self.committed.drop(result.lease)
            self._uploads.reject(client, result.lease, "over", OVER)
            return []  # Two epochs ended during the upload.
        if update is not None and work.program is not None:
            return self.committed.uploaded(result.lease, update, now)
        self.committed.drop(result.lease)
        return self._pass_on(client, result, update, fault, now)

    def _accept(
        self, client: str, result: unit_messages.Result, update: Vector, now: float
    ) -> Sequence[Effect]:
        return self._pass_on(client, result, update, None, now)

    def _pass_on(
        self,
        client: str,
        result: unit_messages.Result,
        update: Vector | None,
        fault: UpdateRefusedError | None,
        now: float,
    ) -> Sequence[Effect]:
        """Checks what a result reports, and passes it to the scheduler."""
        lease = result.lease
        work = self._state.leases[lease]
        try:
            check_finite("loss", [result.loss])
            check_finite("list of metric sums", chain.from_iterable(result.sums))
            if len(result.sums) != sum(metric.rows for metric in self._state.task.bundle.manifest.metrics):
                raise WrongLengthError("The result counts other metrics than this model has.")
        except UpdateRefusedError as error:
            fault = fault or error
        effects = self._state.scheduler.returned(client, lease, now, self._part(work, result))
        if refusal := next((effect for effect in effects if isinstance(effect, RefuseResult)), None):
            code = PARTIAL if refusal.reason == NOT_COMPARABLE else "over"
            self._refuse(client, lease, work, code, refusal.reason)
            return [effect for effect in effects if effect is not refusal]
        work.result, work.update, work.fault, work.returned_at, work.over = result, update, fault, now, True
        work.outcome = None
        late = self._state.scheduler.came_late(lease)
        self._state.notice(task_events.UnitReturned(client, lease, late))
        judged_alone = any(
            isinstance(effect, Judge) and effect.leases == (lease,) and effect.valid is None
            for effect in effects
        )
        self._state.connected.tell(client, unit_messages.Taken(lease=lease, waits=not judged_alone))
        self._dispatcher.returned(client, lease)
        if not judged_alone:
            # A client whose result is judged alone gets its next unit once that result is in the model.
            self._dispatcher.wants(client)
        unit_state = self._state.scheduler.unit(work.grant.unit).state
        if not effects and unit_state in _NOT_JUDGED:
            reason = ENDED if unit_state is UnitState.DROPPED else OVER
            self._uploads.reject(client, lease, "over", reason)
        return effects

    def _part(self, work: LeasedUnit, result: unit_messages.Result) -> PartialWork | None:
        """Returns the part of the unit that was trained if the client stopped early; None for all of it."""
        grant = work.grant
        if result.steps == planned_work(self._state.task, grant).steps:
            return None
        return PartialWork(result.steps, examples_after(self._state.task, grant, result.steps))
