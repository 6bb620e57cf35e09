"""Clients that do wrong on purpose."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from backend.peer.rounds.masking_host import MaskedModel
from backend.protocols.client import participant_events
from backend.simulation.client_work import MeasurementFindings, SimulatedUpdate, WorkModel
from backend.simulation.clients import SimulatedClient
from backend.wire.masked_messages import Masking
from backend.wire.messages import (
    Abandoned,
    Accepted,
    Chunk,
    Credit,
    Evaluate,
    Kind,
    Offer,
    State,
    Train,
    Version,
)
from tests.property.simulation.schedules import Mischief


@dataclass
class Spoilt:
    """Another's work, whose updates are bad in one way. Implements WorkModel."""

    work: WorkModel
    how: Mischief

    def bundle_bytes(self, kind: Kind) -> int:
        """See WorkModel."""
        return self.work.bundle_bytes(kind)

    def steps(self, plan: Train) -> int:
        """See WorkModel."""
        return self.work.steps(plan)

    def evaluation_steps(self, evaluation: Evaluate) -> int:
        """See WorkModel."""
        return self.work.evaluation_steps(evaluation)

    def downloads(self, order: Train | Evaluate) -> dict[str, int]:
        """See WorkModel."""
        return self.work.downloads(order)

    def model(self) -> MaskedModel:
        """See WorkModel."""
        return self.work.model()

    def size(self, masking: Masking | None) -> int:
        """See WorkModel."""
        return self.work.size(masking)

    def train(self, client: str, plan: Train, steps: int) -> SimulatedUpdate:
        """See WorkModel."""
        return self.change(self.work.train(client, plan, steps))

    def measure(self, client: str, evaluation: Evaluate) -> MeasurementFindings:
        """See WorkModel."""
        return self.work.measure(client, evaluation)

    def keep(self, client: str, number: int, *, undo: bool) -> None:
        """See WorkModel."""
        self.work.keep(client, number, undo=undo)

    def change(self, update: SimulatedUpdate) -> SimulatedUpdate:
        """The update, spoilt; as it was where `how` is about something else."""
        vector = np.frombuffer(update.vector, "<f4").copy()
        match self.how:
            case "nan":
                vector[0] = np.nan
            case "huge":
                vector[:] = 1e30
            case "short":
                vector = vector[:-1]
            case "many-examples":
                update = replace(update, examples=10**9)
            case "no-examples":
                update = replace(update, examples=0)
        return replace(update, vector=vector.tobytes())


class Rascal(SimulatedClient):
    """Says on the socket what it should not, in the way that `how` names."""

    how: Mischief = "mute"

    def handle(self, event: participant_events.Event) -> None:
        """Follows the machine, and now and then does not."""
        offer = self.machine.offer
        if self.how == "mute" and isinstance(event, participant_events.RoundTrained):
            return
        if (
            isinstance(event, participant_events.ParticipantFrame)
            and isinstance(event.frame, Credit)
            and self.how == "stall"
        ):
            return
        super().handle(event)
        if isinstance(event, participant_events.ParticipantFrame):
            self._misbehave(event.frame, offer)

    def _misbehave(self, frame: object, offer: Offer | None) -> None:
        match frame, self.how:
            case Accepted(), "twice" if offer is not None:
                self._send(offer)
                self._send_chunks(offer.round, 0, offer.size)
            case Train(), "stale":
                self._send(self._offer(frame.round - 1 if frame.round else 0, frame.version))
            case Train(), "garbage" if self.program.connection is not None:
                self.program.connection.send_to_server(self._random.randbytes(40))
            case Credit(), "overrun":
                self._send(Chunk(round=frame.round, offset=frame.until, data=memoryview(bytes(400))))
            case State() | Version() | Abandoned(), "uninvited":
                self._send(self._offer(self._random.randint(0, 30), self._random.randint(0, 30)))

    def _offer(self, number: int, version: int) -> Offer:
        return Offer(round=number, version=version, examples=1, steps=1, loss=0.0, sums=[], size=40)
