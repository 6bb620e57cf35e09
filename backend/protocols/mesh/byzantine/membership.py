"""Who has a seat in a Byzantine mesh: earned by checked work, lost by absence, banned on evidence.

Pure functions of what all members agreed on. Newcomers work and are checked like everyone, and their work
does not count: many names cost as much work for each of them. After Gorbunov et al. 2022, section 3.3.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

MOST_SEATS = 32
# Names cost nothing, and every state has them all.
MOST_NEWCOMERS = 128
# A member that was absent rests for so many rounds; at the third time within the probation its seat is lost.
REST_ROUNDS, MOST_ABSENCES = 5, 3


class SeatedMember(Struct, frozen=True, forbid_unknown_fields=True):
    """A member whose work counts and who votes; `absences` are the rounds in which it was missing."""

    client: str
    identity: bytes
    absences: tuple[int, ...] = ()

    @property
    def returns(self) -> int:
        """The first round in which it takes part after its last absence; 0 if it was never absent."""
        return self.absences[-1] + REST_ROUNDS + 1 if self.absences else 0

    def rests(self, number: int) -> bool:
        """Whether it takes no part in round `number`, because it was absent shortly before."""
        return number < self.returns


class Newcomer(Struct, frozen=True, forbid_unknown_fields=True):
    """A member on probation: it worked in so many `rounds`.

    `audits` are the places, among the seats of the same state, of the members that found its work right: each
    counts once, and as long as it has its seat.
    """

    client: str
    identity: bytes
    rounds: int = 0
    audits: tuple[int, ...] = ()


class MeshMembership(Struct, frozen=True, forbid_unknown_fields=True):
    """The seats and newcomers of a mesh, each ordered by client; `banned` are identities, sorted."""

    seats: tuple[SeatedMember, ...]
    newcomers: tuple[Newcomer, ...] = ()
    banned: tuple[bytes, ...] = ()

    def identities(self) -> dict[str, bytes]:
        """Returns the identity of each client that has a seat or is a newcomer."""
        found = {seat.client: seat.identity for seat in self.seats}
        return found | {one.client: one.identity for one in self.newcomers}

    def present(self, number: int) -> tuple[str, ...]:
        """Returns the clients with a seat that do not rest in round `number`."""
        return tuple(seat.client for seat in self.seats if not seat.rests(number))

    def audits_needed(self, audits: int) -> int:
        """Returns how many members must find a newcomer's work right: `audits`, or a majority of fewer."""
        return min(audits, len(self.seats) // 2 + 1)


@dataclass(frozen=True)
class RoundFacts:
    """What members did in round `number`, as all agreed; clients throughout.

    `absent` did not say what was due, `unrevealed` committed to a part of the coin and kept it, and
    `convicted` are banned on evidence. `passed` are pairs of a client and the validator that found its work
    right. Two members found that of the newcomers in `failed` wrong, and that of those in `pending` is judged
    again. `withheld` showed their work to no majority.
    """

    number: int
    worked: Collection[str]
    absent: Collection[str] = ()
    unrevealed: Collection[str] = ()
    convicted: Collection[str] = ()
    passed: Collection[tuple[str, str]] = ()
    failed: Collection[str] = ()
    pending: Collection[str] = ()
    withheld: Collection[str] = ()
    entered: Sequence[Newcomer] = field(default_factory=tuple)


def after_round(before: MeshMembership, record: RoundFacts, probation: int, audits: int) -> MeshMembership:
    """Returns the membership after a round; `probation` rounds and audits by so many members earn a seat.

    Where fewer have seats, a majority of them counts. Free seats go to those with most rounds behind them,
    then by client. Of more newcomers than a state may have, those stay that worked in this round, passed most
    audits and worked most.
    """
    known = before.identities()
    convicted = {known[client] for client in record.convicted if client in known}
    banned = tuple(sorted({*before.banned, *convicted}))
    lost = {*record.unrevealed, *record.convicted, *record.withheld}
    seats = [
        seat
        for old in before.seats
        if old.client not in lost and (seat := _after_absence(old, record, probation)) is not None
    ]
    taken = set(known.values())
    entered = [one for one in record.entered if one.client not in known and one.identity not in taken]
    newcomers = [
        one
        for one in (*_worked(before, record, [seat.client for seat in seats]), *entered)
        if one.client not in lost and one.identity not in banned
    ]
    needed = MeshMembership(tuple(seats)).audits_needed(audits)
    ready = sorted(
        (
            one
            for one in newcomers
            if one.rounds >= probation and len(one.audits) >= needed and one.client not in record.pending
        ),
        key=lambda one: (-one.rounds, one.client),
    )
    seated = ready[: max(0, MOST_SEATS - len(seats))]
    left = sorted(
        (one for one in newcomers if one not in seated),
        key=lambda one: (one.client not in record.worked, -len(one.audits), -one.rounds, one.client),
    )
    after = sorted([*seats, *(SeatedMember(one.client, one.identity) for one in seated)], key=_client)
    places = [after.index(seat) for seat in seats]
    kept = [
        replace(one, audits=tuple(places[place] for place in one.audits)) for one in left[:MOST_NEWCOMERS]
    ]
    return MeshMembership(tuple(after), tuple(sorted(kept, key=_client)), banned)


def _client(member: SeatedMember | Newcomer) -> str:
    return member.client


def _after_absence(seat: SeatedMember, record: RoundFacts, probation: int) -> SeatedMember | None:
    """Returns the seat with the absences that still count; None if it is lost."""
    absences = tuple(one for one in seat.absences if one > record.number - probation)
    if seat.client in record.absent:
        absences += (record.number,)
    return None if len(absences) >= MOST_ABSENCES else replace(seat, absences=absences)


def _worked(before: MeshMembership, record: RoundFacts, seated: Sequence[str]) -> list[Newcomer]:
    """Counts the newcomers' round, with audits by those still `seated`; wrong work begins it again."""
    found = list[Newcomer]()
    for one in before.newcomers:
        passed = {seat.client for place, seat in enumerate(before.seats) if place in one.audits}
        if one.client in record.worked:
            passed |= {validator for client, validator in record.passed if client == one.client}
        audits = tuple(place for place, client in enumerate(seated) if client in passed)
        if one.client in record.failed:
            found.append(replace(one, rounds=0, audits=()))
        else:
            found.append(replace(one, rounds=one.rounds + (one.client in record.worked), audits=audits))
    return found
