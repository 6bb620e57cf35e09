from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from backend.server.sandbox.integrity import IntegrityMeasurement
from benchmarks.integrity.trainings import judged
from benchmarks.support.dense_task import ROOT
from tests.support.timeouts import LONG

FAIR = [(one, one, 30) for one in range(4)]
USUAL, SMALL = [9.0, 10.0, 8.0, 11.0], [9.0, 10.0, 1.0, 11.0]


def test_a_partial_model_is_excused_only_before_a_version_passed() -> None:
    partial = IntegrityMeasurement(4, [*FAIR[1:], (0, 0, 10), (0, 2, 20)], SMALL)
    assert judged(partial, None)["outcome"] == "undecided"
    assert judged(partial, IntegrityMeasurement(4, FAIR, USUAL))["outcome"] == "failed"


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.timeout(LONG)
def test_the_benchmark_runs_on_a_built_task(tmp_path: Path) -> None:
    from tests.support.tasks.drawn_task import write_drawn_task

    task = write_drawn_task(tmp_path / "drawn", 1) / "task.toml"
    words = [str(task), "--clean", "1", "--attacked", "1", "--rounds", "1", "--alpha", "5", "--clients", "2"]
    command = [sys.executable, "-m", "benchmarks.integrity.trainings", *words]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, check=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["version"] for row in rows[:-1]] == [1, "before", "replaced"]
    assert sum(rows[-1].values()) == 3
