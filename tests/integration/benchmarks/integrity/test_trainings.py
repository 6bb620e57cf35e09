from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from backend.formats.task_file import IntegrityTable
from backend.numerics.vectors import Vector
from backend.server.sandbox.integrity import IntegrityMeasurement
from benchmarks.integrity.checked_history import CheckedHistory
from benchmarks.support.dense_task import ROOT
from tests.support.timeouts import LONG

FAIR = [(one, one, 30) for one in range(4)]
USUAL, SMALL = [9.0, 10.0, 8.0, 11.0], [9.0, 10.0, 1.0, 11.0]


SIZE = 40


def history(*measured: IntegrityMeasurement) -> CheckedHistory:
    """Measures one version after the other as given."""
    left = list(measured)
    return CheckedHistory(
        IntegrityTable(every=5), lambda update: update.astype(np.float64), lambda _: left.pop(0)
    )


def updates(attackers: int, seed: int) -> list[Vector]:
    random = np.random.default_rng(seed)
    ways = np.stack([random.normal(size=SIZE), 3.0 * np.eye(SIZE)[0]])
    rows = np.repeat(ways, (10 - attackers, attackers), axis=0) + 0.2 * random.normal(size=(10, SIZE))
    return list(rows.astype(np.float32))


def test_the_first_version_that_passes_is_the_one_to_compare_with() -> None:
    partial = IntegrityMeasurement(4, [*FAIR[1:], (0, 0, 10), (0, 2, 20)], SMALL)
    fair, weights = IntegrityMeasurement(4, FAIR, USUAL), np.zeros(1, np.float32)
    run = history(partial, fair, partial)
    outcomes = [run.checked(number, weights, is_due=True) for number in (5, 10, 15)]
    assert [one.outcome for one in outcomes if one] == ["undecided", "passed", "failed"]


def test_a_minority_that_pushes_brings_a_check_forward_once_in_so_many_versions() -> None:
    fair, weights = IntegrityMeasurement(4, FAIR, USUAL), np.zeros(1, np.float32)
    run = history(*[fair] * 3)
    checked = []
    for number in range(1, 10):
        run.sent(updates(3, number))
        if run.checked(number, weights, is_due=False) is not None:
            checked.append((number, run.is_pushed))
    assert checked == [(3, True), (8, True)]


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
    assert [row["attack"] for row in rows[:-1]] == ["none", "model-replacement"]
    assert sum(rows[-1].values()) == 2
