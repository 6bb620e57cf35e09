"""A peer behind a slow line would own as long a part as all others, and slow their group, in every round."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from backend.protocols.mesh.grouping import part_bounds
from backend.protocols.mesh.keepalive import PROBE_BYTES, Keepalive
from tests.support.peer.linked_peers import company, until


def measured(rate: float, there_and_back: float, queued: float = 0.0) -> Keepalive:
    """One end of a line on virtual time, after some beats and a probe; the other's clock is 1,000 s ahead."""
    one, other, ahead = Keepalive(0.0), Keepalive(1000.0), 1000.0
    way = there_and_back / 2
    for turn in range(1, 12):
        now = 2.0 * turn
        late = 0.0
        beat = one.beat(now)
        if one.wants_probe():
            beat, late = one.probe(now), PROBE_BYTES / rate + queued
        other.beat_heard(beat, now + way + late + ahead)
        one.beat_heard(other.beat(now + 1.0 + late + ahead), now + 1.0 + late + way)
    return one


@pytest.mark.parametrize("rate", [50_000.0, 500_000.0, 5_000_000.0])
def test_each_link_is_measured_whatever_the_size_of_the_model(rate: float) -> None:
    keepalive = measured(rate, 0.08)
    assert keepalive.rate == pytest.approx(rate, rel=0.01)
    assert keepalive.seconds == pytest.approx(0.08)
    assert not keepalive.wants_probe()


def test_a_member_behind_a_slow_line_owns_a_shorter_part() -> None:
    rates = [measured(rate, 0.05).rate for rate in (2e6, 2e6, 2e6, 2e5)]
    bounds = part_bounds(100_000, rates)
    lengths = [end - start for start, end in pairwise(bounds)]
    assert lengths[3] < min(lengths[:3]) / 4


async def test_a_link_without_transfers_has_a_rate_soon(tmp_path: Path) -> None:
    async with company(tmp_path, [("websocket",), ("websocket",)], [True, True]) as [one, other]:
        await until(lambda: all(member.links.measures() for member in (one, other)))
        await until(lambda: all(member.links.measures()[0].rate > 0 for member in (one, other)))
        # What measures is no news for the session.
        assert not one.frames
        assert not other.frames
