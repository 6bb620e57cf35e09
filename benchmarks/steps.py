"""One training step of the same model on every backend, beside TF.js Layers and TensorFlow.

Usage: python -m benchmarks.steps [--quick] [--json]

Ours and TF.js Layers' `trainOnBatch` run in turns in the same page of headless Chromium; TensorFlow runs the
same bundle right before. Medians; a step ends when its loss is readable.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.bundles import architecture
from tests.browser.chromium import Tab, chromium
from tests.browser.references import CACHE, ROOT, build_harness
from tests.browser.site import serve

# Steps in each turn; emulated GPUs take seconds for one.
STEPS = {"wasm": 15, "webgl": 3, "webgpu": 3}
TURNS = 2


def bundles(names: list[str]) -> Path:
    """Folder with the converted bundles, made once for each state of converter and models."""
    digest = hashlib.sha256()
    for path in sorted([*(ROOT / "converter").glob("*.py"), ROOT / "benchmarks" / "bundles.py"]):
        digest.update(path.read_bytes())
    folder = CACHE / "benchmarks" / digest.hexdigest()[:16]
    missing = [name for name in names if not (folder / name / "bundle.json").exists()]
    if missing:
        _run("benchmarks.bundles", str(folder), *missing)
    return folder


def _run(module: str, *arguments: str) -> str:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def compare(tab: Tab, origin: str, folder: Path, model: str, backend: str, steps: int) -> dict[str, Any]:
    """Step times of ours and of TF.js Layers on one backend, measured in turns."""
    ours: list[float] = []
    theirs: list[float] = []
    fault = None
    rival = {
        "bundle": json.loads((folder / model / "bundle.json").read_text("utf-8")),
        "architecture": architecture(folder / model),
    }
    for _ in range(TURNS):
        wanted = {"base": f"{origin}/bundles/{model}", "backend": backend, "steps": steps}
        ours += tab.call("stepTimes", wanted, 500)["times"]
        if fault is None:
            answer = tab.evaluate("wanted => window.callLayers(wanted)", {**wanted, **rival}, 500)
            fault = answer.get("fault")
            theirs += answer.get("times", [])
    step = statistics.median(ours)
    layers = statistics.median(theirs) if fault is None else None
    return {
        "model": model,
        "backend": backend,
        "step_ms": round(step, 2),
        "layers_step_ms": None if layers is None else round(layers, 2),
        "ratio_to_layers": None if layers is None else round(step / layers, 3),
        "layers_fault": fault,
    }


def measure(models: list[str], steps: dict[str, int]) -> list[dict[str, Any]]:
    """One row for each model and backend."""
    folder, harness = bundles(models), build_harness()
    native = json.loads(_run("benchmarks.native", "100", *(str(folder / m) for m in models)))
    rows = []
    with serve({"/harness/": harness, "/bundles/": folder}) as origin, chromium() as browser:
        for model in models:
            for backend, count in steps.items():
                tab = browser.open(f"{origin}/harness/index.html")
                row = compare(tab, origin, folder, model, backend, count)
                rows.append({**row, "native_step_ms": round(native[model], 2)})
                tab.close()
    return rows


def print_table(rows: list[dict[str, Any]]) -> None:
    print(f"{'model':8} {'backend':8} {'ours':>10} {'Layers':>10} {'ratio':>7} {'TensorFlow':>11}")
    for row in rows:
        layers = "-" if row["layers_step_ms"] is None else f"{row['layers_step_ms']:.1f} ms"
        ratio = "-" if row["ratio_to_layers"] is None else f"{row['ratio_to_layers']:.2f}"
        ours, native = f"{row['step_ms']:.1f} ms", f"{row['native_step_ms']:.1f} ms"
        print(f"{row['model']:8} {row['backend']:8} {ours:>10} {layers:>10} {ratio:>7} {native:>11}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Times one training step on every backend.")
    parser.add_argument("--quick", action="store_true", help="digits on WASM and WebGL only, few steps")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    options = parser.parse_args()
    models = ["digits"] if options.quick else ["digits", "cnn"]
    steps = {"wasm": 3, "webgl": 3} if options.quick else STEPS
    rows = measure(models, steps)
    if options.json:
        print(json.dumps({"rows": rows}, indent=1))
    else:
        print_table(rows)


if __name__ == "__main__":
    main()
