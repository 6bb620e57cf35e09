"""A false sharer that leaves before it is found out gives its household's seat to its next name.

One household with one seat then ends every masked round: the verdict comes when the sum is unmasked, and its
update counts already when it leaves.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.protocols.rounds.federated import Round
from tests.support.protocols.rounds import PLAN

HONEST, NAMES = 4, 6
MASKED = replace(
    PLAN,
    rounds=100,
    min_available_clients=HONEST,
    min_train_clients=HONEST,
    fraction_train=1.0,
    quorum=HONEST,
    aggregation=("masked",),
    most_masked=256,
    most_per_household=1,
)


def join(machine: Round, client: str, household: str, now: float) -> None:
    machine.client_joined(client, "masked", household)
    machine.client_ready(client, now, 1.0, 10)


def seated(machine: Round, client: str, now: float) -> float | None:
    """Plays rounds until one selects `client`, within a few attempts; returns the time, or None."""
    for _ in range(4):
        if machine.open is not None and client in machine.open.members:
            return now
        machine.training_failed(machine.round, "It was opened before.", now)
        now = max(now, machine.timer() or now)
        machine.time_passed(now)
    return None


@pytest.mark.parametrize("lost", [True, False])
def test_new_names_of_a_household_find_its_seat_taken(lost: bool) -> None:
    machine, now, failed = Round(MASKED), 0.0, 0
    for number in range(HONEST):
        join(machine, f"honest-{number}", f"198.51.{number}.0/24", now)
    for name in range(NAMES):
        liar = f"liar-{name}"
        join(machine, liar, "203.0.113.0/24", now)
        if (then := seated(machine, liar, now)) is None:
            continue
        now, failed = then, failed + 1
        machine.client_left(liar, now, lost)
        machine.shared_falsely(liar, now)
        machine.training_failed(machine.round, "Shares did not rebuild the secrets.", now)
    assert failed == 1
    assert machine.attendance.available == HONEST
