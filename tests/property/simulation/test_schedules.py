"""Whatever happens to clients, network and server, the invariants hold
(tests/property/simulation/invariants.py)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from backend.stores.embedded import Stores
from tests.property.simulation.explore import explore, stage
from tests.property.simulation.invariants import check
from tests.property.simulation.schedules import MISCHIEF, SIZES, Schedule, schedule
from tests.property.simulation.simulated_run import Tasks, play
from tests.support.ci.schedule_share import by_lane

SCHEDULES = int(os.environ.get("MINGA_SCHEDULES", "400"))
PORTIONS = 10


@pytest.fixture(scope="module")
def scene() -> Iterator[tuple[Tasks, Stores]]:
    with stage() as made:
        yield made


@pytest.mark.parametrize("portion", by_lane(PORTIONS))
@pytest.mark.timeout(1800)
def test_every_schedule_keeps_the_invariants(portion: int) -> None:
    found = explore(range(portion * SCHEDULES // PORTIONS, (portion + 1) * SCHEDULES // PORTIONS))
    assert not found.failed, "\n".join(
        f"{story}again: python -m tests.property.simulation.explore --seeds {seed} {seed + 1}"
        for seed, story in found.failed
    )
    assert found.updates > found.schedules


def test_the_same_seed_is_the_same_run() -> None:
    runs = []
    for _ in range(2):
        with stage() as made:
            runs.append(play(schedule(5), *made))
    first, second = runs
    assert first.rounds == second.rounds
    assert first.versions == second.versions
    assert first.seconds == second.seconds


@pytest.mark.parametrize("mischief", MISCHIEF)
def test_a_client_that_does_wrong_stops_nobody(scene: tuple[Tasks, Stores], mischief: str) -> None:
    coordination = {"rounds": 1000, "min_available_clients": 3, "quorum": 2, "deadline": 8.0, "gather": 0.5}
    number = 1000 + MISCHIEF.index(mischief)
    rascals = (MISCHIEF[MISCHIEF.index(mischief)],)
    evidence = play(Schedule(number, coordination, SIZES[1], 3, 0.0, rascals, 60.0, (), 0.0, 0.0), *scene)
    assert len(evidence.versions) > 5
    check(evidence)
