"""The benchmark of waiting clients measures what it says it does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks.dense import ROOT

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(300)]

CLIENTS, SECONDS = 300, 1


def test_clients_that_wait_at_a_real_server_are_measured() -> None:
    command = [sys.executable, "-m", "benchmarks.idle", "--clients", str(CLIENTS), "--json"]
    command += ["--seconds", str(SECONDS)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=300)
    report = json.loads(done.stdout)
    assert (report["clients"], report["clients_left"]) == (CLIENTS, CLIENTS)
    assert report["idle_seconds"] >= SECONDS
    assert report["join_cpu_seconds"] > 0
    # A welcome and a state each are the least.
    assert report["bytes_received_per_client"] > 500
    assert 0 < report["kib_per_client"] < 1000
