"""Leads a round without the server: counts the callers, begins the round and forms its group.

The leader ("steward" in frames) is the survivor with the lowest id that can lead. The machine in rounds.py
owns these; browsers do not lead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from backend.protocols.mesh.grouping import part_bounds
from backend.protocols.mesh.serverless.last_round import FIRST_SERVERLESS_GROUP, least_survivors, majority
from backend.wire.mesh_messages import Certificate, Group, Trained
from backend.wire.peer_messages import SetOut, Unattended

_SALTS = 1 << 32


class Callers:
    """The latest calls of other survivors, as the peer `own` received them; each counts for one round."""

    def __init__(self, own: str) -> None:
        self._own = own
        self._calls: dict[str, Unattended] = {}

    def add(self, client: str, call: Unattended) -> None:
        """The latest call of a client counts."""
        self._calls[client] = call

    def remove(self, client: str) -> None:
        """The client has the server, or its link is gone."""
        self._calls.pop(client, None)

    def clear(self) -> None:
        """A round begins: its members call again after it."""
        self._calls.clear()

    def with_same_weights(self, own: Unattended, linked: Iterable[str]) -> dict[str, Unattended]:
        """The calls of `linked` clients for the weights of this peer's `own` call, and that call."""
        calls = {client: self._calls[client] for client in linked if client in self._calls}
        same = {client: call for client, call in calls.items() if call.weights == own.weights}
        return {**same, self._own: own}

    def count_waits(self, calls: Mapping[str, Unattended], certificate: Certificate) -> int | None:
        """How many times its patience this peer waits before it sets out; None where too few call.

        A leader that does not set out, because it hears too few, is replaced after twice the patience.
        """
        if len(calls) < majority(certificate):
            return None
        before = sum(call.steward and client < self._own for client, call in calls.items())
        return 2 * before + (len(calls) < len(certificate.survivors))


def plan_round(calls: Mapping[str, Unattended], certificate: Certificate) -> SetOut:
    """The round of the calling survivors, from the certified weights; one evaluates them, if any can."""
    number = 1 + max(call.round for call in calls.values())
    able = sorted(client for client, call in calls.items() if call.measures)
    return SetOut(
        round=number, weights=certificate.weights, measures=able[number % len(able)] if able else None
    )


@dataclass
class ElectedLeader:
    """Leads round `number` of `members`, from the weights of `certificate`; they train until `until`."""

    number: int
    certificate: Certificate
    members: list[str]
    until: float
    trained: dict[str, Trained] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether all members have trained."""
        return len(self.trained) >= len(self.members)

    def add_trained(self, client: str, report: Trained) -> None:
        """Takes a member's report. The last group bounds every weight, so its examples need no check."""
        fits = report.round == self.number and report.base == self.certificate.weights
        if client in self.members and fits and report.examples >= 1:
            self.trained[client] = report

    def remove(self, client: str) -> None:
        """The link to `client` is down."""
        self.members = [member for member in self.members if member != client]
        self.trained.pop(client, None)

    def form_group(self, last: Group, own: str, salt: int) -> Group | None:
        """The group of the members that trained, like the `last` one; None if they are too few."""
        members = sorted(self.trained)
        least = least_survivors(self.certificate, last, len(members))
        if len(members) < least or own not in members:
            return None
        values = last.bounds[-1]
        return replace(
            last,
            round=self.number,
            group=FIRST_SERVERLESS_GROUP + salt % _SALTS,
            members=members,
            bounds=[0, values] if last.exchange == "full" else part_bounds(values, [0.0] * len(members)),
            subject="changes",
            least=least,
        )
