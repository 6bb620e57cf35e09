"""The state machine of a masked round's member, without I/O; the browser's twin is `secagg/member.ts`.

The host performs the effects and reports events (member_events.py). member_round.py has the member's
knowledge of one round and its refusals; tests/contract/vectors/secagg.json has conversations that both
languages replay. docs/reference/masked-rounds.md has the protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from backend.protocols.secagg import member_events
from backend.protocols.secagg.member_events import Effect, Event, SendMasked
from backend.protocols.secagg.member_round import MemberRound
from backend.protocols.secagg.terms import degree, neighbours_of
from backend.wire.masked_messages import (
    ConsistencySignature,
    Dealt,
    Decline,
    Masking,
    Reveal,
    Roster,
    Shares,
    Survivors,
    Unmask,
)
from backend.wire.messages import Abandoned, ServerFrame, State, Train, Version


class MemberStage(StrEnum):
    """The member's activity or wait; pages and terminals explain these values."""

    IDLE = "idle"
    # Advertise keys.
    MAKING_KEYS = "keys"
    AWAITING_ROSTER = "roster"
    # Share keys.
    CHECKING_ROSTER = "checking"
    SEALING_SHARES = "sealing"
    AWAITING_SHARES = "dealing"
    OPENING_SHARES = "opening"
    MASKED_INPUT = "masked"
    # Consistency check, if the server may lie or members have few neighbours.
    SIGNING_SURVIVORS = "signing"
    AWAITING_UNMASK = "vouched"
    CHECKING_SIGNATURES = "weighing"
    # Unmask.
    MAKING_REVEAL = "revealing"
    REVEALED = "revealed"
    # Only a decline is sent in this round.
    REFUSED = "refused"


Row = Mapping[str, tuple[MemberStage, ...]]

# In every stage of a round; a new plan begins another round.
_ALWAYS: Row = {
    "planned": (MemberStage.MAKING_KEYS, MemberStage.REFUSED),
    "welcomed": (),
    "stopped": (MemberStage.IDLE,),
    "version": (MemberStage.IDLE,),
    "abandoned": (MemberStage.IDLE,),
    "state": (MemberStage.IDLE,),
}
# Stages in which the host works for the machine, and can fail.
_WORKING: Row = {**_ALWAYS, "failed": (MemberStage.REFUSED,)}
# The server may repeat a frame; a different roster, deal or list of survivors is refused.
_ROSTER: Row = {"roster": (MemberStage.REFUSED,)}
_SHARES: Row = {**_ROSTER, "dealt": (MemberStage.REFUSED,)}
_SURVIVORS: Row = {**_SHARES, "survivors": (MemberStage.REFUSED,), "unmask": (MemberStage.REFUSED,)}

# Stage -> tags of the events and frames that it accepts -> stages to which they may lead, besides the same
# one. An event that is not in the row has no effects and changes nothing.
TRANSITIONS: Mapping[MemberStage, Row] = {
    MemberStage.IDLE: {"planned": (MemberStage.MAKING_KEYS,)},
    MemberStage.MAKING_KEYS: {**_WORKING, "keys_made": (MemberStage.AWAITING_ROSTER, MemberStage.REFUSED)},
    MemberStage.AWAITING_ROSTER: {
        **_ALWAYS,
        "roster": (MemberStage.CHECKING_ROSTER, MemberStage.REFUSED),
    },
    MemberStage.CHECKING_ROSTER: {
        **_WORKING,
        **_ROSTER,
        "roster_checked": (MemberStage.SEALING_SHARES, MemberStage.REFUSED),
    },
    MemberStage.SEALING_SHARES: {**_WORKING, **_ROSTER, "shares_sealed": (MemberStage.AWAITING_SHARES,)},
    MemberStage.AWAITING_SHARES: {
        **_ALWAYS,
        **_ROSTER,
        "dealt": (MemberStage.OPENING_SHARES, MemberStage.REFUSED),
    },
    MemberStage.OPENING_SHARES: {**_WORKING, **_SHARES, "shares_opened": (MemberStage.MASKED_INPUT,)},
    MemberStage.MASKED_INPUT: {
        **_WORKING,
        **_SHARES,
        "survivors": (MemberStage.SIGNING_SURVIVORS, MemberStage.REFUSED),
        "unmask": (MemberStage.CHECKING_SIGNATURES, MemberStage.MAKING_REVEAL, MemberStage.REFUSED),
    },
    MemberStage.SIGNING_SURVIVORS: {
        **_WORKING,
        **_SURVIVORS,
        "survivors_signed": (MemberStage.AWAITING_UNMASK,),
        "unmask": (MemberStage.CHECKING_SIGNATURES, MemberStage.REFUSED),
    },
    MemberStage.AWAITING_UNMASK: {
        **_ALWAYS,
        **_SURVIVORS,
        "unmask": (MemberStage.CHECKING_SIGNATURES, MemberStage.REFUSED),
    },
    MemberStage.CHECKING_SIGNATURES: {
        **_WORKING,
        **_SURVIVORS,
        "vouchers_checked": (MemberStage.MAKING_REVEAL, MemberStage.REFUSED),
    },
    MemberStage.MAKING_REVEAL: {**_WORKING, **_SURVIVORS, "revealed": (MemberStage.REVEALED,)},
    MemberStage.REVEALED: {**_ALWAYS, **_SURVIVORS},
    MemberStage.REFUSED: {**_ALWAYS, "planned": (MemberStage.MAKING_KEYS,)},
}

# Stages in which nothing was revealed yet, so that the server may ask for it.
ASKABLE = {MemberStage.MASKED_INPUT, MemberStage.SIGNING_SURVIVORS, MemberStage.AWAITING_UNMASK}
OTHER_SURVIVORS = "The server named other survivors to this client before."

# The host's reports of its work for a round.
HostEvent = (
    member_events.KeysMade
    | member_events.RosterChecked
    | member_events.SharesSealed
    | member_events.SharesOpened
    | member_events.SurvivorsSigned
    | member_events.ConsistencySignaturesChecked
    | member_events.RevealMade
    | member_events.HostFailed
)


@dataclass
class MaskedMember:
    """One client's part in the masked rounds of one task, one round at a time. Owned by its host alone.

    The first illegal request of the server ends the round for this client. `latest` is the last round begun;
    no round up to it can begin again.
    """

    stage: MemberStage = MemberStage.IDLE
    latest: int = 0
    round: MemberRound | None = None
    # Why this client left the last round, for people.
    reason: str | None = None

    @property
    def members(self) -> int:
        """The number of members of the roster; 0 before it is known."""
        return len(self.round.members) if self.round else 0

    def handle(self, event: Event) -> list[Effect]:
        """Changes the state by one event and returns what the host has to do, in order."""
        if tag_of(event) not in TRANSITIONS[self.stage]:
            return []
        match event:
            case member_events.Planned(plan=Train(masking=Masking() as masking)):
                return self._planned(event, masking)
            case member_events.Planned():
                return []
            case member_events.Stopped():
                return self._forget()
        current = self.round
        if current is None:
            return []
        match event:
            case member_events.Welcomed():
                return self._welcomed(current)
            case member_events.MaskedFrame(frame):
                return self._frame(current, frame)
            case member_events.KeysMade(keys):
                return self._host_event(current, event) if keys.round == current.number else []
        return self._host_event(current, event) if event.round == current.number else []

    def _planned(self, event: member_events.Planned, masking: Masking) -> list[Effect]:
        number = event.plan.round
        if self.round and number == self.round.number:
            if self.round.has_plan(event) or self.stage is MemberStage.REFUSED:
                return []
            return self._give_up(self.round, "The server gave this round other terms before.")
        if number <= self.latest:
            reason = f"The server went back to round {number}, after {self.latest}; stop and join again."
            return [member_events.LeaveRound(number, reason), _decline(number)]
        forgotten = self._forget()
        self.stage, self.latest, self.reason = MemberStage.MAKING_KEYS, number, None
        self.round = MemberRound.from_plan(event, masking)
        return [*forgotten, member_events.MakeKeys(event.client, event.bundle, event.plan)]

    def _welcomed(self, current: MemberRound) -> list[Effect]:
        if self.stage is MemberStage.REFUSED:
            return [_decline(current.number, current.spent)]
        return [SendMasked(frame) for frame in current.sent()]

    # Reports of the host.

    def _host_event(self, current: MemberRound, event: HostEvent) -> list[Effect]:
        number = current.number
        match event:
            case member_events.HostFailed(reason=reason):
                return self._give_up(current, reason)
            case member_events.KeysMade(keys, spent):
                if refusal := current.spent_refusal(spent):
                    return self._give_up(current, refusal, spent=True)
                self.stage, current.keys = MemberStage.AWAITING_ROSTER, keys
                return [SendMasked(keys)]
            case member_events.RosterChecked():
                return self._roster_checked(current, event)
            case member_events.SharesSealed(sealed=sealed):
                shares = Shares(round=number, sealed=sealed)
                self.stage, current.shares = MemberStage.AWAITING_SHARES, shares
                return [SendMasked(shares)]
            case member_events.SharesOpened():
                self.stage = MemberStage.MASKED_INPUT
                return [member_events.MaskUpdate(number, current.place, current.senders)]
            case member_events.SurvivorsSigned(signature=signature):
                vouch = ConsistencySignature(round=number, signature=signature)
                self.stage, current.consistency_signature = MemberStage.AWAITING_UNMASK, vouch
                return [SendMasked(vouch)]
            case member_events.ConsistencySignaturesChecked(wrong=wrong):
                if wrong:
                    return self._give_up(current, "A voucher's signature is wrong.")
                return self._make_reveal(current, current.alive or [])
            case member_events.RevealMade(shares=revealed):
                reveal = Reveal(round=number, shares=revealed)
                self.stage, current.reveal = MemberStage.REVEALED, reveal
                return [SendMasked(reveal)]

    def _roster_checked(self, current: MemberRound, event: member_events.RosterChecked) -> list[Effect]:
        if event.wrong:
            return self._give_up(current, "The roster has keys that cannot be used, or were not signed.")
        if event.changed:
            return self._give_up(
                current, "A client of the roster changed its identity, or is not on the list."
            )
        self.stage = MemberStage.SEALING_SHARES
        current.neighbours = neighbours_of(current.place, event.order, current.degree.neighbours)
        return [
            member_events.SealShares(
                current.number, current.place, current.degree.threshold, current.neighbours
            )
        ]

    # Frames of the server.

    def _frame(self, current: MemberRound, frame: ServerFrame) -> list[Effect]:
        match frame:
            case Version(round=number) | Abandoned(round=number):
                return self._round_over(current, number)
            case State(phase=phase, round=number):
                return self._forget() if phase == "finished" else self._round_over(current, number - 1)
            case Roster() if frame.round == current.number:
                return self._roster(current, frame)
            case Dealt() if frame.round == current.number:
                return self._dealt(current, frame)
            case Survivors() if frame.round == current.number:
                return self._survivors(current, frame)
            case Unmask() if frame.round == current.number:
                return self._unmask(current, frame)
        return []

    def _roster(self, current: MemberRound, frame: Roster) -> list[Effect]:
        if current.members:
            if frame.members != current.members:
                return self._give_up(current, "The server sent this client another roster before.")
            return [SendMasked(current.shares)] if current.shares else []
        if current.keys is None:
            return []
        members = frame.members
        if reason := current.roster_refusal(members, current.keys):
            return self._give_up(current, reason)
        self.stage, current.members = MemberStage.CHECKING_ROSTER, members
        current.place = [member.client for member in members].index(current.planned.client)
        current.degree = degree(len(members), current.masking.server)
        return [member_events.CheckRoster(current.number, members, *current.degree, current.active)]

    def _dealt(self, current: MemberRound, frame: Dealt) -> list[Effect]:
        if current.dealt:
            if frame == current.dealt:
                return []
            return self._give_up(current, "The server dealt this client other shares before.")
        if reason := current.shares_refusal(frame):
            return self._give_up(current, reason)
        self.stage, current.dealt = MemberStage.OPENING_SHARES, frame
        return [member_events.OpenShares(current.number, current.place, frame.senders, frame.sealed)]

    def _survivors(self, current: MemberRound, frame: Survivors) -> list[Effect]:
        """Has the survivors signed if the round needs signatures; otherwise ignores them."""
        if not current.signers:
            return []
        if current.alive is not None:
            if frame.alive != current.alive:
                return self._give_up(current, OTHER_SURVIVORS)
            signature = current.consistency_signature
            return [SendMasked(signature)] if signature else []
        if reason := current.survivors_refusal(frame.alive):
            return self._give_up(current, reason)
        self.stage, current.alive = MemberStage.SIGNING_SURVIVORS, frame.alive
        return [member_events.SignSurvivors(current.number, frame.alive)]

    def _unmask(self, current: MemberRound, frame: Unmask) -> list[Effect]:
        if current.alive is not None and frame.alive != current.alive:
            return self._give_up(current, OTHER_SURVIVORS)
        if self.stage not in ASKABLE:
            return [SendMasked(current.reveal)] if current.reveal else []
        reason = current.survivors_refusal(frame.alive)
        if reason is None and current.signers:
            reason = current.signatures_refusal(frame)
        if reason:
            return self._give_up(current, reason)
        current.alive = frame.alive
        if not current.signers:
            return self._make_reveal(current, frame.alive)
        self.stage = MemberStage.CHECKING_SIGNATURES
        return [
            member_events.CheckConsistencySignatures(
                current.number, frame.alive, frame.vouchers, frame.signatures
            )
        ]

    # Ends of a round.

    def _make_reveal(self, current: MemberRound, alive: list[int]) -> list[Effect]:
        self.stage = MemberStage.MAKING_REVEAL
        return [current.reveal_for(alive)]

    def _round_over(self, current: MemberRound, number: int) -> list[Effect]:
        """Forgets the current round if it is round `number` or an earlier one."""
        return self._forget() if current.number <= number else []

    def _give_up(self, current: MemberRound, reason: str, *, spent: bool = False) -> list[Effect]:
        """Leaves the round: from now on only a decline is sent in it."""
        number, forgotten = current.number, self._forget()
        self.stage, self.reason = MemberStage.REFUSED, reason
        self.round = MemberRound.from_plan(current.planned, current.masking)
        self.round.spent = spent
        return [member_events.LeaveRound(number, reason), *forgotten, _decline(number, spent)]

    def _forget(self) -> list[Effect]:
        has_secrets = self.round is not None and self.stage is not MemberStage.REFUSED
        self.stage, self.round = MemberStage.IDLE, None
        return [member_events.ForgetRound(self.latest)] if has_secrets else []


def tag_of(event: Event) -> str:
    """Returns the event's tag in the table; for a server's frame, the tag of the frame."""
    tagged = event.frame if isinstance(event, member_events.MaskedFrame) else event
    return str(tagged.__struct_config__.tag)


def _decline(number: int, spent: bool = False) -> Effect:
    return SendMasked(Decline(round=number, spent=spent))
