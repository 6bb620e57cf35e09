"""What a steward knows of the round that it leads: who has trained, and the group that comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from backend.protocols.grouping import part_bounds
from backend.protocols.onward_plan import STEWARDS_GROUPS, least_of
from backend.wire.mesh import Certificate, Group, Trained

_SALTS = 1 << 32


@dataclass
class Stewardship:
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
