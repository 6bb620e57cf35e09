"""Whatever happens to a mesh, every peer trains again soon after the server is back, and bits stay equal.

`python -m tests.property.protocols.mesh.test_restart_schedules FIRST END` plays schedules by their seeds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import pytest

from tests.support.protocols.mesh.restart_schedules import play

SCHEDULES = int(os.environ.get("MINGA_RESTART_SCHEDULES", "10000"))
# All take 20 minutes of a processor; the first portion, a hundred schedules, is in the short lane.
PORTIONS, SHORT_PORTIONS = 100, 1
LANES = [pytest.param(n, marks=() if n < SHORT_PORTIONS else pytest.mark.long) for n in range(PORTIONS)]


def explore(seeds: Iterable[int]) -> tuple[int, list[str]]:
    """Returns the number of groups with a result, and what went wrong, with the seeds."""
    groups, failed = 0, []
    for seed in seeds:
        try:
            played = play(seed)
        except AssertionError as error:
            failed.append(f"seed {seed}: {error}")
            continue
        groups += len(played.world.groups.results)
        if played.stranded or not played.versions:
            failed.append(f"seed {seed}: {played.stranded} stranded, {played.versions} versions")
    return groups, failed


@pytest.mark.parametrize("portion", LANES)
@pytest.mark.timeout(600)
def test_no_peer_is_stranded_by_a_restart_of_the_server(portion: int) -> None:
    first, end = portion * SCHEDULES // PORTIONS, (portion + 1) * SCHEDULES // PORTIONS
    groups, failed = explore(range(first, end))
    assert not failed, "\n".join(failed)
    assert groups > 5 * (end - first)


def test_a_seed_is_the_same_schedule_each_time() -> None:
    first, second = play(7), play(7)
    assert first.told == second.told
    assert first.world.groups.results == second.world.groups.results


if __name__ == "__main__":
    print(*explore(range(int(sys.argv[1]), int(sys.argv[2]))))
