"""200 simulated rounds with half of the clients killed at random moments: every round ends by its deadline,
no accepted update lost or counted twice, model bit-equal to a replay of the accepted updates.

The replay (tests/property/simulation/replay.py) shares no code with the server. It is given the frames that
reached the server's door, and the order in which the host told that updates were accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from backend.stores.embedded import Stores
from tests.property.simulation.explore import stage
from tests.property.simulation.invariants import (
    check,
    every_version_is_the_replay_of_its_updates,
    no_accepted_update_is_lost,
)
from tests.property.simulation.schedules import SIZES, Schedule
from tests.property.simulation.simulated_run import Evidence, Tasks, play
from tests.support.timeouts import HEAVY

ROUNDS = 200
OPTIMIZERS = ({"name": "fedavg"}, {"name": "fedadam", "eta": 0.01})
SECONDS = 3600.0


@pytest.fixture(scope="module")
def scene() -> Iterator[tuple[Tasks, Stores]]:
    with stage() as made:
        yield made


def rounds(
    scene: tuple[Tasks, Stores], optimizer: dict[str, Any], kills: int, seconds: float = SECONDS
) -> Evidence:
    """A run in which half of all plans are never finished, because their client is killed."""
    random = Random(f"{optimizer['name']}/{kills}")
    schedule = Schedule(
        seed=random.randrange(10**6),
        coordination={
            "rounds": 1000,
            "min_available_clients": 6,
            "quorum": 5,
            "deadline": 20.0,
            "adaptive_deadline": True,
            "gather": 1.0,
            "server_optimizer": optimizer,
        },
        values=SIZES[0],
        clients=12,
        exits=0.5,
        ways=("crash",),
        rascals=(),
        trouble=seconds,
        kills=tuple(sorted(random.uniform(0.0, seconds) for _ in range(kills))),
        away=3.0,
        slow_worker=0.01,
    )
    return play(schedule, *scene)


@pytest.mark.timeout(HEAVY)
@pytest.mark.parametrize(
    ("optimizer", "kills"),
    [
        pytest.param(OPTIMIZERS[0], 20, id="fedavg, the server is killed 20 times"),
        pytest.param(OPTIMIZERS[1], 0, id="fedadam, the server lives", marks=pytest.mark.long),
        pytest.param(OPTIMIZERS[0], 0, id="fedavg, the server lives", marks=pytest.mark.long),
        pytest.param(OPTIMIZERS[1], 20, id="fedadam, the server is killed 20 times", marks=pytest.mark.long),
    ],
)
def test_two_hundred_rounds_with_half_of_the_clients_killed_lose_nothing(
    scene: tuple[Tasks, Stores], optimizer: dict[str, Any], kills: int
) -> None:
    evidence = rounds(scene, optimizer, kills)
    assert len(evidence.rounds) >= ROUNDS
    assert evidence.witness.life == 1 + kills
    assert any(one.outcome == "abandoned" for one in evidence.rounds)
    assert any(one.accepted < one.cohort for one in evidence.rounds if one.outcome == "version")
    check(evidence)


def test_a_replay_sees_an_update_that_is_lost_and_one_that_counts_twice(
    scene: tuple[Tasks, Stores],
) -> None:
    evidence = rounds(scene, OPTIMIZERS[0], kills=1, seconds=200.0)
    check(evidence)
    log, number = evidence.witness.accepted, evidence.versions[3].round
    made = max(key for key in log if key[1] == number)
    accepted = log[made]
    for other in (accepted[:-1], [*accepted, accepted[0]]):
        log[made] = other
        with pytest.raises(AssertionError):
            every_version_is_the_replay_of_its_updates(evidence)
        with pytest.raises(AssertionError):
            no_accepted_update_is_lost(evidence)
