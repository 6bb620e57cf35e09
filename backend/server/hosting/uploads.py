"""Updates on their way in: staging buffers of bounded number, filled on credit."""

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
# Who waits longer for a slot gets one more, where memory allows: slow clients hold nobody else up.
PATIENCE_SECONDS = 5.0


@dataclass
class UpdateUpload:
    """One update being received since `begun`; `until` is the credit given so far.

    The values that are here whole, up to byte `looked`, were looked at; `fault` is what was wrong with one.
    A masked update has no `norm`: what its words are worth is not to be seen.
    """

    client: str
    round: int
    buffer: memoryview
    received: int
    until: int
    begun: float
    heard: float
    norm: Norm | None
    looked: int = 0
    fault: NotFiniteError | None = None

    @property
    def complete(self) -> bool:
        """Whether every byte is here."""
        return self.received == len(self.buffer)

    def store(self, data: memoryview, now: float) -> None:
        """Takes in the bytes that follow, and looks at their values while they are in the cache."""
        end = self.received + len(data)
        self.buffer[self.received : end] = data
        self.received, self.heard = end, now
        whole = end - end % VALUE_BYTES
        if self.norm is not None and self.fault is None and whole > self.looked:
            values = from_bytes(self.buffer[self.looked : whole], (whole - self.looked) // VALUE_BYTES)
            self.looked = whole
            try:
                self.norm.add(values)
            except NotFiniteError as error:
                self.fault = error

    def due(self, limits: TaskLimits) -> float:
        """By when more must come: the next chunk whole, and all so far at the least rate."""
        slowest = self.begun + limits.seconds_for(self.received + CHUNK_BYTES)
        return min(slowest, self.heard + limits.seconds_for(CHUNK_BYTES))


@dataclass(frozen=True)
class WaitingUpload:
    """One update that waits for a slot."""

    client: str
    offer: Offer
    since: float
    masked: bool


class UpdateUploads:
    """Owns the staging buffers of one task: SLOTS of them, the others wait for credit.

    A buffer is used again once its update is `done`, so memory does not grow with the number of clients.
    Who waits for PATIENCE_SECONDS gets a slot beyond these, up to the limit on bytes.
    `received` counts the bytes of all updates since the start.
    Methods that open a slot or move a window return the credits to be sent, with their clients.
    """

    def __init__(self, limits: TaskLimits) -> None:
        self._limits = limits
        self._active: dict[str, UpdateUpload] = {}
        self._queue: deque[WaitingUpload] = deque()
        self._spare: list[memoryview] = []
        self.received = 0

    def grant(self, client: str, offer: Offer, now: float, masked: bool = False) -> list[tuple[str, Credit]]:
        """Takes the offered update in, at once or when a slot is free. A `masked` one is not looked at."""
        self._queue.append(WaitingUpload(client, offer, now, masked))
        return self.fill(now)

    def further(self, client: str, chunk: Chunk, now: float) -> list[tuple[str, Credit]] | None:
        """Stores a chunk that is due and not an update's last; None for any other, which is left alone."""
        upload = self._active.get(client)
        if upload is None or upload.round != chunk.round or chunk.offset != upload.received:
            return None
        end = chunk.offset + len(chunk.data)
        if not 0 < len(chunk.data) <= CHUNK_BYTES or end > upload.until or end >= len(upload.buffer):
            return None
        return self.chunk(client, chunk, now)[1]

    def chunk(self, client: str, chunk: Chunk, now: float) -> tuple[bool, list[tuple[str, Credit]]]:
        """Stores a chunk; whether the update is complete now, and credits to be sent.

        Chunks of an update that is not being received (refused while they were under way) are dropped.
        Raises WrongLengthError when a chunk is empty, out of order, too long or beyond its credit.
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
        """A complete update, found good; the slot stays taken until `done`.

        Raises NotFiniteError, or NormTooLargeError when its L2 norm is over `max_norm`.
        """
        upload = self._active[client]
        if upload.fault is not None:
            raise upload.fault
        if upload.norm is not None:
            upload.norm.within(max_norm)
        return from_bytes(upload.buffer, len(upload.buffer) // VALUE_BYTES)

    def words(self, client: str) -> memoryview:
        """The bytes of a complete masked update; the slot stays taken until `done`."""
        return self._active[client].buffer

    def done(self, client: str, number: int, now: float) -> list[tuple[str, Credit]]:
        """Frees the slot of a complete update of round `number`, whose bytes nobody needs any more."""
        upload = self._active.get(client)
        if upload is None or upload.round != number:
            return []
        self._spare_one(upload.buffer)
        return self.drop(client, now)

    def drop(self, client: str, now: float) -> list[tuple[str, Credit]]:
        """Forgets a client's update, wherever it is; its slot goes to the next in the queue."""
        upload = self._active.pop(client, None)
        if upload is not None and not upload.complete:
            self._spare_one(upload.buffer)
        self._queue = deque(waiting for waiting in self._queue if waiting.client != client)
        return self.fill(now)

    def rest(self) -> None:
        """Gives back the memory that is not in use: no update is expected for a while."""
        self._spare.clear()

    def receiving(self, client: str) -> bool:
        """Whether bytes of this client's update are still to come."""
        upload = self._active.get(client)
        return upload is None or not upload.complete

    def stalled(self, now: float) -> list[tuple[str, int]]:
        """Clients, with their rounds, that have credit but send nothing, or too little."""
        return [
            (upload.client, upload.round)
            for upload in self._active.values()
            if not upload.complete and now >= upload.due(self._limits)
        ]

    def fill(self, now: float) -> list[tuple[str, Credit]]:
        """Gives slots to those who wait, as far as there are any."""
        credits: list[tuple[str, Credit]] = []
        while self._queue and (len(self._active) < SLOTS or self._may_widen(now)):
            first = self._queue.popleft()
            buffer, norm = self._buffer(first.offer.size), None if first.masked else Norm()
            upload = UpdateUpload(first.client, first.offer.round, buffer, 0, 0, now, now, norm)
            self._active[first.client] = upload
            credits += self._extend(upload)
        return credits

    def timer(self) -> float | None:
        """When the next upload stalls, or `fill` has one more slot to give."""
        dues = [upload.due(self._limits) for upload in self._active.values() if not upload.complete]
        if self._queue and self._has_room():
            dues.append(self._queue[0].since + PATIENCE_SECONDS)
        return min(dues, default=None)

    def _may_widen(self, now: float) -> bool:
        return now >= self._queue[0].since + PATIENCE_SECONDS and self._has_room()

    def _has_room(self) -> bool:
        """Whether memory allows a slot for the first in the queue."""
        taken = sum(len(upload.buffer) for upload in self._active.values())
        return taken + self._queue[0].offer.size <= self._limits.max_upload_bytes

    def _spare_one(self, buffer: memoryview) -> None:
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
