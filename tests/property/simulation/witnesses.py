"""Witnesses of a run beside the code under test: what clients sent, what the host told and recorded."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from backend.server.observers.task_events import TaskEvent, UpdateAccepted
from backend.stores.contracts import Records, RoundResult
from backend.wire.messages import Chunk, ClientFrame, Evaluation, Offer


@dataclass(frozen=True)
class Sent:
    """An update of which every byte arrived at the server's door."""

    client: str
    offer: Offer
    vector: bytes


@dataclass
class Witness:
    """Evidence. A `life` of the server begins with each start; `sent` has (life, client, round) as keys.

    `accepted` has the clients of (life, round) in the order in which their updates were accepted, and
    `measured` what clients said of a version. Implements Observer.
    """

    life: int = 0
    sent: dict[tuple[int, str, int], list[Sent]] = field(default_factory=lambda: defaultdict(list))
    accepted: dict[tuple[int, int], list[str]] = field(default_factory=lambda: defaultdict(list))
    measured: dict[int, list[Evaluation]] = field(default_factory=lambda: defaultdict(list))
    recorded: list[tuple[int, RoundResult]] = field(default_factory=list)
    _arriving: dict[str, tuple[Offer, bytearray]] = field(default_factory=dict)

    def tap(self, client: str, frame: ClientFrame) -> None:
        """A frame reached the server."""
        match frame:
            case Offer():
                self._arriving[client] = frame, bytearray()
            case Chunk() if client in self._arriving:
                self._chunk(client, frame)
            case Evaluation():
                self.measured[frame.version].append(frame)

    def notice(self, _task: str, event: TaskEvent) -> None:
        """Something happened at the host."""
        if isinstance(event, UpdateAccepted):
            self.accepted[self.life, event.round].append(event.client)

    def _chunk(self, client: str, chunk: Chunk) -> None:
        offer, data = self._arriving[client]
        if chunk.round != offer.round or chunk.offset != len(data):
            return
        data += chunk.data
        if len(data) == offer.size:
            self.sent[self.life, client, offer.round].append(Sent(client, offer, bytes(data)))


class WatchedRecords:
    """Records that tell the witness what was recorded. Implements Records by passing everything on."""

    def __init__(self, records: Records, witness: Witness) -> None:
        self._records = records
        self._witness = witness

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    async def record(self, run: int, result: RoundResult) -> None:
        """See Records."""
        life = self._witness.life
        await self._records.record(run, result)
        self._witness.recorded.append((life, result))
