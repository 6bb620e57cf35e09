"""The benchmark of checkpoints: a killed training loses fewer steps with them."""

from __future__ import annotations

import pytest

from backend.peer.training import training_state
from benchmarks.units.checkpoints import measure

pytestmark = [pytest.mark.long, pytest.mark.tensorflow]


def test_kills_lose_fewer_steps_with_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_state, "LEAST_SHARE", 0.0)
    report = measure(parameters=1010, steps=40, every=0.0, kills=3)
    assert report.written > 0
    assert [save.slots for save in report.saves] == [0, 2]
    assert report.saves[0].bytes < report.saves[1].bytes
    assert (report.wasted, report.wasted_without > 0) == (0, True)
