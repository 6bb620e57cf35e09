"""The table of backends against Keras: `python -m tests.browser.conformance` writes it into docs/."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.browser.chromium import Tab, chromium
from tests.browser.references import CACHE, MODELS, ROOT, build_harness, native_results, references
from tests.browser.site import serve

LIMIT = 1e-4
BACKENDS = ("wasm", "webgl", "webgpu", "cpu")
TABLE = ROOT / "docs" / "reference" / "conformance.md"

HEAD = """# Conformance

Written by `make conformance`; `tests/browser/test_conformance.py` holds every number below 1e-4.

Each model of `tests/conformance/models.py` is converted, then trained for ten optimizer steps on every
backend from the same weights, batches and random numbers as by Keras itself (TensorFlow, eager). The
table shows relative L2 errors against Keras: of the ten losses, of the first step's gradient, and of
the flat vector after ten steps. WebGL and WebGPU ran in Chromium's software adapters.

| model | backend | loss | gradient | weights after 10 steps |
|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Row:
    """Relative L2 errors of one model on one backend."""

    model: str
    backend: str
    loss: float
    gradient: float
    vector: float
    metrics: float

    def worst(self) -> float:
        return max(self.loss, self.gradient, self.vector, self.metrics)


def relative_error(value: Any, expected: Any) -> float:
    """Relative L2 error, in float64. NaN anywhere gives NaN, which is below no limit."""
    wanted: NDArray[np.float64] = np.asarray(expected, np.float64)
    difference = float(np.linalg.norm(np.asarray(value, np.float64) - wanted))
    return difference / max(float(np.linalg.norm(wanted)), 1e-30)


def compare(result: dict[str, Any], model: str, backend: str, directory: Path) -> Row:
    """Errors of `result` (reports, gradient, vector) against the reference in `directory`."""
    expected = json.loads((directory / "expected.json").read_text("utf-8"))
    reports = result["reports"]
    return Row(
        model,
        backend,
        loss=relative_error([report[0] for report in reports], expected["losses"]),
        gradient=relative_error(result["gradient"], np.fromfile(directory / "gradient.bin", "<f4")),
        vector=relative_error(result["vector"], np.fromfile(directory / "vector.bin", "<f4")),
        metrics=relative_error([report[1:] for report in reports], expected["metrics"]),
    )


def measure(tab: Tab, origin: str, folder: Path, model: str, backend: str) -> Row:
    """Trains one model in the harness and compares it."""
    result = tab.call("conformance", {"base": f"{origin}/bundles/{model}", "backend": backend})
    return compare(result, model, backend, folder / model / "reference")


def markdown(rows: list[Row]) -> str:
    """The page of the documentation."""
    lines = [f"| {r.model} | {r.backend} | {r.loss:.1e} | {r.gradient:.1e} | {r.vector:.1e} |" for r in rows]
    return HEAD + "\n".join(lines) + "\n"


def main() -> None:
    folder, harness = references(), build_harness()
    native = json.loads(native_results(folder))
    rows = [compare(native[model], model, "native", folder / model / "reference") for model in MODELS]
    with serve({"/harness/": harness, "/bundles/": folder}) as origin, chromium() as browser:
        for backend in BACKENDS:
            tab = browser.open(f"{origin}/harness/index.html")
            rows += [measure(tab, origin, folder, model, backend) for model in MODELS]
            tab.close()
    rows.sort(key=lambda row: MODELS.index(row.model))
    TABLE.write_text(markdown(rows), "utf-8")
    (CACHE / "conformance.json").write_text(
        json.dumps([asdict(row) for row in rows], indent=1) + "\n", "utf-8"
    )
    print(markdown(rows))


if __name__ == "__main__":
    main()
