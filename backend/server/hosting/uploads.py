"""Receives updates into a bounded number of staging buffers, filled on credit."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from backend.errors import NotFiniteError, WrongLengthError
from backend.numerics.aggregation.update_checks import Norm
from backend.numerics.vectors import VALUE_BYTES, Vector, from_bytes
from backend.server.hosting.limits import TaskLimits
from backend.wire.messages import CHUNK_BYTES, Chunk, Credit, Offer

SLOTS = 4
WINDOW_BYTES = 4 << 20
# An upload that waits longer gets an extra slot if memory allows, so that slow clients block no other.
PATIENCE_SECONDS = 5.0


@dataclass
class UpdateUpload:
    """One update being received since `begun`; `until` is the credit granted so far, in bytes.

    The complete values up to byte `checked` were checked; `fault` is the error of one that failed. A masked
    update has no `norm`, because its words do not reveal the values. `heard` is when its last chunk came.
    """

    client: str
    round: int
    buffer: memoryview
    received: int
    until: int
    begun: float
    heard: float
    norm: Norm | None
    checked: int = 0
    fault: NotFiniteError | None = None

    @property
    def complete(self) -> bool:
        """Whether every byte was received."""
        return self.received == len(self.buffer)

    def store(self, data: memoryview, now: float) -> None:
        """Stores the next bytes, and checks their values while they are in the processor's cache."""
        end = self.received + len(data)
        self.buffer[self.received : end] = data
        self.received, self.heard = end, now
        whole = end - end % VALUE_BYTES
        if self.norm is not None and self.fault is None and whole > self.checked:
            values = from_bytes(self.buffer[self.checked : whole], (whole - self.checked) // VALUE_BYTES)
            self.checked = whole
            try:
                self.norm.add(values)
            except NotFiniteError as error:
                self.fault = error

    def due(self, limits: TaskLimits) -> float:
        """Returns the deadline of the next chunk, by the stall limit and by the minimum rate."""
        slowest = self.begun + limits.seconds_for(self.received + CHUNK_BYTES)
        return min(slowest, self.heard + limits.seconds_for(CHUNK_BYTES))


@dataclass(frozen=True)
class WaitingUpload:
    """An update that waits for a slot."""

    client: str
    offer: Offer
    since: float
    masked: bool


class UpdateUploads:
    """Owns the staging buffers of one task: SLOTS updates are received, further ones wait for credit.

    A buffer is reused once its update is `done`, so memory does not grow with the number of clients. An
    upload that waits for PATIENCE_SECONDS gets an extra slot, up to the limit on bytes. `received` counts
    the bytes of all updates since the start.
    Methods that open a slot or move a window return the credits to send, with their clients.
    """

    def __init__(self, limits: TaskLimits) -> None:
        self._limits = limits
        self._active: dict[str, UpdateUpload] = {}
        self._queue: deque[WaitingUpload] = deque()
        self._spare: list[memoryview] = []
        self.received = 0

    def grant(self, client: str, offer: Offer, now: float, masked: bool = False) -> list[tuple[str, Credit]]:
        """Queues the offered update for a slot. The values of a `masked` update are not checked."""
        self._queue.append(WaitingUpload(client, offer, now, masked))
        return self.fill(now)

    def inner_chunk(self, client: str, chunk: Chunk, now: float) -> list[tuple[str, Credit]] | None:
        """Stores the next chunk if it is not its update's last; None, and nothing stored, for any other."""
        upload = self._active.get(client)
        if upload is None or upload.round != chunk.round or chunk.offset != upload.received:
            return None
        end = chunk.offset + len(chunk.data)
        if not 0 < len(chunk.data) <= CHUNK_BYTES or end > upload.until or end >= len(upload.buffer):
            return None
        return self.chunk(client, chunk, now)[1]

    def chunk(self, client: str, chunk: Chunk, now: float) -> tuple[bool, list[tuple[str, Credit]]]:
        """Stores a chunk; returns whether the update is complete now, and the credits to send.

        Chunks of an update that is not being received (refused while they were in transit) are dropped.
        Raises WrongLengthError if a chunk is empty, out of order, too long or beyond its credit.
        """
        upload = self._active.get(client)
        if upload is None or upload.round != chunk.round or upload.complete:
            return False, []
        end = chunk.offset + len(chunk.data)
        if not 0 < len(chunk.data) <= CHUNK_BYTES or chunk.offset != upload.received or end > upload.until:
            raise WrongLengthError(
                f"The chunk of {len(chunk.data)} bytes at {chunk.offset} is out of order or beyond its "
                f"credit; byte {upload.received} was due, up to {upload.until}."
            )
        upload.store(chunk.data, now)
        self.received += len(chunk.data)
        if upload.complete or upload.until - end > WINDOW_BYTES // 2:
            return upload.complete, []
        return False, self._extend(upload)

    def update(self, client: str, max_norm: float) -> Vector:
        """Returns a complete update that passed its checks; its slot stays occupied until `done`.

        Raises NotFiniteError, or NormTooLargeError if its L2 norm exceeds `max_norm`.
        """
        upload = self._active[client]
        if upload.fault is not None:
            raise upload.fault
        if upload.norm is not None:
            upload.norm.within(max_norm)
        return from_bytes(upload.buffer, len(upload.buffer) // VALUE_BYTES)

    def words(self, client: str) -> memoryview:
        """Returns the bytes of a complete masked update; its slot stays occupied until `done`."""
        return self._active[client].buffer

    def done(self, client: str, number: int, now: float) -> list[tuple[str, Credit]]:
        """Frees the slot of a complete update of round `number`, whose bytes are no longer needed."""
        upload = self._active.get(client)
        if upload is None or upload.round != number:
            return []
        self._recycle(upload.buffer)
        return self.drop(client, now)

    def drop(self, client: str, now: float) -> list[tuple[str, Credit]]:
        """Drops a client's update, received or queued; its slot goes to the next in the queue."""
        upload = self._active.pop(client, None)
        if upload is not None and not upload.complete:
            self._recycle(upload.buffer)
        self._queue = deque(waiting for waiting in self._queue if waiting.client != client)
        return self.fill(now)

    def rest(self) -> None:
        """Releases the spare buffers, because no update is expected for a while."""
        self._spare.clear()

    def receiving(self, client: str) -> bool:
        """Whether bytes of this client's update are still expected, or no update is being received."""
        upload = self._active.get(client)
        return upload is None or not upload.complete

    def stalled(self, now: float) -> list[tuple[str, int]]:
        """Returns the clients, with their rounds, that have credit and send too little."""
        return [
            (upload.client, upload.round)
            for upload in self._active.values()
            if not upload.complete and now >= upload.due(self._limits)
        ]

    def fill(self, now: float) -> list[tuple[str, Credit]]:
        """Assigns free slots to the uploads in the queue."""
        credits: list[tuple[str, Credit]] = []
        while self._queue and (len(self._active) < SLOTS or self._may_add_slot(now)):
            first = self._queue.popleft()
            buffer, norm = self._buffer(first.offer.size), None if first.masked else Norm()
            upload = UpdateUpload(first.client, first.offer.round, buffer, 0, 0, now, now, norm)
            self._active[first.client] = upload
            credits += self._extend(upload)
        return credits

    def timer(self) -> float | None:
        """Returns when the next upload stalls or `fill` has an extra slot to assign."""
        dues = [upload.due(self._limits) for upload in self._active.values() if not upload.complete]
        if self._queue and self._has_room():
            dues.append(self._queue[0].since + PATIENCE_SECONDS)
        return min(dues, default=None)

    def _may_add_slot(self, now: float) -> bool:
        return now >= self._queue[0].since + PATIENCE_SECONDS and self._has_room()

    def _has_room(self) -> bool:
        """Whether memory allows a slot for the first upload in the queue."""
        used = sum(len(upload.buffer) for upload in self._active.values())
        return used + self._queue[0].offer.size <= self._limits.max_upload_bytes

    def _recycle(self, buffer: memoryview) -> None:
        if len(self._spare) < SLOTS:
            self._spare.append(buffer)

    def _buffer(self, size: int) -> memoryview:
        while self._spare:
            buffer = self._spare.pop()
            if len(buffer) == size:
                return buffer
        return np.empty(size, np.uint8).data

    def _extend(self, upload: UpdateUpload) -> list[tuple[str, Credit]]:
        until = min(len(upload.buffer), upload.received + WINDOW_BYTES)
        if until == upload.until:
            return []
        upload.until = until
        return [(upload.client, Credit(round=upload.round, until=until))]
