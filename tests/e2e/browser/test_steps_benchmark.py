"""The benchmark of steps runs and says what it promises."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.keras.reference_cache import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long]


def test_the_quick_benchmark_compares_ours_with_layers_and_tensorflow() -> None:
    command = [sys.executable, "-m", "benchmarks.steps", "--quick", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    rows = {row["backend"]: row for row in json.loads(done.stdout)["rows"]}
    assert set(rows) == {"wasm", "webgl"}
    assert all(row["step_ms"] > 0 and row["native_step_ms"] > 0 for row in rows.values())
    assert rows["webgl"]["ratio_to_layers"] > 0
    # TF.js Layers cannot train a convolution on WASM; ours can.
    assert rows["wasm"]["layers_step_ms"] is None
    assert "Conv2DBackpropFilter" in rows["wasm"]["layers_fault"]
