"""The benchmark of masked rounds measures what it says it does."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from benchmarks.support.dense_task import ROOT
from tests.support.timeouts import LONG

pytestmark = pytest.mark.long

CLIENTS, PARAMETERS = 5, 3001


def _measure(*options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.secagg", "--clients", str(CLIENTS), "--json"]
    command += ["--parameters", str(PARAMETERS), "--rounds", "1", *options]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=LONG)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize("server", ["honest", "active"])
def test_a_masked_round_is_measured_with_a_client_that_drops_out(server: str) -> None:
    report = _measure("--server", server)
    assert (report["clients"], report["dropped"]) == (CLIENTS, 1)
    assert (report["neighbours"], report["threshold"]) == (CLIENTS - 1, 4)
    for who, floor in (("client", "mask"), ("server", "unmask")):
        assert min(report[f"{who}_cpu_seconds"], report[f"{floor}_cpu_seconds_floor"]) > 0
    # Four bytes a value; keys, shares and what was revealed besides.
    beside = report["bytes_up_per_parameter"] * PARAMETERS - 4 * (PARAMETERS + 5)
    assert abs(beside - report["bytes_up_beside_update"]) < 2
    assert 700 < beside < 2000
    assert report["largest_error"] <= report["error_bound"] + 2**-23


def test_packed_updates_are_smaller() -> None:
    report = _measure("--bits", "20", "--dropped", "0")
    assert 2.5 < report["bytes_up_per_parameter"] < 3.5
