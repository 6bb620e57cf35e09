"""What the members of a Byzantine mesh agree on after a round; certificates sign its digest."""

from __future__ import annotations

import hashlib
import struct
from functools import cached_property

from msgspec import Struct

from backend.crypto.round_context import fields, integer
from backend.protocols.mesh.byzantine.membership import MeshMembership

# Members that were unable to judge others' work are not drawn for so many rounds.
UNABLE_ROUNDS = 20


class CheckedWork(Struct, frozen=True, forbid_unknown_fields=True):
    """The work of `client` in the state's round, by the digest of its `commit` statement."""

    client: str
    commit: bytes


class WorkCase(Struct, frozen=True, forbid_unknown_fields=True):
    """Work of `target` in `round` that `validator` found to be other work, or too near a limit to say.

    Nobody accuses (`validator` is empty) where the work was not shown: it may come to light again. Of a
    newcomer's work `second` found that it is right: one of the two lied.
    """

    target: str
    round: int
    validator: str
    second: str = ""

    def convicts(self, found: str) -> str:
        """Returns the client that is banned if more than half `found` this; empty if nobody is."""
        return {"other": self.second or self.target, "same": self.validator}.get(found, "")

    def convicting(self, client: str) -> str | None:
        """Returns what more than half must find to ban `client`; None if nothing does."""
        return next((found for found in ("other", "same") if self.convicts(found) == client), None)


class UnableMember(Struct, frozen=True, forbid_unknown_fields=True):
    """A member with a seat that said in `round` that it cannot do others' work again."""

    client: str
    round: int

    @property
    def checks_from(self) -> int:
        """The first round in which it may be drawn as a validator again."""
        return self.round + UNABLE_ROUNDS + 1


class AgreedState(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The state after `round`; the next round begins with it.

    `weights` and `slots` are SHA-256 of the weights and of the outer optimizer's momentum. `radius` is per
    root of a part's size, 0 before the first one was measured. All members with a seat judge the cases in
    `court` in the next round, one further validator each those in `doubtful`, and those in `suspected`, where
    the first one found a newcomer's work wrong. Those who are `unable`, ordered by client, are not drawn as
    validators. `rules` is the digest of what the members have in common, `before` that of the last state,
    `said` that of all statements of the round.
    """

    round: int
    weights: bytes
    slots: bytes
    coin: bytes
    radius: float
    membership: MeshMembership
    works: tuple[CheckedWork, ...] = ()
    court: tuple[WorkCase, ...] = ()
    doubtful: tuple[WorkCase, ...] = ()
    suspected: tuple[WorkCase, ...] = ()
    rules: bytes = bytes(32)
    before: bytes = bytes(32)
    said: bytes = bytes(32)
    unable: tuple[UnableMember, ...] = ()

    def digest(self) -> bytes:
        """Returns the SHA-256 of the state, 32 bytes."""
        return self._digest

    @cached_property
    def _digest(self) -> bytes:
        return hashlib.sha256(
            fields(
                b"minga/mesh/1/state",
                integer(self.round),
                self.weights,
                self.slots,
                self.coin,
                struct.pack("<d", self.radius),
                _membership(self.membership),
                *(fields(one.client.encode(), one.commit) for one in self.works),
                b"court",
                *map(_case, self.court),
                b"doubtful",
                *map(_case, self.doubtful),
                b"suspected",
                *map(_case, self.suspected),
                self.rules,
                self.before,
                self.said,
                b"unable",
                *(fields(one.client.encode(), integer(one.round)) for one in self.unable),
            )
        ).digest()


def _case(case: WorkCase) -> bytes:
    return fields(case.target.encode(), integer(case.round), case.validator.encode(), case.second.encode())


def _membership(membership: MeshMembership) -> bytes:
    return fields(
        *(
            fields(seat.client.encode(), seat.identity, *map(integer, seat.absences))
            for seat in membership.seats
        ),
        b"newcomers",
        *(
            fields(one.client.encode(), one.identity, integer(one.rounds), *map(integer, one.audits))
            for one in membership.newcomers
        ),
        b"banned",
        *membership.banned,
    )
