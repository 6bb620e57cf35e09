"""The benchmark of aggregation measures every rule, and updates in a file within little memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backend.numerics.aggregators.table import AGGREGATORS
from benchmarks.support.dense_task import ROOT
from tests.support.timeouts import LONG


def report(*options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.aggregation", "--json", *options]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=LONG)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.long
def test_every_rule_has_a_row_beside_the_copy() -> None:
    found = report("--clients", "9", "--parameters", "3000", "--repetitions", "1")
    assert (found["clients"], found["parameters"], found["f"]) == (9, 3000, 2)
    names = [row["name"] for row in found["rows"]]
    assert names[0] == "memcpy"
    assert {*names} >= {*AGGREGATORS, "nnm + trimmed-mean"}
    for row in found["rows"]:
        assert row["cpu_seconds"] >= 0
        assert row["wall_seconds"] > 0


@pytest.mark.long
@pytest.mark.timeout(LONG)
def test_a_thousand_updates_of_five_times_the_memory_are_aggregated_within_it(tmp_path: Path) -> None:
    # A thousand of 5 million parameters are 19 GiB for 4 GiB; these are 1.5 GiB for 0.3.
    found = report(
        "--spool", str(tmp_path), "--clients", "1000", "--parameters", "400000", "--memory-mib", "64"
    )
    assert found["file_bytes"] > 1.5e9 - 64 * 2**20
    assert found["peak_mib"] < 1.6e9 / 5 / 2**20
