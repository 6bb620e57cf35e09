"""The stages of a masked round at its server (secagg.py), for whom each of them waits, and how long."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from backend.protocols.rounds.phases import waits_until
from backend.protocols.secagg.client_slots import ClientSlot

# Keys and shares may each take this part of the round's time, and no more than so many seconds.
EXCHANGE_PART, EXCHANGE_SECONDS = 0.25, 20.0
# Vouching and revealing are answers of a few bytes to what everybody is told at once.
ANSWER_SECONDS = 10.0


class ServerStage(StrEnum):
    """What the round waits for."""

    KEYS = "keys"
    SHARES = "shares"
    INPUT = "input"
    SURVIVORS = "survivors"
    UNMASK = "unmask"
    DONE = "done"
    FAILED = "failed"


def owes(seat: ClientSlot, stage: ServerStage) -> bool:
    """Whether this client has yet to say what `stage` asks for."""
    if seat.out:
        return False
    match stage:
        case ServerStage.KEYS:
            return seat.keys is None
        case ServerStage.SHARES:
            return seat.shares is None
        case ServerStage.SURVIVORS:
            return seat.accepted and seat.signature is None
        case ServerStage.UNMASK:
            return seat.accepted and seat.reveal is None
    return False


@dataclass
class StageWait:
    """For whom of `seats` a round waits, and how long: `patience` seconds for keys, and as long for shares.

    One that lost its connection may come back within `grace` seconds, and no stage is over before that. Who
    owes nothing in a stage never will again: from the last one on they are let go for good, so that a stage
    costs as many looks as there are seats, and not their square. Owned by the machine.
    """

    seats: Collection[ClientSlot]
    patience: float
    grace: float
    _until: float
    # Seats that may owe something in the stage for which they were listed.
    _asked: ServerStage | None = None
    _owing: list[ClientSlot] = field(default_factory=list)

    @classmethod
    def begun(cls, seats: Iterable[ClientSlot], seconds: float, now: float, grace: float) -> StageWait:
        """A round that lasts `seconds` from `now` on, and first waits for keys."""
        patience = min(max(EXCHANGE_SECONDS, grace), seconds * EXCHANGE_PART)
        return cls(list(seats), patience, grace, now + patience)

    def shares(self, now: float) -> None:
        """Shares are to come from `now` on, as keys were before."""
        self._until = now + self.patience

    def answers(self, now: float) -> None:
        """Clients answer what they are told `now`."""
        self._until = now + max(ANSWER_SECONDS, self.grace)

    def until(self, stage: ServerStage) -> float:
        """When `stage` waits no longer."""
        return waits_until(self._until, (seat.lost_at for seat in self._owing_at(stage)), self.grace)

    def nobody(self, stage: ServerStage) -> bool:
        """Whether all who could have said what `stage` asks for."""
        return next(self._owing_at(stage), None) is None

    def _owing_at(self, stage: ServerStage) -> Iterator[ClientSlot]:
        if self._asked is not stage:
            self._asked, self._owing = stage, list(self.seats)
        while self._owing and not owes(self._owing[-1], stage):
            self._owing.pop()
        return (seat for seat in reversed(self._owing) if owes(seat, stage))
