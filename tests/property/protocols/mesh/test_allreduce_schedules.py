"""Whatever happens to members and links, what is reported is the same everywhere
(support/protocols/allreduce/check.py)."""

from __future__ import annotations

import os

import pytest

from tests.property.protocols.mesh.explore_allreduce import explore
from tests.support.ci.schedule_share import by_lane
from tests.support.protocols.allreduce.schedules import schedule

SCHEDULES = int(os.environ.get("MINGA_GROUP_SCHEDULES", "400"))
PORTIONS = 5


@pytest.mark.parametrize("masked", [False, True], ids=["plain", "masked"])
@pytest.mark.parametrize("portion", by_lane(PORTIONS))
@pytest.mark.timeout(600)
def test_every_schedule_of_a_group_keeps_the_invariants(portion: int, masked: bool) -> None:
    schedules = SCHEDULES // 2 if masked else SCHEDULES
    first, end = portion * schedules // PORTIONS, (portion + 1) * schedules // PORTIONS
    counts, failed = explore(range(first, end), masked=masked)
    again = f"python -m tests.property.protocols.mesh.explore_allreduce{' --masked' * masked} --seeds"
    assert not failed, "\n".join(f"{story}again: {again} {seed} {seed + 1}" for seed, story in failed)
    assert counts["groups with a result in spite of faults"] > (end - first) // 2


def test_the_same_seed_is_the_same_story() -> None:
    logs = []
    for _ in range(2):
        world = schedule(41).world
        world.run(80.0)
        logs.append(world.log)
    assert logs[0] == logs[1]
    assert logs[0]
