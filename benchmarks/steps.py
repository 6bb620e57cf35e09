"""Measures a training step of one model on every backend, beside TF.js Layers and TensorFlow.

Usage: python -m benchmarks.steps [--models NAME...] [--backends NAME...] [--threads N] [--quick] [--json]

Our step and TF.js Layers' `trainOnBatch` take turns in the same page of headless Chromium, each in its own
worker; TensorFlow runs the same bundle on one core before. A step ends when its loss is readable. The result
is the best of the turns, since other load on the machine can only make a step longer.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.support.model_bundles import architecture
from tests.support.browser.chromium import Tab, chromium
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import CACHE, ROOT, build_harness

MODELS = ("mlp", "cnn", "resnet", "gpt")
BACKENDS = ("wasm", "webgl", "webgpu")
# Steps in each turn; emulated GPUs take up to seconds for one step.
STEPS = {"wasm": 10, "webgl": 2, "webgpu": 1}
TURNS = 6
QUICK_TURNS = 2
NATIVE_STEPS = 3
MIB = 1 << 20


def bundles(names: list[str]) -> Path:
    """Returns the folder of converted bundles, made once per version of converter and models."""
    digest = hashlib.sha256()
    sources = [ROOT / "benchmarks/support" / name for name in ("model_bundles.py", "keras_models.py")]
    for path in sorted([*(ROOT / "converter").rglob("*.py"), *sources]):
        digest.update(path.read_bytes())
    folder = CACHE / "benchmarks" / digest.hexdigest()[:16]
    missing = [name for name in names if not (folder / name / "bundle.json").exists()]
    if missing:
        _run("benchmarks.support.model_bundles", str(folder), *missing)
    return folder


def _run(module: str, *arguments: str) -> str:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


@dataclass(frozen=True)
class Effort:
    """How many turns each side takes; `threads` of WASM, unless the page chooses."""

    turns: int
    threads: int | None = None


def compare(tab: Tab, origin: str, folder: Path, model: str, backend: str, effort: Effort) -> dict[str, Any]:
    """Measures the best steps of both sides on one backend, in turns, and our peak memory."""
    ours: list[float] = []
    theirs: list[float] = []
    layers = architecture(folder / model)
    fault = layers if isinstance(layers, str) else None
    options: dict[str, Any] = {"base": f"{origin}/bundles/{model}", "backend": backend}
    options["steps"] = STEPS[backend]
    if effort.threads is not None:
        options["threads"] = effort.threads
    bundle = json.loads((folder / model / "bundle.json").read_text("utf-8"))
    layers_options = {**options, "bundle": bundle, "architecture": layers}
    peak = 0
    for _ in range(effort.turns):
        turn = tab.call("stepTimes", options, 500)
        ours += turn["times"]
        peak = turn["bytes"]
        if fault is None:
            answer = tab.evaluate("wanted => window.callLayers(wanted)", layers_options, 500)
            fault = answer.get("fault")
            theirs += answer.get("times", [])
    step = min(ours)
    their_step = min(theirs) if fault is None else None
    return {
        "model": model,
        "backend": backend,
        "step_ms": round(step, 2),
        "layers_step_ms": None if their_step is None else round(their_step, 2),
        "ratio_to_layers": None if their_step is None else round(step / their_step, 3),
        "layers_fault": fault,
        "peak_mib": round(peak / MIB, 1),
    }


def measure(models: list[str], backends: list[str], effort: Effort) -> list[dict[str, Any]]:
    """Returns one row for each model and backend."""
    folder, harness = bundles(models), build_harness()
    native = json.loads(
        _run("benchmarks.support.native_step", str(NATIVE_STEPS), *(str(folder / m) for m in models))
    )
    rows = []
    with serve({"/harness/": harness, "/bundles/": folder}) as origin, chromium() as browser:
        for model in models:
            for backend in backends:
                tab = browser.open(f"{origin}/harness/index.html")
                row = compare(tab, origin, folder, model, backend, effort)
                rows.append({**row, "native_step_ms": round(native[model], 2)})
                print(f"{model} on {backend}: {row['step_ms']} ms", file=sys.stderr, flush=True)
                tab.close()
    return rows


def print_table(rows: list[dict[str, Any]]) -> None:
    print(f"{'model':8} {'backend':8} {'ours':>10} {'Layers':>10} {'ratio':>7} {'native':>10} {'memory':>10}")
    for row in rows:
        layers = "-" if row["layers_step_ms"] is None else f"{row['layers_step_ms']:.1f} ms"
        ratio = "-" if row["ratio_to_layers"] is None else f"{row['ratio_to_layers']:.2f}"
        ours, native = f"{row['step_ms']:.1f} ms", f"{row['native_step_ms']:.1f} ms"
        cells = f"{row['model']:8} {row['backend']:8} {ours:>10} {layers:>10} {ratio:>7} {native:>10}"
        print(f"{cells} {row['peak_mib']:>6.1f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description="Times one training step on every backend.")
    parser.add_argument("--models", nargs="+", choices=("digits", *MODELS), default=list(MODELS))
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=list(BACKENDS))
    parser.add_argument("--threads", type=int, help="threads of WASM; else the page's own choice")
    parser.add_argument("--quick", action="store_true", help="digits on WASM and WebGL only, two turns")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    options = parser.parse_args()
    if options.quick:
        rows = measure(["digits"], ["wasm", "webgl"], Effort(QUICK_TURNS, options.threads))
    else:
        rows = measure(options.models, options.backends, Effort(TURNS, options.threads))
    if options.json:
        print(json.dumps({"rows": rows}, indent=1))
    else:
        print_table(rows)


if __name__ == "__main__":
    main()
