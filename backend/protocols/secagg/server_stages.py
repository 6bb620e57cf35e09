"""The stages of a masked round at its server: the table of transitions, for whom each waits, and how long."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from backend.protocols.rounds.phases import waits_until
from backend.protocols.secagg.client_slots import ClientSlot

# Keys and shares may each take this part of the round's time, and no more than so many seconds.
EXCHANGE_PART, EXCHANGE_SECONDS = 0.25, 20.0
# Signatures and reveals are answers of a few bytes to one message that all clients get.
ANSWER_SECONDS = 10.0


class ServerStage(StrEnum):
    """The stages of Bonawitz et al. 2017 (fig. 4), in their order, and the two ends of a round."""

    ADVERTISE_KEYS = "keys"
    SHARE_KEYS = "shares"
    MASKED_INPUT = "input"
    CONSISTENCY_CHECK = "survivors"
    UNMASK = "unmask"
    DONE = "done"
    FAILED = "failed"


class ServerEvent(StrEnum):
    """What may happen to a masked round: the clients' part, time's and the host's."""

    KEYS_ARRIVED = "keys arrived"
    SHARES_ARRIVED = "shares arrived"
    CONSISTENCY_SIGNATURE_ARRIVED = "consistency signature arrived"
    REVEAL_ARRIVED = "reveal arrived"
    CLIENT_DECLINED = "client declined"
    CLIENT_LEFT = "client left"
    CLIENT_READY = "client ready"
    TIME_PASSED = "time passed"
    INPUT_ACCEPTED = "input accepted"
    INPUTS_OVER = "inputs over"
    UNMASKED = "unmasked"
    MISMATCHED = "mismatched"


class StageRow(NamedTuple):
    """One row of the table: the events that a stage takes, and the stages that may follow it."""

    takes: frozenset[ServerEvent]
    then: frozenset[ServerStage]


def _row(takes: set[ServerEvent], *then: ServerStage) -> StageRow:
    return StageRow(frozenset(takes), frozenset(then))


_CLIENT = {ServerEvent.CLIENT_DECLINED, ServerEvent.CLIENT_LEFT, ServerEvent.CLIENT_READY}
# Keys and shares are compared in later stages with those that the client sent before; other ones put it out.
_KEYS = _CLIENT | {ServerEvent.KEYS_ARRIVED}
# A reveal that comes before UNMASK puts its client out. But in ADVERTISE_KEYS it is ignored, as shares are:
# clients send to a server that was killed what they sent to it before.
_SHARES = _KEYS | {ServerEvent.SHARES_ARRIVED, ServerEvent.REVEAL_ARRIVED}
_SIGNATURES = _SHARES | {ServerEvent.CONSISTENCY_SIGNATURE_ARRIVED}
_RECOVERY = {ServerEvent.UNMASKED, ServerEvent.MISMATCHED}

# An event outside the row of the present stage changes nothing: a client's is ignored, for it may be late;
# one of the host's raises IllegalEventError. FAILED follows where too few clients are left.
TRANSITIONS: dict[ServerStage, StageRow] = {
    ServerStage.ADVERTISE_KEYS: _row(
        _KEYS | {ServerEvent.TIME_PASSED}, ServerStage.SHARE_KEYS, ServerStage.FAILED
    ),
    ServerStage.SHARE_KEYS: _row(
        _SHARES | {ServerEvent.TIME_PASSED}, ServerStage.MASKED_INPUT, ServerStage.FAILED
    ),
    # How long updates are waited for is the Round's decision. A server taken for honest needs no signatures.
    ServerStage.MASKED_INPUT: _row(
        _SHARES | {ServerEvent.INPUT_ACCEPTED, ServerEvent.INPUTS_OVER},
        ServerStage.CONSISTENCY_CHECK,
        ServerStage.UNMASK,
        ServerStage.FAILED,
    ),
    ServerStage.CONSISTENCY_CHECK: _row(
        _SIGNATURES | {ServerEvent.TIME_PASSED}, ServerStage.UNMASK, ServerStage.FAILED
    ),
    # Signatures beyond the threshold's are still checked, and not needed.
    ServerStage.UNMASK: _row(
        _SIGNATURES | _RECOVERY | {ServerEvent.TIME_PASSED}, ServerStage.DONE, ServerStage.FAILED
    ),
    ServerStage.DONE: _row(set()),
    ServerStage.FAILED: _row(set()),
}


def owes(slot: ClientSlot, stage: ServerStage) -> bool:
    """Whether this client has yet to send what `stage` asks for."""
    if slot.out:
        return False
    match stage:
        case ServerStage.ADVERTISE_KEYS:
            return slot.keys is None
        case ServerStage.SHARE_KEYS:
            return slot.shares is None
        case ServerStage.CONSISTENCY_CHECK:
            return slot.accepted and slot.consistency_signature is None
        case ServerStage.UNMASK:
            return slot.accepted and slot.reveal is None
    return False


@dataclass
class StageWait:
    """For which of `slots` a round waits, and how long: `patience` seconds for keys, and as long for shares.

    A client that lost its connection may come back within `grace` seconds, and no stage ends before that. A
    client that owes nothing in a stage never will again: slots are dropped from the end of the list for good,
    so that a stage costs as many looks as there are slots, and not their square. Owned by the machine.
    """

    slots: Collection[ClientSlot]
    patience: float
    grace: float
    _deadline: float
    # Slots that may owe something in the stage for which they were listed.
    _listed_for: ServerStage | None = None
    _owing: list[ClientSlot] = field(default_factory=list)

    @classmethod
    def for_keys(cls, slots: Iterable[ClientSlot], seconds: float, now: float, grace: float) -> StageWait:
        """The wait for keys in a round that lasts `seconds` from `now` on."""
        patience = min(max(EXCHANGE_SECONDS, grace), seconds * EXCHANGE_PART)
        return cls(list(slots), patience, grace, now + patience)

    def start_shares(self, now: float) -> None:
        """Shares are to come from `now` on, as keys were before."""
        self._deadline = now + self.patience

    def start_answers(self, now: float) -> None:
        """Clients answer a message that they get `now`."""
        self._deadline = now + max(ANSWER_SECONDS, self.grace)

    def deadline(self, stage: ServerStage) -> float:
        """When `stage` waits no longer."""
        return waits_until(self._deadline, (slot.lost_at for slot in self._owing_in(stage)), self.grace)

    def is_complete(self, stage: ServerStage) -> bool:
        """Whether every client that could has sent what `stage` asks for."""
        return next(self._owing_in(stage), None) is None

    def _owing_in(self, stage: ServerStage) -> Iterator[ClientSlot]:
        if self._listed_for is not stage:
            self._listed_for, self._owing = stage, list(self.slots)
        while self._owing and not owes(self._owing[-1], stage):
            self._owing.pop()
        return (slot for slot in reversed(self._owing) if owes(slot, stage))
