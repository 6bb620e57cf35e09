"""What a round of a mesh came to, until one of those who have it has brought it to the server."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from backend.protocols.mesh.coordinator_effects import AskDeposit, MeshOutcome
from backend.protocols.mesh.mesh_round import GroupResult, MeshRound
from backend.protocols.rounds.phases import RETURN_SECONDS
from backend.wire.mesh_messages import Averaged, Trained

# One holder has so long to bring the weights before another is asked, too; all have the task's deadline.
DEPOSIT_SECONDS, MOST_DEPOSIT_SECONDS = 15.0, 300.0


@dataclass
class Depositing:
    """What is to be recorded, who may be asked for it next, and until when somebody is waited for.

    It is `alone` once none of its holders is here. Owned by the coordinator.
    """

    outcome: MeshOutcome
    holders: list[str]
    until: float
    asked_until: float = 0.0
    arrived: bool = False
    alone: bool = False

    def timer(self) -> float | None:
        """When `ask` is due; None once the weights are here."""
        return None if self.arrived else min(self.until, self.asked_until)

    def wants(self, weights: str) -> bool:
        """Whether these are the ones."""
        return not self.arrived and self.outcome.weights == weights

    def ask(self, here: Container[str], now: float) -> AskDeposit | None:
        """Asks the next holder that is `here`; None where that leads nowhere, perhaps for the time being."""
        found = next((client for client in self.holders if client in here), None)
        if now >= self.until:
            return None
        if found is None:
            self.until = min(self.until, now if self.alone else self.until)
            self.alone, self.asked_until = True, now + RETURN_SECONDS
            return None
        self.alone, self.asked_until = False, now + DEPOSIT_SECONDS
        self.holders = [*(one for one in self.holders if one != found), found]
        return AskDeposit(found, self.outcome.round, self.outcome.weights)

    def over(self, now: float) -> bool:
        """Whether nobody is waited for any more."""
        return now >= self.until


def taking_up(
    number: int, version: int, weights: str, holders: Sequence[str], seconds: float, now: float
) -> Depositing:
    """The `weights` of round `number`, made without the server, are to be brought within `seconds`."""
    outcome = MeshOutcome(number, version, weights, len(holders), 0.0)
    return Depositing(outcome, list(holders), now + min(seconds, MOST_DEPOSIT_SECONDS))


def depositing(convened: MeshRound, results: Sequence[GroupResult], seconds: float, now: float) -> Depositing:
    """The first of a round's `results`, the largest, is to be brought within `seconds`."""
    trained: dict[str, Trained] = {}
    averaged: dict[str, Averaged] = {}
    for client in (client for one in results for client in one.holders):
        member = convened.members[client]
        if member.trained is not None and member.averaged is not None:
            trained[client], averaged[client] = member.trained, member.averaged
    outcome = MeshOutcome(
        convened.number,
        convened.version,
        results[0].weights,
        len(convened.members),
        now - convened.opened,
        trained,
        averaged,
    )
    return Depositing(outcome, list(results[0].holders), now + min(seconds, MOST_DEPOSIT_SECONDS))
