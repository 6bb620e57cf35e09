"""The units that a client works on, with the stage of each; `units-in-hand.ts` is its mirror."""

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
    """The stage of a unit. QUEUED: loaded, until a training slot is free."""

    FETCHING = "fetching"
    QUEUED = "queued"
    TRAINING = "training"
    SENDING = "sending"


@dataclass(frozen=True)
class HeldUnit:
    """A unit that the client works on. A SENDING one has a `result`, of which `sent` bytes were sent.

    `salt` belongs to the commitment in the result, if it has one.
    """

    unit: unit_messages.Unit
    stage: UnitStage = UnitStage.FETCHING
    result: unit_messages.Result | None = None
    salt: str | None = None
    sent: int = 0


@dataclass
class HeldUnits:
    """Moves each unit from stage to stage. Owned by its machine.

    `held` maps leases to units, in the order in which they arrived.
    """

    held: dict[int, HeldUnit] = field(default_factory=dict)

    @property
    def stages(self) -> set[UnitStage]:
        """The stages that any unit is in."""
        return {one.stage for one in self.held.values()}

    def has(self, unit: unit_messages.Unit) -> bool:
        """Whether it works on this unit already; the remaining time may differ."""
        mine = self.held.get(unit.lease)
        return mine is not None and structs.replace(mine.unit, seconds=unit.seconds) == unit

    def has_result(self, lease: int) -> bool:
        """Whether it works on this lease, and has its result."""
        held = self.held.get(lease)
        return held is not None and held.result is not None

    def lacks_result(self, lease: int) -> bool:
        """Whether it works on this lease, and has no result yet."""
        held = self.held.get(lease)
        return held is not None and held.result is None

    def take(self, unit: unit_messages.Unit) -> list[Effect]:
        """Adds a unit, whose data are fetched."""
        self.held[unit.lease] = HeldUnit(unit)
        return [FetchUnit(unit)]

    def fetched(self, lease: int) -> unit_messages.Unit | None:
        """Queues a unit whose data are loaded, and returns it; None where it was not being fetched."""
        held = self.held.get(lease)
        if held is None or held.stage is not UnitStage.FETCHING:
            return None
        self.held[lease] = replace(held, stage=UnitStage.QUEUED)
        return held.unit

    def begin(self, at_once: int) -> list[Effect]:
        """Starts training queued units in order, while fewer than `at_once` are in training."""
        free = at_once - sum(one.stage is UnitStage.TRAINING for one in self.held.values())
        queued = [one for one in self.held.values() if one.stage is UnitStage.QUEUED]
        begun = queued[: max(0, free)]
        for one in begun:
            self.held[one.unit.lease] = replace(one, stage=UnitStage.TRAINING)
        return [TrainUnit(one.unit) for one in begun]

    def trained(self, result: unit_messages.Result, salt: str | None) -> bool:
        """Takes the result of a unit and the salt of its commitment; returns whether it was in training."""
        held = self.held.get(result.lease)
        if held is None or held.stage is not UnitStage.TRAINING:
            return False
        self.held[result.lease] = replace(held, stage=UnitStage.SENDING, result=result, salt=salt)
        return True

    def send(self, lease: int, granted: int) -> list[Effect]:
        """Sends the bytes of a result that are granted, up to `granted`, and were not sent yet."""
        held = self.held.get(lease)
        if held is None or held.result is None:
            return []
        until = min(granted, held.result.size)
        if until <= held.sent:
            return []
        self.held[lease] = replace(held, sent=until)
        return [SendResultChunks(lease, held.sent, until)]

    def salt_of(self, lease: int) -> str | None:
        """Returns the salt of the commitment to the result of this lease; None if there is none."""
        held = self.held.get(lease)
        return held.salt if held is not None else None

    def resend(self) -> list[unit_messages.Result]:
        """Returns all results, to be sent again on a new connection."""
        for lease, one in self.held.items():
            self.held[lease] = replace(one, sent=0)
        return [one.result for one in self.held.values() if one.result is not None]

    def forget(self, lease: int) -> list[Effect]:
        """Forgets a unit, if it works on it."""
        return [ForgetUnit(lease)] if self.held.pop(lease, None) else []

    def forget_all(self) -> list[Effect]:
        """Forgets all units."""
        return [effect for lease in list(self.held) for effect in self.forget(lease)]
