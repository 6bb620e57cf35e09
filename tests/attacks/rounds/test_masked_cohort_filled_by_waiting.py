"""Participants who wait until their victim is next in turn are selected with it, and with nobody else.

Whose turn it is can be read from the state that a server sends to all clients.
"""

from __future__ import annotations

from dataclasses import replace

from backend.protocols.rounds.federated import Round
from backend.protocols.rounds.phases import RoundPhase
from tests.support.protocols.rounds import PLAN

SEATS, HONEST = 10, 31
LIARS = [f"liar-{number}" for number in range(SEATS - 1)]
MASKED = replace(
    PLAN,
    rounds=100,
    min_available_clients=SEATS,
    quorum=SEATS,
    fraction_train=SEATS / 40,
    min_train_clients=SEATS,
    aggregation=("masked",),
    most_masked=256,
)


def test_who_waits_for_a_victim_gets_no_more_seats_than_others() -> None:
    machine, now = Round(MASKED), 0.0
    for number in range(HONEST):
        machine.client_joined(f"honest-{number}", "masked")
    for liar in LIARS:
        machine.client_joined(liar, "masked")
    for number in range(HONEST):
        machine.client_ready(f"honest-{number}", now, 1.0, 10)
    # All honest clients but one get their turn.
    while len(_waiting(machine)) > 1 and machine.round < 3:
        now = _next_round(machine, now)
    for liar in LIARS:
        machine.client_ready(liar, now, 1.0, 10)
    _next_round(machine, now)
    assert machine.open is not None
    assert len(machine.open.members) == SEATS
    assert len(set(LIARS) & set(machine.open.members)) < 7


def _waiting(machine: Round) -> list[str]:
    return [
        client for client in machine.attendance.connected if not machine.attendance[client].participations
    ]


def _next_round(machine: Round, now: float) -> float:
    """Abandons the open round, and opens the next one."""
    machine.training_failed(machine.round, "Too few updates came.", now)
    timer = machine.timer()
    assert timer is not None
    machine.time_passed(timer)
    assert machine.phase is RoundPhase.TRAINING
    return timer
