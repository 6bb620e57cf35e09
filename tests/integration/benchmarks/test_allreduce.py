"""The benchmark of averaging among peers measures what it says it does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks.support.dense_task import ROOT
from tests.support.timeouts import LONG

pytestmark = pytest.mark.long


@pytest.mark.parametrize(("exchange", "sent"), [("butterfly", 2 * 40_000), ("full", 3 * 2 * 30_000)])
def test_processes_that_average_over_real_links_are_measured(exchange: str, sent: int) -> None:
    peers, parameters = (2, 40_000) if exchange == "butterfly" else (4, 30_000)
    command = [sys.executable, "-m", "benchmarks.allreduce", "--peers", str(peers), "--json"]
    command += ["--parameters", str(parameters), "--exchange", exchange, "--repetitions", "2"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=LONG)
    report = json.loads(done.stdout)
    [row] = report["rows"]
    assert (row["peers"], row["parameters"], row["exchange"]) == (peers, parameters, exchange)
    assert row["sent_bytes"] == sent
    assert report["seconds_median"] == row["seconds_median"] > 0
    assert report["memcpy_seconds"] == row["memcpy_seconds"] >= 0
    assert row["cpu_seconds"] > 0
