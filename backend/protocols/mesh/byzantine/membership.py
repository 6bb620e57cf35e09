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
    """A member on probation: it worked in so many `rounds`, and passed so many `audits`."""

    client: str
    identity: bytes
    rounds: int = 0
    audits: int = 0


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


@dataclass(frozen=True)
class RoundFacts:
    """What members did in round `number`, as all agreed; clients throughout.

    `absent` did not say what was due, `unrevealed` committed to a part of the coin and kept it, and
    `convicted` are banned on evidence. `passed` and `failed` were audited. `withheld` showed their work
    to no majority.
    """

    number: int
    worked: Collection[str]
    absent: Collection[str] = ()
    unrevealed: Collection[str] = ()
    convicted: Collection[str] = ()
    passed: Collection[str] = ()
    failed: Collection[str] = ()
    withheld: Collection[str] = ()
    entered: Sequence[Newcomer] = field(default_factory=tuple)


def after_round(before: MeshMembership, record: RoundFacts, probation: int, audits: int) -> MeshMembership:
    """Returns the membership after a round; `probation` rounds and `audits` earn a seat.

    Free seats go to those with most rounds behind them, then by client. Of more newcomers than a state may
    have, those stay that worked in this round, passed most audits and worked most.
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
        for one in (*(_worked(one, record) for one in before.newcomers), *entered)
        if one.client not in lost and one.identity not in banned
    ]
    ready = sorted(
        (one for one in newcomers if one.rounds >= probation and one.audits >= audits),
        key=lambda one: (-one.rounds, one.client),
    )
    seated = ready[: max(0, MOST_SEATS - len(seats))]
    seats += [SeatedMember(one.client, one.identity) for one in seated]
    left = sorted(
        (one for one in newcomers if one not in seated),
        key=lambda one: (one.client not in record.worked, -one.audits, -one.rounds, one.client),
    )
    return MeshMembership(
        tuple(sorted(seats, key=lambda one: one.client)),
        tuple(sorted(left[:MOST_NEWCOMERS], key=lambda one: one.client)),
        banned,
    )


def _after_absence(seat: SeatedMember, record: RoundFacts, probation: int) -> SeatedMember | None:
    """Returns the seat with the absences that still count; None if it is lost."""
    absences = tuple(one for one in seat.absences if one > record.number - probation)
    if seat.client in record.absent:
        absences += (record.number,)
    return None if len(absences) >= MOST_ABSENCES else replace(seat, absences=absences)


def _worked(one: Newcomer, record: RoundFacts) -> Newcomer:
    """Counts a newcomer's round; wrong work begins the probation again."""
    if one.client in record.failed:
        return replace(one, rounds=0, audits=0)
    if one.client not in record.worked:
        return one
    return replace(one, rounds=one.rounds + 1, audits=one.audits + (one.client in record.passed))
