"""The benchmark of waiting clients measures what it says it does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks.support.dense_task import ROOT
from tests.support.timeouts import LONG

pytestmark = [pytest.mark.tensorflow, pytest.mark.long]

CLIENTS, SECONDS = 300, 1


@pytest.mark.parametrize("scheme", ["federated", "volunteer"])
def test_clients_that_wait_at_a_real_server_are_measured(scheme: str) -> None:
    command = [sys.executable, "-m", "benchmarks.costs.idle", "--clients", str(CLIENTS), "--json"]
    command += ["--scheme", scheme]
    command += ["--seconds", str(SECONDS)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=LONG)
    report = json.loads(done.stdout)
    assert report["scheme"] == scheme
    assert (report["clients"], report["clients_left"]) == (CLIENTS, CLIENTS)
    assert report["idle_seconds"] >= SECONDS
    assert report["join_cpu_seconds"] > 0
    # A welcome and a state each are the least.
    assert report["bytes_received_per_client"] > 500
    assert 0 < report["kib_per_client"] < 1000
