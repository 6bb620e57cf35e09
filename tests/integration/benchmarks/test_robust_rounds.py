"""The benchmark of robust rules in whole rounds runs the rules that it names, in turns with the mean."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks.support.dense_task import ROOT
from tests.support.timeouts import LONG

pytestmark = [pytest.mark.tensorflow, pytest.mark.long]

COMMAND = [sys.executable, "-m", "benchmarks.robust_rounds", "--clients", "5", "--parameters", "5010"]


def test_rounds_of_each_rule_are_measured_beside_the_mean() -> None:
    command = [*COMMAND, "--f", "1", "--rounds", "2", "--rules", "krum", "nnm+trimmed-mean", "--json"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=LONG)
    report = json.loads(done.stdout)
    assert (report["clients"], report["parameters"], report["f"], report["rounds"]) == (5, 5010, 1, 2)
    mean, *others = report["rows"]
    assert [row["rule"] for row in report["rows"]] == ["mean", "krum", "nnm+trimmed-mean"]
    assert (mean["seconds_ratio"], mean["tail_ratio"]) == (1.0, 1.0)
    for row in (mean, *others):
        assert 0 < row["tail_seconds"] < row["seconds"]


def test_a_rule_that_the_round_is_too_small_for_ends_the_benchmark() -> None:
    command = [*COMMAND, "--f", "2", "--rounds", "1", "--rules", "krum"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONG)
    assert done.returncode != 0
    assert "krum" in done.stderr
