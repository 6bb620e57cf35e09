"""Real members of a Byzantine mesh that fail in phases of a round come back, and nobody is banned."""

from __future__ import annotations

import pytest

from benchmarks.btard.processes.churn import Churn, churn_figures

pytestmark = [pytest.mark.tensorflow, pytest.mark.long]


@pytest.mark.timeout(900)
def test_peers_that_are_killed_and_stopped_come_back_and_all_end_with_the_same_bits() -> None:
    found = churn_figures(Churn(peers=5, pages=0, phases=("made", "verdict")))
    assert found["faults"] == {"kill": {"made": 1, "verdict": 1}, "stop": {"made": 1, "verdict": 1}}
    assert (found["banned_honest"], found["different_bits"], found["stalled"]) == (0, 0, False)
    assert (found["seats"], found["not_returned"]) == (5, 0)
