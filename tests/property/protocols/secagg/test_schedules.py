"""Whatever the order, and whoever leaves or lies: the exact sum or nothing, and of nobody both secrets."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tests.property.protocols.secagg.explore_secagg import explore
from tests.support.ci.schedule_share import by_lane
from tests.support.protocols.secagg.malicious_server import Liar
from tests.support.protocols.secagg.schedules import Player, schedule

SCHEDULES = int(os.environ.get("MINGA_MASKED_SCHEDULES", "1000"))
PORTIONS = 10
LIES = SCHEDULES // 4


@pytest.mark.parametrize("portion", by_lane(PORTIONS))
@pytest.mark.timeout(1800)
def test_every_schedule_ends_in_the_exact_sum_or_in_nothing(portion: int) -> None:
    seeds = range(portion * SCHEDULES // PORTIONS, (portion + 1) * SCHEDULES // PORTIONS)
    found, failed = explore(seeds)
    assert not failed, "\n".join(
        f"{story}again: python -m tests.property.protocols.secagg.explore_secagg --seeds {seed} {seed + 1}"
        for seed, story in failed
    )
    assert found.done > len(seeds) / 4
    assert found.failed
    assert found.broken > len(seeds)


def test_whatever_a_server_says_it_reads_no_sum_of_fewer_clients_than_they_want() -> None:
    worlds = [Liar(seed).play() for seed in range(LIES)]
    assert sum(len(world.refusing) for world in worlds) > LIES
    assert sum(len(world.revealing) for world in worlds) > LIES
    read = [world for world in worlds if world.readable()]
    assert len(read) > LIES / 20


def test_the_same_seed_is_the_same_run() -> None:
    first, second = (Player(schedule(12)) for _ in range(2))
    assert first.play() == second.play()
    assert np.array_equal(first.world.plain_sum(), second.world.plain_sum())
    assert [member.mask_key for member in first.world.masks.graph.members] == [
        member.mask_key for member in second.world.masks.graph.members
    ]
