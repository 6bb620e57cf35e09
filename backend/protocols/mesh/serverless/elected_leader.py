"""What a steward does about rounds of a mesh without its server: it hears who calls, sets out with them, and
makes a group of those who have trained. A part of the machine in rounds.py, which owns it; no browser leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from backend.protocols.mesh.grouping import part_bounds
from backend.protocols.mesh.serverless.plan import STEWARDS_GROUPS, least_of, most_of
from backend.wire.mesh_messages import Certificate, Group, Trained
from backend.wire.peer_messages import SetOut, Unattended

_SALTS = 1 << 32


class Callers:
    """What other survivors call, as `own` hears it; each call counts once."""

    def __init__(self, own: str) -> None:
        self._own = own
        self._said: dict[str, Unattended] = {}

    def heard(self, client: str, frame: Unattended) -> None:
        """What a client called last is what counts."""
        self._said[client] = frame

    def forget(self, client: str) -> None:
        """It calls no more, or nobody hears it."""
        self._said.pop(client, None)

    def clear(self) -> None:
        """A round begins: everybody calls anew after it."""
        self._said.clear()

    def together(self, own: Unattended, linked: Iterable[str]) -> dict[str, Unattended]:
        """Of those who are `linked`, who would go on from the same weights; this peer with its `own` call."""
        said = {client: self._said[client] for client in linked if client in self._said}
        alike = {client: call for client, call in said.items() if call.weights == own.weights}
        return {**alike, self._own: own}

    def waits(self, callers: Mapping[str, Unattended], shown: Certificate) -> int | None:
        """How many times its patience this peer waits before it sets out; None where too few call.

        A steward that does nothing, as it hears too few, makes way for the next one after twice the patience.
        """
        if len(callers) < most_of(shown):
            return None
        before = sum(call.steward and client < self._own for client, call in callers.items())
        return 2 * before + (len(callers) < len(shown.survivors))


def set_out(callers: Mapping[str, Unattended], shown: Certificate) -> SetOut:
    """The round that `callers` make from the weights that are `shown`; one measures these, if any can."""
    number = 1 + max(call.round for call in callers.values())
    able = sorted(client for client, call in callers.items() if call.measures)
    return SetOut(round=number, weights=shown.weights, measures=able[number % len(able)] if able else None)


@dataclass
class ElectedLeader:
    """Round `number` of `members`, from the weights of `certificate`; they train until `until`."""

    number: int
    certificate: Certificate
    members: list[str]
    until: float
    trained: dict[str, Trained] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether nobody is waited for."""
        return len(self.trained) >= len(self.members)

    def trained_by(self, client: str, report: Trained) -> None:
        """Takes a report in. What it weighs is no matter: nobody weighs more than in the last group."""
        fits = report.round == self.number and report.base == self.certificate.weights
        if client in self.members and fits and report.examples >= 1:
            self.trained[client] = report

    def left(self, client: str) -> None:
        """There is no link to `client` any more."""
        self.members = [one for one in self.members if one != client]
        self.trained.pop(client, None)

    def order(self, last: Group, own: str, salt: int) -> Group | None:
        """The group of those who trained, as the `last` one; None where they are too few."""
        members = sorted(self.trained)
        least = least_of(self.certificate, last, len(members))
        if len(members) < least or own not in members:
            return None
        values = last.bounds[-1]
        whole = last.exchange == "full"
        return replace(
            last,
            round=self.number,
            group=STEWARDS_GROUPS + salt % _SALTS,
            members=members,
            bounds=[0, values] if whole else part_bounds(values, [0.0] * len(members)),
            subject="changes",
            least=least,
        )
