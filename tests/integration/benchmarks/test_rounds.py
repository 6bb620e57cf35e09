"""The benchmark of whole rounds measures what it says it does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.support.dense_task import ROOT, widths
from tests.support.timeouts import LONG

pytestmark = [pytest.mark.tensorflow, pytest.mark.long]

CLIENTS, PARAMETERS, ROUNDS = 3, 5010, 2
ROUNDS_COMMAND = [sys.executable, "-m", "benchmarks.rounds", "--clients", str(CLIENTS), "--json"]
ROUNDS_COMMAND += ["--parameters", str(PARAMETERS)]


@pytest.mark.parametrize("parameters", [5010, 100_000, 1_058_634, 5_000_000, 25_000_000])
def test_there_is_a_dense_model_of_each_size_in_the_table(parameters: int) -> None:
    inputs, hidden = widths(parameters)
    assert inputs * hidden + hidden + 10 * hidden + 10 == parameters


def test_benchmarks_that_need_the_same_model_at_once_convert_it_once(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [*ROUNDS_COMMAND, "--rounds", "1"]
    runs = [
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    reports = [json.loads(run.communicate(timeout=LONG)[0]) for run in runs]
    assert [report["rounds"] for report in reports] == [1, 1]
    [bundle] = tmp_path.glob("*/*/bundle/bundle.json")
    assert json.loads(bundle.read_text("utf-8"))["parameters"]["trainable"] == PARAMETERS


def test_rounds_of_a_real_server_are_measured() -> None:
    command = [*ROUNDS_COMMAND, "--rounds", str(ROUNDS)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=LONG)
    report = json.loads(done.stdout)
    vectors = CLIENTS * 4 * PARAMETERS
    assert vectors < report["bytes_received_per_round"] < vectors + 4000 * CLIENTS
    assert vectors < report["bytes_sent_per_round"] < vectors + 40_000 * CLIENTS
    assert report["rounds"] == ROUNDS
    assert report["round_seconds_median"] > 0
    assert report["memcpy_cpu_seconds"] >= 0
    assert report["server_rss_mib"] > 10
