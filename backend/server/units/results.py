"""Results of leases on their way in, and what their clients are told of them."""

from __future__ import annotations

from collections.abc import Iterable

from backend.errors import UpdateRefusedError
from backend.numerics.vectors import Vector
from backend.protocols.units.scheduler_effects import ClientId, LeaseId
from backend.server.observers import task_events
from backend.server.units.state import UnitsState
from backend.wire import messages, unit_messages


class ResultUploads:
    """Owns the uploads of a task: of one client there may be several, one for each lease."""

    def __init__(self, hosted: UnitsState) -> None:
        self._state = hosted
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
        credits = self._state.uploads.further(_key(client, chunk.round), chunk, now)
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
        """The update that is here whole, or what is wrong with it. Its slot is free from then on."""
        key = _key(client, lease)
        most = self._state.task.file.security.max_update_norm
        update: Vector | None = None
        fault: UpdateRefusedError | None = None
        try:
            # The slot's buffer is used again: what is kept is a copy.
            update = self._state.uploads.update(key, most).copy()
        except UpdateRefusedError as error:
            fault = error
        self.release_upload(client, lease)
        return update, fault

    def release_upload(self, client: ClientId, lease: LeaseId) -> None:
        """Has the buffer of a result that is here used for the next."""
        key = _key(client, lease)
        self._coming.pop(key, None)
        now = self._state.clock()
        self._tell(self._state.uploads.done(key, lease, now))

    def drop_upload(self, client: ClientId, lease: LeaseId) -> None:
        """Nothing of it is awaited any more."""
        key = _key(client, lease)
        if self._coming.pop(key, None) is not None:
            self._tell(self._state.uploads.drop(key, self._state.clock()))

    def stalled(self, now: float) -> list[tuple[ClientId, LeaseId]]:
        """Clients and leases of which too little came in too long a time."""
        return [(key.partition(" ")[0], lease) for key, lease in self._state.uploads.stalled(now)]

    def fill(self, now: float) -> None:
        """Gives room to those who wait for it."""
        self._tell(self._state.uploads.fill(now))

    def reject(self, client: ClientId, lease: LeaseId, code: str, reason: str) -> None:
        """Tells a client that a result does not count, and remembers it for the record."""
        frame = unit_messages.Rejected(lease=lease, code=code, reason=reason[:500])
        work = self._state.works.get(lease)
        if work is not None and work.grant.client == client:
            work.outcome = frame
        member = self._state.members.get(client)
        if member is not None:
            member.own = False
        self._state.last.pop(client, None)
        self._state.connected.tell(client, frame)
        self._state.epoch.refused.add(client, code)
        self._state.notice(task_events.UnitRejected(client, lease, code, frame.reason))

    def _tell(self, credits: Iterable[tuple[str, messages.Credit]]) -> None:
        self._state.connected.tell_credits((key.partition(" ")[0], credit) for key, credit in credits)


def _key(client: ClientId, lease: LeaseId) -> str:
    """A client of the uploads: one turn of a client."""
    return f"{client} {lease}"
