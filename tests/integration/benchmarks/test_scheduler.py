"""The benchmark of the work units' scheduler does what it counts."""

from __future__ import annotations

import pytest

from benchmarks.scheduler import measure


@pytest.mark.long
def test_units_are_finished_epoch_after_epoch() -> None:
    # So many cycles, and not so many as a machine makes in a time.
    report = measure(units=50, clients=20, seconds=0.0, min_cycles=1000)
    assert report.leases > report.cycles == 1000
    assert 1000 > report.assimilated > 50
    assert report.cycles_per_second > 0
