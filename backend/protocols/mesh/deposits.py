"""The deposit of a mesh round's result: the server asks holders for the weights until one brings them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from backend.protocols.mesh.coordinator_effects import AskDeposit, MeshOutcome
from backend.protocols.mesh.mesh_round import MeshRound
from backend.protocols.mesh.trainee import GroupResult
from backend.protocols.rounds.phases import RETURN_SECONDS
from backend.wire.mesh_messages import Averaged, Trained

# Time of one holder to bring the weights before the next is asked, too; and the maximum for all of them.
DEPOSIT_SECONDS, MOST_DEPOSIT_SECONDS = 15.0, 300.0


@dataclass
class Depositing:
    """The result to be recorded, the holders to ask in this order, and the deadline `until`.

    It is `alone` while none of its holders is connected. Owned by the coordinator.
    """

    outcome: MeshOutcome
    holders: list[str]
    until: float
    asked_until: float = 0.0
    arrived: bool = False
    alone: bool = False

    def timer(self) -> float | None:
        """Returns when `ask` is due; None after the weights arrived."""
        return None if self.arrived else min(self.until, self.asked_until)

    def wants(self, weights: str) -> bool:
        """Whether these are the weights it waits for."""
        return not self.arrived and self.outcome.weights == weights

    def ask(self, connected: Container[str], now: float) -> AskDeposit | None:
        """Asks the next `connected` holder; None if there is none, perhaps for now, or time is over."""
        holder = next((client for client in self.holders if client in connected), None)
        if now >= self.until:
            return None
        if holder is None:
            self.until = min(self.until, now if self.alone else self.until)
            self.alone, self.asked_until = True, now + RETURN_SECONDS
            return None
        self.alone, self.asked_until = False, now + DEPOSIT_SECONDS
        self.holders = [*(other for other in self.holders if other != holder), holder]
        return AskDeposit(holder, self.outcome.round, self.outcome.weights)

    def add_late(self, client: str, trained: Trained, averaged: Averaged) -> None:
        """Takes the reports of a member that came late: they count until the weights have arrived."""
        if self.arrived:
            return
        outcome = self.outcome
        self.outcome = replace(
            outcome,
            trained={**outcome.trained, client: trained},
            averaged={**outcome.averaged, client: averaged},
        )
        if averaged.weights == outcome.weights:
            self.holders.append(client)

    def over(self, now: float) -> bool:
        """Whether the deadline has passed."""
        return now >= self.until


def taking_up(
    number: int, version: int, weights: str, holders: Sequence[str], seconds: float, now: float
) -> Depositing:
    """Returns the deposit of round `number`, made without the server, due within `seconds`."""
    outcome = MeshOutcome(number, version, weights, len(holders), 0.0)
    return Depositing(outcome, list(holders), now + min(seconds, MOST_DEPOSIT_SECONDS))


def depositing(
    mesh_round: MeshRound, results: Sequence[GroupResult], seconds: float, now: float
) -> Depositing:
    """Returns the deposit of the first (largest) of a round's `results`, due within `seconds`."""
    trained: dict[str, Trained] = {}
    averaged: dict[str, Averaged] = {}
    for client in (client for result in results for client in result.holders):
        member = mesh_round.members[client]
        if member.trained is not None and member.averaged is not None:
            trained[client], averaged[client] = member.trained, member.averaged
    outcome = MeshOutcome(
        mesh_round.number,
        mesh_round.version,
        results[0].weights,
        len(mesh_round.members),
        now - mesh_round.opened,
        trained,
        averaged,
    )
    return Depositing(outcome, list(results[0].holders), now + min(seconds, MOST_DEPOSIT_SECONDS))
