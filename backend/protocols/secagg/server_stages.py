"""The server's stages of a masked round: the table of transitions, and the wait for clients."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from backend.protocols.rounds.phases import waits_until
from backend.protocols.secagg.client_slots import ClientSlot

# Keys and shares may each take this fraction of the round's time, up to this number of seconds.
EXCHANGE_PART, EXCHANGE_SECONDS = 0.25, 20.0
# Signatures and reveals are answers of a few bytes to one message to all clients.
ANSWER_SECONDS = 10.0


class ServerStage(StrEnum):
    """The stages of Bonawitz et al. 2017 (fig. 4), in order, and the two ends of a round."""

    ADVERTISE_KEYS = "keys"
    SHARE_KEYS = "shares"
    MASKED_INPUT = "input"
    CONSISTENCY_CHECK = "survivors"
    UNMASK = "unmask"
    DONE = "done"
    FAILED = "failed"


# A round that is done or failed takes no event any more.
ENDS = frozenset({ServerStage.DONE, ServerStage.FAILED})


class ServerEvent(StrEnum):
    """An event of a masked round: from a client, the clock or the host."""

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
# In later stages keys and shares are compared with those that the client sent; different ones exclude it.
_KEYS = _CLIENT | {ServerEvent.KEYS_ARRIVED}
# A reveal before UNMASK excludes its client. In ADVERTISE_KEYS it is ignored, as shares are: clients repeat
# their earlier frames to a server that was restarted.
_SHARES = _KEYS | {ServerEvent.SHARES_ARRIVED, ServerEvent.REVEAL_ARRIVED}
_SIGNATURES = _SHARES | {ServerEvent.CONSISTENCY_SIGNATURE_ARRIVED}
_RECOVERY = {ServerEvent.UNMASKED, ServerEvent.MISMATCHED}

# An event outside the row of the current stage changes nothing: a client's event is ignored, because it may
# be late; a host's event raises IllegalEventError. FAILED follows if too few clients remain.
TRANSITIONS: dict[ServerStage, StageRow] = {
    ServerStage.ADVERTISE_KEYS: _row(
        _KEYS | {ServerEvent.TIME_PASSED}, ServerStage.SHARE_KEYS, ServerStage.FAILED
    ),
    ServerStage.SHARE_KEYS: _row(
        _SHARES | {ServerEvent.TIME_PASSED}, ServerStage.MASKED_INPUT, ServerStage.FAILED
    ),
    # The Round decides how long to wait for updates. Not every round needs signatures (`terms.signers`).
    ServerStage.MASKED_INPUT: _row(
        _SHARES | {ServerEvent.INPUT_ACCEPTED, ServerEvent.INPUTS_OVER},
        ServerStage.CONSISTENCY_CHECK,
        ServerStage.UNMASK,
        ServerStage.FAILED,
    ),
    ServerStage.CONSISTENCY_CHECK: _row(
        _SIGNATURES | {ServerEvent.TIME_PASSED}, ServerStage.UNMASK, ServerStage.FAILED
    ),
    # Signatures beyond those needed are checked, but not needed.
    ServerStage.UNMASK: _row(
        _SIGNATURES | _RECOVERY | {ServerEvent.TIME_PASSED}, ServerStage.DONE, ServerStage.FAILED
    ),
    ServerStage.DONE: _row(set()),
    ServerStage.FAILED: _row(set()),
}


def owes(slot: ClientSlot, stage: ServerStage) -> bool:
    """Whether `stage` still waits for a frame of this client."""
    if slot.is_excluded:
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
    """The wait of a round for `slots`: `patience` seconds for keys, and the same for shares.

    A client that lost its connection may come back within `grace` seconds, and no stage ends before that. A
    client that owes nothing in a stage will not owe anything later in it: such slots are removed from the end
    of the list, so that the cost of a stage is linear in the slots, not quadratic. Owned by the machine.
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
        """Returns the wait for keys in a round that lasts `seconds` from `now`."""
        patience = min(max(EXCHANGE_SECONDS, grace), seconds * EXCHANGE_PART)
        return cls(list(slots), patience, grace, now + patience)

    def start_shares(self, now: float) -> None:
        """Starts the wait for shares."""
        self._deadline = now + self.patience

    def start_answers(self, now: float) -> None:
        """Starts the wait for clients' answers to a message sent `now`."""
        self._deadline = now + max(ANSWER_SECONDS, self.grace)

    def deadline(self, stage: ServerStage) -> float:
        """Returns when the wait of `stage` ends."""
        return waits_until(self._deadline, (slot.lost_at for slot in self._owing_in(stage)), self.grace)

    def is_complete(self, stage: ServerStage) -> bool:
        """Whether every client that is not out has sent the frame of `stage`."""
        return next(self._owing_in(stage), None) is None

    def _owing_in(self, stage: ServerStage) -> Iterator[ClientSlot]:
        if self._listed_for is not stage:
            self._listed_for, self._owing = stage, list(self.slots)
        while self._owing and not owes(self._owing[-1], stage):
            self._owing.pop()
        return (slot for slot in reversed(self._owing) if owes(slot, stage))
