"""The benchmark of the exact worker's steps compares it with relaxed kernels and TensorFlow."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from backend.commands.build import build_task
from benchmarks.exact_speed import QUICK_MODELS, Taken, row_of
from tests.support.keras.reference_cache import ROOT


def test_a_row_says_what_is_missing_where_node_has_no_relaxed_instructions() -> None:
    taken = {"exact": [Taken(2.0, 2.0), Taken(4.0, 4.0)], "tensorflow": [Taken(1.0, 1.5)]}
    row = row_of("gpt", 5, taken)
    assert (row["exact_best_s"], row["exact_median_s"], row["exact_cpu_s"]) == (2.0, 3.0, 3.0)
    assert (row["exact_to_tensorflow"], row["exact_to_relaxed"], row["relaxed_best_s"]) == (2.0, None, None)


@pytest.mark.tensorflow
@pytest.mark.long
def test_the_quick_benchmark_times_the_worker_and_tensorflow() -> None:
    for name in QUICK_MODELS:
        build_task(ROOT / "models" / name)
    command = [sys.executable, "-m", "benchmarks.exact_speed", "--quick", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["rows"]
    assert [row["model"] for row in rows] == list(QUICK_MODELS)
    assert all(row["exact_best_s"] > 0 and row["tensorflow_best_s"] > 0 for row in rows)
