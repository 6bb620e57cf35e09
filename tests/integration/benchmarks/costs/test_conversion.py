"""The benchmark of conversions converts with and without the comparison with Keras."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks.costs.conversion import ROOT
from tests.support.timeouts import LONG

pytestmark = [pytest.mark.tensorflow, pytest.mark.long]


def test_a_conversion_is_measured_beside_one_without_comparison() -> None:
    assert (ROOT / "models/titanic/built/model.keras").exists(), "Run `make build` first."
    command = [sys.executable, "-m", "benchmarks.costs.conversion", "--tasks", "titanic", "--turns", "1"]
    done = subprocess.run([*command, "--json"], cwd=ROOT, check=True, capture_output=True, timeout=LONG)
    (row,) = json.loads(done.stdout)["rows"]
    assert row["task"] == "titanic"
    assert row["compared_cpu_s"] > 0
    assert row["ratio"] == pytest.approx(row["compared_cpu_s"] / row["plain_cpu_s"], abs=0.01)
