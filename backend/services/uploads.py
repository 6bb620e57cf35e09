"""Updates on their way in: staging buffers of bounded number, filled on credit."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from backend.errors import WrongLengthError
from backend.wire.messages import CHUNK_BYTES, Chunk, Credit, Offer

SLOTS = 4
WINDOW_BYTES = 1 << 20
STALL_SECONDS = 20.0


@dataclass
class Upload:
    """One update being received; `until` is the credit given so far."""

    client: str
    round: int
    buffer: memoryview
    received: int
    until: int
    heard: float

    @property
    def complete(self) -> bool:
        """Whether every byte is here."""
        return self.received == len(self.buffer)


class Uploads:
    """Owns the staging buffers of one task: at most SLOTS at a time, the others wait for credit.

    A buffer is used again once its update is `done`, so memory does not grow with the number of clients.
    Methods that open a slot or move a window return the credits to be sent, with their clients.
    """

    def __init__(self) -> None:
        self._active: dict[str, Upload] = {}
        self._queue: deque[tuple[str, Offer]] = deque()
        self._spare: list[memoryview] = []

    def grant(self, client: str, offer: Offer, now: float) -> list[tuple[str, Credit]]:
        """Takes the offered update in, at once or when a slot is free."""
        self._queue.append((client, offer))
        return self._fill(now)

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
        upload.buffer[upload.received : end] = chunk.data
        upload.received, upload.heard = end, now
        if upload.complete or upload.until - end > WINDOW_BYTES // 2:
            return upload.complete, []
        return False, self._extend(upload)

    def data(self, client: str) -> memoryview:
        """Bytes of a complete update; the slot stays taken until `done`."""
        return self._active[client].buffer

    def done(self, client: str, number: int, now: float) -> list[tuple[str, Credit]]:
        """Frees the slot of a complete update of round `number`, whose bytes nobody needs any more."""
        upload = self._active.get(client)
        if upload is None or upload.round != number:
            return []
        self._spare.append(upload.buffer)
        return self.drop(client, now)

    def drop(self, client: str, now: float) -> list[tuple[str, Credit]]:
        """Forgets a client's update, wherever it is; its slot goes to the next in the queue."""
        upload = self._active.pop(client, None)
        if upload is not None and not upload.complete:
            self._spare.append(upload.buffer)
        self._queue = deque(entry for entry in self._queue if entry[0] != client)
        return self._fill(now)

    def rest(self) -> None:
        """Gives back the memory that is not in use: no update is expected for a while."""
        self._spare.clear()

    def receiving(self, client: str) -> bool:
        """Whether bytes of this client's update are still to come."""
        upload = self._active.get(client)
        return upload is None or not upload.complete

    def stalled(self, now: float) -> list[tuple[str, int]]:
        """Clients, with their rounds, that have credit but sent nothing for STALL_SECONDS."""
        return [
            (upload.client, upload.round)
            for upload in self._active.values()
            # The same sum as in `timer`: rounded otherwise, one could be due and the other not yet.
            if not upload.complete and now >= upload.heard + STALL_SECONDS
        ]

    def timer(self) -> float | None:
        """When the next upload stalls."""
        heard = [upload.heard for upload in self._active.values() if not upload.complete]
        return min(heard) + STALL_SECONDS if heard else None

    def _fill(self, now: float) -> list[tuple[str, Credit]]:
        credits: list[tuple[str, Credit]] = []
        while self._queue and len(self._active) < SLOTS:
            client, offer = self._queue.popleft()
            upload = Upload(client, offer.round, self._buffer(offer.size), 0, 0, now)
            self._active[client] = upload
            credits += self._extend(upload)
        return credits

    def _buffer(self, size: int) -> memoryview:
        while self._spare:
            buffer = self._spare.pop()
            if len(buffer) == size:
                return buffer
        return np.empty(size, np.uint8).data

    def _extend(self, upload: Upload) -> list[tuple[str, Credit]]:
        until = min(len(upload.buffer), upload.received + WINDOW_BYTES)
        if until == upload.until:
            return []
        upload.until = until
        return [(upload.client, Credit(round=upload.round, until=until))]
