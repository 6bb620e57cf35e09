"""Drives the round machine in conversations."""

from __future__ import annotations

from typing import Any, TypeVar

from backend.errors import NotFiniteError
from backend.formats.manifest import MetricSpec
from backend.protocols.rounds import round_effects
from backend.protocols.rounds.federated import Round
from backend.protocols.rounds.phases import RoundPhase
from backend.protocols.rounds.plan import RoundPlan
from backend.wire.messages import Evaluation, Offer

PLAN = RoundPlan(
    rounds=3,
    min_available_clients=2,
    quorum=1,
    deadline=60.0,
    gather=1.0,
    epochs=2,
    shard_examples=(10, 10, 10, 10),
    shards_per_client=1,
    update_bytes=40,
    metrics=(MetricSpec("accuracy"),),
    batch_size=4,
    seed=1,
)
ANSWER = Evaluation(round=1, version=1, examples=5, loss=0.5, sums=[(4.0, 5.0)])
OFFER = Offer(round=1, version=0, examples=20, steps=5, loss=0.5, sums=[(5.0, 10.0)], size=40)
BAD = NotFiniteError("NaN.")
Kind = TypeVar("Kind", bound=round_effects.Effect)


def inside(machine: Round) -> dict[str, Any]:
    """Returns the machine's whole state, so that two moments can be compared."""
    return {**vars(machine), "attendance": vars(machine.attendance)}


def only(kind: type[Kind], effects: list[round_effects.Effect]) -> list[Kind]:
    return [effect for effect in effects if isinstance(effect, kind)]


def waiting(*clients: str, plan: RoundPlan = PLAN) -> Round:
    machine = Round(plan)
    for client in clients:
        machine.client_joined(client)
        machine.client_ready(client, 0.0)
    return machine


def opened(*clients: str, plan: RoundPlan = PLAN) -> Round:
    machine = waiting(*clients, plan=plan)
    machine.time_passed(1.0)
    assert machine.phase is RoundPhase.TRAINING
    return machine


def deliver(machine: Round, client: str, now: float, offer: Offer = OFFER) -> list[round_effects.Effect]:
    machine.update_offered(client, offer, now)
    return machine.update_arrived(client, offer.round, now)
