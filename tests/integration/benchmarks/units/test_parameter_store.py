"""The benchmark of parameter stores measures every one of them."""

from __future__ import annotations

import pytest

from benchmarks.units.parameter_store import measure

pytestmark = pytest.mark.long


def test_every_store_assimilates_alone_and_with_others() -> None:
    report = measure(values=2000, times=3, servers=[2], seconds=0.5)
    stores = ["memory", "redis", "redis in 16 shards", "postgresql"]
    assert [one.store for one in report.updates] == stores
    assert [one.store for one in report.together] == stores
    assert all(one.seconds > 0 and one.floor > 0 for one in report.updates)
    assert all(one.results > 0 for one in report.together)
    assert {one.store: one.lost for one in report.together if not one.store.startswith("redis")} == {
        "memory": 0,
        "postgresql": 0,
    }
