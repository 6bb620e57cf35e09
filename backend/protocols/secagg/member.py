"""A member of masked rounds, as a machine without I/O; `secagg/member.ts` is its mirror in the browser.

    KEYS ─ ROSTER ─ CHECKING ─ SEALING ─ DEALING ─ OPENING ─ MASKED ─ (SIGNING ─ VOUCHED) ─ (WEIGHING) ─┐
                                                                             REVEALED ─ REVEALING ──────┘
    and from each of them REFUSED, where nothing but that is said in the round, or IDLE when it is over.

The host performs the effects and reports events (member_events.py). member_state.py has what the member knows
of one round, refusals.py what it refuses; tests/contract/vectors/secagg.json holds conversations that
both languages replay. docs/decisions/0017-masked-rounds.md has the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from backend.protocols.secagg import refusals
from backend.protocols.secagg.member_events import (
    CheckRoster,
    CheckVouchers,
    Effect,
    Event,
    ForgetRound,
    HostFailed,
    KeysMade,
    LeaveRound,
    MakeKeys,
    Mask,
    MaskedFrame,
    Open,
    Planned,
    RevealMade,
    RosterChecked,
    Seal,
    SendMasked,
    SharesOpened,
    SharesSealed,
    SignSurvivors,
    Stopped,
    SurvivorsSigned,
    VouchersChecked,
    Welcomed,
)
from backend.protocols.secagg.member_state import MemberPart
from backend.protocols.secagg.terms import degree, neighbours_of
from backend.wire.masked_messages import (
    Dealt,
    Decline,
    Keys,
    Masking,
    Reveal,
    Roster,
    Shares,
    Survivors,
    Unmask,
    Vouch,
)
from backend.wire.messages import Abandoned, ServerFrame, State, Train, Version


class MemberStage(StrEnum):
    """What the member does, or waits for, in the word that its page or terminal explains."""

    IDLE = "idle"
    KEYS = "keys"
    ROSTER = "roster"
    CHECKING = "checking"
    SEALING = "sealing"
    DEALING = "dealing"
    OPENING = "opening"
    MASKED = "masked"
    SIGNING = "signing"
    VOUCHED = "vouched"
    WEIGHING = "weighing"
    REVEALING = "revealing"
    REVEALED = "revealed"
    REFUSED = "refused"


# Where the host works for the machine, and can fail.
WORKING = frozenset(
    {
        MemberStage.KEYS,
        MemberStage.CHECKING,
        MemberStage.SEALING,
        MemberStage.OPENING,
        MemberStage.MASKED,
        MemberStage.SIGNING,
        MemberStage.WEIGHING,
        MemberStage.REVEALING,
    }
)
# Where a reveal may be asked for.
READY = frozenset({MemberStage.MASKED, MemberStage.SIGNING, MemberStage.VOUCHED})
OTHERS = "The server named other survivors to this client before."

# What the host reports of a round in which it was asked to work, besides new keys.
Outcome = (
    RosterChecked | SharesSealed | SharesOpened | SurvivorsSigned | VouchersChecked | RevealMade | HostFailed
)


@dataclass
class MaskedMember:
    """One client's part in the masked rounds of one task, one round at a time. Owned by its host alone.

    An event that makes no sense in the present state has no effects and changes nothing. The first thing that
    a server may not ask ends the round for this client. `latest` is the last round begun; none up to it
    begins again.
    """

    stage: MemberStage = MemberStage.IDLE
    latest: int = 0
    part: MemberPart | None = None
    # Why the last round was given up, for people.
    reason: str | None = None

    @property
    def members(self) -> int:
        """Among how many the update is masked; 0 before the roster is known."""
        return len(self.part.members) if self.part else 0

    def handle(self, event: Event) -> list[Effect]:
        """Changes the state by one event and returns what the host has to do, in order."""
        match event:
            case Planned(plan=Train(masking=Masking() as masking)):
                return self._planned(event, masking)
            case Planned():
                return []
            case MaskedFrame(frame):
                return self._frame(frame)
            case Stopped():
                return self._forget()
        part = self.part
        if part is None:
            return []
        if self.stage is MemberStage.REFUSED:
            return [_decline(part.round)] if isinstance(event, Welcomed) else []
        match event:
            case Welcomed():
                return part.said()
            case KeysMade(keys):
                return self._keys_made(part, keys)
        return self._worked(part, event) if event.round == part.round else []

    def _planned(self, event: Planned, masking: Masking) -> list[Effect]:
        number = event.plan.round
        if self.part and number == self.part.round:
            if self.part.is_planned_by(event) or self.stage is MemberStage.REFUSED:
                return []
            return self._give_up(self.part, "The server gave this round other terms before.")
        if number <= self.latest:
            reason = f"The server went back to round {number}, after {self.latest}; stop and join again."
            return [LeaveRound(number, reason), _decline(number)]
        forgotten = self._forget()
        self.stage, self.latest, self.reason = MemberStage.KEYS, number, None
        self.part = MemberPart.begun(event, masking)
        return [*forgotten, MakeKeys(event.client, event.bundle, event.plan)]

    # What the host did.

    def _keys_made(self, part: MemberPart, keys: Keys) -> list[Effect]:
        if self.stage is not MemberStage.KEYS or keys.round != part.round:
            return []
        self.stage, part.keys = MemberStage.ROSTER, keys
        return [SendMasked(keys)]

    def _worked(self, part: MemberPart, event: Outcome) -> list[Effect]:
        match event, self.stage:
            case HostFailed(reason=reason), stage if stage in WORKING:
                return self._give_up(part, reason)
            case RosterChecked(), MemberStage.CHECKING:
                return self._roster_checked(part, event)
            case SharesSealed(sealed=sealed), MemberStage.SEALING:
                self.stage, part.shares = MemberStage.DEALING, Shares(round=part.round, sealed=sealed)
                return [SendMasked(part.shares)]
            case SharesOpened(), MemberStage.OPENING:
                self.stage = MemberStage.MASKED
                return [Mask(part.round, part.place, part.senders)]
            case SurvivorsSigned(signature=signature), MemberStage.SIGNING:
                self.stage, part.vouch = MemberStage.VOUCHED, Vouch(round=part.round, signature=signature)
                return [SendMasked(part.vouch)]
            case VouchersChecked(wrong=wrong), MemberStage.WEIGHING:
                if wrong:
                    return self._give_up(part, "A voucher's signature is wrong.")
                return self._make_reveal(part, part.alive or [])
            case RevealMade(shares=shares), MemberStage.REVEALING:
                self.stage, part.reveal = MemberStage.REVEALED, Reveal(round=part.round, shares=shares)
                return [SendMasked(part.reveal)]
        return []

    def _roster_checked(self, part: MemberPart, event: RosterChecked) -> list[Effect]:
        if event.wrong:
            return self._give_up(part, "The roster has keys that cannot be used, or were not signed.")
        if event.changed:
            return self._give_up(part, "A client of the roster is not who it was, or is not on the list.")
        self.stage = MemberStage.SEALING
        part.neighbours = neighbours_of(part.place, event.order, part.degree)
        return [Seal(part.round, part.place, part.threshold, part.neighbours)]

    # What the server said.

    def _frame(self, frame: ServerFrame) -> list[Effect]:
        part = self.part
        match frame:
            case Roster() | Dealt() | Survivors() | Unmask():
                if part is None or frame.round != part.round or self.stage is MemberStage.REFUSED:
                    return []
                return self._asked(part, frame)
            case Version(round=number) | Abandoned(round=number):
                return self._over(number)
            case State(phase=phase, round=number):
                return self._forget() if phase == "finished" else self._over(number - 1)
        return []

    def _asked(self, part: MemberPart, frame: Roster | Dealt | Survivors | Unmask) -> list[Effect]:
        match frame:
            case Roster():
                return self._roster(part, frame)
            case Dealt():
                return self._dealt(part, frame)
            case Survivors():
                return self._survivors(part, frame)
            case Unmask():
                return self._unmask(part, frame)

    def _roster(self, part: MemberPart, frame: Roster) -> list[Effect]:
        if part.members:
            if frame.members != part.members:
                return self._give_up(part, "The server sent this client another roster before.")
            return [SendMasked(part.shares)] if part.shares else []
        if self.stage is not MemberStage.ROSTER or part.keys is None:
            return []
        members, client = frame.members, part.terms.client
        if reason := refusals.of_roster(members, client, part.keys, part.least, part.active):
            return self._give_up(part, reason)
        self.stage, part.members = MemberStage.CHECKING, members
        part.place = [member.client for member in members].index(client)
        part.degree, part.threshold = degree(len(members), part.masking.server)
        return [CheckRoster(part.round, members, part.degree, part.threshold, part.active)]

    def _dealt(self, part: MemberPart, frame: Dealt) -> list[Effect]:
        if part.dealt:
            same = frame == part.dealt
            return [] if same else self._give_up(part, "The server dealt this client other shares before.")
        if self.stage is not MemberStage.DEALING:
            return []
        if reason := refusals.of_dealt(frame, part.neighbours, len(part.members), part.threshold):
            return self._give_up(part, reason)
        self.stage, part.dealt = MemberStage.OPENING, frame
        return [Open(part.round, part.place, frame.senders, frame.sealed)]

    def _survivors(self, part: MemberPart, frame: Survivors) -> list[Effect]:
        """Where the server may lie they are vouched for; elsewhere nobody asks."""
        if not part.active:
            return []
        if part.alive is not None:
            if frame.alive != part.alive:
                return self._give_up(part, OTHERS)
            return [SendMasked(part.vouch)] if part.vouch else []
        if self.stage is not MemberStage.MASKED:
            return []
        if reason := part.objection(frame.alive):
            return self._give_up(part, reason)
        self.stage, part.alive = MemberStage.SIGNING, frame.alive
        return [SignSurvivors(part.round, frame.alive)]

    def _unmask(self, part: MemberPart, frame: Unmask) -> list[Effect]:
        if part.alive is not None and frame.alive != part.alive:
            return self._give_up(part, OTHERS)
        if self.stage not in READY:
            return [SendMasked(part.reveal)] if part.reveal else []
        reason = part.objection(frame.alive)
        if reason is None and part.active:
            reason = refusals.of_vouchers(frame, part.threshold)
        if reason:
            return self._give_up(part, reason)
        part.alive = frame.alive
        if not part.active:
            return self._make_reveal(part, frame.alive)
        self.stage = MemberStage.WEIGHING
        return [CheckVouchers(part.round, frame.alive, frame.vouchers, frame.signatures)]

    # What follows.

    def _make_reveal(self, part: MemberPart, alive: list[int]) -> list[Effect]:
        self.stage = MemberStage.REVEALING
        return [part.reveal_of(alive)]

    def _over(self, number: int) -> list[Effect]:
        """Round `number` is over, and those before it."""
        return self._forget() if self.part and self.part.round <= number else []

    def _give_up(self, part: MemberPart, reason: str) -> list[Effect]:
        """Says nothing but that in this round, whatever comes."""
        forgotten = self._forget()
        self.stage, self.part, self.reason = (
            MemberStage.REFUSED,
            MemberPart.begun(part.terms, part.masking),
            reason,
        )
        return [LeaveRound(part.round, reason), *forgotten, _decline(part.round)]

    def _forget(self) -> list[Effect]:
        kept = self.part is not None and self.stage is not MemberStage.REFUSED
        self.stage, self.part = MemberStage.IDLE, None
        return [ForgetRound(self.latest)] if kept else []


def _decline(number: int) -> Effect:
    return SendMasked(Decline(round=number))
