"""The units that a client has in hand, and how far each of them is; `units-in-hand.ts` is its mirror."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from msgspec import structs

from backend.protocols.client.unit_client_events import (
    Effect,
    FetchUnit,
    ForgetUnit,
    SendResultChunks,
    TrainUnit,
)
from backend.wire import unit_messages


class UnitStage(StrEnum):
    """How far one unit is. QUEUED: fetched, until a place to train is free."""

    FETCHING = "fetching"
    QUEUED = "queued"
    TRAINING = "training"
    SENDING = "sending"


@dataclass(frozen=True)
class Held:
    """A unit in hand. `result` is there once it is SENDING, of which `sent` bytes went on this connection."""

    unit: unit_messages.Unit
    stage: UnitStage = UnitStage.FETCHING
    result: unit_messages.Result | None = None
    sent: int = 0


@dataclass
class Hand:
    """Takes each unit from stage to stage, and no other way. Owned by its machine.

    `held` is by lease, in the order in which they came.
    """

    held: dict[int, Held] = field(default_factory=dict)

    @property
    def stages(self) -> set[UnitStage]:
        """Where there is any."""
        return {one.stage for one in self.held.values()}

    def has(self, unit: unit_messages.Unit) -> bool:
        """Whether this very work is in hand; the time that is left for it may differ."""
        mine = self.held.get(unit.lease)
        return mine is not None and structs.replace(mine.unit, seconds=unit.seconds) == unit

    def has_result(self, lease: int) -> bool:
        """Whether it is in hand, and done."""
        held = self.held.get(lease)
        return held is not None and held.result is not None

    def lacks_result(self, lease: int) -> bool:
        """Whether it is in hand, and not done."""
        held = self.held.get(lease)
        return held is not None and held.result is None

    def take(self, unit: unit_messages.Unit) -> list[Effect]:
        """One more, to be fetched."""
        self.held[unit.lease] = Held(unit)
        return [FetchUnit(unit)]

    def fetched(self, lease: int) -> unit_messages.Unit | None:
        """What was being fetched is here; None where nothing was."""
        held = self.held.get(lease)
        if held is None or held.stage is not UnitStage.FETCHING:
            return None
        self.held[lease] = replace(held, stage=UnitStage.QUEUED)
        return held.unit

    def begin(self, at_once: int) -> list[Effect]:
        """Trains what was fetched first, as far as there are places for so many `at_once`."""
        free = at_once - sum(one.stage is UnitStage.TRAINING for one in self.held.values())
        queued = [one for one in self.held.values() if one.stage is UnitStage.QUEUED]
        begun = queued[: max(0, free)]
        for one in begun:
            self.held[one.unit.lease] = replace(one, stage=UnitStage.TRAINING)
        return [TrainUnit(one.unit) for one in begun]

    def trained(self, result: unit_messages.Result) -> bool:
        """Whether what this is the result of was in training; it is sent from now on."""
        held = self.held.get(result.lease)
        if held is None or held.stage is not UnitStage.TRAINING:
            return False
        self.held[result.lease] = replace(held, stage=UnitStage.SENDING, result=result)
        return True

    def send(self, lease: int, granted: int) -> list[Effect]:
        """What may be sent of a result, and was not yet, up to the byte `granted`."""
        held = self.held.get(lease)
        if held is None or held.result is None:
            return []
        until = min(granted, held.result.size)
        if until <= held.sent:
            return []
        self.held[lease] = replace(held, sent=until)
        return [SendResultChunks(lease, held.sent, until)]

    def send_anew(self) -> list[unit_messages.Result]:
        """All results: on a new connection nothing of them was sent."""
        for lease, one in self.held.items():
            self.held[lease] = replace(one, sent=0)
        return [one.result for one in self.held.values() if one.result is not None]

    def forget(self, lease: int) -> list[Effect]:
        """One that is over, if it is in hand."""
        return [ForgetUnit(lease)] if self.held.pop(lease, None) else []

    def forget_all(self) -> list[Effect]:
        """None is needed any more."""
        return [effect for lease in list(self.held) for effect in self.forget(lease)]
