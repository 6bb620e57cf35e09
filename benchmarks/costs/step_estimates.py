"""Compares measured steps with the estimates of `minga inspect`.

Usage: `python -m benchmarks.costs.step_estimates < rows.json`, where `rows.json` is the output of `python -m
benchmarks.steps --json` on this machine. A measured time within the range for laptops has the ratio 1;
otherwise the ratio is relative to the nearer end of the range.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backend.formats.manifest import parse_manifest
from backend.server.estimates.traffic import traffic
from backend.server.tasks.model_inspection import inspect
from benchmarks.steps import bundles


def compare(rows: list[dict[str, Any]], folder: Path) -> Iterator[dict[str, Any]]:
    """Yields two rows per model, WebAssembly and TensorFlow: the fastest backends without a GPU."""
    for row in rows:
        if row["backend"] != "wasm":
            continue
        text = (folder / row["model"] / "bundle.json").read_bytes()
        manifest = parse_manifest(text)
        times = inspect(manifest, traffic(manifest, len(text))).step_times
        for backend, measured in (("wasm", row["step_ms"]), ("tensorflow-cpu", row["native_step_ms"])):
            (estimate,) = [time for time in times if (time.device, time.backend) == ("laptop", backend)]
            if estimate.range_ms is not None:
                yield {"model": row["model"], "backend": backend, **_row(measured, *estimate.range_ms)}


def _row(measured: float, low: float, high: float) -> dict[str, float]:
    nearest = min(max(measured, low), high)
    return {"measured_ms": measured, "low_ms": low, "high_ms": high, "ratio": round(measured / nearest, 2)}


def main() -> None:
    rows = json.load(sys.stdin)["rows"]
    folder = bundles(list(dict.fromkeys(row["model"] for row in rows)))
    print(json.dumps({"rows": list(compare(rows, folder))}, indent=1))


if __name__ == "__main__":
    main()
