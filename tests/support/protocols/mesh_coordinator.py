"""Drives the coordinator of a mesh in conversations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from backend.protocols.mesh import coordinator_effects
from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.mesh.group_orders import Averages
from backend.protocols.mesh.holdings import ProvenResult
from backend.protocols.rounds.phases import RoundPhase
from backend.wire.mesh_messages import Averaged, Group, Trained
from tests.support.protocols.rounds import PLAN

AVERAGES = Averages(
    groups="random",
    group_size=8,
    exchange="auto",
    precision="float16",
    reducer="mean",
    patience=0.5,
    seconds=60.0,
    quorum=1,
    fewest=2,
    values=1000,
)
ZERO, ONE, TWO = "0" * 64, "1" * 64, "2" * 64
Kind = TypeVar("Kind", bound=coordinator_effects.Effect)


def client(number: int) -> str:
    """Returns a peer's id."""
    return f"{number:016x}"


ANN, BOB, CAT = client(0), client(1), client(2)


def proven(number: int, weights: str, members: str = "all", recorded: str = "all") -> ProvenResult:
    """Returns a result of a group's `members`, of all `recorded` ones; each letter is a member."""
    return ProvenResult(number, weights, frozenset(members), frozenset(recorded))


def only(kind: type[Kind], effects: list[coordinator_effects.Effect]) -> list[Kind]:
    return [effect for effect in effects if isinstance(effect, kind)]


def waiting(count: int, plan: dict[str, Any] | None = None, **changes: Any) -> MeshCoordinator:
    """Returns a coordinator of so many ready peers.

    `plan` changes the plan of rounds, `changes` the averages.
    """
    chosen = replace(PLAN, **({"min_available_clients": count} | (plan or {})))
    machine = MeshCoordinator(chosen, replace(AVERAGES, **changes), ZERO)
    for number in range(count):
        machine.peer_entered(client(number))
        machine.client_ready(client(number), 0.0)
    return machine


def training(count: int, plan: dict[str, Any] | None = None, **changes: Any) -> MeshCoordinator:
    """Returns the same coordinator in its first round, opened at second 1."""
    machine = waiting(count, plan, **changes)
    machine.time_passed(1.0)
    assert machine.phase is RoundPhase.TRAINING
    return machine


def said(machine: MeshCoordinator, name: str, **changes: Any) -> Trained:
    """Returns a member's report of its training."""
    assert machine.open is not None
    member = machine.open.members[name]
    told: dict[str, Any] = {
        "round": machine.round,
        "base": member.base,
        "examples": member.work.examples,
        "steps": 1,
        "loss": 0.5,
        "sums": [(1.0, 4.0)],
    }
    return Trained(**(told | changes))


def averaging(
    count: int, plan: dict[str, Any] | None = None, **changes: Any
) -> tuple[MeshCoordinator, list[Group]]:
    """Returns the same coordinator after all trained at second 2, and the groups formed."""
    machine = training(count, plan, **changes)
    return machine, train_all(machine, 2.0)


def train_all(machine: MeshCoordinator, now: float) -> list[Group]:
    """Lets all members train; returns the groups formed."""
    assert machine.open is not None
    effects: list[coordinator_effects.Effect] = []
    for name in list(machine.open.members):
        effects += machine.peer_trained(name, said(machine, name), now)
    orders = only(coordinator_effects.SendGroup, effects)
    return list({one.group.group: one.group for one in orders}.values())


def report(group: Group, weights: str = ONE, survivors: list[int] | None = None) -> Averaged:
    """Returns a member's report of its group's end."""
    places = list(range(len(group.members))) if survivors is None else survivors
    return Averaged(
        round=group.round,
        group=group.group,
        weights=weights,
        survivors=places,
        fraction=1.0,
        seconds=0.5,
        signature=bytes(64),
    )


def taken_up(machine: MeshCoordinator, now: float, weights: str = ONE) -> list[coordinator_effects.Effect]:
    """Takes up weights that peers made without the server, and records them; returns what follows."""
    taken, asked = machine.time_passed(now)
    assert isinstance(taken, coordinator_effects.TakeUp)
    assert isinstance(asked, coordinator_effects.AskDeposit)
    assert (asked.weights, asked.round) == (weights, taken.round)
    assert asked.client in taken.holders
    assert (
        machine.deposited(weights) == [coordinator_effects.RecordWeights(machine.depositing.outcome)]
        if machine.depositing
        else []
    )
    return machine.recorded(machine.version + 1, now)


def average_all(
    machine: MeshCoordinator, group: Group, now: float, weights: str = ONE
) -> list[coordinator_effects.Effect]:
    """Lets all members of a group report."""
    effects: list[coordinator_effects.Effect] = []
    for name in group.members:
        effects += machine.peer_averaged(name, report(group, weights), now)
    return effects


def recorded(
    machine: MeshCoordinator, group: Group, now: float, weights: str = ONE
) -> list[coordinator_effects.Effect]:
    """Ends a round well: its group reports, and one member uploads the weights."""
    average_all(machine, group, now, weights)
    [record] = machine.deposited(weights)
    assert isinstance(record, coordinator_effects.RecordWeights)
    return machine.recorded(machine.version + 1, now)
