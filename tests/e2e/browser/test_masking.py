"""What a masked round computes in Chromium equals what Python computes, byte for byte."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.support.browser.chromium import Tab
from tests.support.keras.reference_cache import ROOT

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("noble", [False, True], ids=["platform's curves", "library's curves"])
def test_the_browser_computes_pythons_golden_vectors(noble: bool, bare_tab_for: Callable[[str], Tab]) -> None:
    golden = json.loads((ROOT / "tests" / "contract" / "vectors" / "masked.json").read_text("utf-8"))
    report = bare_tab_for("masks").call("masks", {"golden": golden, "noble": noble})
    assert report["faults"] == []
    assert report["compared"] > 100


@pytest.mark.long
def test_the_benchmark_times_a_client_among_others() -> None:
    command = [sys.executable, "-m", "benchmarks.masking.browser_masks", "--clients", "3", "5"]
    command += ["--parameters", "5000", "--turns", "1", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["rows"]
    assert [(row["clients"], row["neighbours"]) for row in rows] == [(3, 2), (5, 4)]
    for row in rows:
        parts = [row[f"{part}_seconds"] for part in ("exchange", "expand", "mask")]
        assert all(part > 0 for part in parts)
        assert row["client_seconds"] == pytest.approx(sum(parts), abs=2e-4)
