"""The benchmark of whole rounds measures what it says it does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks.dense import ROOT, widths
from tests.support.waiting import LONG

pytestmark = [pytest.mark.tensorflow, pytest.mark.long]

CLIENTS, PARAMETERS, ROUNDS = 3, 5010, 2


@pytest.mark.parametrize("parameters", [5010, 100_000, 1_058_634, 5_000_000, 25_000_000])
def test_there_is_a_dense_model_of_each_size_in_the_table(parameters: int) -> None:
    inputs, hidden = widths(parameters)
    assert inputs * hidden + hidden + 10 * hidden + 10 == parameters


def test_rounds_of_a_real_server_are_measured() -> None:
    command = [sys.executable, "-m", "benchmarks.rounds", "--clients", str(CLIENTS), "--json"]
    command += ["--parameters", str(PARAMETERS), "--rounds", str(ROUNDS)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=LONG)
    report = json.loads(done.stdout)
    vectors = CLIENTS * 4 * PARAMETERS
    assert vectors < report["bytes_received_per_round"] < vectors + 4000 * CLIENTS
    assert vectors < report["bytes_sent_per_round"] < vectors + 40_000 * CLIENTS
    assert report["rounds"] == ROUNDS
    assert report["round_seconds_median"] > 0
    assert report["memcpy_cpu_seconds"] >= 0
    assert report["server_rss_mib"] > 10
