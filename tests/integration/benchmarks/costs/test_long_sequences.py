"""The benchmark of long sequences measures what it says it does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks.support.dense_task import ROOT
from tests.support.timeouts import LONG

pytestmark = [pytest.mark.tensorflow, pytest.mark.long]


@pytest.mark.timeout(LONG)
def test_a_bundle_of_steps_is_measured_beside_keras() -> None:
    command = [sys.executable, "-m", "benchmarks.costs.long_sequences", "--steps", "5", "40", "--json"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=LONG)
    short, long = json.loads(done.stdout)["rows"]
    assert (short["steps"], long["steps"]) == (5, 40)
    assert short["parameters"] == long["parameters"] == 11_851
    assert long["bundle_bytes"] > long["fetched_bytes"] > short["fetched_bytes"] > 1000
    for row in (short, long):
        assert row["ratio_to_keras"] == pytest.approx(row["step_ms"] / row["keras_step_ms"], rel=0.02)
        assert row["convert_seconds"] > 0
