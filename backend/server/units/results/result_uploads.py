"""The uploads of results: one per lease, with credit as slots are free."""

from __future__ import annotations

from collections.abc import Iterable

from backend.errors import UpdateRefusedError
from backend.numerics.vectors import Vector
from backend.protocols.units.scheduler_effects import ClientId, LeaseId
from backend.server.observers import task_events
from backend.server.units.state import UnitsState
from backend.wire import messages, unit_messages

# The code of a part that cannot be compared with other clients' results.
PARTIAL = "partial"
# With these codes nobody looked at a result, so it was not refused: its unit was over, or it was such a part.
UNSEEN = ("over", PARTIAL)


class ResultUploads:
    """Owns the uploads of a task. A client may have several, one per lease."""

    def __init__(self, state: UnitsState) -> None:
        self._state = state
        self._offered: dict[str, unit_messages.Result] = {}

    def begin_upload(self, client: ClientId, result: unit_messages.Result, now: float) -> None:
        """Starts the upload of a result, and drops an earlier one of its lease.

        Credit is granted directly, or once a slot is free.
        """
        key = _key(client, result.lease)
        self.drop_upload(client, result.lease)
        self._offered[key] = result
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
        """Stores a chunk that is expected and not a result's last. Returns False for any other chunk."""
        credits = self._state.uploads.inner_chunk(_key(client, chunk.round), chunk, now)
        if credits is None:
            return False
        self._tell(credits)
        return True

    def chunk(self, client: ClientId, chunk: messages.Chunk, now: float) -> unit_messages.Result | None:
        """Stores a chunk. Returns the result if its upload is complete now. Raises WrongLengthError."""
        key = _key(client, chunk.round)
        complete, credits = self._state.uploads.chunk(key, chunk, now)
        self._tell(credits)
        return self._offered.get(key) if complete else None

    def finish_upload(
        self, client: ClientId, lease: LeaseId
    ) -> tuple[Vector | None, UpdateRefusedError | None]:
        """Returns a complete update or its error, and frees its slot."""
        key = _key(client, lease)
        max_norm = self._state.task.file.security.max_update_norm
        update: Vector | None = None
        fault: UpdateRefusedError | None = None
        try:
            # The slot's buffer is reused, so the update is copied.
            update = self._state.uploads.update(key, max_norm).copy()
        except UpdateRefusedError as error:
            fault = error
        self.release_upload(client, lease)
        return update, fault

    def release_upload(self, client: ClientId, lease: LeaseId) -> None:
        """Frees the buffer of a complete result for the next upload."""
        key = _key(client, lease)
        self._offered.pop(key, None)
        now = self._state.clock()
        self._tell(self._state.uploads.done(key, lease, now))

    def drop_upload(self, client: ClientId, lease: LeaseId) -> None:
        """Drops the upload of a lease, if it has one."""
        key = _key(client, lease)
        if self._offered.pop(key, None) is not None:
            self._tell(self._state.uploads.drop(key, self._state.clock()))

    def expects(self, client: ClientId, lease: LeaseId) -> bool:
        """Whether a result was offered whose upload is not finished."""
        return _key(client, lease) in self._offered

    def stalled(self, now: float) -> list[tuple[ClientId, LeaseId]]:
        """Returns the clients and leases whose uploads are too slow."""
        return [(key.partition(" ")[0], lease) for key, lease in self._state.uploads.stalled(now)]

    def fill(self, now: float) -> None:
        """Assigns free slots to waiting uploads."""
        self._tell(self._state.uploads.fill(now))

    def reject(self, client: ClientId, lease: LeaseId, code: str, reason: str) -> None:
        """Rejects a result: informs its client, and counts it for the epoch's record.

        With a code of UNSEEN it does not count as refused.
        """
        frame = unit_messages.Rejected(lease=lease, code=code, reason=reason[:500])
        work = self._state.leases.get(lease)
        if work is not None and work.grant.client == client:
            work.outcome = frame
        self._state.clients.forget_own(client)
        self._state.connected.tell(client, frame)
        if code not in UNSEEN:
            self._state.run.epoch.refused.add(client, code)
        self._state.notice(task_events.UnitRejected(client, lease, code, frame.reason))

    def _tell(self, credits: Iterable[tuple[str, messages.Credit]]) -> None:
        self._state.connected.tell_credits((key.partition(" ")[0], credit) for key, credit in credits)


def _key(client: ClientId, lease: LeaseId) -> str:
    """Returns the key of an upload: a client and its lease."""
    return f"{client} {lease}"
